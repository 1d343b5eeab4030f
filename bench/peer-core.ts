/**
 * Chooses the OpenBLAS kernels of the peer. OpenBLAS picks them by the processor's model number, and an unknown model
 * gets the oldest: a product then runs several times slower than it could, and every ratio based on it would flatter
 * us. So the cores that this processor can run are tried, and the fastest is selected by name.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface CoreChoice {
  /** The core that OpenBLAS reports; null if it cannot be queried. */
  readonly core: string | null;
  /** Best rate of a square product. */
  readonly gflops: number;
  readonly env: Readonly<Record<string, string>>;
}

export interface Cores {
  readonly chosen: CoreChoice;
  /** The default choice of OpenBLAS. */
  readonly own: CoreChoice;
}

const scriptFile = fileURLToPath(new URL('./peers/core.py', import.meta.url));
/** A named core must win by this factor: on a processor that OpenBLAS supports, its default stays. */
const clearly = 1.1;

/** Returns the processor's feature names, if the system reports them. */
export function processorFlags(): ReadonlySet<string> {
  if (!existsSync('/proc/cpuinfo')) return new Set();
  const line = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'));
  return new Set(line?.[1].trim().split(/\s+/) ?? []);
}

/** Returns the OpenBLAS cores that a processor with these features can run. */
export function coreNames(flags: ReadonlySet<string>): string[] {
  const has = (...names: string[]): boolean => names.every((name) => flags.has(name));
  if (!has('avx2', 'fma')) return [];
  const cores = ['Haswell', 'Zen'];
  if (has('avx512f', 'avx512bw', 'avx512dq', 'avx512vl', 'avx512cd')) cores.push('SkylakeX');
  if (cores.includes('SkylakeX') && has('avx512_bf16')) cores.push('Cooperlake');
  return cores;
}

function tryCore(python: string, env: Record<string, string>, threads: number): CoreChoice | null {
  const all = { ...process.env, OMP_NUM_THREADS: `${threads}`, OPENBLAS_NUM_THREADS: `${threads}`, ...env };
  const run = spawnSync(python, [scriptFile, `${threads}`], { encoding: 'utf8', env: all });
  return run.status === 0
    ? { ...(JSON.parse(run.stdout) as { core: string | null; gflops: number }), env }
    : null;
}

/** Tries each core twice, the second time in reverse order; returns null if not even a plain product runs. */
export function chooseCore(python: string, threads: number): Cores | null {
  const named = coreNames(processorFlags()).map((name) => ({ OPENBLAS_CORETYPE: name }));
  const order: Record<string, string>[] = [{}, ...named];
  const tried = [...order, ...[...order].reverse()]
    .map((env) => tryCore(python, env, threads))
    .filter((c) => c !== null);
  const fastest = (choices: readonly CoreChoice[]): CoreChoice | null =>
    choices.length === 0 ? null : choices.reduce((a, b) => (b.gflops > a.gflops ? b : a));
  const own = fastest(tried.filter((choice) => choice.env.OPENBLAS_CORETYPE === undefined));
  const best = fastest(tried);
  if (own === null || best === null) return null;
  return { own, chosen: best.gflops > clearly * own.gflops ? best : own };
}
