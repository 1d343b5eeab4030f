/** Tables whose rows lie with many workers. */
export {
  type RemoteRowStats,
  RemoteRowStore,
  type RemoteRowStoreOptions,
} from './remote-row-store.js';
