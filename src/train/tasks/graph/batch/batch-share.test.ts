/** Shares of a batch: together they are the batch, and every piece has the negatives of its chunk. */
import fc from 'fast-check';

import { expect, it } from 'vitest';
import { takeShare } from './batch-share.js';
import { TrainingBatch } from './training-batch.js';

function batchOf(edges: number, chunks: number, negatives: number): TrainingBatch {
  const offsets = Int32Array.from({ length: edges + 1 }, (_, i) => Math.floor(i / 2));
  const positions = Int32Array.from({ length: offsets[edges] }, (_, i) => i % negatives);
  const ids = (from: number) => Int32Array.from({ length: chunks * negatives }, (_, i) => from + i);
  return new TrainingBatch({
    train: true,
    src: Int32Array.from({ length: edges }, (_, i) => i),
    dst: Int32Array.from({ length: edges }, (_, i) => 1000 + i),
    relations: Int32Array.from({ length: edges }, (_, i) => i % 3),
    batchSize: edges,
    srcNegatives: { ids: ids(0), chunks, mask: { offsets, positions } },
    dstNegatives: { ids: ids(5000), chunks, mask: null },
  });
}

/** For every edge: its ends, its negatives and which of them are masked. */
function described(batch: TrainingBatch): string[] {
  const lines: string[] = [];
  const { src, dst, relations, srcNegatives, dstNegatives } = batch;
  const edges = src?.length ?? 0;
  const pieces = batch.share?.segments ?? [
    { from: 0, to: edges, firstChunk: 0, chunks: srcNegatives?.chunks ?? 1 },
  ];
  for (const { from, to, firstChunk, chunks } of pieces) {
    const perChunk = Math.ceil((to - from) / chunks);
    for (let i = from; i < to; i++) {
      const chunk = firstChunk + Math.floor((i - from) / perChunk);
      const of = (side: typeof srcNegatives): number[] => {
        const n = (side?.ids.length ?? 0) / (side?.chunks ?? 1);
        return [...(side?.ids.slice(chunk * n, (chunk + 1) * n) ?? [])];
      };
      const mask = srcNegatives?.mask ?? null;
      const left = mask === null ? [] : [...mask.positions.slice(mask.offsets[i], mask.offsets[i + 1])];
      lines.push(
        JSON.stringify([src?.[i], dst?.[i], relations?.[i], of(srcNegatives), of(dstNegatives), left]),
      );
    }
  }
  return lines;
}

it('any batch is what its shares are together', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 9 }),
      (edges, wanted, size) => {
        const chunks = Math.min(wanted, edges);
        const shares = Array.from({ length: size }, (_, rank) => {
          return takeShare(batchOf(edges, chunks, 4), { rank, size });
        });
        expect(shares.flatMap(described)).toEqual(described(batchOf(edges, chunks, 4)));
        const sizes = shares.map(({ src }) => src?.length ?? 0);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
        for (const { batchSize } of shares) expect(batchSize).toBe(edges);
      },
    ),
    { seed: 7, numRuns: 300 },
  );
});
