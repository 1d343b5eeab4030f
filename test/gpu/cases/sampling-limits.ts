/** Groups H and P: odd seeds and graphs, graphs in segments, hops that are counted first, hash tables under stress. */
import { GPUSampler, type GpuDevice } from 'skein/gpu';
import { Graph, SparseMatrix } from 'skein/graph';
import { NeighborSampler } from 'skein/sample';
import { StateError, ValueError } from 'skein/util';
import { reindexIds } from '#internal/gpu/sampling/reindex.js';
import { hashId } from '#internal/gpu/sampling/reindex-programs.js';
import { equal, ok, throws } from './assert.js';
import type { GpuCase } from './case.js';
import { equalBatches, sameAsCpu, skewedGraph, withSampler } from './sampling-graphs.js';

const odd = Graph.fromEdges([0, 0, 1, 1, 2], [0, 1, 1, 1, 1], { numNodes: 5 });

async function oddSeeds(gpu: GpuDevice): Promise<void> {
  await withSampler(gpu, odd, { sizes: [9] }, async (sampler) => {
    const { allNode, seedRows, batchSize, adjs } = await sampler.sample([1, 4, 1, 0]);
    equal(seedRows, [0, 1, 0, 2], 'equal seeds share a row');
    equal(batchSize, 3, 'rows of seeds');
    equal(allNode, [1, 4, 0, 2], 'nodes, an isolated seed among them');
    equal(adjs[0].eId, [1, 2, 3, 4, 0], 'multi-edges and self loops are kept');
    equal(adjs[0].size, [4, 3], 'size');
    const { allNode: none, adjs: empty } = await sampler.sample([]);
    equal(none.length, 0, 'no seeds, no nodes');
    equal(empty[0].size, [0, 0], 'size of an empty layer');
  });
  await withSampler(gpu, odd, { sizes: [2, 2] }, async (sampler) => {
    const { allNode, nodesPerHop, edgesPerHop, adjs } = await sampler.sample([3, 4]);
    equal(allNode, [3, 4], 'all seeds isolated');
    equal([...nodesPerHop, ...edgesPerHop], [2, 0, 0, 0, 0], 'counts');
    equal([...adjs[0].size, ...adjs[1].size], [2, 2, 2, 2], 'sizes');
  });
  await withSampler(gpu, odd, { sizes: [0] }, async (sampler) => {
    equal((await sampler.sample([0, 1])).adjs[0].numEdges, 0, 'k = 0');
  });
  const nothing = { indptr: new Int32Array(1), indices: new Int32Array(0) };
  for (const table of ['dense', 'hash'] as const)
    await withSampler(gpu, nothing, { sizes: [2, -1], table }, async (sampler) => {
      equal((await sampler.sample([])).nodesPerHop, [0, 0, 0], 'a graph without nodes');
      await throws(() => sampler.sample([0]), ValueError, /0 at position 0/);
    });
  await withSampler(gpu, odd, { sizes: [] }, async (sampler) => {
    equal((await sampler.sample([1])).adjs.length, 0, 'no hops');
  });
}

async function refusals(gpu: GpuDevice): Promise<void> {
  await withSampler(gpu, odd, {}, async (sampler) => {
    await throws(() => sampler.sample([0]), StateError, /setSize/);
    sampler.setSize([2]);
    await throws(() => sampler.sample([0, 7]), ValueError, /0 to 4 for seeds, got "7 at position 1"/);
    await throws(() => sampler.sample([-1]), ValueError, /-1 at position 0/);
    await throws(() => sampler.sample([0], { step: -1 }), ValueError, /step/);
    await throws(() => sampler.setSize([-2]), ValueError, /fanouts\[0\]/);
    equal((await sampler.sample([1])).batchSize, 1, 'works after an error');
  });
  const csr = { indptr: Int32Array.of(0, 1), indices: Int32Array.of(5) };
  await throws(() => new GPUSampler(gpu, csr), ValueError, /got "5 at position 0"/);
  await throws(() => new GPUSampler('gpu' as never, csr), ValueError, /GpuDevice/);
  await throws(() => new GPUSampler(gpu, odd, { weights: [1, 2, 3] }), Error, /weights/);
  await throws(() => new GPUSampler(gpu, odd, { dropout: 0.5, replace: true }), ValueError, /dropout/);
  const released = new GPUSampler(gpu, odd, { sizes: [1] });
  released.release();
  await throws(() => released.sample([1]), StateError, /release/);
}

/** Rows of a CSR matrix are used unchanged; nodes beyond the last row are isolated. */
async function csrForms(gpu: GpuDevice): Promise<void> {
  const indptr = Int32Array.of(0, 2, 3);
  const indices = Int32Array.of(1, 3, 4);
  await withSampler(gpu, { indptr, indices, numNodes: 6 }, { sizes: [-1, -1] }, async (sampler) => {
    equal(sampler.numNodes, 6, 'trailing isolated nodes are kept');
    const { allNode, adjs } = await sampler.sample([0, 5]);
    equal(allNode, [0, 5, 1, 3, 4], 'neighbours are what the row lists');
    equal(adjs[0].eId, [0, 1, 2], 'edge ids are indices');
  });
  const offsets = Int32Array.of(0, 2, 3, 3, 3, 3, 3);
  const matrix = SparseMatrix.fromCsr(offsets, indices, null, [6, 6]);
  await withSampler(gpu, matrix, { sizes: [-1] }, async (sampler) => {
    equal((await sampler.sample([0])).allNode, [0, 1, 3], 'a sparse matrix');
  });
  for (const direction of ['in', 'out', 'both'] as const)
    await sameAsCpu(gpu, skewedGraph(60, 400), { fanouts: [4, 3], direction }, [0, 3, 59, 3]);
}

async function everyRule(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(200, 3000);
  const weights = Float32Array.from({ length: 3000 }, (_, i) => (i % 3 === 0 ? 0 : 1 + (i % 7)));
  const seeds = [1, 5, 1, 20, 199, 7, 0];
  for (const table of ['dense', 'hash'] as const) {
    for (const fanouts of [
      [5, 3],
      [3, 2, 2],
      [4, -1],
      [-1, 2],
      [2, 0, 3],
    ]) {
      for (const rule of [{}, { replace: true }, { weights }, { weights, replace: true }])
        await sameAsCpu(gpu, graph, { fanouts, seed: 3, ...rule }, seeds, { table });
    }
    await sameAsCpu(gpu, graph, { fanouts: [-1, -1], strategy: 'dropout', rate: 0.8 }, seeds, { table });
  }
}

/** More picks than private memory holds. */
async function manyPicks(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(40, 9000);
  const weights = Float32Array.from({ length: 9000 }, (_, i) => i % 5);
  for (const fanouts of [[16], [17], [33, 32], [64], [65, 2], [700], [2000]])
    for (const rule of [{}, { replace: true }, { weights }, { weights, replace: true }])
      await sameAsCpu(gpu, graph, { fanouts, seed: 5, ...rule }, [0, 1, 2, 30]);
}

/** Segments of a few entries: rows, edges and weights are in many bindings. */
async function segments(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(200, 1500);
  const weights = Float32Array.from({ length: 1500 }, (_, i) => 1 + (i % 4));
  for (const table of ['dense', 'hash'] as const) {
    await sameAsCpu(gpu, graph, { fanouts: [6, 4], seed: 9 }, [0, 90, 150, 199], { table, segmentBytes: 76 });
    const weighted = { fanouts: [6, 4], seed: 9, weights };
    await sameAsCpu(gpu, graph, weighted, [0, 90, 150, 199], { table, segmentBytes: 1000 });
  }
  await throws(
    () => new GPUSampler(gpu, graph, { weights, segmentBytes: 40 }),
    ValueError,
    /at most 10 weighted edges of a node/,
  );
}

/** All hops are one submission; a hop that is too large to reserve is counted first. */
async function submissions(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(300, 4000);
  const seeds = Int32Array.from({ length: 40 }, (_, i) => i);
  const cost = async (sizes: number[], reserveEdges: number) =>
    withSampler(gpu, graph, { sizes, reserveEdges }, async (sampler) => {
      await gpu.finish();
      const before = gpu.stats();
      const sample = await sampler.sampleOnDevice(seeds, { step: 0 });
      const after = gpu.stats();
      const cpu = new NeighborSampler(graph, { fanouts: sizes }).sample(seeds, { step: 0 });
      equalBatches(await sample.toBatch(), cpu, `[${sizes}]`);
      sample.release();
      return [after.readBacks - before.readBacks, after.submissions - before.submissions];
    });
  // The last read is that of the sizes, which is a separate submission.
  equal(await cost([5, 4, 3], 0), [1, 2], 'reads and submissions of three hops');
  equal(await cost([-1, -1], 1 << 20), [1, 2], 'of two hops that take all, within the reservation');
  ok((await cost([-1, -1, -1], 100))[0] > 1, 'hops beyond the reservation are counted first');
}

/** Larger batches than one tile, one workgroup, and the count from which grids are indirect. */
async function largeBatch(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(30_000, 200_000);
  const seeds = Int32Array.from({ length: 3000 }, (_, i) => i * 9);
  for (const table of ['dense', 'hash'] as const)
    await sameAsCpu(gpu, graph, { fanouts: [12, 6], seed: 2 }, seeds, { table });
}

function reindexed(ids: Uint32Array): { unique: number[]; local: number[] } {
  const rows = new Map<number, number>();
  for (const id of ids) if (!rows.has(id)) rows.set(id, rows.size);
  return { unique: [...rows.keys()], local: Array.from(ids, (id) => rows.get(id) as number) };
}

async function tableStress(gpu: GpuDevice): Promise<void> {
  const inputs: [string, Uint32Array][] = [
    ['none', new Uint32Array(0)],
    ['one', Uint32Array.of(5)],
    ['all ids equal', new Uint32Array(5000).fill(123)],
    ['half full', Uint32Array.from({ length: 4096 }, (_, i) => i * 977)],
    ['the largest ids', Uint32Array.of(0, 2 ** 31 - 2, 2 ** 32 - 2, 0, 2 ** 32 - 2, 2 ** 31 - 1, 2 ** 31)],
    ['all in one hash bucket', collisions(256)],
    ['many in any order', Uint32Array.from({ length: 70_000 }, (_, i) => (hashId(i) % 30_000) * 70_001)],
  ];
  for (const [name, ids] of inputs) {
    const expected = reindexed(ids);
    const { unique, local } = await reindexIds(gpu, ids);
    equal(unique, expected.unique, `${name}: unique`);
    equal(local, expected.local, `${name}: local`);
  }
  await throws(() => reindexIds(gpu, Uint32Array.of(1, 2 ** 32 - 1)), ValueError, /position 1/);
}

/** Returns ids that all hash to the first entry of a table for `count` ids. */
function collisions(count: number): Uint32Array {
  const ids: number[] = [];
  for (let id = 0; ids.length < count; id++) if ((hashId(id) & (2 * count - 1)) === 0) ids.push(id);
  return Uint32Array.from(ids);
}

export const cases: readonly GpuCase[] = [
  {
    group: 'H',
    name: 'equal, isolated and no seeds, self loops, multi-edges, k = 0, k above the degree',
    run: oddSeeds,
  },
  { group: 'H', name: 'invalid arguments', run: refusals },
  { group: 'H', name: 'CSR arrays, a sparse matrix, directions', run: csrForms },
  { group: 'H', name: 'every option draws as the CPU does', run: everyRule },
  { group: 'H', name: 'k around the capacity for picks and above', run: manyPicks },
  { group: 'H', name: 'a graph in segments', run: segments },
  { group: 'H', name: 'one submission for all hops', run: submissions },
  { group: 'H', name: 'a batch of tens of thousands of nodes', run: largeBatch },
  { group: 'P', name: 'the hash table under stress', run: tableStress },
];
