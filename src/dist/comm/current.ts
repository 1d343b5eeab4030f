/**
 * The communicator that functions use when none is given: a program opens one at its start and seldom another.
 */
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from './communicator.js';
import { openedMpi } from './mpi-communicator.js';
import { type OpenOptions, openCommunicator } from './open-communicator.js';

let current: Communicator | null = null;

/**
 * The communicator last given to `setCommunicator`; without one, that which MPI has opened in this process; else it is
 * opened as `openCommunicator(options)` does.
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

/** Makes `comm` the one that functions use when none is given; null forgets it. */
export function setCommunicator(comm: Communicator | null): void {
  current = comm;
}
