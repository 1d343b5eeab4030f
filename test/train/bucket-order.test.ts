/** Edges whose nodes are all in memory, trained bucket by bucket: which edges and negatives, files, resumption. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GraphBatcher, RandomNegativeSampler } from 'skein/marius';
import { RandomEdgeSampler } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { type EdgeSplit, MemoryEdges } from '#internal/train/tasks/graph/storage/edge-splits.js';
import {
  edgeKeys,
  learned,
  memoryStorage,
  randomRows,
  run,
  scratch,
  setUp,
  tinyConfig,
  writeDataset,
} from './tiny.js';

const folder = scratch();
const [numNodes, numRelations] = [43, 3];
const train = randomRows(numNodes, 300, numRelations);
const dataset = writeDataset(folder(), {
  numNodes,
  numRelations,
  train,
  validation: randomRows(numNodes, 20, 3, 9),
});
const inBuckets = (partitions: number, more: object = {}) =>
  tinyConfig(dataset, { training: { bucket_partitions: partitions, ...more } });

it('sorts edges into buckets and keeps their order within each', async () => {
  const sorted = new MemoryEdges(train, 3).inBuckets(numNodes, 5);
  const { src, dst, relations } = await sorted.read(0, 300);
  const buckets = [...src].map((s, i) => Math.floor(s / 9) * 5 + Math.floor(dst[i] / 9));
  expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
  const sizes = buckets.reduce((all, b) => all.with(b, all[b] + 1), new Array<number>(25).fill(0));
  expect([...(sorted.bucketSizes ?? [])]).toEqual(sizes);
  const given = await new MemoryEdges(train, 3).read(0, 300);
  const keys = edgeKeys(given.src, given.relations ?? null, given.dst);
  const bucketOf = (key: string) => {
    const [s, , d] = key.split('-').map(Number);
    return Math.floor(s / 9) * 5 + Math.floor(d / 9);
  };
  const wanted = keys.toSorted((a, b) => bucketOf(a) - bucketOf(b));
  expect(edgeKeys(src, relations ?? null, dst)).toEqual(wanted);
});

it('looks at the sizes of all buckets once, however many states an epoch has', async () => {
  const partitions = 20;
  const sorted = new MemoryEdges(train, 3).inBuckets(numNodes, partitions);
  const sizes = sorted.bucketSizes as Float64Array;
  let looks = 0;
  const counted = new Proxy(sizes, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
      return Reflect.get(target, key, target);
    },
  });
  const split: EdgeSplit = {
    ...{ numEdges: 300, hasRelations: true, bucketSizes: counted },
    read: (begin, end) => sorted.read(begin, end),
  };
  const states = Array.from({ length: partitions }, (_, a) => Int32Array.of(a));
  const buckets = states.map((_, a) =>
    Int32Array.from({ length: partitions }, (__, b) => a * partitions + b),
  );
  const storage = memoryStorage({
    ...{ numNodes, numRelations, train },
    more: { edges: { train: split }, plan: () => ({ partitions, states, buckets }) },
  });
  await storage.startEpoch(0);
  let edges = storage.numActiveEdges;
  for (; storage.hasLaterWork(); edges += storage.numActiveEdges) await storage.nextState();
  expect(edges).toBe(300);
  // Once to find where buckets begin, and once to see that there is work in a later state.
  expect(looks).toBeLessThanOrEqual(2 * partitions ** 2);
});

describe.each([0, 1])('epoch %i', (epoch) => {
  it('trains every edge once, with negatives of the partitions that its state trains', async () => {
    const { batcher, storage } = await setUp(inBuckets(8), folder());
    batcher.seek({ epoch, step: 0 });
    await batcher.loadStorage();
    const seen: string[] = [];
    let states = 0;
    while (batcher.hasNextBatch()) {
      const batch = await batcher.source.draw();
      states = Math.max(states, storage.state + 1);
      const ranges = storage.trainedRanges();
      expect(ranges).toHaveLength(4);
      const isTrained = (id: number) =>
        ranges.some(({ globalStart, rows }) => id >= globalStart && id < globalStart + rows);
      const [src, dst] = [batch.src as Int32Array, batch.dst as Int32Array];
      seen.push(...edgeKeys(src, batch.relations, dst));
      for (const ids of [src, dst, batch.srcNegatives?.ids, batch.dstNegatives?.ids])
        expect([...(ids ?? [])].every(isTrained)).toBe(true);
      batcher.finishedBatch();
    }
    expect(states).toBeGreaterThan(4);
    const all = await new MemoryEdges(train, 3).read(0, 300);
    expect(seen.sort()).toEqual(edgeKeys(all.src, all.relations ?? null, all.dst).sort());
    await storage.residency.unload(false);
  });
});

it('a storage in memory of a program takes a plan too', async () => {
  const edges = new MemoryEdges(train, 3).inBuckets(numNodes, 2);
  const storage = memoryStorage({
    ...{ numNodes, numRelations, train, width: 4 },
    more: {
      edges: { train: edges },
      plan: () => ({
        partitions: 2,
        states: [Int32Array.of(0), Int32Array.of(1), Int32Array.of(0, 1)],
        buckets: [Int32Array.of(0), Int32Array.of(3), Int32Array.of(1, 2)],
      }),
    },
  });
  const negatives = new RandomNegativeSampler(storage, { numNegatives: 7 });
  const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), negatives, null, null, {
    batchSize: 50,
  });
  await batcher.loadStorage();
  let count = 0;
  while (batcher.hasNextBatch()) {
    count += (await batcher.getBatch()).batchSize;
    batcher.finishedBatch();
  }
  expect(count).toBe(300);
});

it('is written into the configuration, learns, and continues after an interruption as if there had been none', async () => {
  const whole = await run({ ...inBuckets(6), storage: { ...inBuckets(6).storage, model_dir: folder() } });
  expect(readFileSync(join(whole.directory, 'full_config.yaml'), 'utf8')).toContain('bucket_partitions: 6');
  expect(whole.losses[1]).toBeLessThan(whole.losses[0]);
  const config = inBuckets(6, { checkpoint: { interval_batches: 3 } });
  const model_dir = folder();
  const cut = { ...config, storage: { ...config.storage, model_dir } };
  let checkpoints = 0;
  await expect(
    run(cut, ({ event }) => {
      if (event === 'checkpoint' && ++checkpoints === 2) throw new Error('cut off');
    }),
  ).rejects.toThrow('cut off');
  const resumed = await run({ ...cut, training: { ...cut.training, resume_training: true } });
  const again = await run({ ...config, storage: { ...config.storage, model_dir: folder() } });
  expect((await learned(resumed.directory))['embeddings']).toEqual(
    (await learned(again.directory))['embeddings'],
  );
});

it('a place within an epoch is not resumed under another order', async () => {
  const model_dir = folder();
  const config = inBuckets(6, { checkpoint: { interval_batches: 3 } });
  const cut = { ...config, storage: { ...config.storage, model_dir } };
  await expect(
    run(cut, ({ event }) => {
      if (event === 'checkpoint') throw new Error('cut off');
    }),
  ).rejects.toThrow('cut off');
  const other = { ...cut.training, bucket_partitions: 8, resume_training: true };
  await expect(run({ ...cut, training: other })).rejects.toThrow(
    /expected the partitions that the epoch was started with \(6 partitions in memory\), got others \(8/,
  );
  expect((await run({ ...cut, training: { ...other, bucket_partitions: 6 } })).losses).toHaveLength(2);
});
