/** A graph spread over workers: shards, and the graphs made of them. */
export { constructFullGraph, type FullGraphOptions } from './construct-full-graph.js';
export { DistributedBlock } from './distributed-block.js';
export { type DistributedEdges, DistributedGraph } from './distributed-graph.js';
export { GraphShard, type ShardOutEdges } from './graph-shard.js';
export { GraphShardManager } from './graph-shard-manager.js';
export { type MemoryPlan, planMemory, planMemoryOf } from './plan-memory.js';
export { RowLink, type Traffic, trafficOf } from './row-link.js';
export type { ShardMode } from './shard-rows.js';
export type { ShardingOptions } from './sharding-options.js';
