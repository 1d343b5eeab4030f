/**
 * Our side of one case in a process of its own: makes the data, runs, reports figures of the results, measures, and prints
 * one line of JSON as peers/runner.py does.
 */
import { nativeStatus, setThreads } from 'skein/native';
import { median } from './statistics.js';
import {
  type Case,
  type Check,
  checkedRuns,
  leastRepeatsVariable,
  type Prepared,
  sharedFolderVariable,
} from './suite.js';

export interface Measured {
  /** Median over repeats in one process. */
  readonly ms: number;
  /** Shortest repeat: what the work costs when nothing disturbs it. */
  readonly best: number;
  /** Largest memory of the process, in MiB. */
  readonly peak: number;
  /** How it was done: the kernels' instruction set, or the peer's fastest way. */
  readonly way: string;
  readonly checks: readonly Check[];
}

const warmUpMs = 200;
const measuredMs = 300;
const leastRepeats = Number(process.env[leastRepeatsVariable] ?? 5);

async function timed(run: Prepared['run']): Promise<number> {
  const before = performance.now();
  const pending = run();
  if (pending !== undefined) await pending;
  return performance.now() - before;
}

async function measure(run: Prepared['run'], warmUpRuns: number): Promise<{ ms: number; best: number }> {
  const warmUp = performance.now();
  for (let i = 0; i < warmUpRuns || performance.now() - warmUp < warmUpMs; i++) await timed(run);
  const times: number[] = [];
  const start = performance.now();
  while (times.length < leastRepeats || performance.now() - start < measuredMs) times.push(await timed(run));
  return { ms: median(times), best: Math.min(...times) };
}

/** Measures one case here and now. */
export async function measureCase(entry: Case, threads: number): Promise<Measured> {
  setThreads(threads);
  const { run, check } = entry.ours(process.env[sharedFolderVariable] ?? '');
  for (let i = 0; i < checkedRuns; i++) await timed(run);
  const checks = check();
  const status = nativeStatus();
  const times = await measure(run, entry.warmUpRuns ?? 1);
  const peak = process.resourceUsage().maxRSS / 1024;
  return { ...times, peak, way: status.level ?? status.backend, checks };
}
