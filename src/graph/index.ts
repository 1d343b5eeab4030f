/** Graphs and message passing. */
export { Adjacency } from './adjacency.js';
export { Block, type BlockOptions } from './block.js';
export {
  type EdgeBatch,
  fn,
  type Message,
  messageHasParameters,
  type NodeFunction,
  type Reduce,
  type ReduceName,
  type UserMessage,
} from './fn.js';
export type { Frame } from './frame.js';
export { type CscOptions, Graph, type GraphOptions } from './graph.js';
export {
  type AttributeValues,
  type FromGraphologyOptions,
  fromGraphology,
  type GraphologyData,
  type GraphologyGraph,
  type GraphologyTarget,
  type ToGraphologySource,
  toGraphology,
} from './graphology.js';
export { type EdgeType, type EdgeTypeName, HeteroGraph } from './hetero-graph.js';
export { LocalGraph } from './local-graph.js';
export type { AggregateOptions, AttentionOptions, MessageGraph } from './message-graph.js';
export { edgeSoftmax } from './message-passing.js';
export { metisPartition, type Partition } from './partition/index.js';
export { SparseMatrix } from './sparse-matrix.js';
export type { TCSR } from './temporal-adjacency.js';
export type { TemporalEvents } from './temporal-events.js';
export { TemporalGraph, type TemporalGraphOptions } from './temporal-graph.js';
export { splitByTime, type TemporalSplit, type TemporalSplitOptions } from './temporal-split.js';
export {
  addSelfLoops,
  disjointUnion,
  edgeSubgraph,
  inBlock,
  removeSelfLoops,
  reverse,
  type Subgraph,
  subgraph,
  toUndirected,
} from './transforms.js';
