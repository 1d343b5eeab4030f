/** Distributed graphs: shards, and the graphs made of them. */
export { constructFullGraph, constructHeteroGraph, type FullGraphOptions } from './construct-full-graph.js';
export { constructHeteroMfgs, constructMfgs } from './construct-mfgs.js';
export { DistributedBlock } from './distributed-block.js';
export { type DistributedEdges, DistributedGraph } from './distributed-graph.js';
export { GraphShard } from './graph-shard.js';
export { GraphShardManager } from './graph-shard-manager.js';
export { HeteroDistributedGraph, HeteroGraphShardManager } from './hetero-graph-shard-manager.js';
export { planShardMemory, type ShardMemoryPlan } from './plan-memory.js';
export type { ShardMode } from './shard-rows.js';
export type { ShardingOptions } from './sharding-options.js';
