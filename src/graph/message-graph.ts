/**
 * The interface of graphs to layers. A whole graph, a sampled block, a relation of a heterogeneous graph and a graph
 * that is distributed over workers implement it, so a layer is written once.
 *
 * Messages are passed in two ways. By field names: set `srcdata`, `dstdata`, `edata`, then `updateAll` or `applyEdges`.
 * Or by tensors, as the layers do: `aggregate`, `dotScores`, `edgeSoftmax`, `attention`. Tensors with one row per edge
 * are in edge-id order in frames; the functions of tensors use position order (by destination); `toPositions` and
 * `toEdgeIds` convert between the two.
 */
import type { FloatArray } from '../native/index.js';
import type { Ids, Tensor, TensorDevice } from '../tensor/index.js';
import type { Message, NodeFunction, Reduce, ReduceName, UserMessage } from './fn.js';
import type { Frame } from './frame.js';

export interface AggregateOptions {
  readonly reduce?: ReduceName;
  /** A factor per edge in position order: [E], [E, 1] or, for x [N, H, D], [E, H] or [E, H, 1]. */
  readonly weight?: Tensor | null;
  /** A constant factor per source, of the dtype of x. */
  readonly srcScale?: FloatArray | null;
  /** A constant factor per destination. */
  readonly dstScale?: FloatArray | null;
  /** Include each destination as a neighbour of itself (sum and mean). */
  readonly self?: boolean;
}

export interface AttentionOptions {
  /** The slope of the leaky ReLU of scores. */
  readonly slope?: number;
  /** An additional score per edge and head in position order, [E, H]. */
  readonly edgeScore?: Tensor | null;
  /** Probability that an attention weight is dropped; 0 outside training. */
  readonly dropout?: number;
}

/** Rows of sources, rows of destinations, or rows of edges in position order. */
export type RowsOf = 'src' | 'dst' | 'positions';

export interface MessageGraph {
  readonly numSrcNodes: number;
  readonly numDstNodes: number;
  readonly numEdges: number;
  readonly srcdata: Frame;
  readonly dstdata: Frame;
  /** Data of all nodes, if sources and destinations are the same. */
  readonly ndata: Frame;
  /** Data of edges, in the order of edge ids. */
  readonly edata: Frame;
  /**
   * Sends a message along every edge and reduces the messages of each destination into `dstdata`; then `apply`, if
   * given, computes more fields of the destinations.
   */
  updateAll(message: Message | UserMessage, reduce: Reduce, apply?: NodeFunction): void;
  /** Computes a message for every edge into `edata`. */
  applyEdges(message: Message | UserMessage): void;
  /** Runs `fn` and then removes the fields that it set. */
  localScope<T>(fn: () => T): T;
  /** Returns the number of edges into each destination, or into each of `nodes`. */
  inDegrees(nodes?: Ids): Int32Array;
  /** Returns the number of edges out of each source, or out of each of `nodes`. */
  outDegrees(nodes?: Ids): Int32Array;

  /** Returns the rows of the destinations from a tensor of source rows. */
  dstRows(x: Tensor): Tensor;
  /** Reorders edge rows from edge ids to positions. */
  toPositions(edgeRows: Tensor): Tensor;
  /** Reorders edge rows from positions to edge ids. */
  toEdgeIds(positionRows: Tensor): Tensor;
  /** Reduces (weighted) source rows over the edges into each destination: x [Ns, …] to [Nd, …]. */
  aggregate(x: Tensor, options?: AggregateOptions): Tensor;
  /**
   * Whether rows of `x` that were received from other workers are cached (`cacheInputs`). Aggregating `x` is then
   * cheaper than aggregating a narrower projection of it, whose rows would be received every time.
   */
  keepsRows(x: Tensor): boolean;
  /** Reduces edge rows over the edges into each destination: [E, …] to [Nd, …]. */
  aggregateEdges(positionRows: Tensor, reduce?: ReduceName): Tensor;
  /** Returns the row of each edge's source. */
  srcToEdges(x: Tensor): Tensor;
  /** Returns the row of each edge's destination. */
  dstToEdges(x: Tensor): Tensor;
  /** Computes the inner product of both ends for each edge and head: [Ns, H, D], [Nd, H, D] to [E, H]. */
  dotScores(src: Tensor, dst: Tensor): Tensor;
  /** Computes the scores of GATv2, aᵀ leakyRelu(src + dst + edge), for each edge and head. */
  additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor;
  /** Computes the softmax over the edges into each destination, for each column: [E, H]. */
  edgeSoftmax(scores: Tensor): Tensor;
  /**
   * Computes attention in one pass: weights = softmax over the edges into v of leakyRelu(srcScore[u] + dstScore[v] +
   * edgeScore), result[v] = Σ weight · value[u]. value [Ns, H, D], scores [·, H]. Backward stores nothing per edge and
   * head.
   */
  attention(value: Tensor, srcScore: Tensor, dstScore: Tensor, options?: AttentionOptions): Tensor;
  /**
   * The destinations to which `withSelfLoops` added a loop; the ids of those edges follow all others, in this order.
   */
  readonly addedLoops: Int32Array | null;
  /** Returns this graph with a self loop of each destination that has none. */
  withSelfLoops(): MessageGraph;
  /**
   * Returns the weighted in-degrees for symmetric normalisation: of the sources in the whole graph, and of the
   * destinations in this one. With `selfLoops`, a node without a self loop is treated as if it had one.
   */
  normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array };
  /** Returns the weights of the edges in position order, as a constant tensor; null if all are 1. */
  positionWeights(dtype: 'f32' | 'f64', device?: TensorDevice | null): Tensor | null;
  /** Whether some edge is a self loop. */
  hasSelfLoops(): boolean;
  /** The edge of the whole graph for each edge, by edge id; null if this is a whole graph. */
  readonly parentEdgeIds: Int32Array | null;
  /** The ids of the destinations in the whole graph; null if they are 0, 1, 2, … or unknown. */
  readonly dstIds: Int32Array | null;
  /** Returns the id, in the whole graph, of the source at each position. */
  positionSources(): Int32Array;
  /**
   * Returns the ids of rows in the whole graph: ids of nodes or edges, −1 − node for an added loop; null if they are
   * 0, 1, 2, …. Dropout draws by these ids, so that a node or an edge is treated alike in every subgraph.
   */
  rowIds(rows: RowsOf): Int32Array | null;
  /**
   * Returns the same edges and sources with other destinations: destination d gets the edges at positions
   * order[offsets[d]] … order[offsets[d+1] − 1], in this order.
   */
  regroup(offsets: Int32Array, order: Int32Array): MessageGraph;
}
