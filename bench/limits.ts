/**
 * The machine's limits, measured in the same run by a small program (probe/limits.cpp): arithmetic from registers,
 * copying for working sets of several sizes, and random rows.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Case } from './suite.js';

export interface Limits {
  /** GFLOP/s. */
  readonly gemm: number;
  /** GB/s of a copy that moves `bytes` in all (read plus written), ascending in bytes. */
  readonly copy: readonly { readonly bytes: number; readonly rate: number }[];
  /** GB/s of copying rows of 512 bytes at random. */
  readonly rows: number;
}

/** Reads the probe's lines `<name> <bytes> <rate>`. */
export function parseLimits(text: string): Limits {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .map(([name, bytes, rate]) => ({ name, bytes: Number(bytes), rate: Number(rate) }));
  const rate = (name: string): number => lines.find((line) => line.name === name)?.rate ?? Number.NaN;
  const copies = lines.filter((line) => line.name === 'copy').sort((a, b) => a.bytes - b.bytes);
  // A smaller working set is never slower: a dip is a disturbance of the measurement.
  const copy = copies.map(({ bytes }, i) => ({
    bytes,
    rate: Math.max(...copies.slice(i).map((c) => c.rate)),
  }));
  return { gemm: rate('gemm'), copy, rows: rate('rows') };
}

/** Returns the copy bandwidth for a working set: that of the measured size nearest in ratio. */
function copyRate(limits: Limits, bytes: number): number {
  const distance = (size: number): number => Math.abs(Math.log(size / bytes));
  return limits.copy.reduce((best, next) => (distance(next.bytes) < distance(best.bytes) ? next : best)).rate;
}

/** Returns the work of a case per second, in the unit of its limit. */
export function rateOf(entry: Case, ms: number): { rate: number; unit: string } {
  if (entry.items !== undefined) {
    const millions = entry.items.count / ms / 1e3;
    const { unit } = entry.items;
    return millions < 0.1
      ? { rate: 1e3 * millions, unit: `k ${unit}/s` }
      : { rate: millions, unit: `M ${unit}/s` };
  }
  if (entry.limit === 'gemm') return { rate: (entry.flops ?? Number.NaN) / ms / 1e6, unit: 'GFLOP/s' };
  return { rate: (entry.bytes ?? Number.NaN) / ms / 1e6, unit: 'GB/s' };
}

/** Returns the fraction of its limit that a case reaches in its shortest run, since the limit is a best value too. */
export function shareOf(entry: Case, bestMs: number, limits: Limits): number {
  const amount = entry.limit === 'gemm' ? entry.flops : entry.bytes;
  return (amount ?? Number.NaN) / bestMs / 1e6 / limitOf(entry, limits);
}

/** Returns the limit that applies to a case. */
export function limitOf(entry: Case, limits: Limits): number {
  if (entry.limit === 'copy') return copyRate(limits, entry.bytes ?? Number.NaN);
  return limits[entry.limit];
}

/** Builds and runs the probe; returns the reason as a string if that is not possible. */
export function measureLimits(threads: number): Limits | string {
  const folder = fileURLToPath(new URL('../.cache/bench', import.meta.url));
  const source = fileURLToPath(new URL('./probe/limits.cpp', import.meta.url));
  const program = join(folder, 'limits');
  mkdirSync(folder, { recursive: true });
  const flags = ['-O3', '-std=c++17', '-ffp-contract=fast', '-fopenmp', source, '-o', program];
  const build = spawnSync(process.env.CXX ?? 'g++', ['-march=native', ...flags], { encoding: 'utf8' });
  if (build.status !== 0)
    return `the probe could not be compiled: ${build.error?.message ?? build.stderr.trim()}`;
  const run = spawnSync(program, [`${threads}`], { encoding: 'utf8' });
  return run.status === 0 ? parseLimits(run.stdout) : `the probe ended with ${run.status ?? run.signal}`;
}
