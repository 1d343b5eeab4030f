/**
 * GIN for whole graphs (Xu et al., ICLR 2019, eq. 4.2): the sums over a graph's nodes of the features and of every
 * layer, concatenated, through a linear map. Each layer is an MLP with batch normalisation, as in the paper.
 */

import { parameterOptions, randomOf } from '../../nn/factory.js';
import { BatchNorm1d, Dropout, Linear, MLP, Module, type ParameterOptions } from '../../nn/index.js';
import { concat, relu, type Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { GINConv } from '../conv/gin-conv.js';
import type { GraphBatch } from '../graph-batch.js';
import { globalMaxPool, globalMeanPool, globalSumPool } from '../pooling.js';

const pools = { sum: globalSumPool, mean: globalMeanPool, max: globalMaxPool };

export interface GINGraphClassifierOptions extends ParameterOptions {
  /** Pooling of a graph's nodes to one row (default 'sum'). */
  readonly pool?: keyof typeof pools;
  /** Probability of dropping an entry before the last map in training. */
  readonly dropout?: number;
  /** Train ε of every layer. */
  readonly trainEps?: boolean;
}

/**
 * A batch of G graphs → [G, classes].
 *
 * @param sizes features, hidden size of each layer, classes.
 * @example
 * const model = new GINGraphClassifier([7, 32, 32, 32, 2], { dropout: 0.5 });
 * const logits = model.forward(GraphBatch.fromGraphs(graphs, features));
 */
export class GINGraphClassifier extends Module {
  readonly layers: readonly GINConv[];
  readonly norms: readonly BatchNorm1d[];
  readonly lin: Linear;
  readonly dropout: Dropout;
  readonly pool: keyof typeof pools;

  constructor(sizes: readonly number[], options: GINGraphClassifierOptions = {}) {
    super();
    checkOptionNames('GINGraphClassifier', options, {
      dtype: true,
      random: true,
      pool: true,
      dropout: true,
      trainEps: true,
    });
    const { pool = 'sum' } = options;
    if (!Array.isArray(sizes) || sizes.length < 3)
      throw new ValueError(expected('GINGraphClassifier', 'input, hidden and output sizes', 'sizes', sizes));
    if (!Object.hasOwn(pools, pool))
      throw new ValueError(expected('GINGraphClassifier', Object.keys(pools).join(', '), 'pool', pool));
    const hidden = sizes.slice(1, -1);
    const inner = { ...parameterOptions(options), norm: 'batch', dropout: 0 } as const;
    this.layers = hidden.map((size, i) => new GINConv(new MLP([sizes[i], size, size], inner), options));
    this.norms = hidden.map((size) => new BatchNorm1d(size, options));
    const known = sizes.slice(0, -1).reduce((total, size) => total + size, 0);
    this.lin = new Linear(known, sizes[sizes.length - 1], options);
    this.dropout = new Dropout(options.dropout ?? 0, randomOf(options));
    this.pool = pool;
  }

  forward(batch: GraphBatch): Tensor {
    const { graph, offsets } = batch;
    const pool = pools[this.pool];
    const rows = [pool(batch.x, offsets)];
    let h = batch.x;
    for (const [i, layer] of this.layers.entries()) {
      h = relu(this.norms[i].forward(layer.forward(graph, h)));
      rows.push(pool(h, offsets));
    }
    return this.lin.forward(this.dropout.forward(concat(rows, 1)));
  }
}
