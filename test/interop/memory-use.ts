/** Counts for leak tests: memory of the process after a garbage collection, and live objects. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Resident bytes after full collections. Objects of native libraries are freed a turn after they were collected. */
async function residentBytes(): Promise<number> {
  for (let turn = 0; turn < 4; turn++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return process.memoryUsage().rss;
}

export interface FlatRun {
  readonly batches: number;
  /** Batches after which the first count is taken: pools and caches are filled by then. */
  readonly warmUp: number;
  batch(index: number): void | Promise<void>;
  alive(): object;
}

/**
 * Runs all batches; what was alive after the warm-up and at the end, and how far the process has grown between. A leak grows in
 * every part of the run; a driver or allocator that takes or gives back a block once in a while shows in one of them. So the
 * median part counts, as often as there are parts.
 */
export async function runFlat(run: FlatRun): Promise<{ first: object; last: object; grownBytes: number }> {
  for (let i = 0; i < run.warmUp; i++) await run.batch(i);
  const first = run.alive();
  const parts = 5;
  const growth: number[] = [];
  let resident = await residentBytes();
  for (let part = 1, i = run.warmUp; part <= parts; part++) {
    const end = run.warmUp + Math.floor(((run.batches - run.warmUp) * part) / parts);
    for (; i < end; i++) await run.batch(i);
    const now = await residentBytes();
    growth.push(now - resident);
    resident = now;
  }
  const median = growth.sort((a, b) => a - b)[Math.floor(parts / 2)];
  return { first, last: run.alive(), grownBytes: parts * median };
}
