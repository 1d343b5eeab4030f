/**
 * GraphSAGE (Hamilton, Ying and Leskovec, NeurIPS 2017): sample-and-aggregate layers, on whole graphs or on blocks of
 * sampled neighbours.
 */
import type { MessageGraph } from '../../graph/index.js';
import { ReLU } from '../../nn/index.js';
import type { Tensor } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type SAGEAggregator, SAGEConv } from '../conv/sage-conv.js';
import type { Features } from '../input.js';
import {
  type EdgeData,
  LayeredModel,
  layerSizes,
  type ModelOptions,
  needFeatures,
  rejectEdgeData,
} from './layered-model.js';

export interface GraphSAGEOptions extends ModelOptions {
  /** Aggregation over neighbours (default 'mean'). */
  readonly aggregator?: SAGEAggregator;
}

/**
 * @param sizes input, hidden and output sizes.
 * @example
 * const model = new GraphSAGE([100, 256, 256, 47], { dropout: 0.5, inputDropout: 0 });
 * const logits = model.forward(blocks, x);
 */
export class GraphSAGE extends LayeredModel<SAGEConv> {
  constructor(sizes: readonly number[], options: GraphSAGEOptions = {}) {
    checkOptionNames('GraphSAGE', options, {
      dtype: true,
      random: true,
      dropout: true,
      inputDropout: true,
      norm: true,
      residual: true,
      activation: true,
      jumpingKnowledge: true,
      aggregator: true,
    });
    const sized = layerSizes('GraphSAGE', sizes, options).map(([inWidth, outWidth]) => ({
      layer: new SAGEConv(inWidth, outWidth, options),
      inWidth,
      outWidth,
    }));
    super(sized, sizes[sizes.length - 1], options);
  }

  protected convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    rejectEdgeData('GraphSAGE', edgeData);
    return this.layers[i].forward(graph, needFeatures('GraphSAGE', x));
  }

  protected override convolveActivated(
    i: number,
    graph: MessageGraph,
    x: Features | null,
    edgeData: EdgeData,
  ): Tensor {
    if (!(this.activation instanceof ReLU)) return super.convolveActivated(i, graph, x, edgeData);
    rejectEdgeData('GraphSAGE', edgeData);
    return this.layers[i].forward(graph, needFeatures('GraphSAGE', x), { relu: true });
  }
}
