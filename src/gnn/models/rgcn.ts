/**
 * R-GCN (Schlichtkrull et al., ESWC 2018): relational convolutions. The first layer takes features, or none (x = null):
 * then `sizes` begins with the number of nodes, each of which has separate rows.
 */
import type { MessageGraph } from '../../graph/index.js';
import { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { RGCNConv } from '../conv/rgcn-conv.js';
import type { Features } from '../input.js';
import { type EdgeData, LayeredModel, layerSizes, type ModelOptions } from './layered-model.js';

export interface RGCNOptions extends ModelOptions {
  readonly relations: number;
  /** Express every relation's matrix as a mixture of this many. */
  readonly bases?: number;
  /** Make every relation's matrix block-diagonal with this many blocks. */
  readonly blocks?: number;
}

/**
 * @param sizes input size (or number of nodes), hidden sizes, output size.
 * @example
 * const model = new RGCN([graph.numNodes, 16, 4], { relations: 90, bases: 30 });
 * const logits = model.forward(graph, null, edgeType);
 */
export class RGCN extends LayeredModel<RGCNConv> {
  constructor(sizes: readonly number[], options: RGCNOptions) {
    checkOptionNames('RGCN', options, {
      dtype: true,
      random: true,
      dropout: true,
      inputDropout: true,
      norm: true,
      residual: true,
      activation: true,
      jumpingKnowledge: true,
      relations: true,
      bases: true,
      blocks: true,
    });
    const sized = layerSizes('RGCN', sizes, options).map(([inWidth, outWidth]) => ({
      layer: new RGCNConv(inWidth, outWidth, options),
      inWidth,
      outWidth,
    }));
    super(sized, sizes[sizes.length - 1], options);
  }

  protected convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    if (!(edgeData instanceof Int32Array))
      throw new ValueError(
        expected('RGCN', 'the relation of each edge as an Int32Array', 'edgeData', edgeData),
      );
    if (x !== null && !(x instanceof Tensor))
      throw new ValueError(expected('RGCN', 'a tensor or null', 'x', x));
    return this.layers[i].forward(graph, x, edgeData);
  }
}
