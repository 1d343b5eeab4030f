/**
 * The command line that starts the ranks, for each launcher. Pure: what is installed and where we are is given, so that tests
 * need neither Slurm nor MPICH.
 *
 * Ranks are not bound to cores: each has several threads, and Open MPI would put all of them on one core.
 */
export type LauncherKind = 'openmpi' | 'mpich' | 'srun';

export interface LaunchPlan {
  readonly kind: LauncherKind;
  /** The launcher's program. */
  readonly program: string;
  readonly ranks: number;
  readonly hosts?: string;
  /** `first`: the output of rank 0 alone; `all`: every line with its rank. */
  readonly output: 'first' | 'all';
  readonly isRoot: boolean;
  readonly cores: number;
  /** Where other ranks put their error output; null lets it through. */
  readonly errorFolder: string | null;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LaunchCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** What to add to the environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** On other machines only the rank itself can see how many cores there are and with how many ranks it shares them. */
const shareScript = [
  'for local in "$OMPI_COMM_WORLD_LOCAL_SIZE" "$MPI_LOCALNRANKS"; do [ -n "$local" ] && break; done',
  'threads=$SLURM_CPUS_PER_TASK',
  '[ -z "$threads" ] && [ -n "$local" ] && threads=$(($(nproc || getconf _NPROCESSORS_ONLN) / local))',
  'if [ -z "$SKEIN_THREADS" ] && [ -n "$threads" ]; then',
  '  [ "$threads" -lt 1 ] && threads=1',
  '  export SKEIN_THREADS=$threads',
  'fi',
];

/** Runs a command with the output of rank 0 only; errors of the others go to a folder if this machine has it. */
const quietScript = [
  // The first of these that is set.
  'for rank in "$OMPI_COMM_WORLD_RANK" "$PMI_RANK" "$SLURM_PROCID" 0; do [ -n "$rank" ] && break; done',
  'if [ "$rank" = 0 ]; then exec "$@"; fi',
  'if [ -n "$folder" ] && [ -d "$folder" ]; then exec "$@" >/dev/null 2>"$folder/rank-$rank"; fi',
  'exec "$@" >/dev/null',
];

/** What schedulers and settings of MPI say about hosts; ranks may then be on other machines without `--hosts`. */
const hostLists = [
  'OMPI_MCA_orte_default_hostfile',
  'PRTE_MCA_prte_default_hostfile',
  'HYDRA_HOST_FILE',
  'PBS_NODEFILE',
  'PE_HOSTFILE',
  'LSB_HOSTS',
];

function isSpread({ env, hosts, kind }: LaunchPlan): boolean {
  const nodes = Number(env.SLURM_JOB_NUM_NODES ?? env.SLURM_NNODES ?? 1);
  return (
    hosts !== undefined || kind === 'srun' || nodes > 1 || hostLists.some((name) => env[name] !== undefined)
  );
}

export function launchCommand(plan: LaunchPlan): LaunchCommand {
  const { kind, ranks, output, errorFolder, command } = plan;
  const env = threadShare(plan);
  const flags = { openmpi: openMpiFlags, mpich: mpichFlags, srun: srunFlags }[kind](plan, env);
  // `exec` keeps one process for each rank, so that signals reach the right one.
  const script = [
    ...(isSpread(plan) ? shareScript : []),
    ...(output === 'first' && ranks > 1 ? quietScript : isSpread(plan) ? ['exec "$@"'] : []),
  ];
  const shell = ['sh', '-c', ['folder=$1; shift', ...script].join('\n'), 'sh', errorFolder ?? ''];
  return { program: plan.program, args: [...flags, ...(script.length > 0 ? shell : []), ...command], env };
}

/** On one machine the ranks share its cores. */
function threadShare(plan: LaunchPlan): Record<string, string> {
  const { env, cores, ranks } = plan;
  if (env.SKEIN_THREADS !== undefined || isSpread(plan)) return {};
  return { SKEIN_THREADS: String(Math.max(1, Math.floor(cores / ranks))) };
}

function openMpiFlags(plan: LaunchPlan, added: Readonly<Record<string, string>>): string[] {
  const flags = ['-n', String(plan.ranks), '--bind-to', 'none'];
  // A page of text after every error hides the error. Across machines its advice on what is wrong with them is needed.
  if (!isSpread(plan)) flags.push('--quiet');
  if (plan.isRoot) flags.push('--allow-run-as-root');
  if (plan.hosts !== undefined) flags.push('--host', plan.hosts);
  if (isSpread(plan)) {
    // Other machines get no environment but what is named.
    const named = Object.keys({ ...plan.env, ...added }).filter((name) => /^(SKEIN|OMP)_/.test(name));
    for (const name of named) flags.push('-x', name);
  } else {
    // Open MPI counts cores, we count hardware threads: at half of them its slots may be used up.
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
