/** edgeSoftmaxLoss and sumRows: native against the twins, operators, masks, short, empty and split chunks, threads. */
import type { FloatArray } from 'skein/native';
import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels, relationOps } from '#internal/native/index.js';
import {
  expectClose,
  expectSameBytes,
  expectSameBytesForThreads,
  type FloatType,
  floatTypes,
  randomFloats,
  randomIds,
  zeros,
} from './harness.js';

const native = nativeKernels as Kernels;
const rowCount = 37;
const relationCount = 5;

interface Sizes {
  readonly edges: number;
  readonly chunks: number;
  readonly n: number;
  readonly width: number;
}

/** Off the edges of tiles and bands; chunks that are short, empty, or alone and split into parts. */
const sizes: readonly Sizes[] = [
  { edges: 0, chunks: 1, n: 3, width: 4 },
  { edges: 1, chunks: 1, n: 1, width: 2 },
  { edges: 5, chunks: 4, n: 33, width: 18 },
  { edges: 129, chunks: 2, n: 65, width: 100 },
  { edges: 600, chunks: 1, n: 40, width: 34 },
  { edges: 40, chunks: 2, n: 600, width: 130 },
];

function run(k: Kernels, op: number, type: FloatType, size: Sizes, masked: boolean): FloatArray[] {
  const { edges, chunks, n, width } = size;
  const plain = relationOps[op] === 'none';
  const offsets = Int32Array.from({ length: edges + 1 }, (_, i) => i);
  const positions = Int32Array.from({ length: edges }, (_, i) => (i * 5) % n);
  const [loss, alone] = [zeros(type, edges + 1).fill(7), zeros(type, edges + 1).fill(7)];
  const gRead = zeros(type, (2 * edges + chunks * n) * width + 1).fill(7);
  const gRelations = zeros(type, edges * width + 1).fill(7);
  const call = (to: FloatArray, ...g: (FloatArray | null)[]): void =>
    k.edgeSoftmaxLoss({
      op,
      rows: randomFloats(type, rowCount * width, 1, -0.7, 0.7),
      sources: randomIds(edges, rowCount, 2),
      targets: randomIds(edges, rowCount, 3),
      table: plain ? null : randomFloats(type, relationCount * width, 4, -0.7, 0.7),
      relations: plain ? null : randomIds(edges, relationCount, 5),
      negatives: randomIds(chunks * n, rowCount, 6),
      maskOffsets: masked ? offsets : null,
      maskPositions: masked ? positions : null,
      loss: to,
      gRead: g[0],
      gRelations: g[1],
      edges,
      width,
      chunks,
      n,
      scale: 0.5,
    });
  call(loss, gRead, plain ? null : gRelations);
  call(alone, null, null);
  expectSameBytes(alone, loss);
  return [loss, gRead, gRelations];
}

function sums(k: Kernels, type: FloatType, n: number, rows: number, width: number): FloatArray {
  const out = zeros(type, rows * width + 1).fill(7);
  k.sumRows(randomIds(n, Math.max(1, rows), 3), randomFloats(type, n * width, 4), out, n, rows, width);
  return out;
}

describe.skipIf(nativeKernels === null)('native = reference', () => {
  it.each(relationOps.map((name, op) => [name, op] as const))('loss of edges, %s', (_name, op) => {
    for (const type of floatTypes) {
      for (const size of sizes) {
        for (const masked of [false, true]) {
          const want = run(referenceKernels, op, type, size, masked);
          for (const [i, got] of run(native, op, type, size, masked).entries())
            expectClose(got, want[i], type, 5);
        }
      }
    }
  });

  it.each(floatTypes)('sums of rows %s', (type) => {
    for (const n of [0, 1, 9, 3000]) {
      for (const rows of [1, 8, 500]) {
        // One rounded addition after the other on both sides.
        for (const width of [1, 7, 16, 100])
          expectSameBytes(sums(native, type, n, rows, width), sums(referenceKernels, type, n, rows, width));
      }
    }
  });
});

it('gives the same bytes for any number of threads', () => {
  expectSameBytesForThreads((k) =>
    floatTypes.flatMap((type) => [
      ...relationOps.flatMap((_, op) => [
        ...run(k, op, type, { edges: 1000, chunks: 10, n: 100, width: 50 }, true),
        ...run(k, op, type, { edges: 1000, chunks: 1, n: 100, width: 50 }, false),
      ]),
      sums(k, type, 30_000, 900, 33),
    ]),
  );
});

it('sums rows, and clears those without an id', () => {
  for (const k of nativeKernels === null ? [referenceKernels] : [referenceKernels, nativeKernels]) {
    const out = new Float32Array(6).fill(9);
    k.sumRows(Int32Array.of(2, 0, 2), Float32Array.of(1, 2, 3, 4, 5, 6), out, 3, 3, 2);
    expect([...out]).toEqual([3, 4, 0, 0, 6, 8]);
  }
});
