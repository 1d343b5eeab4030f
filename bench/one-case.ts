/** Our side of one case, in a separate process: generates the data, runs, reports figures of the results, measures. */
import { nativeStatus, setThreads } from 'skein/native';
import { median } from './statistics.js';
import { type Case, type Check, checkedRuns, type Prepared } from './suite.js';

export interface Measured {
  /** Median over repeats in one process. */
  readonly ms: number;
  /** Shortest repeat: the time without disturbance. */
  readonly best: number;
  /** Largest memory of the process, in MiB. */
  readonly peak: number;
  /** The implementation: the kernels' instruction set, or the peer's fastest configuration. */
  readonly way: string;
  /** Figures of the results; empty if they were not requested. */
  readonly checks: readonly Check[];
  /** Native libraries that the process loaded; absent for the peer. */
  readonly addons?: readonly string[];
}

export interface MeasureOptions {
  readonly threads: number;
  /** Minimum warm-up time: JavaScript is compiled while it runs. */
  readonly warmUpMs: number;
  readonly leastRepeats: number;
  /** Whether to report figures of the results; they cost a few runs and a pass over the results. */
  readonly check: boolean;
}

/** Minimum total time of the repeats of one process. */
const measuredMs = 300;

async function timed(run: Prepared['run']): Promise<number> {
  const before = performance.now();
  const pending = run();
  if (pending !== undefined) await pending;
  return performance.now() - before;
}

async function measure(
  run: Prepared['run'],
  warmUpRuns: number,
  { warmUpMs, leastRepeats }: MeasureOptions,
): Promise<{ ms: number; best: number }> {
  const warmUp = performance.now();
  for (let i = 0; i < warmUpRuns || performance.now() - warmUp < warmUpMs; i++) await timed(run);
  const times: number[] = [];
  const start = performance.now();
  while (times.length < leastRepeats || performance.now() - start < measuredMs) times.push(await timed(run));
  return { ms: median(times), best: Math.min(...times) };
}

/** Measures one case in this process. */
export async function measureCase(entry: Case, options: MeasureOptions): Promise<Measured> {
  setThreads(options.threads);
  const { run, check } = entry.ours();
  let checks: Check[] = [];
  if (options.check) {
    for (let i = 0; i < checkedRuns; i++) await timed(run);
    checks = check();
  }
  const status = nativeStatus();
  const times = await measure(run, entry.warmUpRuns ?? 1, options);
  const peak = process.resourceUsage().maxRSS / 1024;
  return { ...times, peak, way: status.level ?? status.backend, checks };
}
