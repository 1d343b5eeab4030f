/** Tables whose rows are distributed over workers. */
export { DistributedEmbeddings, type DistributedEmbeddingsOptions } from './distributed-embeddings.js';
export { ownSlices } from './own-slices.js';
export {
  type RemoteRowStats,
  RemoteRowStore,
  type RemoteRowStoreOptions,
} from './remote-row-store.js';
export { ShardEmbeddings, type ShardEmbeddingsOptions } from './shard-embeddings.js';
export { openShardedRows, type ShardedRowsOptions } from './sharded-rows.js';
