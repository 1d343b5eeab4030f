/**
 * GraphSAGE (Hamilton, Ying and Leskovec, NeurIPS 2017, algorithm 1):
 *
 *   mean, max   y_v = W_l · reduce_{u∈N(v)} x_u + W_r · x_v
 *   pool        as max, over relu(W_p x_u + b_p)
 *   gcn         y_v = W_l · (x_v + Σ_{u∈N(v)} x_u) / (|N(v)| + 1)   (its eq. 2)
 *
 * The mean and the product commute, so the narrower side is aggregated; if equal the input, because blocks have fewer
 * destinations than sources. An input whose rows a distributed graph caches (`cacheInputs`) is always aggregated.
 */
import { type MessageGraph, SparseMatrix } from '../../graph/index.js';
import { parameterOptions } from '../../nn/factory.js';
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, clamp, div, mul, relu, scope, sqrt, sum, Tensor } from '../../tensor/index.js';
import { linearPair } from '../../tensor/ops/matmul.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { choice } from '../../util/settings.js';
import { checkInput, ends, type Features, type NodePair, project, projectsFirst } from '../input.js';
import { convType } from './conv-type.js';

export type SAGEAggregator = 'mean' | 'gcn' | 'max' | 'pool';

export interface SAGEConvOptions extends ParameterOptions {
  readonly aggregator?: SAGEAggregator;
  /** Apply relu(W_p x + b_p) to every source first; 'pool' always does. */
  readonly project?: boolean;
  /** Add W_r · x_v (the default; 'gcn' never does). */
  readonly root?: boolean;
  readonly bias?: boolean;
  /** Scale each result to unit length. */
  readonly normalize?: boolean;
  /** Width of the features of destinations, if it differs from that of sources. */
  readonly inDst?: number;
}

/**
 * x [Ns, in] (or [xSrc, xDst]) → [Nd, out].
 *
 * @example
 * const conv = new SAGEConv(100, 256, { aggregator: 'mean' });
 * const y = conv.forward(block, x);
 */
export class SAGEConv extends Module {
  /** Applied to the neighbours. */
  readonly linL: Linear;
  /** Applied to the node itself. */
  readonly linR: Linear | null;
  /** Applied before the aggregation. */
  readonly lin: Linear | null;
  readonly aggregator: SAGEAggregator;
  readonly normalize: boolean;

  constructor(inFeatures: number, outFeatures: number, options: SAGEConvOptions = {}) {
    super();
    checkOptionNames('SAGEConv', options, {
      dtype: true,
      random: true,
      aggregator: true,
      project: true,
      root: true,
      bias: true,
      normalize: true,
      inDst: true,
    });
    const { aggregator = 'mean', inDst = inFeatures } = options;
    if (!['mean', 'gcn', 'max', 'pool'].includes(aggregator))
      throw new ValueError(expected('SAGEConv', 'mean, gcn, max or pool', 'aggregator', aggregator));
    const wantsProjection = aggregator === 'pool' || options.project === true;
    this.aggregator = aggregator;
    this.lin = wantsProjection
      ? new Linear(inFeatures, inFeatures, { ...parameterOptions(options), bias: true })
      : null;
    this.linL = new Linear(inFeatures, outFeatures, options);
    const root = aggregator !== 'gcn' && options.root !== false;
    this.linR = root ? new Linear(inDst, outFeatures, { ...parameterOptions(options), bias: false }) : null;
    this.normalize = options.normalize ?? false;
  }

  /** Computes the layer; with `relu`, fused with relu() of the result, which has the same values. */
  forward(graph: MessageGraph, x: Features | NodePair, options: { readonly relu?: boolean } = {}): Tensor {
    const wantsRelu = options.relu === true;
    return scope(() => {
      if (x instanceof SparseMatrix || this.normalize) {
        const y =
          x instanceof SparseMatrix ? this.#forwardSparse(graph, x) : this.#forwardDense(graph, x, false);
        const scaled = this.normalize ? unitRows(y) : y;
        return wantsRelu ? relu(scaled) : scaled;
      }
      return this.#forwardDense(graph, x, wantsRelu);
    });
  }

  #forwardDense(graph: MessageGraph, x: Tensor | NodePair, wantsRelu: boolean): Tensor {
    const { linL, linR, lin, aggregator } = this;
    const positive = (y: Tensor): Tensor => (wantsRelu ? relu(y) : y);
    const wantsDst = linR !== null;
    const [src, dst] = wantsDst
      ? ends('SAGEConv', graph, x, linL.inFeatures, linR.inFeatures)
      : [x instanceof Tensor ? x : x[0], null];
    checkInput('SAGEConv', 'x', src, graph.numSrcNodes, linL.inFeatures);
    const sent = lin === null ? src : relu(lin.forward(src));
    const linear = aggregator === 'mean' || aggregator === 'gcn';
    if (linear && projectsFirst(graph, sent, linL)) {
      const y = this.#aggregateProjected(graph, sent);
      return positive(dst === null || linR === null ? y : add(y, linR.forward(dst)));
    }
    const neighbours = this.#aggregate(graph, sent);
    if (dst === null || linR === null) return positive(linL.forward(neighbours));
    return linearPair(neighbours, linL.weight, dst, linR.weight, linL.bias, { relu: wantsRelu });
  }

  #forwardSparse(graph: MessageGraph, x: SparseMatrix): Tensor {
    const { linL, linR, lin, aggregator } = this;
    checkInput('SAGEConv', 'x', x, graph.numSrcNodes, linL.inFeatures);
    if (lin !== null) {
      const y = linL.forward(this.#aggregate(graph, relu(project(x, lin.weight, lin.bias))));
      return linR === null ? y : add(y, graph.dstRows(project(x, linR.weight)));
    }
    if (aggregator === 'max') {
      throw new ValueError(
        "SAGEConv: expected dense features for aggregator 'max', got a SparseMatrix. Use 'mean', 'gcn' or 'pool', or x.toDense().",
      );
    }
    const y = this.#aggregateProjected(graph, x);
    return linR === null ? y : add(y, graph.dstRows(project(x, linR.weight)));
  }

  /** Applies W_l first, then the mean; the bias comes last, because a mean over no neighbours is 0. */
  #aggregateProjected(graph: MessageGraph, x: Features): Tensor {
    const { weight, bias } = this.linL;
    const y = this.#aggregate(graph, project(x, weight));
    return bias === null ? y : add(y, bias);
  }

  #aggregate(graph: MessageGraph, x: Tensor): Tensor {
    if (this.aggregator === 'gcn') return graph.aggregate(x, { reduce: 'mean', self: true });
    return graph.aggregate(x, { reduce: this.aggregator === 'mean' ? 'mean' : 'max' });
  }

  protected override describe(): string {
    return `${this.linL.inFeatures} → ${this.linL.outFeatures}, ${this.aggregator}`;
  }
}

/** Divides rows by their length, or by 1e-12 if that is larger. */
function unitRows(y: Tensor): Tensor {
  // Clamped before the root, whose slope at 0 is infinite: a row of zeros gets a finite gradient.
  const squares = sum(mul(y, y), 1, { keepDims: true });
  return div(y, sqrt(clamp(squares, 1e-24, Infinity)));
}

export const sageType = convType({
  name: 'GRAPH_SAGE',
  settings: {
    aggregator: choice(
      ['GCN', 'MEAN', 'MAX', 'POOL'],
      'GCN',
      'GCN: one weight for neighbours and self together; MEAN: one weight each; MAX and POOL (ours): the largest of the neighbours, unchanged or after a linear layer',
    ),
  },
  make: ({ aggregator }, { inFeatures, outFeatures, random }) =>
    new SAGEConv(inFeatures, outFeatures, {
      ...{ random, bias: false },
      aggregator: aggregator.toLowerCase() as SAGEAggregator,
    }),
  run: (layer, block, x) => layer.forward(block, x),
});
