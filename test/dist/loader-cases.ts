/** Cases of the loader of partitioned graphs. All ranks run a case together. */
import assert from 'node:assert/strict';
import { type Communicator, DataLoader, type DataLoaderOptions, DistNeighborSampler } from 'skein/dist';
import { Graph, metisPartition } from 'skein/graph';
import { NeighborSampler } from 'skein/sample';
import type { CommCase } from './communicator-contract.js';
import { distGraph, type Split, splitGraph } from './sampling-graph.js';

/** Different numbers of seeds on all ranks, none on the last of three or more. */
function seedsOf({ first }: Split, { rank, size }: Communicator): Int32Array {
  if (size > 2 && rank === size - 1) return new Int32Array(0);
  return Int32Array.from({ length: 11 + 8 * rank }, (_, i) => first + i);
}

/** Seeds of each batch of an epoch. */
function epochOf(loader: DataLoader, epoch: number): number[][] {
  const all: number[][] = [];
  for (const blocks of loader.epoch(epoch)) all.push([...(blocks[blocks.length - 1].dstIds ?? [])]);
  return all;
}

function withGraph(
  name: string,
  run: (
    comm: Communicator,
    make: (o: DataLoaderOptions) => DataLoader,
    split: Split,
    seeds: Int32Array,
  ) => void,
): CommCase {
  return {
    name,
    run(comm) {
      const split = splitGraph(comm);
      const graph = distGraph(comm, split);
      const seeds = seedsOf(split, comm);
      const inputNodeFeatures = { x: split.ownFeatures };
      const sampler = new DistNeighborSampler([3, 2], { inputNodeFeatures, seed: 2 });
      run(comm, (options) => new DataLoader(graph, seeds, sampler, options), split, seeds);
      comm.barrier();
      graph.close();
    },
  };
}

const sorted = (ids: Iterable<number>) => [...ids].sort((a, b) => a - b);
/** The largest number of seeds on a rank. */
const mostSeeds = ({ size }: Communicator) => 11 + 8 * (size > 2 ? size - 2 : size - 1);

/** METIS finds clusters, if it is installed and the addon is loaded. */
const hasMetis = ((): boolean => {
  try {
    metisPartition(Graph.fromEdges(Int32Array.of(0, 1), Int32Array.of(1, 0), { numNodes: 2 }), 2);
    return true;
  } catch {
    return false;
  }
})();

const all: readonly CommCase[] = [
  withGraph('equally many batches on all workers; seeds are gone through again', (comm, make, _, seeds) => {
    const loader = make({ batchSize: 4 });
    assert.equal(loader.length, Math.ceil(mostSeeds(comm) / 4));
    const batches = epochOf(loader, 0);
    assert.equal(batches.length, loader.length);
    const round = Math.ceil(seeds.length / 4);
    batches.forEach((batch, i) => {
      const at = round === 0 ? 0 : (i % round) * 4;
      assert.deepEqual(batch, [...seeds.slice(at, at + 4)]);
    });
  }),
  withGraph('spread: every seed once, in equally many batches', (comm, make, _, seeds) => {
    const batches = epochOf(make({ batchSize: 4, uneven: 'spread', shuffle: true }), 0);
    assert.equal(batches.length, Math.ceil(mostSeeds(comm) / 4));
    assert.deepEqual(sorted(batches.flat()), [...seeds]);
    for (const batch of batches) assert.ok(batch.length <= 4);
  }),
  withGraph('dropLast leaves out what is short', (comm, make, _, seeds) => {
    const batches = epochOf(make({ batchSize: 4, dropLast: true }), 0);
    assert.equal(batches.length, Math.floor(mostSeeds(comm) / 4));
    if (seeds.length > 0) for (const batch of batches) assert.equal(batch.length, 4);
  }),
  withGraph('shuffle: another order in every epoch, the same for the same seed', (_, make, __, seeds) => {
    const loader = make({ batchSize: 5, shuffle: true, seed: 4 });
    const [first, second] = [epochOf(loader, 0), epochOf(loader, 1)];
    const again = make({ batchSize: 5, shuffle: true, seed: 4, prefetch: 3 });
    assert.deepEqual(epochOf(again, 0), first);
    assert.deepEqual(epochOf(again, 1), second);
    if (seeds.length > 0) assert.notDeepEqual(first, second);
    const fewest = Math.ceil(seeds.length / 5);
    assert.deepEqual(sorted(second.slice(0, fewest).flat()), [...seeds]);
  }),
  withGraph('any prefetch gives the same batches, those of one machine', (comm, make, split, seeds) => {
    const one = new NeighborSampler(split.whole, { fanouts: [3, 2], seed: 2 });
    const rows = split.features.dataSync<Float32Array>();
    for (const prefetch of [0, 1, 5]) {
      const loader = make({ batchSize: 6, prefetch });
      // The iterator counts epochs.
      for (let epoch = 0; epoch < 2; epoch++) {
        let step = 0;
        for (const blocks of loader) {
          const round = Math.ceil(seeds.length / 6);
          const at = round === 0 ? 0 : (step % round) * 6;
          const own = seeds.slice(at, at + 6);
          const want = one.sample(own, { epoch, step: step * comm.size + comm.rank });
          assert.deepEqual(blocks[0].srcIds, want.nodeIds);
          assert.deepEqual(blocks[0].adjacency.indices, want.blocks[0].adjacency.indices);
          const x = blocks[0].srcdata.x.dataSync<Float32Array>();
          assert.ok(x.every((value, i) => value === rows[want.nodeIds[Math.floor(i / 5)] * 5 + (i % 5)]));
          step++;
        }
        assert.equal(step, loader.length);
      }
    }
  }),
  withGraph('features go when the next batch is asked for, unless told otherwise', (_, make) => {
    for (const reuse of [true, false]) {
      const all = [...make({ batchSize: 4, reuse }).epoch(0)].map((blocks) => blocks[0].srcdata.x);
      assert.ok(all.every((x) => x.isDisposed === reuse));
    }
  }),
  withGraph('a loop that is left early leaves nothing in flight', (_, make) => {
    const loader = make({ batchSize: 2, prefetch: 3 });
    for (const blocks of loader) {
      assert.equal(blocks.length, 2);
      break;
    }
    assert.equal(epochOf(loader, 1).length, loader.length);
  }),
  withGraph('optimized batches: every seed once, clusters in another order', (comm, make, _, seeds) => {
    const loader = make({ batchSize: 5, precomputeOptimizedBatches: true, shuffle: true });
    assert.equal(loader.length, Math.ceil(mostSeeds(comm) / 5));
    const [first, second] = [epochOf(loader, 0), epochOf(loader, 3)];
    for (const batches of [first, second]) assert.deepEqual(sorted(batches.flat()), [...seeds]);
    assert.deepEqual(first.map((batch) => batch.join()).sort(), second.map((batch) => batch.join()).sort());
  }),
  withGraph('refuses what it does not know', (_, make) => {
    assert.throws(() => make({ batchSize: 0 }), /batchSize/);
    assert.throws(() => make({ batchSize: 1, uneven: 'often' as 'spread' }), /repeat or spread for uneven/);
  }),
];

export const loaderCases = all.filter(({ name }) => hasMetis || !name.startsWith('optimized batches'));
