/**
 * Graph transformer layer (Shi et al., IJCAI 2021, eq. 3–5), for each of H heads of size D:
 *
 *   α_uv = softmax over the edges u → v of (W_q x_v) · (W_k x_u + W_e e_uv) / √D
 *   y_v = Σ_u α_uv (W_v x_u + W_e e_uv), the heads concatenated or averaged, plus W_skip x_v
 *
 * With `beta` the sum with W_skip x_v becomes β W_skip x_v + (1 − β) y_v, β = sigmoid(w · [y, skip, y − skip]). Only
 * W_e e and one score per edge and head are kept for backward.
 */
import { Adjacency, type MessageGraph, SparseMatrix } from '../../graph/index.js';
import { aggregate } from '../../graph/ops/aggregate.js';
import { dotScores } from '../../graph/ops/scores.js';
import { identity } from '../../graph/ops/spmm.js';
import { checkSizes, parameterOptions } from '../../nn/factory.js';
import { Linear, Module, type ParameterOptions } from '../../nn/index.js';
import { add, concat, mul, sigmoid, sub, type Tensor } from '../../tensor/index.js';
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { flag } from '../../util/settings.js';
import { checkInput, dropRows, type Features, isPair, type NodePair, project } from '../input.js';
import { adjacencyOf } from '../ops/relation-groups.js';
import { attentionDropout, checkHeads, convType, headSettings, headWidth } from './conv-type.js';
import { checkEdgeFeatures, joinHeads, splitHeads } from './shared.js';

export interface TransformerConvOptions extends ParameterOptions {
  /** Number of heads (default 1). */
  readonly heads?: number;
  /** Concatenate the heads (the default) instead of averaging them. */
  readonly concat?: boolean;
  /** Gate between the node itself and its neighbours; needs `root`. */
  readonly beta?: boolean;
  /** Probability of dropping an attention weight in training. */
  readonly attentionDropout?: number;
  /** Width of the edge features; if absent, the layer takes none. */
  readonly edgeDim?: number;
  /** Add W_skip x_v (the default). */
  readonly root?: boolean;
  readonly bias?: boolean;
  /** Width of the features of destinations, if it differs from that of sources. */
  readonly inDst?: number;
}

/**
 * x [Ns, in] (or [xSrc, xDst]) → [Nd, heads·out], or [Nd, out] when heads are averaged. Edge features [E, edgeDim] are
 * in the order of edge ids.
 *
 * @example
 * const conv = new TransformerConv(64, 32, { heads: 2, edgeDim: 172 });
 * const y = conv.forward(graph, x, edgeAttr); // [N, 64]
 */
export class TransformerConv extends Module {
  readonly heads: number;
  readonly concat: boolean;
  readonly attentionDropout: number;
  readonly linKey: Linear;
  readonly linQuery: Linear;
  readonly linValue: Linear;
  readonly linEdge: Linear | null;
  readonly linSkip: Linear | null;
  readonly linBeta: Linear | null;

  constructor(inFeatures: number, outFeatures: number, options: TransformerConvOptions = {}) {
    super();
    checkOptionNames('TransformerConv', options, {
      dtype: true,
      random: true,
      heads: true,
      concat: true,
      beta: true,
      attentionDropout: true,
      edgeDim: true,
      root: true,
      bias: true,
      inDst: true,
    });
    const { heads = 1, concat: joined = true, edgeDim, inDst = inFeatures } = options;
    checkSizes('TransformerConv', { inFeatures, outFeatures, heads, inDst });
    const width = heads * outFeatures;
    const outWidth = joined ? width : outFeatures;
    const noBias = { ...parameterOptions(options), bias: false };
    this.heads = heads;
    this.concat = joined;
    this.attentionDropout = checkNumber(
      'TransformerConv',
      'attentionDropout',
      options.attentionDropout ?? 0,
      0,
      1,
    );
    this.linKey = new Linear(inFeatures, width, options);
    this.linQuery = new Linear(inDst, width, options);
    this.linValue = new Linear(inFeatures, width, options);
    this.linEdge = edgeDim === undefined ? null : new Linear(edgeDim, width, noBias);
    this.linSkip = options.root === false ? null : new Linear(inDst, outWidth, options);
    this.linBeta =
      options.beta === true && this.linSkip !== null ? new Linear(3 * outWidth, 1, noBias) : null;
  }

  forward(graph: MessageGraph, x: Features | NodePair, edgeAttr: Tensor | null = null): Tensor {
    const { heads, linKey, linValue, linEdge } = this;
    const src = isPair(x) ? x[0] : x;
    checkInput('TransformerConv', 'x', src, graph.numSrcNodes, linKey.inFeatures);
    const given = checkEdgeFeatures('TransformerConv', graph, linEdge, edgeAttr);
    const key = splitHeads(project(src, linKey.weight, linKey.bias), heads);
    const value = splitHeads(project(src, linValue.weight, linValue.bias), heads);
    const query = splitHeads(this.#ofDst(graph, x, this.linQuery), heads);
    const scaled = mul(query, 1 / Math.sqrt(query.shape[2]));
    const scores = graph.dotScores(key, scaled);
    let y: Tensor;
    if (given === null || linEdge === null) {
      y = graph.aggregate(value, { weight: this.#weights(graph, scores) });
    } else {
      const edges = edgeSources(adjacencyOf('TransformerConv', graph));
      const edge = splitHeads(linEdge.forward(graph.toPositions(given)), heads);
      const weight = this.#weights(graph, add(scores, dotScores(edges, edge, scaled)));
      y = add(graph.aggregate(value, { weight }), aggregate(edges, edge, { weight }, null));
    }
    return this.#withSkip(graph, x, joinHeads(y, this.concat, null));
  }

  #weights(graph: MessageGraph, scores: Tensor): Tensor {
    const weights = graph.edgeSoftmax(scores);
    return dropRows(graph, 'positions', weights, this.training ? this.attentionDropout : 0);
  }

  #withSkip(graph: MessageGraph, x: Features | NodePair, y: Tensor): Tensor {
    if (this.linSkip === null) return y;
    const skip = this.#ofDst(graph, x, this.linSkip);
    if (this.linBeta === null) return add(y, skip);
    const beta = sigmoid(this.linBeta.forward(concat([y, skip, sub(y, skip)], 1)));
    return add(y, mul(beta, sub(skip, y)));
  }

  /** Applies a linear map to the destinations' rows. */
  #ofDst(graph: MessageGraph, x: Features | NodePair, lin: Linear): Tensor {
    if (x instanceof SparseMatrix) return graph.dstRows(project(x, lin.weight, lin.bias));
    const dst = isPair(x) ? x[1] : graph.dstRows(x);
    checkInput('TransformerConv', 'the destinations of x', dst, graph.numDstNodes, lin.inFeatures);
    return lin.forward(dst);
  }

  protected override describe(): string {
    return `${this.linKey.inFeatures} → ${this.linKey.outFeatures / this.heads}, ${this.heads} heads`;
  }
}

export const transformerType = convType({
  name: 'TRANSFORMER',
  settings: {
    ...headSettings,
    attention_dropout: attentionDropout,
    beta: flag(false, 'a learnt gate between the node itself and its neighbours', { ours: true }),
  },
  check: checkHeads,
  make: (options, { inFeatures, outFeatures, random }) =>
    new TransformerConv(inFeatures, headWidth(options, outFeatures), {
      ...{ random, bias: false },
      heads: options.num_heads,
      concat: !options.average_heads,
      attentionDropout: options.attention_dropout,
      beta: options.beta,
    }),
  run: (layer, block, x) => layer.forward(block, x),
});

/** Graphs of `edgeSources`, by adjacency. */
const edgeGraphs = new WeakMap<Adjacency, Adjacency>();

/**
 * Returns the graph in which every edge is a source node, by edge position, that points to the edge's destination. With
 * it, aggregations and scores over edge features need no copy of a node's row for every edge.
 */
function edgeSources(adjacency: Adjacency): Adjacency {
  let edges = edgeGraphs.get(adjacency);
  if (edges === undefined) {
    const { offsets, numEdges } = adjacency;
    edges = Adjacency.trusted(offsets, identity(numEdges).subarray(0, numEdges), numEdges);
    edgeGraphs.set(adjacency, edges);
  }
  return edges;
}
