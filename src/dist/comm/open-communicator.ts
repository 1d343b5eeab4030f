/**
 * The communicator that fits how this process was started: MPI when a launcher started several, one worker otherwise.
 */
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from './communicator.js';
import { MpiCommunicator, type MpiOptions } from './mpi-communicator.js';
import { SelfCommunicator } from './self-communicator.js';

/** What each launcher tells its processes: number of the process and number of processes. */
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

/** Which launcher started this process, and its place; null without one. */
export function launchedBy(env: Readonly<Record<string, string | undefined>> = process.env): Launch | null {
  for (const { name, rank, size } of launchers) {
    const place = Number(env[rank] ?? Number.NaN);
    const count = Number(env[size] ?? Number.NaN);
    if (Number.isInteger(place) && Number.isInteger(count) && count > 0)
      return { launcher: name, rank: place, size: count };
  }
  return null;
}

export interface OpenOptions extends MpiOptions {
  /** `auto` (the default): `mpi` when a launcher started this process as one of several, else `self`. */
  readonly kind?: 'auto' | 'self' | 'mpi';
}

/** Under a launcher once in the life of a process; `currentCommunicator()` gives the same one again. */
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
