/** Event streams on several workers: stores of memory and mail, division of batches, steps. */
export { DistributedStore, type DistributedStoreOptions, type StoreTraffic } from './distributed-store.js';
export { type Division, divideByOwner, divideByPosition } from './division.js';
export { NodeOwners, type OwnedRows } from './node-owners.js';
export { ReplicaStore, type ReplicaStoreOptions } from './replica-store.js';
export { SeparateStore } from './separate-store.js';
export { type WorkerBatch, WorkerLoader, type WorkerLoaderOptions } from './worker-loader.js';
export { WorkerRuntime, type WorkerRuntimeOptions } from './worker-runtime.js';
