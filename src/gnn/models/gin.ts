/**
 * GIN (Xu et al., ICLR 2019): sums of neighbours through MLPs of two layers. For whole graphs see `GINGraphClassifier`.
 */
import type { MessageGraph } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import { MLP } from '../../nn/index.js';
import { Tensor } from '../../tensor/index.js';
import { ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GINConv } from '../conv/gin-conv.js';
import type { Features } from '../input.js';
import {
  type EdgeData,
  LayeredModel,
  layerSizes,
  type ModelOptions,
  rejectEdgeData,
} from './layered-model.js';

export interface GINOptions extends ModelOptions {
  /** Train ε of every layer. */
  readonly trainEps?: boolean;
}

/**
 * @param sizes input, hidden and output sizes.
 * @example
 * const model = new GIN([16, 64, 64, 2], { norm: 'batch' });
 * const logits = model.forward(graph, x);
 */
export class GIN extends LayeredModel<GINConv> {
  constructor(sizes: readonly number[], options: GINOptions = {}) {
    checkOptionNames('GIN', options, {
      dtype: true,
      random: true,
      dropout: true,
      inputDropout: true,
      norm: true,
      residual: true,
      activation: true,
      jumpingKnowledge: true,
      trainEps: true,
    });
    const { activation = 'relu', norm } = options;
    const inner = { ...parameterOptions(options), activation, norm: norm ?? 'none', dropout: 0 } as const;
    const sized = layerSizes('GIN', sizes, options).map(([inWidth, outWidth]) => ({
      layer: new GINConv(new MLP([inWidth, outWidth, outWidth], inner), options),
      inWidth,
      outWidth,
    }));
    super(sized, sizes[sizes.length - 1], options);
  }

  protected convolve(i: number, graph: MessageGraph, x: Features | null, edgeData: EdgeData): Tensor {
    rejectEdgeData('GIN', edgeData);
    if (x instanceof Tensor) return this.layers[i].forward(graph, x);
    throw new ValueError('GIN: expected dense features, got sparse ones. It sums before its first product.');
  }
}
