/** Memory that asynchronous calls use cannot be detached, and arrays that they follow are copied (see async-cases.ts). */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';

/** Returns the output of a case, or how its process ended. */
function run(name: string, argument = ''): unknown {
  const args = ['--import', 'tsx', 'test/native/async-cases.ts', name, argument];
  const { signal, status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return signal === null && status === 0 ? JSON.parse(stdout) : `ended with ${signal ?? status}: ${stderr}`;
}

describe.runIf(nativeKernels !== null)('memory of asynchronous calls', () => {
  it('cannot be transferred', () => {
    const { tries, kept } = run('transfer') as { tries: string[]; kept: boolean };
    expect(kept).toBe(true);
    // postMessage copies what it may not transfer in some releases of Node.js, and throws in others.
    for (const text of tries)
      expect(text).toMatch(/^(accepted|DataCloneError: |TypeError: ArrayBuffer\.transfer)/);
  });
  it('is rejected where it can shrink', () => {
    expect(run('resizable')).toMatch(
      /^ValueError: sumSquares: expected memory of a fixed size, got an array over a resizable ArrayBuffer/,
    );
  });
  it('stays transferable where it is unshared, and where it was copied', () => {
    expect(run('unshared')).toEqual([0, 0]);
  });
  it('may be overwritten: ids, offsets and whole graphs', () => {
    const names = [
      ...['gatherRows', 'putRows', 'readRows', 'scatterAddRows', 'adamStepRows', 'spmm', 'segmentReduce'],
      ...['sampleNeighbors', 'sampleHop', 'sampleTemporalHop', 'randomWalk', 'sampleNegatives'],
      // These read back what they wrote; few of the calls are overwritten at such a moment.
      ...Array.from({ length: 60 }, () => ['sampleNeighbors', 'sampleHop', 'sampleTemporalHop']).flat(),
    ];
    expect(run('followed', names.join())).toEqual([]);
  });
  it('of a step of a row optimiser may get other ids while it runs', () => {
    expect(run('optimizer')).toEqual({ changed: true, alike: true, untouched: true });
  });
  it('of a rejected step is unchanged, and the step is not counted', () => {
    const { text, wrong, rows, steps } = run('refusedStep') as Record<string, unknown>;
    expect(text).toMatch(/^ValueError: adagradStepRows: expected memory of a fixed size/);
    expect(wrong).toMatch(
      /^RangeError: kernel adamStepRows: expected elements of at least 0 and below 1 for ids, got 1/,
    );
    expect({ rows, steps }).toEqual({ rows: [0, 0, 0, 0], steps: [0, 0] });
  });
});

describe('a MemoryStore whose memory was detached', () => {
  it('reports it in every call', () => {
    const texts = run('store') as string[];
    expect(texts).toHaveLength(14);
    for (const text of texts)
      expect(text).toMatch(
        /^StateError: MemoryStore of 10 rows of 4 elements: expected the memory it was made over, got [04] elements/,
      );
  });
});
