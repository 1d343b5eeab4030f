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

/** Runs a command with the output of rank 0 only. `exec` keeps one process for each rank, so signals reach the right one. */
const quietScript = [
  // The first of these that is set.
  'for rank in "$OMPI_COMM_WORLD_RANK" "$PMI_RANK" "$SLURM_PROCID" 0; do [ -n "$rank" ] && break; done',
  'folder=$1; shift',
  'if [ "$rank" = 0 ]; then exec "$@"; fi',
  'if [ -n "$folder" ]; then exec "$@" >/dev/null 2>"$folder/rank-$rank"; fi',
  'exec "$@" >/dev/null',
].join('\n');

export function launchCommand(plan: LaunchPlan): LaunchCommand {
  const { kind, ranks, output, errorFolder, command } = plan;
  const quiet = output === 'first' && ranks > 1;
  const inner = quiet ? ['sh', '-c', quietScript, 'sh', errorFolder ?? '', ...command] : [...command];
  const env = threadShare(plan);
  const flags = { openmpi: openMpiFlags, mpich: mpichFlags, srun: srunFlags }[kind](plan, env);
  return { program: plan.program, args: [...flags, ...inner], env };
}

/** On one machine the ranks share its cores. */
function threadShare({ env, hosts, cores, ranks, kind }: LaunchPlan): Record<string, string> {
  if (env.SKEIN_THREADS !== undefined || hosts !== undefined || kind === 'srun') return {};
  return { SKEIN_THREADS: String(Math.max(1, Math.floor(cores / ranks))) };
}

function openMpiFlags(plan: LaunchPlan, added: Readonly<Record<string, string>>): string[] {
  const flags = ['-n', String(plan.ranks), '--bind-to', 'none'];
  if (plan.isRoot) flags.push('--allow-run-as-root');
  if (plan.hosts !== undefined) {
    flags.push('--host', plan.hosts);
    // Other machines get no environment but what is named.
    const named = Object.keys({ ...plan.env, ...added }).filter((name) => /^(SKEIN|OMP)_/.test(name));
    for (const name of named) flags.push('-x', name);
  } else if (plan.ranks > plan.cores / 2) {
    // Open MPI counts cores, we count hardware threads: at half of them its slots may be used up.
    flags.push('--oversubscribe');
  }
  if (plan.hosts === undefined && plan.ranks > plan.cores) flags.push('--mca', 'mpi_yield_when_idle', '1');
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
