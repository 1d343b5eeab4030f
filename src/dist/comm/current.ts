/**
 * The default communicator of functions that are called without one: a program opens it at its start and rarely changes
 * it.
 */
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from './communicator.js';
import { openedMpi } from './mpi-communicator.js';
import { type OpenOptions, openCommunicator } from './open-communicator.js';

let current: Communicator | null = null;

/**
 * Returns the communicator last passed to `setCommunicator`; otherwise the one that MPI has opened in this process;
 * otherwise opens one with `openCommunicator(options)`.
 */
export function currentCommunicator(options: OpenOptions = {}): Communicator {
  checkOptionNames('currentCommunicator', options, {
    timeout: true,
    peerTimeout: true,
    chunkBytes: true,
    maxSleep: true,
    oneSided: true,
    kind: true,
  });
  current ??= openedMpi() ?? openCommunicator(options);
  return current;
}

/** Makes `comm` the default communicator; null resets it. */
export function setCommunicator(comm: Communicator | null): void {
  current = comm;
}
