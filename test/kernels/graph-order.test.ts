/** groupByKey: stability, empty groups, both types of offsets. */

import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { edgeSizes, expectSameBytes, expectSameBytesForThreads, randomIds } from './harness.js';

const implementations: [string, Kernels][] = [['reference', referenceKernels]];
if (nativeKernels !== null) implementations.push(['native', nativeKernels]);

describe.each(implementations)('groupByKey: %s', (_, kernels) => {
  it('accepts no keys', () => {
    const offsets = new Int32Array(4).fill(7);
    kernels.groupByKey(new Int32Array(0), offsets, new Int32Array(0), 0, 3);
    expect([...offsets]).toEqual([0, 0, 0, 0]);
    const none = new Float64Array(1).fill(7);
    kernels.groupByKey(new Int32Array(0), none, new Int32Array(0), 0, 0);
    expect([...none]).toEqual([0]);
  });

  it('lists each group in ascending order', () => {
    const keys = Int32Array.of(2, 0, 2, 5, 0, 2);
    for (const offsets of [new Int32Array(8), new Float64Array(8)]) {
      const order = new Int32Array(6);
      kernels.groupByKey(keys, offsets, order, 6, 7);
      expect([...offsets]).toEqual([0, 2, 2, 5, 5, 5, 6, 6]);
      expect([...order]).toEqual([1, 4, 0, 2, 5, 3]);
    }
  });
});

describe.skipIf(nativeKernels === null)('groupByKey: native = reference', () => {
  const native = nativeKernels as Kernels;
  it('for sizes on the edges of blocks', () => {
    for (const n of [...edgeSizes, 65_535, 65_536, 65_537, 300_001]) {
      for (const count of [1, 2, 255, 256, 257, 4096, 70_000, 3_000_000]) {
        if (count > 100_000 && n < 1000) continue;
        const keys = randomIds(n, count, n + count);
        const run = (kernels: Kernels, offsets: Int32Array | Float64Array) => {
          const order = new Int32Array(n);
          kernels.groupByKey(keys, offsets, order, n, count);
          return { offsets, order };
        };
        const want = run(referenceKernels, new Int32Array(count + 1));
        const narrow = run(native, new Int32Array(count + 1));
        const wide = run(native, new Float64Array(count + 1));
        expectSameBytes(narrow.offsets, want.offsets, `offsets, n ${n}, count ${count}`);
        expectSameBytes(narrow.order, want.order, `order, n ${n}, count ${count}`);
        expectSameBytes(wide.offsets, Float64Array.from(want.offsets));
        expectSameBytes(wide.order, want.order);
      }
    }
  }, 240_000);

  it('for one key that holds nearly all', () => {
    const n = 400_000;
    const keys = randomIds(n, 50_000, 9).map((key) => (key % 10 === 0 ? key : 777));
    const [want, got] = [referenceKernels, native].map((kernels) => {
      const offsets = new Int32Array(50_001);
      const order = new Int32Array(n);
      kernels.groupByKey(keys, offsets, order, n, 50_000);
      return { offsets, order };
    });
    expectSameBytes(got.offsets, want.offsets);
    expectSameBytes(got.order, want.order);
  });

  it('gives the same bytes for every number of threads', () => {
    const n = 500_000;
    for (const count of [10, 100_000]) {
      const keys = randomIds(n, count, 4);
      expectSameBytesForThreads((kernels) => {
        const offsets = new Int32Array(count + 1);
        const order = new Int32Array(n);
        kernels.groupByKey(keys, offsets, order, n, count);
        return [offsets, order];
      });
    }
  });
});
