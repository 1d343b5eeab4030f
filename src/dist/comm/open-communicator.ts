/**
 * Opens the communicator that matches how this process was started: MPI if a launcher started several processes, else
 * one worker.
 */
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from './communicator.js';
import { MpiCommunicator, type MpiOptions } from './mpi-communicator.js';
import { SelfCommunicator } from './self-communicator.js';

/** Environment variables in which each launcher passes the rank and the number of processes. */
const launchers = [
  { name: 'mpirun', rank: 'OMPI_COMM_WORLD_RANK', size: 'OMPI_COMM_WORLD_SIZE' },
  { name: 'srun', rank: 'SLURM_PROCID', size: 'SLURM_STEP_NUM_TASKS' },
  { name: 'mpiexec', rank: 'PMI_RANK', size: 'PMI_SIZE' },
] as const;

export interface Launch {
  readonly launcher: 'mpirun' | 'srun' | 'mpiexec';
  readonly rank: number;
  readonly size: number;
}

/** Returns the launcher that started this process with its rank and size, or null. */
export function launchedBy(env: Readonly<Record<string, string | undefined>> = process.env): Launch | null {
  for (const { name, rank, size } of launchers) {
    const number = Number(env[rank] ?? Number.NaN);
    const count = Number(env[size] ?? Number.NaN);
    if (Number.isInteger(number) && Number.isInteger(count) && count > 0)
      return { launcher: name, rank: number, size: count };
  }
  return null;
}

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
