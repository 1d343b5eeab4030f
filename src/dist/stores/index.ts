/** Tables whose rows lie with many workers. */
export { DistributedEmbeddings, type DistributedEmbeddingsOptions } from './distributed-embeddings.js';
export { ownPieces } from './own-pieces.js';
export {
  type RemoteRowStats,
  RemoteRowStore,
  type RemoteRowStoreOptions,
} from './remote-row-store.js';
export { ShardEmbeddings, type ShardEmbeddingsParts } from './shard-embeddings.js';
export { openSpreadRows, type SpreadRowsOptions } from './spread-rows.js';
