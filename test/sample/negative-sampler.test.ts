import { Graph } from 'skein/graph';
import { NegativeSampler } from 'skein/sample';
import type { Ids } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { skewedGraph } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const graph = skewedGraph(100, 3000);

describe('NegativeSampler', () => {
  it('rejects bad options', () => {
    expect(() => new NegativeSampler(graph, { count: -1 })).toThrow(/count/);
    expect(() => new NegativeSampler(graph, { degreeFraction: 2 })).toThrow(/degreeFraction/);
    expect(() => new NegativeSampler(graph, { corrupt: 'both' as 'dst' })).toThrow(/corrupt/);
  });

  it.each(['dst', 'src'] as const)('never returns a true edge when filtered (corrupt %s)', (corrupt) => {
    const { src, dst } = graph.edges();
    const edges = new Set(Array.from(src, (u, e) => `${u},${dst[e]}`));
    const sampler = new NegativeSampler(graph, { count: 20, filter: true, degreeFraction: 0.5, corrupt });
    const nodes = Int32Array.from({ length: 100 }, (_, i) => i);
    const negatives = sampler.sample(nodes, { step: 1 });
    expect(negatives.length).toBe(2000);
    negatives.forEach((id, i) => {
      const node = nodes[Math.floor(i / 20)];
      expect(edges.has(corrupt === 'dst' ? `${node},${id}` : `${id},${node}`)).toBe(false);
    });
  });

  it('draws uniformly, or in proportion to degree', () => {
    const nodes = new Int32Array(40_000);
    const count = (ids: Int32Array) => {
      const hits = new Int32Array(100);
      for (const id of ids) hits[id]++;
      return hits;
    };
    const check = (hits: Int32Array, chance: (id: number) => number) => {
      hits.forEach((hit, id) => {
        const p = chance(id);
        expect(Math.abs(hit - 40_000 * p)).toBeLessThanOrEqual(4.5 * Math.sqrt(40_000 * p * (1 - p)));
      });
    };
    check(count(new NegativeSampler(graph).sample(nodes)), () => 0.01);
    const degrees = graph.inDegrees();
    const byDegree = new NegativeSampler(graph, { degreeFraction: 0.5 }).sample(nodes);
    check(count(byDegree), (id) => 0.005 + (0.5 * degrees[id]) / 3000);
  });

  it('names the node that is connected to all others', () => {
    const full = Graph.fromEdges([0, 0, 0, 1], [0, 1, 2, 0], { numNodes: 3 });
    expect(() => new NegativeSampler(full, { filter: true }).sample([1, 0])).toThrow(/node 0/);
    expect([...new NegativeSampler(full, { filter: true, count: 9 }).sample([1])].every((id) => id > 0)).toBe(
      true,
    );
  });

  it('gives negatives that chunks share', () => {
    const sampler = new NegativeSampler(graph, { seed: 4 });
    const shared = sampler.sampleShared(3, 50, { step: 2 });
    expect(shared.length).toBe(150);
    expect(sampler.sampleShared(3, 50, { step: 2 })).toEqual(shared);
    expect(shared.subarray(0, 50)).not.toEqual(shared.subarray(50, 100));
    expect(sampler.sampleShared(0, 5).length).toBe(0);
  });

  describe('contract', () => {
    samplerContract<Ids, Int32Array>({
      make: (seed) => new NegativeSampler(graph, { count: 5, filter: true, degreeFraction: 0.3, seed }),
      seeds: Int32Array.from({ length: 20 }, (_, i) => i * 5),
      otherSeeds: [1, 2, 3],
      noSeeds: [],
      badSeeds: [100],
      contents: (ids) => [...ids],
    });
  });
});
