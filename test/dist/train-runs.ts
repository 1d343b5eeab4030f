/**
 * Training runs on several workers for tests: one launcher trains a list of configurations, rank 0 reports the results.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { SkeinConfig } from 'skein/train';
import { expect } from 'vitest';
import { run } from '../train/tiny.js';
import { launch } from './mpi-launch.js';

export interface Told {
  readonly directory: string;
  readonly losses: readonly number[];
  readonly test: Readonly<Record<string, number>>;
  readonly validation: Readonly<Record<string, number>>;
}

/** Trains on that many workers under one launcher; `path` is a file that does not exist yet. */
export async function train(workers: number, configs: readonly SkeinConfig[], path: string): Promise<Told[]> {
  writeFileSync(path, JSON.stringify(configs));
  const { code, err } = await launch(workers, ['train-worker.ts', path], { limit: 280 });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(readFileSync(`${path}.out`, 'utf8')) as Told[];
}

/** Trains in this process. */
export async function trainAlone(configs: readonly SkeinConfig[]): Promise<Told[]> {
  const told: Told[] = [];
  for (const one of configs) told.push(await run(one));
  return told;
}

export function expectClose(a: readonly number[], b: readonly number[], tolerance: number): void {
  expect(a.length).toBe(b.length);
  for (const [i, x] of a.entries())
    expect(Math.abs(x - b[i]) / Math.max(1e-3, Math.abs(b[i]))).toBeLessThan(tolerance);
}
