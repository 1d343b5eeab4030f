/** Training on several workers: communication, distributed graphs, stores and sampling. Needs Node; loads MPI on request. */

export type { CommArray, CommHandle, Communicator } from './comm/communicator.js';
export { currentCommunicator, setCommunicator } from './comm/current.js';
export { MpiCommunicator, type MpiOptions } from './comm/mpi-communicator.js';
export { type OpenOptions, openCommunicator } from './comm/open-communicator.js';
export { SelfCommunicator } from './comm/self-communicator.js';
export { WorkerGroup, type WorkerGroupOptions } from './group/worker-group.js';
export * from './nn/index.js';
export * from './partition/index.js';
export * from './sampling/index.js';
export * from './shards/index.js';
export * from './single-node/index.js';
export * from './stores/index.js';
export * from './temporal/index.js';
