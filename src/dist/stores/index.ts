/** Tables whose rows are distributed over workers. */
export { DistributedEmbeddings, type DistributedEmbeddingsOptions } from './distributed-embeddings.js';
export { RemoteRowStore, type RemoteRowStoreOptions } from './remote-row-store.js';
