/**
 * GCN (Kipf and Welling, ICLR 2017): graph convolutions with dropout before each. For the numbers of the paper: sizes
 * [F, 16, classes], dropout 0.5, rows of the features summing to 1, weight decay on the first layer.
 */
import type { MessageGraph } from '../../graph/index.js';
import type { Tensor } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GCNConv } from '../conv/gcn-conv.js';
import type { Features } from '../input.js';
import {
  type EdgeData,
  LayeredModel,
  layerSizes,
  type ModelOptions,
  needFeatures,
  rejectEdgeData,
} from './layered-model.js';

export interface GCNOptions extends ModelOptions {
  /** Add a self loop to every node (the default). */
  readonly selfLoops?: boolean;
}

/**
 * @param sizes input, hidden and output sizes.
 * @example
 * const model = new GCN([1433, 16, 7], { dropout: 0.5 });
 * const logits = model.forward(graph, x);
 */
export class GCN extends LayeredModel<GCNConv> {
  constructor(sizes: readonly number[], options: GCNOptions = {}) {
    checkOptionNames('GCN', options, {
      dtype: true,
      random: true,
      dropout: true,
      inputDropout: true,
      norm: true,
      residual: true,
      activation: true,
      jumpingKnowledge: true,
      selfLoops: true,
    });
    const sized = layerSizes('GCN', sizes, options).map(([inWidth, outWidth]) => ({
      layer: new GCNConv(inWidth, outWidth, options),
      inWidth,
      outWidth,
    }));
    super(sized, sizes[sizes.length - 1], options);
  }

  protected convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    rejectEdgeData('GCN', edgeData);
    return this.layers[i].forward(graph, needFeatures('GCN', x));
  }
}
