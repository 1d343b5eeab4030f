/**
 * Which kernels OpenBLAS should use for the peer. OpenBLAS picks them by the processor's model number, and one that it does
 * not know gets its oldest: a product then runs several times slower than it could, and every ratio that rests on it would
 * flatter us. So the cores this processor can run are tried, and the fastest is asked for by name.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface CoreChoice {
  /** What OpenBLAS says it uses; null when it cannot be asked. */
  readonly core: string | null;
  /** Best rate of a square product. */
  readonly gflops: number;
  readonly env: Readonly<Record<string, string>>;
}

export interface Cores {
  readonly chosen: CoreChoice;
  /** What OpenBLAS takes when nobody asks. */
  readonly own: CoreChoice;
}

const scriptFile = fileURLToPath(new URL('./peers/core.py', import.meta.url));
/** A named core must win clearly: on a processor that OpenBLAS knows, its own choice stays. */
const clearly = 1.1;

/** The processor's feature words, where the system tells them. */
export function processorFlags(): ReadonlySet<string> {
  if (!existsSync('/proc/cpuinfo')) return new Set();
  const line = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'));
  return new Set(line?.[1].trim().split(/\s+/) ?? []);
}

/** OpenBLAS cores that a processor with these features can run. */
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

/** Tries each core twice, the second time in reverse order; null when not even a plain product runs. */
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
