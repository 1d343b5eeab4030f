/**
 * No call of a native kernel with wrong arguments ends the process: every array too short, every size wrong, every id out of
 * range, synchronous and asynchronous. The probes run in a separate process, so that a crash is seen as one.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { nativeKernels, referenceKernels } from '#internal/native/index.js';
import { byPosition, kernelCalls } from './kernel-calls.js';

describe.runIf(nativeKernels !== null)('arguments of native kernels', () => {
  it('are checked in every kernel', () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-probe-'));
    try {
      const { status, signal, stdout, stderr } = spawnSync(
        process.execPath,
        ['--import', 'tsx', 'test/native/probe-kernels.ts'],
        { encoding: 'utf8', env: { ...process.env, PROBE_FOLDER: folder }, timeout: 120_000 },
      );
      const lines = stdout.trim().split('\n');
      expect({ signal, status, stderr, at: lines.at(-1) }).toEqual({
        signal: null,
        status: 0,
        stderr: '',
        at: '[]',
      });
      expect(lines).toHaveLength(Object.keys(referenceKernels).length + 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('have a valid call for each kernel, which the TypeScript twins take too', () => {
    const calls = kernelCalls(-1);
    expect(Object.keys(calls).sort()).toEqual(Object.keys(referenceKernels).sort());
  });

  const wrong = (name: keyof typeof referenceKernels, ...args: unknown[]) => {
    try {
      byPosition(nativeKernels ?? referenceKernels, name)(...args);
    } catch (error) {
      return (error as Error).message;
    }
    return 'accepted';
  };

  it('are named in the error, with what was needed and what came', () => {
    const x = new Float32Array(4);
    expect(wrong('fill', x, 5, 1)).toBe(
      'kernel fill: expected at least 5 elements for x, got 4. It is too short for the sizes given, or its memory was ' +
        'transferred or shrunk.',
    );
    expect(wrong('fill', x, 1.5, 1)).toBe('kernel fill: expected a whole number for n, got 1.5.');
    expect(wrong('fill', x, -1, 1)).toBe('kernel fill: expected a whole number of at least 0 for n, got -1.');
    expect(wrong('gatherRows', x, Int32Array.of(0, 2), new Float32Array(4), 2, 8)).toBe(
      'kernel gatherRows: expected elements of at least 0 and below 2 for ids, got 2 at position 1.',
    );
    expect(wrong('gemm', x, x, null, null, 2, 2, 2, false, false, false)).toContain('not null, for c');
    expect(wrong('gemm', x, x, null, x, 2 ** 40, 2 ** 40, 2 ** 40, false, false, false)).toContain(
      'for a, got 4',
    );
    expect(wrong('sortRows', Int32Array.of(0, 2, 1), Int32Array.of(0, 1), new Int32Array(2), 2)).toContain(
      'boundaries that start at 0 or above and never fall for offsets, got 1 at position 2',
    );
  });

  it('are followed by graph kernels only as far as there are rows', () => {
    const spmm = (offsets: Int32Array | Float64Array, indices: Int32Array) => {
      const y = new Float32Array(2 * (offsets.length - 1));
      const rest = [y, null, offsets.length - 1, 3, 2, 1, false, 0, false];
      return wrong('spmm', 0, new Float32Array(6), null, null, null, offsets, indices, null, ...rest);
    };
    expect(spmm(Int32Array.of(0, 1, 3), Int32Array.of(0, 2, 1))).toBe('accepted');
    expect(spmm(Int32Array.of(0, 1, 3), Int32Array.of(0, 3, 1))).toBe(
      'kernel spmm failed: indices[1] is 3, expected 0 to 2',
    );
    expect(spmm(Int32Array.of(0, 9, 3), Int32Array.of(0, 2, 1))).toBe(
      'kernel spmm failed: offsets[1] is 9, expected 0 to 3',
    );
    expect(spmm(Float64Array.of(0, Number.NaN, 3), Int32Array.of(0, 2, 1))).toContain('offsets[1]');
    // Long enough to be divided among threads.
    const offsets = Int32Array.from({ length: 100_001 }, (_, i) => 3 * i);
    const indices = Int32Array.from({ length: 300_000 }, (_, i) => i % 3);
    expect(spmm(offsets, indices)).toBe('accepted');
    indices[299_998] = -1;
    expect(spmm(offsets, indices)).toBe('kernel spmm failed: indices[299998] is -1, expected 0 to 2');
  });

  it('with weights in blocks need blocks of equal width', () => {
    const spmm = (width: number, wCols: number) => {
      const rest = [new Float32Array(2 * width), null, 2, 3, width, wCols, false, 0, false];
      const [x, w] = [new Float32Array(3 * width), new Float32Array(3 * wCols)];
      return wrong(
        'spmm',
        0,
        x,
        w,
        null,
        null,
        Int32Array.of(0, 1, 3),
        Int32Array.of(0, 2, 1),
        null,
        ...rest,
      );
    };
    expect(spmm(48, 24)).toBe('accepted');
    expect(spmm(47, 24)).toBe('kernel spmm: expected 24 for width, got 47.');
    const sddmm = (width: number, heads: number) =>
      wrong(
        ...(['sddmm', new Float32Array(3 * width), new Float32Array(2 * width), null, null, null] as const),
        ...[Int32Array.of(0, 1, 3), Int32Array.of(0, 2, 1), new Float32Array(3 * heads), 2, width, heads],
      );
    expect(sddmm(6, 3)).toBe('accepted');
    expect(sddmm(6, 4)).toBe('kernel sddmm: expected 4 for width, got 6.');
    expect(sddmm(2, 3)).toContain('for width, got 2');
  });

  it('of a stream without events lead to no event', () => {
    const args = [...kernelCalls(-1).sampleTemporalHop()];
    args[2] = Int32Array.from(args[2] as Int32Array, (value, i) => (i === 0 ? value : -5));
    args[3] = new Float64Array(0);
    args[4] = 0;
    args[8] = (args[8] as Int32Array).fill(-1);
    expect(wrong('sampleTemporalHop', ...args)).toBe('accepted');
    expect((args[19] as Int32Array).every((offset) => offset === 0)).toBe(true);
  });

  it('of a sampler that failed leave nothing behind for the next call', () => {
    const calls = kernelCalls(-1);
    const args = [...calls.sampleNeighbors()];
    const map = args[12] as Int32Array;
    (args[1] as Int32Array)[2] = 7;
    expect(wrong('sampleNeighbors', ...args)).toContain("an index is not one of the graph's nodes");
    expect(Array.from(map)).toEqual([-1, -1, -1]);
    const hop = [...calls.sampleHop()];
    (hop[1] as Int32Array)[2] = 7;
    expect(wrong('sampleHop', ...hop)).toContain("an index is not one of the graph's nodes");
    expect(Array.from(hop[11] as Int32Array)).toEqual([-1, -1, -1]);
  });
});
