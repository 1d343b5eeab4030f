/** Tables whose rows lie with many workers. */
export { DistributedEmbeddings, ownPartitions } from './distributed-embeddings.js';
export {
  type RemoteRowStats,
  RemoteRowStore,
  type RemoteRowStoreOptions,
} from './remote-row-store.js';
