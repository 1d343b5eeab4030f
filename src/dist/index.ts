/** Training on several workers: what they say to each other. Needs Node; MPI only where it is asked for. */
export {
  type CommArray,
  type CommHandle,
  type Communicator,
  type ReduceArray,
  type Reduction,
  reductions,
} from './communicator.js';
export { MpiCommunicator, type MpiOptions } from './mpi-communicator.js';
export { type Launch, launchedBy, type OpenOptions, openCommunicator } from './open-communicator.js';
export { SelfCommunicator } from './self-communicator.js';
