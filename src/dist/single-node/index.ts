/** Many workers on one machine whose memory holds the state of only a few. */
export { FileLock, LocalLock, type Lock } from './lock.js';
export { PartitionDataManager, type PartitionDataManagerOptions } from './partition-data-manager.js';
export { spillingCommunicator } from './spilling-communicator.js';
