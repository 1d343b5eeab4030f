/**
 * Our side of one case in a process of its own: makes the data, runs, reports figures of the results, measures, and prints
 * one line of JSON as peers/runner.py does.
 */
import { nativeStatus, setThreads } from 'skein/native';
import { median } from './statistics.js';
import { type Case, type Check, checkedRuns } from './suite.js';

export interface Measured {
  /** Median over repeats in one process. */
  readonly ms: number;
  /** Shortest repeat: what the work costs when nothing disturbs it. */
  readonly best: number;
  /** How it was done: the kernels' instruction set, or the peer's fastest way. */
  readonly way: string;
  readonly checks: readonly Check[];
}

const warmUpMs = 200;
const measuredMs = 300;
const leastRepeats = 5;

function measure(run: () => void): { ms: number; best: number } {
  const warmUp = performance.now();
  while (performance.now() - warmUp < warmUpMs) run();
  const times: number[] = [];
  const start = performance.now();
  while (times.length < leastRepeats || performance.now() - start < measuredMs) {
    const before = performance.now();
    run();
    times.push(performance.now() - before);
  }
  return { ms: median(times), best: Math.min(...times) };
}

/** Measures one case here and now. */
export function measureCase(entry: Case, threads: number): Measured {
  setThreads(threads);
  const { run, check } = entry.ours();
  for (let i = 0; i < checkedRuns; i++) run();
  const checks = check();
  const status = nativeStatus();
  return { ...measure(run), way: status.level ?? status.backend, checks };
}
