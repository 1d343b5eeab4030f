/**
 * What a layer sees of a graph. A whole graph, a sampled block, a relation of a heterogeneous graph and a graph spread
 * over workers all look like this, so a layer is written once.
 *
 * Two ways to pass messages. By field names: set `srcdata`, `dstdata`, `edata`, then `updateAll` or `applyEdges`. Or by
 * tensors, as the layers do: `aggregate`, `dotScores`, `edgeSoftmax`, `attention`. Tensors with one row per edge are in
 * edge-id order in frames; the functions by tensors use slot order (by destination), which `toSlots` and `toEdgeIds`
 * convert.
 */
import type { FloatArray } from '../native/index.js';
import type { Ids, Tensor, TensorDevice } from '../tensor/index.js';
import type { Message, NodeFunction, Reduce, ReduceName, UserMessage } from './fn.js';
import type { Frame } from './frame.js';

export interface AggregateOptions {
  readonly reduce?: ReduceName;
  /** A factor per edge in slot order: [E], [E, 1] or, for x [N, H, D], [E, H] or [E, H, 1]. */
  readonly weight?: Tensor | null;
  /** A constant factor per source; of the dtype of x. */
  readonly srcScale?: FloatArray | null;
  /** A constant factor per destination. */
  readonly dstScale?: FloatArray | null;
  /** Count each destination itself as one more neighbour (sum and mean). */
  readonly self?: boolean;
}

export interface AttentionOptions {
  /** Slope of the leaky ReLU on scores. */
  readonly slope?: number;
  /** An additional score per edge and head in slot order, [E, H]. */
  readonly edgeScore?: Tensor | null;
  /** Probability that an attention weight is dropped; 0 outside training. */
  readonly dropout?: number;
}

/** Rows of sources, rows of destinations, or rows of edges in slot order. */
export type RowsOf = 'src' | 'dst' | 'slots';

export interface MessageGraph {
  readonly numSrcNodes: number;
  readonly numDstNodes: number;
  readonly numEdges: number;
  readonly srcdata: Frame;
  readonly dstdata: Frame;
  /** Data of all nodes, where sources and destinations are the same. */
  readonly ndata: Frame;
  /** Data of edges, in the order of edge ids. */
  readonly edata: Frame;
  /**
   * Sends a message along every edge and reduces what meets in each destination into `dstdata`; then `apply`, if given,
   * computes more fields of the destinations.
   */
  updateAll(message: Message | UserMessage, reduce: Reduce, apply?: NodeFunction): void;
  /** Computes a message for every edge into `edata`. */
  applyEdges(message: Message | UserMessage): void;
  /** Runs `fn`; fields set inside are gone afterwards. */
  localScope<T>(fn: () => T): T;
  /** Edges into each destination, or into each of `nodes`. */
  inDegrees(nodes?: Ids): Int32Array;
  /** Edges out of each source, or out of each of `nodes`. */
  outDegrees(nodes?: Ids): Int32Array;

  /** The rows of a source-side tensor that belong to the destinations. */
  dstRows(x: Tensor): Tensor;
  /** Edge rows from edge-id order to slot order. */
  toSlots(edgeRows: Tensor): Tensor;
  /** Edge rows from slot order to edge-id order. */
  toEdgeIds(slotRows: Tensor): Tensor;
  /** The reduction of (weighted) source rows over the edges into each destination: x [Ns, …] to [Nd, …]. */
  aggregate(x: Tensor, options?: AggregateOptions): Tensor;
  /**
   * Whether rows of `x` that lie elsewhere are kept here once they came (`cacheInputs`). Aggregating `x` is then cheaper than
   * aggregating a narrower projection of it, whose rows would have to come every time.
   */
  keepsRows(x: Tensor): boolean;
  /** The reduction of edge rows over the edges into each destination: [E, …] to [Nd, …]. */
  aggregateEdges(slotRows: Tensor, reduce?: ReduceName): Tensor;
  /** The source's row for each edge. */
  srcToEdges(x: Tensor): Tensor;
  /** The destination's row for each edge. */
  dstToEdges(x: Tensor): Tensor;
  /** The inner product of both ends for each edge and head: [Ns, H, D], [Nd, H, D] to [E, H]. */
  dotScores(src: Tensor, dst: Tensor): Tensor;
  /** aᵀ leakyRelu(src + dst + edge) for each edge and head: the scores of GATv2. */
  additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor;
  /** Softmax over the edges into each destination, for each column: [E, H]. */
  edgeSoftmax(scores: Tensor): Tensor;
  /**
   * Attention in one pass: weights = softmax over the edges into v of leakyRelu(srcScore[u] + dstScore[v] + edgeScore),
   * result[v] = Σ weight · value[u]. value [Ns, H, D], scores [·, H]. Nothing per edge and head is kept for backward.
   */
  attention(value: Tensor, srcScore: Tensor, dstScore: Tensor, options?: AttentionOptions): Tensor;
  /** The destinations that `withSelfLoops` gave a loop here; the ids of those edges follow all others, in this order. */
  readonly addedLoops: Int32Array | null;
  /** This graph with one edge from each destination to itself, where there is none yet. */
  withSelfLoops(): MessageGraph;
  /**
   * Weighted in-degrees for symmetric normalisation: of the sources in the whole graph that this is a part of, and of the
   * destinations here. With `selfLoops`, a node without a self loop counts as if it had one.
   */
  normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array };
  /** Weights of the edges in slot order, as a constant tensor; null when all are 1. */
  slotWeights(dtype: 'f32' | 'f64', device?: TensorDevice | null): Tensor | null;
  /** Whether some edge is a self loop. */
  hasSelfLoops(): boolean;
  /** The edge of the whole graph behind each edge here, by edge id; null when this is no part of one. */
  readonly parentEdgeIds: Int32Array | null;
  /** The ids of the destinations in the whole graph that this is a part of; null when they are 0, 1, 2, … or not known. */
  readonly dstIds: Int32Array | null;
  /** The id of each slot's source in the whole graph that this is a part of. */
  slotSources(): Int32Array;
  /**
   * What rows are in the whole graph that this is a part of: ids of nodes or edges, −1 − node for an added loop; null when
   * they are 0, 1, 2, …. Dropout goes by these ids, so that a node or an edge is treated alike in every part of a graph.
   */
  rowIds(rows: RowsOf): Int32Array | null;
  /**
   * The same edges and sources with other destinations: destination d gets the edges in slots order[offsets[d]] …
   * order[offsets[d+1] − 1], which become its slots.
   */
  regrouped(offsets: Int32Array, order: Int32Array): MessageGraph;
}
