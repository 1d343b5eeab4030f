import { Graph } from 'skein/graph';
import { RandomWalkSampler, type RandomWalkSamplerOptions, type Walks } from 'skein/sample';
import type { Ids } from 'skein/tensor';
import { ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { skewedGraph } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const graph = skewedGraph(200, 3000);

describe('RandomWalkSampler', () => {
  it('rejects bad options', () => {
    const make = (options: RandomWalkSamplerOptions) => () => new RandomWalkSampler(graph, options);
    expect(make({ length: -1 })).toThrow(/length/);
    expect(make({ length: 3, walks: 0 })).toThrow(/walks/);
    expect(make({ length: 3, restart: 1.5 })).toThrow(/restart/);
    expect(make({ length: 3, p: 0 })).toThrow(/above 0/);
    expect(make({ length: 3, q: Number.NaN })).toThrow(ValueError);
  });

  it.each(['out', 'in', 'both'] as const)('walks along edges: %s', (direction) => {
    const { src, dst } = graph.edges();
    const edges = new Set(Array.from(src, (u, e) => `${u},${dst[e]}`));
    const walks = new RandomWalkSampler(graph, { length: 6, walks: 3, direction, p: 0.5, q: 2 }).sample([
      1, 5, 199,
    ]);
    expect(walks.nodes.length).toBe(3 * 3 * 7);
    for (let seed = 0; seed < 3; seed++) {
      for (let w = 0; w < 3; w++) {
        const walk = walks.walk(seed, w);
        expect(walk[0]).toBe([1, 5, 199][seed]);
        for (let i = 1; i < walk.length; i++) {
          const along = edges.has(`${walk[i - 1]},${walk[i]}`);
          const against = edges.has(`${walk[i]},${walk[i - 1]}`);
          expect(direction === 'out' ? along : direction === 'in' ? against : along || against).toBe(true);
        }
      }
    }
    // Node 199 is isolated.
    expect([...walks.walk(2)]).toEqual([199]);
    expect(() => walks.walk(3)).toThrow(/seed/);
  });

  it('takes different walks from the same seed, independent of its position', () => {
    const sampler = new RandomWalkSampler(graph, { length: 8, walks: 2, seed: 3 });
    const [a, b] = [sampler.sample([4, 9]), sampler.sample([9, 4])];
    expect(a.walk(0, 0)).not.toEqual(a.walk(0, 1));
    expect(a.walk(0, 1)).toEqual(b.walk(1, 1));
    expect(a.walk(1, 0)).toEqual(b.walk(0, 0));
  });

  it('restarts with the given probability', () => {
    const ring = Graph.fromEdges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], { numNodes: 5 });
    const walks = new RandomWalkSampler(ring, { length: 1, restart: 0.3 });
    let restarts = 0;
    for (let step = 0; step < 5000; step++) if (walks.sample([0], { step }).walk(0)[1] === 0) restarts++;
    expect(Math.abs(restarts - 1500)).toBeLessThan(4 * Math.sqrt(5000 * 0.3 * 0.7));
  });

  it('weights second-order moves by 1/p, 1 and 1/q', () => {
    // From 0 to 1 always; then back to 0 (1/p), to 2, a neighbour of 0 (1), or to 3 (1/q).
    const paths = Graph.fromEdges([0, 1, 1, 1], [1, 0, 2, 3], { numNodes: 4 });
    const { src, dst } = paths.edges();
    const withChord = Graph.fromEdges([...src, 0], [...dst, 2], { numNodes: 4 });
    const sampler = new RandomWalkSampler(withChord, { length: 2, p: 0.5, q: 4, seed: 2 });
    const hits = [0, 0, 0, 0];
    let total = 0;
    for (let step = 0; step < 20_000; step++) {
      const walk = sampler.sample([0], { step }).walk(0);
      if (walk[1] !== 1) continue;
      hits[walk[2]]++;
      total++;
    }
    const weights = [2, 0, 1, 0.25];
    hits.forEach((hit, i) => {
      const p = weights[i] / 3.25;
      expect(Math.abs(hit - total * p)).toBeLessThanOrEqual(4 * Math.sqrt(total * p * (1 - p)));
    });
  });

  for (const options of [
    { length: 5, walks: 2 },
    { length: 5, restart: 0.2, p: 0.25, q: 4 },
  ]) {
    describe(`contract ${JSON.stringify(options)}`, () => {
      samplerContract<Ids, Walks>({
        make: (seed) => new RandomWalkSampler(graph, { ...options, seed }),
        seeds: Int32Array.from({ length: 20 }, (_, i) => i * 5),
        otherSeeds: [1, 2, 3],
        noSeeds: [],
        badSeeds: [200],
        contents: (walks) => [...walks.nodes],
      });
    });
  }
});
