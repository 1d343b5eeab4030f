/**
 * Opens the communicator that matches how this process was started: MPI if a launcher started several processes, else
 * one worker.
 */
import { launchedBy } from '../../util/launched-by.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from './communicator.js';
import { MpiCommunicator, type MpiOptions } from './mpi-communicator.js';
import { SelfCommunicator } from './self-communicator.js';

export interface OpenOptions extends MpiOptions {
  /** `auto` (the default): `mpi` when a launcher started this process as one of several, else `self`. */
  readonly kind?: 'auto' | 'self' | 'mpi';
}

/** Opens a communicator; under a launcher once per process. `currentCommunicator()` returns the same one again. */
export function openCommunicator(options: OpenOptions = {}): Communicator {
  checkOptionNames('openCommunicator', options, {
    timeout: true,
    peerTimeout: true,
    chunkBytes: true,
    maxSleep: true,
    oneSided: true,
    kind: true,
  });
  const { kind = 'auto', ...others } = options;
  const mpi = kind === 'mpi' || (kind === 'auto' && (launchedBy()?.size ?? 1) > 1);
  return mpi ? new MpiCommunicator(others) : new SelfCommunicator();
}
