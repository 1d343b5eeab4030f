import fc from 'fast-check';
import { Graph } from 'skein/graph';
import { type Batch, NeighborSampler, type NeighborSamplerOptions } from 'skein/sample';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { batchContents, cycleOfSix, skewedGraph, star } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const graph = skewedGraph(300, 5000);
const weighted = Float32Array.from({ length: 5000 }, (_, i) => (i * 7) % 5);

/** Conformance E: rows and edges agree with the graph they come from. */
function checkInvariants(batch: Batch, given: Graph, seeds: readonly number[], against = false): void {
  const { src, dst } = given.edges();
  seeds.forEach((seed, i) => {
    expect(batch.nodeIds[batch.seedRows[i]]).toBe(seed);
  });
  const adjs = batch.adjs();
  expect(adjs.length).toBe(batch.numHops);
  adjs.forEach(({ row, col, eId, size }, layer) => {
    expect(size[0]).toBeGreaterThanOrEqual(size[1]);
    if (layer > 0) expect(adjs[layer - 1].size[1]).toBe(size[0]);
    for (let e = 0; e < row.length; e++) {
      expect(row[e]).toBeLessThan(size[0]);
      expect(col[e]).toBeLessThan(size[1]);
      const ends = [batch.nodeIds[row[e]], batch.nodeIds[col[e]]];
      const edge = [src[eId[e]], dst[eId[e]]];
      if (against) expect([edge, edge.toReversed()]).toContainEqual(ends);
      else expect(ends).toEqual(edge);
    }
  });
  if (adjs.length > 0) expect(adjs[adjs.length - 1].size[1]).toBe(batch.numSeeds);
}

describe('NeighborSampler options', () => {
  const make = (options: NeighborSamplerOptions) => () => new NeighborSampler(graph, options);

  it('are rejected if they are contradictory', () => {
    expect(make({ fanouts: [1.5] })).toThrow(/fanouts\[0\]/);
    expect(make({ fanouts: [-2] })).toThrow(ValueError);
    expect(make({ fanouts: 3 as unknown as number[] })).toThrow(/list/);
    expect(make({ fanouts: [1], direction: 'up' as 'in' })).toThrow(/direction/);
    expect(make({ fanouts: [1], seed: -1 })).toThrow(/seed/);
    expect(make({ fanouts: [1], rate: 0.5 })).toThrow(/dropout/);
    expect(make({ fanouts: [1], strategy: 'dropout', rate: 0.5 })).toThrow(/−1/);
    expect(make({ fanouts: [-1], strategy: 'dropout' })).toThrow(/rate/);
    expect(make({ fanouts: [-1], strategy: 'no' as 'uniform' })).toThrow(/strategy/);
    expect(make({ fanouts: [1], weights: new Float32Array(3) })).toThrow(ShapeError);
    expect(make({ fanouts: [1], weights: weighted.map((w) => w - 1) })).toThrow(/at least 0/);
    expect(make({ fanouts: [1], weights: 'edgeWeight' })).toThrow(/without/);
    const bipartite = Graph.fromEdges([0], [0], { numSrc: 1, numDst: 2 });
    expect(() => new NeighborSampler(bipartite, { fanouts: [1] })).toThrow(/Hetero/);
  });
});

const variants: Record<string, Omit<NeighborSamplerOptions, 'seed'>> = {
  'uniform [5, 4, 3]': { fanouts: [5, 4, 3] },
  'with replacement': { fanouts: [5, 3], replace: true },
  'outgoing edges': { fanouts: [5, 3], direction: 'out' },
  'both directions': { fanouts: [5, 3], direction: 'both' },
  weighted: { fanouts: [4, 4], weights: weighted },
  'weighted, both directions': { fanouts: [4, 4], weights: [...weighted], direction: 'both' },
  disjoint: { fanouts: [4, 3], disjoint: true },
  dropout: { fanouts: [-1, -1], strategy: 'dropout', rate: 0.7 },
};

for (const [name, options] of Object.entries(variants)) {
  describe(`NeighborSampler contract: ${name}`, () => {
    const seeds = Int32Array.from({ length: 40 }, (_, i) => (i * 7) % 300);
    samplerContract({
      make: (seed) => new NeighborSampler(graph, { ...options, seed }),
      seeds,
      otherSeeds: seeds.map((id) => (id + 3) % 300),
      noSeeds: new Int32Array(0),
      badSeeds: Int32Array.of(0, 300),
      contents: batchContents,
    });

    it('samples edges of the graph', () => {
      const batch = new NeighborSampler(graph, options).sample(seeds, { step: 1 });
      checkInvariants(batch, graph, [...seeds], options.direction !== undefined);
    });
  });
}

describe('NeighborSampler conformance', () => {
  it('A: all neighbours on a cycle', () => {
    const batch = new NeighborSampler(cycleOfSix(), { fanouts: [-1, -1] }).sample([2, 3]);
    expect([...batch.nodeIds]).toEqual([2, 3, 1, 4, 0, 5]);
    const [outer, inner] = batch.adjs();
    expect([...outer.col]).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect([...outer.row]).toEqual([2, 1, 0, 3, 4, 0, 1, 5]);
    expect([...outer.eId]).toEqual([4, 5, 6, 7, 2, 3, 8, 9]);
    expect(outer.size).toEqual([6, 4]);
    expect(inner.size).toEqual([4, 2]);
    expect([...inner.row]).toEqual([2, 1, 0, 3]);
    expect(batch.nodesPerHop).toEqual([2, 2, 2]);
    expect(batch.edgesPerHop).toEqual([4, 4]);
  });

  it('B: a graph without edges', () => {
    const empty = Graph.fromEdges([], [], { numNodes: 5 });
    const batch = new NeighborSampler(empty, { fanouts: [3, -1] }).sample([0, 1, 2, 3, 4]);
    expect([...batch.nodeIds]).toEqual([0, 1, 2, 3, 4]);
    expect(batch.nodesPerHop).toEqual([5, 0, 0]);
    expect(batch.edgesPerHop).toEqual([0, 0]);
  });

  it('C: disjoint trees on a cycle share no rows', () => {
    const sampler = new NeighborSampler(cycleOfSix(), { fanouts: [-1, -1], disjoint: true });
    const batch = sampler.sample([2, 3, 2]);
    expect([...batch.seedRows]).toEqual([0, 1, 2]);
    expect([...batch.nodeIds.subarray(0, 9)]).toEqual([2, 3, 2, 1, 3, 2, 4, 1, 3]);
    expect([...(batch.trees as Int32Array).subarray(0, 9)]).toEqual([0, 1, 2, 0, 0, 1, 1, 2, 2]);
  });

  it('C: weights 1, 0 in turn give even edges only', () => {
    const weights = Float32Array.from({ length: 5000 }, (_, i) => 1 - (i % 2));
    const batch = new NeighborSampler(graph, { fanouts: [1], weights }).sample([1, 2, 3, 4, 5]);
    expect(batch.numEdges).toBe(5);
    expect(batch.edgeIds.every((id) => id % 2 === 0)).toBe(true);
  });

  it.each([
    [10, 5, 10],
    [100, 10, 5],
    [1000, 10, 10],
  ])('D: %i stars of degree %i, fan-out %i', (count, degree, fanout) => {
    const dst = Int32Array.from({ length: count * degree }, (_, i) => Math.floor(i / degree));
    const src = dst.map((v, i) => (v * 7 + (i % degree) + 1) % count);
    const stars = Graph.fromEdges(src, dst, { numNodes: count });
    const seeds = Array.from({ length: count }, (_, i) => i);
    const batch = new NeighborSampler(stars, { fanouts: [fanout] }).sample(seeds);
    expect(batch.numEdges).toBe(count * Math.min(degree, fanout));
    expect(new Set(batch.edgeIds).size).toBe(batch.numEdges);
    checkInvariants(batch, stars, seeds);
  });

  it.each([
    [20, 5],
    [2, 1],
    [6, 5],
    [5000, 5],
    [60, 40],
  ])('F: %i neighbours, %i drawn: each is as likely as the others', (degree, fanout) => {
    const sampler = new NeighborSampler(star(degree), { fanouts: [fanout], seed: 11 });
    const trials = 20_000;
    const hits = new Int32Array(degree);
    const pairs = new Map<number, number>();
    for (let step = 0; step < trials; step++) {
      const ids = sampler.sample([0], { step }).edgeIds;
      for (const id of ids) hits[id]++;
      if (degree === 20)
        for (const a of ids)
          for (const b of ids) if (a < b) pairs.set(a * 20 + b, (pairs.get(a * 20 + b) ?? 0) + 1);
    }
    const p = fanout / degree;
    const sigma = Math.sqrt(trials * p * (1 - p));
    // Five sigma for the worst of up to 5,000; four for few.
    const bound = (degree > 1000 ? 5.2 : 4) * sigma;
    for (const hit of hits) expect(Math.abs(hit - trials * p)).toBeLessThan(bound);
    if (degree === 20) {
      const expectedPairs = (trials * 5 * 4) / (20 * 19);
      let chi2 = 0;
      for (const count of pairs.values()) chi2 += (count - expectedPairs) ** 2 / expectedPairs;
      // 190 pairs; the mean is about 190 · (1 − 1/19), the deviation below 20.
      expect(pairs.size).toBe(190);
      expect(chi2).toBeLessThan(290);
    }
  });

  it('F: weighted draws follow their weights', () => {
    const weights = Float32Array.of(1, 2, 3, 4, 0);
    const sampler = new NeighborSampler(star(5), { fanouts: [1], weights, seed: 3 });
    const hits = new Int32Array(5);
    for (let step = 0; step < 20_000; step++) hits[sampler.sample([0], { step }).edgeIds[0]]++;
    weights.forEach((w, i) => {
      const p = w / 10;
      expect(Math.abs(hits[i] - 20_000 * p)).toBeLessThanOrEqual(4 * Math.sqrt(20_000 * p * (1 - p)));
    });
  });

  it('G: neighbours of a node do not depend on its position in the batch', () => {
    const sampler = new NeighborSampler(graph, { fanouts: [5], seed: 4 });
    const seeds = Int32Array.from({ length: 60 }, (_, i) => i * 3);
    const drawn = (batch: Batch) => {
      const { col, eId } = batch.adjs()[0];
      const edges = new Map<number, number[]>();
      col.forEach((v, e) => {
        const id = batch.nodeIds[v];
        edges.set(id, [...(edges.get(id) ?? []), eId[e]]);
      });
      return edges;
    };
    const all = drawn(sampler.sample(seeds, { step: 2 }));
    expect(drawn(sampler.sample(seeds.toReversed(), { step: 2 }))).toEqual(new Map([...all].reverse()));
    for (const seed of [3, 30, 90]) {
      expect(drawn(sampler.sample([seed], { step: 2 })).get(seed)).toEqual(all.get(seed));
    }
  });

  it('H: equal seeds share a row; loops, multi-edges, isolated nodes, fan-out 0', () => {
    const odd = Graph.fromEdges([0, 0, 1, 1, 2], [0, 1, 1, 1, 1], { numNodes: 5 });
    const batch = new NeighborSampler(odd, { fanouts: [9] }).sample([1, 4, 1, 0]);
    expect([...batch.seedRows]).toEqual([0, 1, 0, 2]);
    expect(batch.numSeeds).toBe(3);
    expect([...batch.nodeIds]).toEqual([1, 4, 0, 2]);
    expect([...batch.edgeIds]).toEqual([1, 2, 3, 4, 0]);
    const isolated = new NeighborSampler(odd, { fanouts: [2, 2] }).sample([3, 4]);
    expect(isolated.nodesPerHop).toEqual([2, 0, 0]);
    expect(isolated.blocks.map((b) => [b.numSrcNodes, b.numDstNodes, b.numEdges])).toEqual([
      [2, 2, 0],
      [2, 2, 0],
    ]);
    const none = new NeighborSampler(odd, { fanouts: [0] }).sample([0, 1]);
    expect(none.numEdges).toBe(0);
    const noHops = new NeighborSampler(odd, { fanouts: [] }).sample([1]);
    expect(noHops.blocks).toEqual([]);
    expect(noHops.numNodes).toBe(1);
  });
});

describe('Batch', () => {
  it('gives blocks that are prefixes of one structure, with ids and weights', () => {
    const edgeWeight = Float32Array.from({ length: 5000 }, (_, i) => i / 10);
    const { src, dst } = graph.edges();
    const heavy = Graph.fromEdges(src, dst, { numNodes: 300, edgeWeight });
    const batch = new NeighborSampler(heavy, { fanouts: [4, 3], seed: 2 }).sample([1, 2, 3], { step: 8 });
    const [outer, inner] = batch.blocks;
    expect(outer.numSrcNodes).toBe(batch.numNodes);
    expect(outer.numDstNodes).toBe(inner.numSrcNodes);
    expect(inner.numDstNodes).toBe(3);
    expect(inner.adjacency.indices.buffer).toBe(outer.adjacency.indices.buffer);
    for (const block of batch.blocks) {
      const ids = block.parentEdgeIds as Int32Array;
      expect([...(block.positionWeights('f32')?.dataSync() ?? [])]).toEqual(
        Array.from(ids, (id) => edgeWeight[id]),
      );
      expect([...(block.srcIds as Int32Array)]).toEqual([...batch.nodeIds.subarray(0, block.numSrcNodes)]);
    }
  });

  it('holds for any graph, fan-outs and seeds', () => {
    const arbitrary = fc.record({
      numNodes: fc.integer({ min: 1, max: 30 }),
      edges: fc.array(fc.tuple(fc.nat(29), fc.nat(29)), { maxLength: 120 }),
      fanouts: fc.array(fc.integer({ min: -1, max: 6 }), { maxLength: 4 }),
      seeds: fc.array(fc.nat(29), { maxLength: 12 }),
      replace: fc.boolean(),
      step: fc.nat(1000),
    });
    fc.assert(
      fc.property(arbitrary, ({ numNodes, edges, fanouts, seeds, replace, step }) => {
        const src = edges.map(([u]) => u % numNodes);
        const dst = edges.map(([, v]) => v % numNodes);
        const own = seeds.map((id) => id % numNodes);
        const any = Graph.fromEdges(src, dst, { numNodes });
        const batch = new NeighborSampler(any, { fanouts, replace }).sample(own, { step });
        checkInvariants(batch, any, own);
        expect(new Set(batch.nodeIds).size).toBe(batch.numNodes);
      }),
      { seed: 7, numRuns: 200 },
    );
  });
});
