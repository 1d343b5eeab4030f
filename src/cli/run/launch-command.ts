/**
 * The command line that starts the ranks, for each launcher. A pure function of the plan, so that tests need neither Slurm
 * nor MPICH.
 *
 * Ranks are not bound to cores: each has several threads, and Open MPI would bind all of them to one core.
 */
export type LauncherKind = 'openmpi' | 'mpich' | 'srun';

export interface LaunchPlan {
  readonly kind: LauncherKind;
  readonly program: string;
  readonly ranks: number;
  readonly hosts?: string;
  /** `first`: the output of rank 0 alone; `all`: every line with its rank. */
  readonly output: 'first' | 'all';
  readonly isRoot: boolean;
  readonly cores: number;
  /** Folder for the error output of ranks other than 0; null prints it. */
  readonly errorFolder: string | null;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LaunchCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Variables to add to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Sets the threads of a rank from the cores of its machine, which other machines cannot see. */
const threadScript = [
  'for local in "$OMPI_COMM_WORLD_LOCAL_SIZE" "$MPI_LOCALNRANKS"; do [ -n "$local" ] && break; done',
  'threads=$SLURM_CPUS_PER_TASK',
  '[ -z "$threads" ] && [ -n "$local" ] && threads=$(($(nproc || getconf _NPROCESSORS_ONLN) / local))',
  'if [ -z "$SKEIN_THREADS" ] && [ -n "$threads" ]; then',
  '  [ "$threads" -lt 1 ] && threads=1',
  '  export SKEIN_THREADS=$threads',
  'fi',
];

/** Runs a command with the output of rank 0 only; errors of other ranks go to a folder if this machine has it. */
const quietScript = [
  // The first of these that is set.
  'for rank in "$OMPI_COMM_WORLD_RANK" "$PMI_RANK" "$SLURM_PROCID" 0; do [ -n "$rank" ] && break; done',
  'if [ "$rank" = 0 ]; then exec "$@"; fi',
  'if [ -n "$folder" ] && [ -d "$folder" ]; then exec "$@" >/dev/null 2>"$folder/rank-$rank"; fi',
  'exec "$@" >/dev/null',
];

/** Variables by which schedulers and MPI settings list hosts; ranks may then be on other machines without `--hosts`. */
const hostLists = [
  'OMPI_MCA_orte_default_hostfile',
  'PRTE_MCA_prte_default_hostfile',
  'HYDRA_HOST_FILE',
  'PBS_NODEFILE',
  'PE_HOSTFILE',
  'LSB_HOSTS',
];

function spansMachines({ env, hosts, kind }: LaunchPlan): boolean {
  const nodes = Number(env.SLURM_JOB_NUM_NODES ?? env.SLURM_NNODES ?? 1);
  return (
    hosts !== undefined || kind === 'srun' || nodes > 1 || hostLists.some((name) => env[name] !== undefined)
  );
}

export function launchCommand(plan: LaunchPlan): LaunchCommand {
  const { kind, ranks, output, errorFolder, command } = plan;
  const env = threadsPerRank(plan);
  const flags = { openmpi: openMpiFlags, mpich: mpichFlags, srun: srunFlags }[kind](plan, env);
  // `exec` keeps one process for each rank, so that signals reach the right one.
  const script = [
    ...(spansMachines(plan) ? threadScript : []),
    ...(output === 'first' && ranks > 1 ? quietScript : spansMachines(plan) ? ['exec "$@"'] : []),
  ];
  const shell = ['sh', '-c', ['folder=$1; shift', ...script].join('\n'), 'sh', errorFolder ?? ''];
  return { program: plan.program, args: [...flags, ...(script.length > 0 ? shell : []), ...command], env };
}

/** Divides the cores of one machine among its ranks. */
function threadsPerRank(plan: LaunchPlan): Record<string, string> {
  const { env, cores, ranks } = plan;
  if (env.SKEIN_THREADS !== undefined || spansMachines(plan)) return {};
  return { SKEIN_THREADS: String(Math.max(1, Math.floor(cores / ranks))) };
}

function openMpiFlags(plan: LaunchPlan, added: Readonly<Record<string, string>>): string[] {
  const flags = ['-n', String(plan.ranks), '--bind-to', 'none'];
  // Open MPI's page of advice hides our error message. Across machines the advice is useful.
  if (!spansMachines(plan)) flags.push('--quiet');
  if (plan.isRoot) flags.push('--allow-run-as-root');
  if (plan.hosts !== undefined) flags.push('--host', plan.hosts);
  if (spansMachines(plan)) {
    // Other machines get only the listed variables.
    const names = Object.keys({ ...plan.env, ...added }).filter((name) => /^(SKEIN|OMP)_/.test(name));
    for (const name of names) flags.push('-x', name);
  } else {
    // Open MPI counts cores, we count hardware threads: its slots may be used up at half of them.
    if (plan.ranks > plan.cores / 2) flags.push('--oversubscribe');
    if (plan.ranks > plan.cores) flags.push('--mca', 'mpi_yield_when_idle', '1');
  }
  if (plan.output === 'all') flags.push('--tag-output');
  return flags;
}

function mpichFlags(plan: LaunchPlan): string[] {
  const flags = ['-n', String(plan.ranks)];
  if (plan.hosts !== undefined) flags.push('-hosts', plan.hosts);
  if (plan.output === 'all') flags.push('-prepend-rank');
  return flags;
}

function srunFlags(plan: LaunchPlan): string[] {
  const flags = [`--ntasks=${plan.ranks}`, '--kill-on-bad-exit=1', '--cpu-bind=none'];
  if (plan.hosts !== undefined) flags.push(`--nodelist=${plan.hosts.replaceAll(/:\d+/g, '')}`);
  if (plan.output === 'all') flags.push('--label');
  return flags;
}
