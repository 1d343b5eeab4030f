/** How this process was started: which launcher, if any, and as which of how many workers. */

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
export function launchedBy(
  env: Readonly<Record<string, string | undefined>> = globalThis.process?.env ?? {},
): Launch | null {
  for (const { name, rank, size } of launchers) {
    const number = Number(env[rank] ?? Number.NaN);
    const count = Number(env[size] ?? Number.NaN);
    if (Number.isInteger(number) && Number.isInteger(count) && count > 0)
      return { launcher: name, rank: number, size: count };
  }
  return null;
}
