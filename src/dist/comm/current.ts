/**
 * The communicator that functions use when none is given: a program opens one at its start and seldom another.
 */
import type { Communicator } from './communicator.js';
import { openCommunicator } from './open-communicator.js';

let current: Communicator | null = null;

/** The communicator last given to `setCommunicator`; without one, it is opened as `openCommunicator()` does. */
export function currentCommunicator(): Communicator {
  current ??= openCommunicator();
  return current;
}

/** Makes `comm` the one that functions use when none is given; null forgets it. */
export function setCommunicator(comm: Communicator | null): void {
  current = comm;
}
