import { describe, expect, it } from 'vitest';
import { type Kernels, nativeKernels, referenceKernels } from '#internal/native/index.js';
import { expectSameBytesForThreads, randomIds } from './harness.js';
import { fromPairs, runSample, type SampleOptions, skewedGraph } from './sample-graph.js';

const implementations: [string, Kernels | null][] = [
  ['reference', referenceKernels],
  ['native', nativeKernels],
];
const graph = skewedGraph(500, 6000);
const runningSums = runningSumsOf(graph.offsets, randomIds(graph.indices.length, 5, 9));

function runningSumsOf(offsets: Int32Array, weights: ArrayLike<number>): Uint32Array {
  const sums = new Uint32Array(weights.length);
  for (let v = 0; v + 1 < offsets.length; v++) {
    let sum = 0;
    for (let p = offsets[v]; p < offsets[v + 1]; p++) {
      sum += weights[p];
      sums[p] = sum;
    }
  }
  return sums;
}

const seedsOf = (n: number, seed = 3) => randomIds(n, 500, seed);
const cases: Record<string, SampleOptions> = {
  'no seeds': { fanouts: [3, 2], seeds: [] },
  'no hops': { fanouts: [], seeds: [4, 2, 4] },
  'one seed': { fanouts: [3, 2], seeds: [7] },
  'duplicate seeds': { fanouts: [4], seeds: [5, 5, 9, 5, 9] },
  'fan-out 0': { fanouts: [0, 3], seeds: seedsOf(9) },
  'every group size': { fanouts: [1, 2, 3], seeds: seedsOf(17) },
  'all, then some': { fanouts: [-1, 2], seeds: seedsOf(8) },
  '[15, 10, 5]': { fanouts: [15, 10, 5], seeds: seedsOf(33), step: 12 },
  'largest group': { fanouts: [32, 31], seeds: seedsOf(20) },
  'beyond a group': { fanouts: [33, 70], seeds: seedsOf(40) },
  'with replacement': { fanouts: [5, 40], seeds: seedsOf(20), replace: true },
  weighted: { fanouts: [4, 3], seeds: seedsOf(30), weights: runningSums },
  'weighted, all': { fanouts: [-1], seeds: seedsOf(30), weights: runningSums },
  'weighted with replacement': { fanouts: [6, 2], seeds: seedsOf(30), weights: runningSums, replace: true },
  'edge dropout': { fanouts: [-1, -1], seeds: seedsOf(4), drops: [2 ** 31, 0xf0000000] },
  disjoint: { fanouts: [5, 4, 3], seeds: [1, 2, 1, 3, 400], disjoint: true },
  'disjoint, all': { fanouts: [-1, 5], seeds: seedsOf(12), disjoint: true },
  'another key': { fanouts: [7, 3], seeds: seedsOf(21), key: Uint32Array.of(2 ** 32 - 1, 5, 2 ** 31, 77) },
  'step beyond 2^31': { fanouts: [7, 3], seeds: seedsOf(21), step: 2 ** 32 - 1 },
};

for (const [name, kernels] of implementations) {
  describe.skipIf(kernels === null)(`sampleNeighbors, ${name}`, () => {
    const k = kernels as Kernels;

    it('gives the vector of a cycle of six', () => {
      const pairs = Array.from({ length: 6 }, (_, v) => [
        [(v + 5) % 6, v] as const,
        [(v + 1) % 6, v] as const,
      ]);
      const cycle = fromPairs(6, pairs.flat());
      // The published vector stores the neighbours of 0 as (1, 5) and of 5 as (4, 0): ascending except around.
      cycle.indices.set([1, 5], 0);
      cycle.indices.set([4, 0], 10);
      const got = runSample(k, cycle, { fanouts: [-1, -1], seeds: [2, 3] });
      expect([...got.nodes]).toEqual([2, 3, 1, 4, 0, 5]);
      expect([...got.offsets]).toEqual([0, 2, 4, 6, 8]);
      expect([...got.indices]).toEqual([2, 1, 0, 3, 4, 0, 1, 5]);
      expect([...got.slots]).toEqual([4, 5, 6, 7, 2, 3, 8, 9]);
      expect([...got.nodesPerHop]).toEqual([2, 2, 2]);
      expect([...got.edgesPerHop]).toEqual([4, 4]);
    });

    it('reports the capacity it needs and leaves the map clean', () => {
      const options = { fanouts: [5, 5], seeds: seedsOf(30), capacity: 200 };
      const short = runSample(k, graph, options);
      expect(short.status).toBeGreaterThan(200);
      expect(short.map.every((row) => row === -1)).toBe(true);
      const enough = runSample(k, graph, { ...options, capacity: short.status });
      expect(enough.status).toBe(0);
    });

    it.each(Object.entries(cases))('keeps the invariants: %s', (_, options) => {
      const got = runSample(k, graph, options);
      expect(got.status).toBe(0);
      expect(got.map.every((row) => row === -1)).toBe(true);
      Array.from(options.seeds).forEach((seed, i) => {
        expect(got.nodes[got.seedRows[i]]).toBe(seed);
      });
      const keys = Array.from(got.nodes, (id, row) => `${got.trees?.[row] ?? 0},${id}`);
      if (options.disjoint !== true) expect(new Set(keys).size).toBe(keys.length);
      for (let v = 0; v + 1 < got.offsets.length; v++) {
        for (let e = got.offsets[v]; e < got.offsets[v + 1]; e++) {
          const slot = got.slots[e];
          expect(slot).toBeGreaterThanOrEqual(graph.offsets[got.nodes[v]]);
          expect(slot).toBeLessThan(graph.offsets[got.nodes[v] + 1]);
          expect(got.nodes[got.indices[e]]).toBe(graph.indices[slot]);
          if (got.trees !== null) expect(got.trees[got.indices[e]]).toBe(got.trees[v]);
          if (e > got.offsets[v]) {
            const gap = slot - got.slots[e - 1];
            expect(gap).toBeGreaterThanOrEqual(options.replace === true ? 0 : 1);
          }
        }
      }
    });

    it('never takes an edge of weight 0', () => {
      const star = fromPairs(
        41,
        Array.from({ length: 40 }, (_, i) => [i + 1, 0] as const),
      );
      const weights = runningSumsOf(
        star.offsets,
        Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 3 : 0)),
      );
      for (const fanout of [1, 7, 20, 30, 50, -1]) {
        const got = runSample(k, star, { fanouts: [fanout], seeds: [0], weights });
        expect(got.slots.every((slot) => slot % 2 === 0)).toBe(true);
        expect(got.slots.length).toBe(fanout < 0 ? 20 : Math.min(20, fanout));
      }
    });
  });
}

describe.skipIf(nativeKernels === null)('sampling kernels: native = reference', () => {
  const native = nativeKernels as Kernels;

  it.each(Object.entries(cases))('sampleNeighbors: %s', (_, options) => {
    expect(runSample(native, graph, options)).toEqual(runSample(referenceKernels, graph, options));
  });

  it.each([3, 40, -1])('sampleHop with fan-out %i', (fanout) => {
    const run = (k: Kernels) => {
      const map = new Int32Array(500).fill(-1);
      const nodes = new Int32Array(9000);
      const out = [new Int32Array(51), new Int32Array(6000), new Int32Array(6000)];
      map[7] = 0;
      nodes[0] = 7;
      const call = (capacity: number) =>
        k.sampleHop({
          offsets: graph.offsets,
          indices: graph.indices,
          weights: null,
          frontier: seedsOf(50),
          count: 50,
          fanout,
          drop: 0,
          replace: false,
          key: Uint32Array.of(1, 2, 3, 4),
          step: 5,
          tag: 258,
          map,
          nodeIds: nodes,
          numNodes: 1,
          localOffsets: out[0],
          localIndices: out[1],
          positions: out[2],
          capacity,
        });
      const short = call(10);
      const count = call(6000);
      // The contents behind the last node are undefined.
      return [short, count, map, nodes.slice(0, count), out];
    };
    expect(run(native)).toEqual(run(referenceKernels));
  });

  it.each([3, 40, -1])(
    'drawNeighbors with fan-out %i: a partition draws what the whole graph draws',
    (fanout) => {
      const [first, end] = [120, 380];
      const base = graph.offsets[first];
      const part = graph.offsets.slice(first, end + 1).map((offset) => offset - base);
      const nodes = Int32Array.from({ length: 90 }, (_, i) => first + ((i * 37) % (end - first)));
      const key = Uint32Array.of(1, 2, 3, 4);
      const run = (k: Kernels) => {
        const offsets = new Int32Array(91);
        const slots = new Int32Array(6000);
        const call = (capacity: number) =>
          k.drawNeighbors({
            offsets: part,
            weights: null,
            nodes,
            count: 90,
            firstNode: first,
            fanout,
            drop: 0,
            replace: false,
            key,
            step: 5,
            tag: 258,
            localOffsets: offsets,
            positions: slots,
            capacity,
          });
        return { short: call(10), edges: call(6000), offsets, slots };
      };
      const whole = [new Int32Array(91), new Int32Array(6000), new Int32Array(6000)];
      const [localOffsets, localIndices, wholeSlots] = whole;
      referenceKernels.sampleHop({
        ...{ offsets: graph.offsets, indices: graph.indices, weights: null, frontier: nodes, count: 90 },
        ...{ fanout, drop: 0, replace: false, key, step: 5, tag: 258 },
        ...{ map: new Int32Array(500).fill(-1), nodeIds: new Int32Array(9000), numNodes: 0 },
        ...{ localOffsets, localIndices, positions: wholeSlots, capacity: 6000 },
      });
      for (const k of [native, referenceKernels]) {
        const { short, edges, offsets, slots } = run(k);
        expect(short).toBeLessThan(-10);
        expect(offsets).toEqual(whole[0]);
        expect(slots.slice(0, edges).map((slot) => slot + base)).toEqual(whole[2].slice(0, edges));
      }
    },
  );

  const sorted = new Int32Array(graph.indices.length);
  referenceKernels.sortRows(graph.offsets, graph.indices, sorted, graph.numNodes);

  it('sortRows', () => {
    const rows = new Int32Array(graph.indices.length);
    native.sortRows(graph.offsets, graph.indices, rows, graph.numNodes);
    expect(rows).toEqual(sorted);
  });

  it.each([
    ['uniform', null, 0],
    ['with restarts', null, 2 ** 30],
    ['of second order', sorted, 2 ** 29],
  ] as const)('randomWalk %s, for any number of threads', (_, rows, restart) => {
    const starts = seedsOf(700);
    const run = (k: Kernels) => {
      const out = new Int32Array(700 * 2 * 9);
      k.randomWalk({
        offsets: graph.offsets,
        indices: graph.indices,
        sorted: rows,
        starts,
        count: 700,
        walks: 2,
        length: 8,
        restart,
        back: 2 ** 31,
        near: 2 ** 32 - 1,
        far: 2 ** 29,
        key: Uint32Array.of(1, 2, 3, 4),
        step: 6,
        out,
      });
      return out;
    };
    expect(run(native)).toEqual(run(referenceKernels));
    expectSameBytesForThreads((k) => [run(k)]);
  });

  it.each([
    ['uniform', 0, null],
    ['half by degree', 2 ** 31, null],
    ['filtered', 2 ** 30, sorted],
  ] as const)('sampleNegatives %s, for any number of threads', (_, byDegree, rows) => {
    const run = (k: Kernels) => {
      const out = new Int32Array(600 * 5);
      k.sampleNegatives({
        offsets: graph.offsets,
        sorted: rows,
        population: graph.indices,
        populationSize: graph.indices.length,
        nodes: seedsOf(600),
        count: 600,
        perNode: 5,
        byDegree,
        numNodes: 500,
        key: Uint32Array.of(1, 2, 3, 4),
        step: 6,
        tag: 3,
        out,
      });
      return out;
    };
    expect(run(native)).toEqual(run(referenceKernels));
    expectSameBytesForThreads((k) => [run(k)]);
  });

  it('sampleNegatives finds the one node that is not a neighbour, and returns −1 when there is none', () => {
    const pairs = Array.from({ length: 49 }, (_, i) => [i < 20 ? i : i + 1, 0] as const);
    const almost = fromPairs(50, [...pairs, ...Array.from({ length: 50 }, (_, i) => [i, 1] as const)]);
    for (const k of [native, referenceKernels]) {
      const out = new Int32Array(6);
      k.sampleNegatives({
        offsets: almost.offsets,
        sorted: almost.indices,
        population: null,
        populationSize: 0,
        nodes: Int32Array.of(0, 1),
        count: 2,
        perNode: 3,
        byDegree: 0,
        numNodes: 50,
        key: Uint32Array.of(1, 2, 3, 4),
        step: 0,
        tag: 0,
        out,
      });
      expect([...out]).toEqual([20, 20, 20, -1, -1, -1]);
    }
  });

  it('metisPartition separates two cliques, or returns −1 without METIS', () => {
    const clique = (base: number) =>
      Array.from({ length: 8 }, (_, u) =>
        Array.from({ length: 8 }, (_, v) => [base + u, base + v] as const),
      ).flat();
    const pairs = [...clique(0), ...clique(8)].filter(([u, v]) => u !== v);
    const two = fromPairs(16, [...pairs, [7, 8], [8, 7]]);
    const part = new Int32Array(16);
    const cut = native.metisPartition(two.offsets, two.indices, 16, 2, 1, part);
    if (cut === -1) return;
    expect(cut).toBe(1);
    for (let v = 1; v < 8; v++) {
      expect(part[v]).toBe(part[0]);
      expect(part[v + 8]).toBe(part[8]);
    }
    expect(part[0]).not.toBe(part[8]);
  });

  it('metisPartitionWeighted cuts the light edge and balances node weights, or returns −1 without METIS', () => {
    // A path 0 – 1 – … – 7; the edge 1 – 2 is the lightest. Nodes 0 and 1 weigh as much as the rest.
    const edges = Array.from({ length: 7 }, (_, v) => [v, v + 1] as const);
    const path = fromPairs(8, [...edges, ...edges.map(([u, v]) => [v, u] as const)]);
    const edgeWeights = new Int32Array(14);
    for (let v = 0; v < 8; v++) {
      for (let e = path.offsets[v]; e < path.offsets[v + 1]; e++)
        edgeWeights[e] = Math.min(v, path.indices[e]) === 1 ? 1 : 50;
    }
    const heavy = Int32Array.from({ length: 8 }, (_, v) => (v < 2 ? 3 : 1));
    const part = new Int32Array(8);
    const { offsets, indices } = path;
    const cut = native.metisPartitionWeighted({
      offsets,
      indices,
      edgeWeights,
      nodeWeights: heavy,
      constraints: 1,
      n: 8,
      parts: 2,
      seed: 1,
      out: part,
    });
    if (cut === -1) return;
    expect(cut).toBe(1);
    expect([...part].map((p) => (p === part[0] ? 0 : 1))).toEqual([0, 0, 1, 1, 1, 1, 1, 1]);
  });
});
