/** Samplers of training: what each may draw, on the graphs of the reference tests and on a buffer with a hole. */
import {
  Batch,
  GraphModelStorage,
  kHopNeighborSampler,
  RandomNegativeSampler,
  RandomNodeSampler,
} from 'skein/marius';
import { BufferedEmbeddings, BufferedTable, PartitionBuffer, PartitionLayout, rowSGD } from 'skein/storage';
import { KHopNeighborSampler, type Negatives, RandomEdgeSampler } from 'skein/train';
import { StateError, ValueError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import { MemoryEdges } from '#internal/train/tasks/graph/storage/edge-splits.js';
import type { RandomNegativeSamplerOptions } from '#internal/train/tasks/links/negative-sampler.js';
import { edgeKeys, memoryStorage, randomRows, scratch } from './tiny.js';

const folder = scratch();

/** The batch at a place of the active edges. */
function batchAt(start: number, size: number, epoch = 0, step = 0): Batch {
  const batch = new Batch(true);
  batch.startIndex = start;
  batch.batchSize = size;
  batch.at = { epoch, step };
  return batch;
}

/** The graph of six nodes: 0-2, 0-4, 1-3, 1-5, 4-2, 5-2, of one or two relations. */
const six = {
  plain: Int32Array.from([0, 2, 0, 4, 1, 3, 1, 5, 4, 2, 5, 2]),
  typed: Int32Array.from([0, 0, 2, 0, 0, 4, 1, 0, 3, 1, 1, 5, 4, 0, 2, 5, 1, 2]),
};

async function sixNodes(typed: boolean): Promise<GraphModelStorage> {
  const train = typed ? six.typed : six.plain;
  const storage = memoryStorage({ numNodes: 6, numRelations: typed ? 2 : 0, train });
  await storage.startEpoch(0);
  await storage.trainFilterIndex();
  return storage;
}

/** Edges 0-2, 1-3 and 4-2 of it. */
function threeEdges(typed: boolean): Batch {
  const batch = batchAt(0, 3);
  batch.src = Int32Array.of(0, 1, 4);
  batch.dst = Int32Array.of(2, 3, 2);
  batch.relations = typed ? Int32Array.of(0, 0, 0) : null;
  return batch;
}

/** The edges that the masked negatives make in place of an end. */
function maskedEdges(batch: Batch, { ids, chunks, mask }: Negatives, src: boolean): string[] {
  const [from, to] = [batch.src as Int32Array, batch.dst as Int32Array];
  const count = ids.length / chunks;
  const perChunk = Math.ceil(from.length / chunks);
  const found: string[] = [];
  for (let i = 0; i < from.length; i++) {
    for (let k = mask?.offsets[i] ?? 0; k < (mask?.offsets[i + 1] ?? 0); k++) {
      const id = ids[Math.floor(i / perChunk) * count + (mask?.positions[k] ?? 0)];
      const relation = batch.relations?.[i] ?? 0;
      found.push(src ? `${id}-${relation}-${to[i]}` : `${from[i]}-${relation}-${id}`);
    }
  }
  return found;
}

describe('RandomEdgeSampler', () => {
  const train = randomRows(20, 50, 3);
  const epoch = async (sampler: RandomEdgeSampler, number: number): Promise<string[]> => {
    await sampler.graphStorage.startEpoch(number);
    const keys: string[] = [];
    for (let start = 0; start < 50; start += 7) {
      const { src, dst, relations } = sampler.getEdges(batchAt(start, 7, number));
      keys.push(...edgeKeys(src, relations ?? null, dst));
    }
    return keys;
  };

  test('gives every edge once an epoch, in another order each time', async () => {
    const storage = memoryStorage({ numNodes: 20, numRelations: 3, train });
    const sampler = new RandomEdgeSampler(storage, { seed: 2 });
    const [first, second] = [await epoch(sampler, 0), await epoch(sampler, 1)];
    const { src, dst, relations } = await storage.trainEdges();
    const all = edgeKeys(src, relations ?? null, dst);
    expect(first.toSorted()).toEqual(all.toSorted());
    expect(second.toSorted()).toEqual(all.toSorted());
    expect(first).not.toEqual(all);
    expect(first).not.toEqual(second);
    expect(await epoch(new RandomEdgeSampler(storage, { seed: 2 }), 0)).toEqual(first);
    expect(await epoch(new RandomEdgeSampler(storage, { seed: 3 }), 0)).not.toEqual(first);
    expect(await epoch(new RandomEdgeSampler(storage, { shuffle: false }), 4)).toEqual(all);
  });
});

describe('RandomNodeSampler', () => {
  test('gives every training node once an epoch', async () => {
    const nodes = { train: Int32Array.of(3, 1, 4, 15, 9, 2, 6) };
    const storage = memoryStorage({ numNodes: 20, train: six.plain, more: { nodes } });
    const sampler = new RandomNodeSampler(storage);
    await storage.startEpoch(0);
    const draw = (epoch: number) =>
      [0, 3, 6].flatMap((start) => [...sampler.getNodes(batchAt(start, 3, epoch))]);
    expect(draw(0).toSorted()).toEqual([...nodes.train].toSorted());
    expect(draw(0)).not.toEqual(draw(1));
  });
});

describe.each([false, true])('RandomNegativeSampler on six nodes (relations: %s)', (typed) => {
  const edges = new Set(
    edgeKeys(
      Int32Array.of(0, 0, 1, 1, 4, 5),
      typed ? Int32Array.of(0, 0, 0, 1, 0, 1) : null,
      Int32Array.of(2, 4, 3, 5, 2, 2),
    ),
  );
  const inBatch = new Set(['0-0-2', '1-0-3', '4-0-2']);
  const draw = async (options: RandomNegativeSamplerOptions, src: boolean) => {
    const batch = threeEdges(typed);
    return {
      batch,
      negatives: new RandomNegativeSampler(await sixNodes(typed), options).getNegatives(batch, src),
    };
  };

  test.each([true, false])('shapes and ranges, with and without degrees (sources: %s)', async (src) => {
    for (const numChunks of [1, 3]) {
      for (const degreeFraction of [0, 0.5, 1]) {
        const { negatives } = await draw({ numChunks, numNegatives: 8, degreeFraction }, src);
        expect([negatives.chunks, negatives.ids.length]).toEqual([numChunks, numChunks * 8]);
        expect(negatives.ids.every((id) => id >= 0 && id < 6)).toBe(true);
        const ends = src ? [0, 1, 4] : [2, 3];
        const share = Math.floor(8 * degreeFraction);
        for (let c = 0; c < numChunks; c++)
          for (let j = 0; j < share; j++) expect(ends).toContain(negatives.ids[c * 8 + j]);
      }
    }
  });

  test.each([true, false])('local filters name edges of the batch (sources: %s)', async (src) => {
    for (const numChunks of [1, 3]) {
      for (const degreeFraction of [0, 0.5, 1]) {
        for (const localFilterMode of ['DEG', 'ALL'] as const) {
          const options = { numChunks, numNegatives: 12, degreeFraction, localFilterMode };
          const { batch, negatives } = await draw(options, src);
          const masked = maskedEdges(batch, negatives, src);
          expect(masked.filter((key) => !inBatch.has(key))).toEqual([]);
          if (localFilterMode === 'DEG' && degreeFraction === 0) expect(negatives.mask).toBeNull();
          if (localFilterMode === 'ALL')
            expect(masked.length).toBe(countTrue(batch, negatives, src, inBatch));
        }
      }
    }
  });

  test.each([true, false])(
    'filtered takes all nodes and leaves out the graph’s edges (sources: %s)',
    async (src) => {
      const { batch, negatives } = await draw({ filtered: true, numChunks: 3, degreeFraction: 1 }, src);
      expect([...negatives.ids]).toEqual([0, 1, 2, 3, 4, 5]);
      expect(negatives.chunks).toBe(1);
      const masked = maskedEdges(batch, negatives, src);
      expect(masked.filter((key) => !edges.has(key))).toEqual([]);
      expect(masked.length).toBe(countTrue(batch, negatives, src, edges));
    },
  );

  test.each([true, false])(
    'knownFilter leaves out drawn negatives that make an edge of the graph (sources: %s)',
    async (src) => {
      for (const numChunks of [1, 3]) {
        const options = { numChunks, numNegatives: 40 };
        const { batch, negatives } = await draw({ ...options, knownFilter: true }, src);
        const masked = maskedEdges(batch, negatives, src);
        expect(masked.filter((key) => !edges.has(key))).toEqual([]);
        expect(masked.length).toBe(countTrue(batch, negatives, src, edges));
        // Sources with relations are the only ones whose true edges are all in the batch.
        expect(masked.every((key) => inBatch.has(key))).toBe(typed && src);
        // The draws are those of the sampler without the filter.
        expect((await draw(options, src)).negatives.ids).toEqual(negatives.ids);
      }
    },
  );

  test.each([true, false])(
    'known ends are negatives too, except where they make the edge (sources: %s)',
    async (src) => {
      for (const numChunks of [1, 2, 3]) {
        const { batch, negatives } = await draw({ numChunks, numNegatives: 4, knownEnds: true }, src);
        const perChunk = Math.ceil(3 / numChunks);
        const count = 4 + perChunk;
        expect(negatives.ids.length).toBe(numChunks * count);
        const known = [...((src ? batch.dst : batch.src) as Int32Array)];
        for (let c = 0; c < numChunks; c++) {
          const own = known.slice(c * perChunk, (c + 1) * perChunk);
          const added = negatives.ids.subarray(c * count + 4, (c + 1) * count);
          for (const id of own) expect(added).toContain(id);
          for (const id of added) expect(own).toContain(id);
        }
        expect(maskedEdges(batch, negatives, src).filter((key) => !inBatch.has(key))).toEqual([]);
      }
      const loop = threeEdges(typed);
      loop.dst = Int32Array.of(0, 3, 2);
      const options = { numNegatives: { src: 1, dst: 1 }, knownEnds: true };
      const { mask } = new RandomNegativeSampler(await sixNodes(typed), options).getNegatives(loop, src);
      expect(mask?.positions.subarray(0, mask.offsets[1]), 'an edge from a node to itself').toContain(1);
    },
  );

  test.each([true, false])('all nodes are taken but the true end of each edge (sources: %s)', async (src) => {
    const { batch, negatives } = await draw({ numNegatives: -1, numChunks: 3 }, src);
    expect([[...negatives.ids], negatives.chunks]).toEqual([[0, 1, 2, 3, 4, 5], 1]);
    expect(negatives.mask).toEqual({
      offsets: Int32Array.of(0, 1, 2, 3),
      positions: (src ? batch.src : batch.dst) as Int32Array,
    });
  });

  test.each([true, false])(
    'a drawn negative is never the true end with selfFilter (sources: %s)',
    async (src) => {
      for (const numChunks of [1, 3]) {
        for (const degreeFraction of [0, 0.5, 1]) {
          const options = { numChunks, numNegatives: 40, degreeFraction };
          const { batch, negatives } = await draw({ ...options, selfFilter: true }, src);
          const ends = (src ? batch.src : batch.dst) as Int32Array;
          const perChunk = Math.ceil(3 / numChunks);
          for (const [i, end] of ends.entries()) {
            const own = negatives.ids.subarray(
              Math.floor(i / perChunk) * 40,
              (Math.floor(i / perChunk) + 1) * 40,
            );
            const { offsets, positions } = negatives.mask as NonNullable<Negatives['mask']>;
            const want = [...own.keys()].filter((j) => own[j] === end);
            expect([...positions.subarray(offsets[i], offsets[i + 1])]).toEqual(want);
          }
          // The draws are those of the sampler without the filter.
          expect((await draw(options, src)).negatives.ids).toEqual(negatives.ids);
        }
      }
    },
  );

  test('each end has its own number of negatives', async () => {
    const numNegatives = { src: 4, dst: 9 };
    for (const [src, count] of [
      [true, 4],
      [false, 9],
    ] as const) {
      const { negatives } = await draw({ numChunks: 2, numNegatives, degreeFraction: 0.5 }, src);
      expect([negatives.chunks, negatives.ids.length]).toEqual([2, 2 * count]);
    }
  });

  test('draws depend on seed, epoch, step and direction alone', async () => {
    const storage = await sixNodes(typed);
    const at = (epoch: number, step: number, src: boolean, seed = 1) => {
      const batch = threeEdges(typed);
      batch.at = { epoch, step };
      const sampler = new RandomNegativeSampler(storage, { numNegatives: 20, degreeFraction: 0.5, seed });
      return sampler.getNegatives(batch, src).ids.join();
    };
    expect(at(1, 2, true)).toBe(at(1, 2, true));
    const others = [at(1, 2, true), at(1, 2, false), at(2, 2, true), at(1, 3, true), at(1, 2, true, 9)];
    expect(new Set(others).size).toBe(5);
  });
});

/** How many (edge, negative) pairs are among `known`. */
function countTrue(batch: Batch, { ids, chunks }: Negatives, src: boolean, known: Set<string>): number {
  const [from, to] = [batch.src as Int32Array, batch.dst as Int32Array];
  const count = ids.length / chunks;
  const perChunk = Math.ceil(from.length / chunks);
  let found = 0;
  for (let i = 0; i < from.length; i++) {
    for (let j = 0; j < count; j++) {
      const id = ids[Math.floor(i / perChunk) * count + j];
      const relation = batch.relations?.[i] ?? 0;
      if (known.has(src ? `${id}-${relation}-${to[i]}` : `${from[i]}-${relation}-${id}`)) found++;
    }
  }
  return found;
}

describe('RandomNegativeSampler', () => {
  test('wrong options are rejected with an error that names them', async () => {
    const storage = await sixNodes(false);
    expect(() => new RandomNegativeSampler(storage, { numChunks: 0 })).toThrow(/numChunks/);
    expect(() => new RandomNegativeSampler(storage, { numNegatives: 1.5 })).toThrow(/numNegatives/);
    expect(() => new RandomNegativeSampler(storage, { numNegatives: { src: 3, dst: -1 } })).toThrow(
      /numNegatives.dst/,
    );
    expect(() => new RandomNegativeSampler(storage, { degreeFraction: 1.1 })).toThrow(/degreeFraction/);
  });

  test('filtered needs the index', async () => {
    const storage = memoryStorage({ numNodes: 6, train: six.plain });
    await storage.startEpoch(0);
    const sampler = new RandomNegativeSampler(storage, { filtered: true });
    expect(() => sampler.getNegatives(threeEdges(false), true)).toThrow(StateError);
  });

  test('a share by degree follows the batch', async () => {
    const storage = memoryStorage({
      numNodes: 1000,
      train: Int32Array.from({ length: 2000 }, (_, i) => i % 7),
    });
    await storage.startEpoch(0);
    const batch = batchAt(0, 100);
    batch.src = Int32Array.from({ length: 100 }, (_, i) => (i < 80 ? 1 : 2));
    batch.dst = new Int32Array(100).fill(3);
    const sampler = new RandomNegativeSampler(storage, { numNegatives: 4000, degreeFraction: 0.5 });
    const { ids } = sampler.getNegatives(batch, true);
    const ones = ids.subarray(0, 2000).filter((id) => id === 1).length;
    expect(Math.abs(ones / 2000 - 0.8)).toBeLessThan(0.05);
    const mean = ids.subarray(2000).reduce((a, b) => a + b, 0) / 2000;
    expect(Math.abs(mean - 499.5)).toBeLessThan(30);
  });
});

describe('a partition buffer', () => {
  /** 45 nodes in 5 partitions of 9 … the last of which is shorter when there are 43. */
  async function buffered(states: readonly Int32Array[]): Promise<GraphModelStorage> {
    const layout = new PartitionLayout(43, 5);
    const optimizer = rowSGD({});
    const columns = optimizer.columns('embeddings', 2);
    const files = await TableFiles.create(folder(), { layout, columns });
    const table = new BufferedTable(new PartitionBuffer(files, 2));
    const sizes = new Float64Array(25);
    return new GraphModelStorage({
      numNodes: 43,
      numRelations: 0,
      edges: { train: new MemoryEdges(new Int32Array(0), 2, sizes) },
      embeddings: new BufferedEmbeddings(table, 'embeddings', optimizer),
      plan: () => ({ partitions: 5, states, buckets: states.map(() => new Int32Array(0)) }),
    });
  }

  test.each([
    [
      [4, 1],
      [0, 7, 9, 18],
    ],
    [
      [1, 4],
      [0, 9, 9, 16],
    ],
  ])('state %j: the hole of the short last partition is never drawn', async (state, [a, b, c, d]) => {
    const storage = await buffered([Int32Array.from(state)]);
    await storage.startEpoch(0);
    const sampler = new RandomNegativeSampler(storage, { numNegatives: 2000 });
    const { ids } = sampler.getNegatives(threeEdges(false), true);
    const wanted = [...range(a, b), ...range(c, d)];
    expect([...new Set(ids)].toSorted((x, y) => x - y)).toEqual(wanted);
    const all = new RandomNegativeSampler(storage, { numNegatives: -1 });
    expect([...all.getNegatives(threeEdges(false), true).ids]).toEqual(wanted);
    await storage.unload();
  });

  test('evaluation draws from all nodes by their own numbers, whatever is resident', async () => {
    const storage = await buffered([Int32Array.of(1, 4)]);
    await storage.startEpoch(0);
    const sampler = new RandomNegativeSampler(storage, { numNegatives: 4000 });
    const batch = new Batch(false);
    batch.src = Int32Array.of(42);
    batch.dst = Int32Array.of(40);
    expect(new Set(sampler.getNegatives(batch, true).ids).size).toBe(43);
    await storage.unload();
  });

  test('filtered negatives while some partitions are away are refused', async () => {
    const storage = await buffered([Int32Array.of(1, 4)]);
    await storage.startEpoch(0);
    await storage.trainFilterIndex();
    const sampler = new RandomNegativeSampler(storage, { filtered: true });
    expect(() => sampler.getNegatives(threeEdges(false), true)).toThrow(/all nodes/);
    await storage.unload();
  });
});

describe('KHopNeighborSampler', () => {
  const worked = Int32Array.from([0, 0, 1, 0, 0, 2, 1, 1, 4, 2, 0, 3, 3, 1, 0, 4, 0, 1]);
  const storage = async () => {
    const made = memoryStorage({ numNodes: 5, numRelations: 2, train: worked });
    await made.startEpoch(0);
    await made.loadGraph();
    return made;
  };

  test('the worked vector: two hops of all neighbours of node 3', async () => {
    const sampler = new KHopNeighborSampler(await storage(), 2, 'ALL');
    const graph = sampler.sample(Int32Array.of(3)).performMap();
    expect([...graph.nodeIds]).toEqual([1, 0, 2, 3]);
    expect([...graph.hopOffsets]).toEqual([0, 1, 3, 4]);
    expect([...graph.getNeighborIDs(true)]).toEqual([3, 1, 2]);
    expect([...graph.getNeighborIDs(false)]).toEqual([0, 2, 3, 1]);
    expect([...(graph.getRelationIDs(true) ?? [])]).toEqual([1, 0, 0]);
  });

  test('one direction at a time, and the same off the thread', async () => {
    const sampler = new KHopNeighborSampler(await storage(), 1, 'ALL', -1, { outgoing: false });
    expect([...sampler.sample(Int32Array.of(3)).nodeIds]).toEqual([2, 3]);
    expect([...(await sampler.sampleAsync(Int32Array.of(3))).nodeIds]).toEqual([2, 3]);
  });

  test('UNIFORM draws at most so many, by seed and time', async () => {
    const train = randomRows(30, 400, 0);
    const made = memoryStorage({ numNodes: 30, train });
    await made.startEpoch(0);
    await made.loadGraph();
    const sampler = new KHopNeighborSampler(made, 1, 'UNIFORM', 3, { outgoing: false, seed: 4 });
    const draw = (epoch: number) => {
      const graph = sampler.sample(Int32Array.of(1, 2), { epoch, step: 0 });
      return [...graph.getNeighborIDs(true, true)];
    };
    expect(draw(0)).toHaveLength(6);
    expect(draw(0)).toEqual(draw(0));
    expect(draw(0)).not.toEqual(draw(1));
  });

  test('names, members and mistakes', async () => {
    const made = await storage();
    const sampler = new kHopNeighborSampler(made, 3, 'UNIFORM', 5);
    expect(sampler).toMatchObject({ neighborSamplingStrategy: 'UNIFORM', maxNeighborsSize: 5 });
    expect(sampler.layers).toHaveLength(3);
    expect(sampler.forLayer(1).layers).toEqual([{ type: 'UNIFORM', maxNeighbors: 5 }]);
    expect(() => new KHopNeighborSampler(made, 1, 'SOME' as never)).toThrow(ValueError);
    expect(() => new KHopNeighborSampler(made, -1)).toThrow(/layers/);
  });
});

function range(begin: number, end: number): number[] {
  return Array.from({ length: end - begin }, (_, i) => begin + i);
}
