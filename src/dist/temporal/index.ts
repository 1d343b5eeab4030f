/** Event streams on several workers: stores of memory and mail, division of batches, steps. */
export { DistributedStore, type DistributedStoreOptions } from './distributed-store.js';
export { divideByOwner, divideByPosition } from './division.js';
export { NodeOwners } from './node-owners.js';
export { ReplicaStore, type ReplicaStoreOptions } from './replica-store.js';
export { SeparateStore } from './separate-store.js';
export { WorkerLoader, type WorkerLoaderOptions } from './worker-loader.js';
export { WorkerRuntime, type WorkerRuntimeOptions } from './worker-runtime.js';
