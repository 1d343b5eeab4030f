/** Filtered training negatives spare training edges only: sparing held-out edges would tell the model which they are. */
import { Batch, GraphModelStorage, RandomNegativeSampler } from 'skein/marius';
import { expect, it } from 'vitest';
import { MemoryEdges } from '#internal/train/tasks/graph/storage/edge-splits.js';

it('masks the training edges and competes with held-out ones', async () => {
  const storage = new GraphModelStorage({
    numNodes: 4,
    numRelations: 1,
    edges: {
      train: new MemoryEdges(Int32Array.of(0, 0, 1, 0, 0, 2), 3),
      test: new MemoryEdges(Int32Array.of(0, 0, 3), 3),
    },
  });
  await storage.filterIndex();
  await storage.trainFilterIndex();
  const batch = new Batch(true);
  batch.src = Int32Array.of(0);
  batch.relations = Int32Array.of(0);
  batch.dst = Int32Array.of(1);
  const { ids, mask } = new RandomNegativeSampler(storage, { filtered: true }).getNegatives(batch, false);
  expect([...ids]).toEqual([0, 1, 2, 3]);
  expect([...(mask?.positions ?? [])]).toEqual([1, 2]);
});
