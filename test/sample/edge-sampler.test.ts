import { Graph } from 'skein/graph';
import { type EdgeSample, EdgeSampler, type EdgeSamplerOptions, type EdgeSeeds } from 'skein/sample';
import { describe, expect, it } from 'vitest';
import { batchContents, skewedGraph } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const graph = skewedGraph(150, 1200);
const seeds = Int32Array.from({ length: 30 }, (_, i) => i * 37);

function contents({ batch, src, dst, negatives }: EdgeSample): unknown {
  return [batchContents(batch), [...src], [...dst], [...negatives.src], [...negatives.dst]];
}

/** Edges of the batch, as pairs of global ids. */
function pairsOf({ batch }: EdgeSample): Set<string> {
  const [{ row, col }] = batch.adjs();
  return new Set(Array.from(row, (u, e) => `${batch.nodeIds[u]},${batch.nodeIds[col[e]]}`));
}

describe('EdgeSampler', () => {
  it('rejects bad options and seeds', () => {
    expect(() => new EdgeSampler(graph, { fanouts: [2], exclude: 'all' as 'self' })).toThrow(/exclude/);
    const sampler = new EdgeSampler(graph, { fanouts: [2] });
    expect(() => sampler.sample({ src: [1, 2], dst: [3] })).toThrow(/dst/);
    expect(() => sampler.sample({ src: [1], dst: [150] })).toThrow(/150/);
  });

  it('returns rows of the endpoints, and negatives that keep one end', () => {
    const { src, dst } = graph.edges();
    const options: EdgeSamplerOptions = { fanouts: [3, 3], negatives: { count: 4, filter: true } };
    const forward = new EdgeSampler(graph, options).sample(seeds, { step: 1 });
    const ids = forward.batch.nodeIds;
    seeds.forEach((edge, i) => {
      expect(ids[forward.src[i]]).toBe(src[edge]);
      expect(ids[forward.dst[i]]).toBe(dst[edge]);
      for (let j = 0; j < 4; j++) expect(ids[forward.negatives.src[4 * i + j]]).toBe(src[edge]);
    });
    const known = new Set(Array.from(src, (u, e) => `${u},${dst[e]}`));
    forward.negatives.src.forEach((u, i) => {
      expect(known.has(`${ids[u]},${ids[forward.negatives.dst[i]]}`)).toBe(false);
    });
    const corrupted: EdgeSamplerOptions = { ...options, negatives: { count: 2, corrupt: 'src' } };
    const backward = new EdgeSampler(graph, corrupted).sample(seeds);
    seeds.forEach((edge, i) => {
      expect(backward.batch.nodeIds[backward.negatives.dst[2 * i + 1]]).toBe(dst[edge]);
    });
    const without = new EdgeSampler(graph, { fanouts: [3] }).sample(seeds);
    expect(without.negatives.src.length).toBe(0);
  });

  it('takes the given edges out of the neighbourhood', () => {
    // 0 ⇄ 1, twice in one direction, and others around.
    const small = Graph.fromEdges([0, 0, 1, 2, 1], [1, 1, 0, 1, 2], { numNodes: 3 });
    const run = (exclude: 'none' | 'self' | 'reverse', direction: 'in' | 'both' = 'in') =>
      new EdgeSampler(small, { fanouts: [-1, -1], exclude, direction }).sample([0]);
    expect(pairsOf(run('none'))).toEqual(new Set(['0,1', '1,0', '2,1', '1,2']));
    expect(pairsOf(run('self'))).toEqual(new Set(['1,0', '2,1', '1,2']));
    expect(pairsOf(run('reverse'))).toEqual(new Set(['2,1', '1,2']));
    expect(pairsOf(run('reverse', 'both'))).toEqual(new Set(['2,1', '1,2']));
    const { batch } = run('reverse');
    expect(batch.edgesPerHop.reduce((a, b) => a + b, 0)).toBe(batch.numEdges);
    expect(batch.blocks[1].numEdges).toBe(batch.edgesPerHop[0]);
    expect([...batch.edgeIds].every((id) => id >= 3)).toBe(true);
  });

  it('takes pairs that are not edges', () => {
    const { batch, src, dst } = new EdgeSampler(graph, { fanouts: [2] }).sample({
      src: [140, 3],
      dst: [3, 141],
    });
    expect(Array.from(src, (row) => batch.nodeIds[row])).toEqual([140, 3]);
    expect(Array.from(dst, (row) => batch.nodeIds[row])).toEqual([3, 141]);
  });

  describe('contract', () => {
    samplerContract<EdgeSeeds, EdgeSample>({
      make: (seed) =>
        new EdgeSampler(graph, { fanouts: [4, 3], negatives: { count: 2 }, exclude: 'reverse', seed }),
      seeds,
      otherSeeds: { src: [1, 2], dst: [3, 4] },
      noSeeds: [],
      badSeeds: [1200],
      contents,
    });
  });
});
