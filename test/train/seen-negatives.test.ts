/** Negatives among the nodes that training edges have at an end: items are compared with items, users with users. */
import { Batch, RandomNegativeSampler } from 'skein/marius';
import type { Negatives } from 'skein/train';
import { describe, expect, test } from 'vitest';
import type { RandomNegativeSamplerOptions } from '#internal/train/tasks/links/negative-sampler.js';
import { memoryStorage } from './tiny.js';

/** Users 0 … 3 and items 4 … 9; item 9 has no edge. */
const train = Int32Array.from([0, 4, 0, 5, 1, 5, 1, 6, 2, 7, 3, 8, 3, 4]);
const types = Uint8Array.from({ length: 10 }, (_, node) => (node < 4 ? 0 : 1));

async function draw(options: RandomNegativeSamplerOptions, nodeTypes: Uint8Array | null, src: boolean) {
  const more = nodeTypes === null ? {} : { nodeTypes };
  const storage = memoryStorage({ numNodes: 10, train, more });
  await storage.startEpoch(0);
  const sampler = new RandomNegativeSampler(storage, options);
  await sampler.prepare();
  const batch = new Batch(true);
  batch.batchSize = 2;
  batch.at = { epoch: 0, step: 0 };
  batch.src = Int32Array.of(0, 1);
  batch.dst = Int32Array.of(4, 6);
  return sampler.getNegatives(batch, src) as Negatives;
}

const distinct = (ids: Int32Array): number[] => [...new Set(ids)].sort((a, b) => a - b);

describe('negatives with candidates: SEEN', () => {
  test.each([
    ['items that training edges have', null, false, [4, 5, 6, 7, 8]],
    ['all items in a dataset with node types', types, false, [4, 5, 6, 7, 8, 9]],
    ['users', null, true, [0, 1, 2, 3]],
  ] as const)('are %s', async (_name, nodeTypes, src, want) => {
    const drawn = await draw({ numNegatives: 200, seenEnds: true }, nodeTypes, src);
    expect(distinct(drawn.ids)).toEqual(want);
    const all = await draw({ numNegatives: -1, seenEnds: true }, nodeTypes, src);
    expect([...all.ids]).toEqual(want);
    expect(distinct((await draw({ numNegatives: 200 }, nodeTypes, src)).ids)).toHaveLength(10);
  });

  test('leave out known edges', async () => {
    const { ids, mask } = await draw({ numNegatives: 50, seenEnds: true, knownFilter: true }, null, false);
    const masked = (edge: number): number[] =>
      distinct(
        Int32Array.from(
          mask?.positions.subarray(mask.offsets[edge], mask.offsets[edge + 1]) ?? [],
          (at) => ids[at],
        ),
      );
    expect(masked(0)).toEqual([4, 5]);
    expect(masked(1)).toEqual([5, 6]);
  });
});
