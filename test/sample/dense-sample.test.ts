import { Graph } from 'skein/graph';
import { type DenseSample, LayeredNeighborSampler, NeighborSampler } from 'skein/sample';
import { StateError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { LayerSampling } from '#internal/sample/layered-neighbor-sampler.js';
import { skewedGraph } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const pairs = ({ src, dst }: { src: Int32Array; dst: Int32Array }) =>
  Array.from(src, (u, i) => `${u}→${dst[i]}`);

/** Everything, layer by layer. */
function contents(dense: DenseSample): unknown {
  const layers: unknown[] = [];
  const targets = [...dense.targetRows];
  const blocks = dense.numLayers === 0 ? [] : dense.takeBlocks();
  for (const block of blocks) {
    const { offsets, indices } = block.adjacency;
    layers.push([...(block.srcIds ?? [])], block.dstOffset, [...offsets], [...indices]);
    layers.push([...(block.parentEdgeIds ?? [])]);
  }
  return [targets, layers];
}

describe('DenseSample', () => {
  // Edges 0→1, 0→2, 1→4, 2→3, 3→0, 4→1: the worked example of Marius.
  const graph = Graph.fromEdges([0, 0, 1, 2, 3, 4], [1, 2, 4, 3, 0, 1], { numNodes: 5 });

  it('gives the worked vector', () => {
    const sampler = new LayeredNeighborSampler(graph, { layers: [{ type: 'ALL' }, { type: 'ALL' }] });
    const dense = sampler.sample([3]);
    expect([...dense.nodeIds]).toEqual([1, 0, 2, 3]);
    expect([...dense.hopOffsets]).toEqual([0, 1, 3, 4]);
    expect([...dense.getNeighborOffsets(true)]).toEqual([0, 1, 2]);
    expect(pairs(dense.getEdges(true))).toEqual(['3→0', '0→2', '2→3']);
    expect([...dense.getNeighborOffsets(false)]).toEqual([0, 2, 3]);
    expect(pairs(dense.getEdges(false))).toEqual(['0→1', '0→2', '2→3', '3→0']);
    expect(() => dense.getNeighborIDs(true)).toThrow(StateError);

    dense.performMap();
    expect([...dense.getNeighborIDs(true)]).toEqual([3, 1, 2]);
    expect([...dense.getNumNeighbors(true)]).toEqual([1, 1, 1]);
    expect([...dense.getNeighborIDs(false)]).toEqual([0, 2, 3, 1]);
    expect([...dense.getNumNeighbors(false)]).toEqual([2, 1, 1]);
    expect(dense.getLayerOffset()).toBe(1);
    expect([...dense.getCombinedNeighborIDs()]).toEqual([3, 0, 2, 1, 3, 2, 1]);
    expect([...dense.getNeighborIDs(false, true)]).toEqual([1, 2, 3, 0]);
    expect([...dense.getEdgeIDs(false)]).toEqual([0, 1, 3, 4]);

    dense.prepareForNextLayer();
    expect([...dense.nodeIds]).toEqual([0, 2, 3]);
    expect([...dense.hopOffsets]).toEqual([0, 2, 3]);
    expect([...dense.getNeighborOffsets(true)]).toEqual([0]);
    expect([...dense.getNeighborIDs(true)]).toEqual([1]);
    expect([...dense.getNeighborOffsets(false)]).toEqual([0]);
    expect([...dense.getNeighborIDs(false)]).toEqual([0]);
    expect(dense.getLayerOffset()).toBe(2);
    expect(dense.block().dstOffset).toBe(2);
    expect(() => dense.prepareForNextLayer()).toThrow(/last/);
  });

  it('gives the one-layer state of the worked vector', () => {
    const dense = new LayeredNeighborSampler(graph, { layers: [-1] }).sample([3]);
    expect([...dense.nodeIds]).toEqual([0, 2, 3]);
    expect([...dense.hopOffsets]).toEqual([0, 2, 3]);
    expect(pairs(dense.getEdges(true))).toEqual(['2→3']);
    expect(pairs(dense.getEdges(false))).toEqual(['3→0']);
  });

  it('refuses bad options and directions that were not sampled', () => {
    const make =
      (layers: LayerSampling[], more = {}) =>
      () =>
        new LayeredNeighborSampler(graph, { layers, ...more });
    expect(make([-2])).toThrow(ValueError);
    expect(make([{ type: 'SOME' } as unknown as LayerSampling])).toThrow(/UNIFORM/);
    expect(make([{ type: 'DROPOUT', rate: 2 }])).toThrow(/rate/);
    expect(make([-1], { incoming: false, outgoing: false })).toThrow(/neither/);
    const dense = new LayeredNeighborSampler(graph, { layers: [-1], outgoing: false }).sample([3]);
    expect(() => dense.getNeighborIDs(false)).toThrow(/outgoing/);
  });

  it('tells an edge apart from itself in the other direction', () => {
    const layers = [{ type: 'ALL' }] as const;
    const loop = Graph.fromEdges([0, 1, 2], [1, 1, 0], { numNodes: 3 });
    const idsOf = (options: object): number[] => {
      const dense = new LayeredNeighborSampler(loop, { layers, ...options }).sample([0, 1]);
      return [...(dense.performMap().block().rowIds('positions') ?? [])];
    };
    // Node 0: 2→0 in, 0→1 out. Node 1: 0→1 and its loop in, the loop out.
    expect(idsOf({})).toEqual([2, 3, 0, 1, 4]);
    expect(idsOf({ incoming: false })).toEqual([0, 1]);
    const both = new NeighborSampler(loop, { fanouts: [-1], direction: 'both' }).sample([0, 1]);
    expect([...(both.blocks[0].rowIds('positions') ?? [])].sort()).toEqual([0, 1, 2, 3, 4]);
    expect([...(both.blocks[0].parentEdgeIds ?? [])].sort()).toEqual([0, 0, 1, 1, 2]);
  });

  it('collapses equal targets', () => {
    const dense = new LayeredNeighborSampler(graph, { layers: [-1] }).sample([3, 1, 3]);
    expect([...dense.targetRows]).toEqual([0, 1, 0]);
    expect(dense.numTargets).toBe(2);
  });

  it('draws the edges that NeighborSampler draws', () => {
    const large = skewedGraph(300, 5000);
    const seeds = Int32Array.from({ length: 30 }, (_, i) => i * 9);
    const at = { epoch: 1, step: 4 };
    const dense = new LayeredNeighborSampler(large, { layers: [5, 4, 3], outgoing: false, seed: 8 }).sample(
      seeds,
      at,
    );
    const batch = new NeighborSampler(large, { fanouts: [5, 4, 3], seed: 8 }).sample(seeds, at);
    const blocks = dense.takeBlocks();
    blocks.forEach((block, layer) => {
      const other = batch.blocks[layer];
      const sorted = (ids: Int32Array | null) => (ids as Int32Array).toSorted();
      expect(sorted(block.srcIds)).toEqual(sorted(other.srcIds));
      expect(sorted(block.dstIds)).toEqual(sorted(other.dstIds));
      expect(sorted(block.parentEdgeIds)).toEqual(sorted(other.parentEdgeIds));
    });
  });

  it('carries weights and edge ids of both directions into blocks', () => {
    const edgeWeight = Float32Array.of(10, 11, 12, 13, 14, 15);
    const { src, dst } = graph.edges();
    const heavy = Graph.fromEdges(src, dst, { numNodes: 5, edgeWeight });
    const [block] = new LayeredNeighborSampler(heavy, { layers: [-1, -1] }).sample([3]).takeBlocks();
    expect([...(block.parentEdgeIds as Int32Array)]).toEqual([4, 0, 1, 1, 3, 3, 4]);
    expect([...(block.positionWeights('f32')?.dataSync() ?? [])]).toEqual([14, 10, 11, 11, 13, 13, 14]);
    // Degrees of nodes 1, 0, 2, 3 in the whole graph, both directions.
    expect([...block.normDegrees(false).src]).toEqual([37, 35, 24, 27]);
    expect([...block.normDegrees(true).src]).toEqual([38, 36, 25, 28]);
  });
});

const variants: Record<string, LayerSampling[]> = {
  uniform: [5, 4],
  'with replacement': [{ type: 'UNIFORM', maxNeighbors: 3, replace: true }, 4],
  dropout: [{ type: 'DROPOUT', rate: 0.6 }, 3],
};
for (const [name, layers] of Object.entries(variants)) {
  describe(`LayeredNeighborSampler contract: ${name}`, () => {
    const large = skewedGraph(300, 5000);
    const seeds = Int32Array.from({ length: 40 }, (_, i) => (i * 7) % 300);
    samplerContract({
      make: (seed) => new LayeredNeighborSampler(large, { layers, seed }),
      seeds,
      otherSeeds: seeds.map((id) => (id + 3) % 300),
      noSeeds: new Int32Array(0),
      badSeeds: Int32Array.of(0, -1),
      contents,
    });
  });
}

describe('relations of a DenseSample', () => {
  const relations = Int32Array.of(0, 0, 1, 0, 1, 0);
  const graph = Graph.fromEdges([0, 0, 1, 2, 3, 4], [1, 2, 4, 3, 0, 1], { numNodes: 5 });
  const sample = (): DenseSample =>
    new LayeredNeighborSampler(graph, {
      layers: [-1, -1],
      relations: { ids: relations, count: 2 },
    }).sample(Int32Array.of(3));

  it('relations of sampled edges; against their direction they are others', () => {
    const dense = sample().performMap();
    expect([...(dense.getRelationIDs(true) ?? [])]).toEqual([1, 0, 0]);
    expect([...(dense.getRelationIDs(false) ?? [])]).toEqual([0, 0, 0, 1]);
    // Rows 0, 2, 3: incoming first, then outgoing with r + 2.
    expect([...(dense.blockRelations() ?? [])]).toEqual([1, 2, 2, 0, 2, 0, 3]);
    expect([...dense.nodeIds]).toEqual([1, 0, 2, 3]);
  });

  it('edges taken out are gone from all layers', () => {
    const dense = sample();
    const hidden = 3; // 2 → 3
    const ends = new Map<number, string>();
    dense.filterEdges((id, src, dst) => {
      ends.set(id, `${src} → ${dst}`);
      return id !== hidden;
    });
    dense.performMap();
    const { src, dst } = graph.edges();
    for (const [id, text] of ends) expect(text).toBe(`${src[id]} → ${dst[id]}`);
    expect(ends.size).toBeGreaterThan(3);
    expect([...dense.getEdgeIDs(true)]).toEqual([4, 1]);
    expect([...dense.getEdgeIDs(false)]).toEqual([0, 1, 4]);
    dense.prepareForNextLayer();
    expect([...dense.getEdgeIDs(true)]).toEqual([]);
    expect([...dense.getEdgeIDs(false)]).toEqual([4]);
  });

  it('a wrong number of relations is refused', () => {
    const wrong = { ids: Int32Array.of(0), count: 1 };
    expect(() => new LayeredNeighborSampler(graph, { layers: [-1], relations: wrong })).toThrow(
      '6 relations',
    );
  });
});
