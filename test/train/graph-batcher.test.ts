/** GraphBatcher: how many batches, what is in each, what targets may see, and the way through sets and epochs. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { EdgeList } from 'skein/marius';
import {
  type Batch,
  DataLoader,
  EdgeSampler,
  type GNNGraph,
  GraphBatcher,
  type GraphModelStorage,
  kHopNeighborSampler,
  NegativeSampler,
  NeighborSampler,
  NodeSampler,
  RandomNegativeSampler,
  RandomNodeSampler,
} from 'skein/marius';
import type { SampleTime } from 'skein/sample';
import type { TrainedRows } from 'skein/storage';
import { KHopNeighborSampler, RandomEdgeSampler } from 'skein/train';
import { describe, expect, test, vi } from 'vitest';
import type { IdLists } from '#internal/gnn/ops/id-lists.js';
import { FileEdges, MemoryEdges } from '#internal/train/tasks/graph/storage/edge-splits.js';
import { edgeKeys, memoryStorage, randomRows, scratch } from './tiny.js';

const folder = scratch();

const train = randomRows(30, 100, 3);
const held = randomRows(30, 12, 3, 9);
const links = () =>
  memoryStorage({
    numNodes: 30,
    numRelations: 3,
    train,
    validation: held,
    test: held.subarray(0, 18),
    features: 2,
  });

/** Every batch of the active set; each is finished at once. */
async function batches(batcher: GraphBatcher): Promise<Batch[]> {
  await batcher.loadStorage();
  const found: Batch[] = [];
  while (batcher.hasNextBatch()) {
    found.push(await batcher.getBatch());
    batcher.finishedBatch();
  }
  return found;
}

const negatives = (storage: GraphModelStorage, numChunks = 2) =>
  new RandomNegativeSampler(storage, { numChunks, numNegatives: 6 });

describe('batches of edges', () => {
  test('100 edges by 10 are 10 batches with all that a model needs', async () => {
    const storage = links();
    const batcher = new GraphBatcher(
      storage,
      new RandomEdgeSampler(storage),
      negatives(storage),
      null,
      null,
      {
        batchSize: 10,
      },
    );
    batcher.setTrainSet();
    const all = await batches(batcher);
    expect(all.map(({ batchSize }) => batchSize)).toEqual(new Array(10).fill(10));
    for (const [step, batch] of all.entries()) {
      expect(batch.at).toEqual({ epoch: 0, step });
      const ids = batch.uniqueNodeIndices as Int32Array;
      expect(new Set(ids).size).toBe(ids.length);
      expect(batch.uniqueNodeEmbeddings?.shape).toEqual([ids.length, 4]);
      expect(batch.uniqueNodeFeatures?.shape).toEqual([ids.length, 2]);
      expect(batch.uniqueNodeEmbeddings?.dataSync()[4]).toBe(Math.fround(ids[1] / 100));
      for (const side of ['src', 'dst'] as const) {
        expect([...(batch[`${side}Rows`] ?? [])].map((r) => ids[r])).toEqual([...(batch[side] ?? [])]);
        const drawn = batch[`${side}Negatives`];
        expect([drawn?.chunks, drawn?.ids.length]).toEqual([2, 12]);
        const rows = batch[`${side}NegativeRows`] as Int32Array;
        expect([...rows].map((r) => ids[r])).toEqual([...(drawn?.ids ?? [])]);
      }
    }
    const keys = all.flatMap((b) => edgeKeys(b.src as Int32Array, b.relations, b.dst as Int32Array));
    expect(new Set(keys).size).toBe(100);
  });

  test('a last batch may be smaller, and chunks are at most its edges', async () => {
    const storage = links();
    const options = { batchSize: 33 };
    const batcher = new DataLoader(
      storage,
      new RandomEdgeSampler(storage),
      negatives(storage, 5),
      null,
      null,
      options,
    );
    const all = await batches(batcher);
    expect(all.map(({ batchSize }) => batchSize)).toEqual([33, 33, 33, 1]);
    expect(all.map(({ dstNegatives }) => dstNegatives?.chunks)).toEqual([5, 5, 5, 1]);
  });

  test('epochs follow each other, positions are found again', async () => {
    const storage = links();
    const make = () =>
      new GraphBatcher(storage, new RandomEdgeSampler(storage), null, null, null, { batchSize: 40 });
    const batcher = make();
    const first = await batches(batcher);
    expect(batcher.position).toEqual({ epoch: 0, state: 0, step: 3, cursor: 100 });
    await batcher.nextEpoch();
    const second = await batches(batcher);
    expect(second.map(({ at }) => at.epoch)).toEqual([1, 1, 1]);
    expect([...(first[0].src ?? [])]).not.toEqual([...(second[0].src ?? [])]);
    const other = make();
    other.seek({ epoch: 1, state: 0, step: 1, cursor: 40 });
    expect((await batches(other)).map(({ src }) => [...(src ?? [])])).toEqual(
      second.slice(1).map(({ src }) => [...(src ?? [])]),
    );
    await expect(other.getBatch()).rejects.toThrow(/the end of the split/);
  });

  test('sets have their own number of edges, evaluation knows true ends', async () => {
    const storage = links();
    const batcher = new GraphBatcher(
      storage,
      new RandomEdgeSampler(storage),
      negatives(storage),
      null,
      null,
      {
        batchSize: 10,
        evaluationBatchSize: 5,
      },
    );
    expect(batcher.getNumEdges()).toBe(100);
    batcher.setValidationSet();
    expect(batcher.getNumEdges()).toBe(12);
    const all = await batches(batcher);
    expect(all.map(({ batchSize, train: t }) => [batchSize, t])).toEqual([
      [5, false],
      [5, false],
      [2, false],
    ]);
    const { evaluation, src, dst, relations } = all[0];
    const known = new Set<string>();
    for (const rows of [train, held])
      for (let i = 0; i < rows.length; i += 3) known.add(`${rows[i]}-${rows[i + 1]}-${rows[i + 2]}`);
    const lists = evaluation?.trueDestinations as IdLists;
    for (let i = 0; i < 5; i++) {
      const { offsets, ids } = lists;
      const tails = [...ids.subarray(offsets[i], offsets[i + 1])];
      expect(tails).toContain(dst?.[i]);
      expect(tails.every((tail) => known.has(`${src?.[i]}-${relations?.[i]}-${tail}`))).toBe(true);
    }
    batcher.setTestSet();
    expect((await batches(batcher)).length).toBe(2);
    batcher.setTrainSet();
    expect(batcher.getNumEdges()).toBe(100);
  });

  test('evaluation over edges in a file finds true ends of all batches in one pass', async () => {
    const path = join(folder(), 'train.bin');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(train.buffer, train.byteOffset, train.byteLength));
    const file = new FileEdges({ path, rows: 100, columns: 3, dtype: 'int32' });
    const reads = vi.spyOn(file, 'read');
    const edges = { train: file, validation: new MemoryEdges(held, 3) };
    const options = { batchSize: 10, evaluationBatchSize: 5 };
    const ends = async (storage: GraphModelStorage) => {
      const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), null, null, null, options);
      batcher.setValidationSet();
      return (await batches(batcher)).map(({ evaluation }) => [
        evaluation?.trueSources,
        evaluation?.trueDestinations,
      ]);
    };
    const sets = { numNodes: 30, numRelations: 3, train };
    const wanted = await ends(memoryStorage({ ...sets, validation: held }));
    const storage = memoryStorage({ ...sets, more: { edges } });
    expect(await ends(storage)).toEqual(wanted);
    expect(reads).toHaveBeenCalledTimes(1);
    // Again from the start: nothing of the pass before is kept.
    expect(await ends(storage)).toEqual(wanted);
    expect(reads).toHaveBeenCalledTimes(2);
  });

  test('evaluation with sampled negatives', async () => {
    const storage = links();
    const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), null, null, null, {
      batchSize: 10,
      evaluationNegativeSampler: negatives(storage, 1),
    });
    batcher.setTestSet();
    const [batch] = await batches(batcher);
    expect([batch.evaluation, batch.dstNegatives?.ids.length]).toEqual([null, 6]);
    expect(batch.uniqueNodeEmbeddings?.shape[0]).toBe(batch.uniqueNodeIndices?.length);
  });

  test('parameters and updates go to and fro', async () => {
    const storage = links();
    const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), null, null, null, {
      batchSize: 4,
    });
    await batcher.loadStorage();
    const batch = await batcher.getBatch();
    const ids = batch.uniqueNodeIndices as Int32Array;
    const embeddings = storage.embeddings as TrainedRows;
    const before = await embeddings.gather(ids);
    batch.uniqueNodeGradients = new Float32Array(before.length).fill(1);
    await batcher.updateEmbeddingsForBatch(batch, true);
    expect(await embeddings.gather(ids)).toEqual(before);
    await batcher.updateEmbeddingsForBatch(batch);
    const after = before.map((x) => Math.fround(x - 0.1));
    expect(await embeddings.gather(ids)).toEqual(after);
    await batcher.loadGPUParameters(batch);
    expect([...(batch.uniqueNodeEmbeddings?.dataSync() ?? [])]).toEqual([...after]);
    storage.setEncodedNodes(new Float32Array(30).fill(7), 1);
    await batcher.loadGPUParameters(batch, true);
    expect(batch.uniqueNodeEmbeddings?.shape).toEqual([ids.length, 1]);
    batcher.finishedBatch();
    await batcher.unloadStorage(true);
  });
});

describe('batches with neighbours', () => {
  test('unique ids are those of the sampled graph, and targets are hidden from themselves', async () => {
    const storage = links();
    const sampler = new KHopNeighborSampler(storage, 2, 'ALL');
    for (const hideTargets of [true, false]) {
      const options = { batchSize: 10, hideTargets };
      const batcher = new GraphBatcher(
        storage,
        new RandomEdgeSampler(storage),
        negatives(storage),
        sampler,
        null,
        options,
      );
      let seen = 0;
      for (const batch of await batches(batcher)) {
        const graph = batch.gnnGraph as GNNGraph;
        expect(batch.uniqueNodeIndices).toBe(graph.nodeIds);
        expect(batch.uniqueNodeEmbeddings?.shape[0]).toBe(graph.nodeIds.length);
        const targets = graph.nodeIds.subarray(graph.nodeIds.length - graph.numTargets);
        expect([...(batch.srcRows ?? [])].map((r) => targets[r])).toEqual([...(batch.src ?? [])]);
        expect([...(batch.dstRows ?? [])].map((r) => targets[r])).toEqual([...(batch.dst ?? [])]);
        const own = new Set([...(batch.src ?? [])].map((s, i) => `${s}-${batch.dst?.[i]}`));
        for (const incoming of [true, false]) {
          const { src, dst } = graph.getEdges(incoming);
          seen += [...src].filter((s, i) => own.has(`${s}-${dst[i]}`)).length;
        }
      }
      if (hideTargets) expect(seen).toBe(0);
      else expect(seen).toBeGreaterThan(0);
    }
  });

  test('hiding targets takes time by the sample, not by the graph: all edges are not listed for every batch', async () => {
    const storage = links();
    const sampler = new KHopNeighborSampler(storage, 1, 'ALL');
    const batcher = new GraphBatcher(
      ...([
        storage,
        new RandomEdgeSampler(storage),
        negatives(storage),
        sampler,
        null,
        { batchSize: 10 },
      ] as const),
    );
    await batcher.loadStorage();
    const all = vi.spyOn(storage.graph.graph, 'edges');
    await batches(batcher);
    // Once, for the lists by source that the sampler makes of a graph.
    expect(all.mock.calls.length).toBeLessThanOrEqual(1);
    all.mockRestore();
  });
});

describe('batches of nodes', () => {
  const nodes = {
    train: Int32Array.from({ length: 25 }, (_, i) => (7 * i) % 30),
    validation: Int32Array.of(1, 2, 3),
  };
  const labels = Int32Array.from({ length: 30 }, (_, i) => i % 4);
  const classes = () => memoryStorage({ numNodes: 30, numRelations: 3, train, more: { nodes, labels } });

  test('25 nodes by 5 are 5 batches with labels', async () => {
    const storage = classes();
    const sampler = new KHopNeighborSampler(storage, 1, 'ALL');
    const batcher = new GraphBatcher(storage, new RandomNodeSampler(storage), null, sampler, null, {
      batchSize: 5,
    });
    expect([batcher.source.holdsNodes, batcher.source.numItems]).toEqual([true, 25]);
    const all = await batches(batcher);
    expect(all.map(({ rootNodes }) => rootNodes?.length)).toEqual([5, 5, 5, 5, 5]);
    expect(all.flatMap(({ rootNodes }) => [...(rootNodes ?? [])]).toSorted()).toEqual(
      [...nodes.train].toSorted(),
    );
    for (const { rootNodes, uniqueNodeLabels, uniqueNodeIndices, gnnGraph } of all) {
      expect([...(uniqueNodeLabels ?? [])]).toEqual([...(rootNodes ?? [])].map((id) => id % 4));
      expect(uniqueNodeIndices).toBe(gnnGraph?.nodeIds);
    }
    batcher.setValidationSet();
    expect((await batches(batcher)).map(({ rootNodes }) => [...(rootNodes ?? [])])).toEqual([[1, 2, 3]]);
  });

  test('without neighbours unique ids are the root ids', async () => {
    const storage = classes();
    const batcher = new GraphBatcher(storage, new RandomNodeSampler(storage), null, null, null, {
      batchSize: 5,
    });
    for (const { rootNodes, uniqueNodeIndices, gnnGraph } of await batches(batcher)) {
      expect(uniqueNodeIndices).toEqual(rootNodes);
      expect(gnnGraph).toBeNull();
    }
  });
});

describe('custom samplers', () => {
  /** The active edges as they come. */
  class InOrder extends EdgeSampler {
    override getEdges({ startIndex, batchSize }: Batch): EdgeList {
      const { src, dst, relations } = this.graphStorage.activeEdges;
      const part = (ids: Int32Array) => ids.slice(startIndex, startIndex + batchSize);
      return { src: part(src), dst: part(dst), relations: relations ? part(relations) : null };
    }
  }
  class FirstNodes extends NodeSampler {
    override getNodes({ startIndex, batchSize }: Batch): Int32Array {
      return this.graphStorage.activeNodes.slice(startIndex, startIndex + batchSize);
    }
  }
  class AlwaysZero extends NegativeSampler {
    override getNegatives(_batch: Batch, src: boolean): Int32Array {
      return new Int32Array(4).fill(src ? 0 : 1);
    }
  }
  class OneHop extends NeighborSampler {
    readonly neighborSamplingStrategy = 'ALL';
    readonly maxNeighborsSize = -1;
    readonly asked: number[] = [];
    override getNeighbors(ids: Int32Array, incoming = true, outgoing = true, at?: SampleTime): GNNGraph {
      this.asked.push(ids.length);
      return new kHopNeighborSampler(this.graphStorage, 1).getNeighbors(ids, incoming, outgoing, at);
    }
  }

  test('edges, negatives and neighbours', async () => {
    const storage = links();
    const neighbours = new OneHop(storage);
    const batcher = new GraphBatcher(
      storage,
      new InOrder(storage),
      new AlwaysZero(storage),
      neighbours,
      null,
      {
        batchSize: 50,
      },
    );
    const [batch] = await batches(batcher);
    expect([...(batch.src ?? [])]).toEqual([...storage.activeEdges.src.subarray(0, 50)]);
    expect(batch.srcNegatives).toEqual({ ids: new Int32Array(4), chunks: 1 });
    expect(batch.dstNegatives?.ids[0]).toBe(1);
    expect(neighbours.asked).toHaveLength(2);
    expect(batch.gnnGraph?.nodeIds.length).toBe(batch.uniqueNodeEmbeddings?.shape[0]);
  });

  test('nodes', async () => {
    const nodes = { train: Int32Array.of(9, 8, 7) };
    const storage = memoryStorage({ numNodes: 30, numRelations: 3, train, more: { nodes } });
    const batcher = new GraphBatcher(storage, new FirstNodes(storage), null, null, null, { batchSize: 2 });
    const all = await batches(batcher);
    expect(all.map(({ rootNodes }) => [...(rootNodes ?? [])])).toEqual([[9, 8], [7]]);
  });

  test('anything else is refused', () => {
    expect(() => new GraphBatcher(links(), {} as never)).toThrow(
      /a TrainingEdgeSampler or a TrainingNodeSampler/,
    );
  });
});
