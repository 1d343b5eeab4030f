import { Block, HeteroGraph } from 'skein/graph';
import { type HeteroBatch, HeteroNeighborSampler, NeighborSampler } from 'skein/sample';
import { Random, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { batchContents } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const counts = { author: 60, paper: 100, venue: 5 };

function academic(): HeteroGraph {
  const random = new Random(5);
  const draw = (n: number, bound: number) => Int32Array.from({ length: n }, () => random.nextInt(bound));
  return HeteroGraph.fromEdges(counts, {
    'author,writes,paper': [draw(600, 60), draw(600, 100)],
    'paper,written,author': [draw(600, 100), draw(600, 60)],
    'paper,cites,paper': [draw(900, 100), draw(900, 100)],
    'venue,shows,paper': [draw(100, 5), Int32Array.from({ length: 100 }, (_, i) => i)],
  });
}

const graph = academic();
const names = graph.edgeTypes.map((type) => type.join());

function contents(batch: HeteroBatch): unknown {
  return {
    nodes: Object.entries(batch.nodeIds).map(([type, ids]) => [type, [...ids]]),
    seeds: Object.entries(batch.seedRows).map(([type, rows]) => [type, [...rows]]),
    perHop: batch.nodesPerHop,
    edges: names.map((name) => [...batch.edgeIds(name)]),
    blocks: batch.blocks.map((block) =>
      names.map((name) => {
        const { offsets, indices, numSrc } = block.relation(name).adjacency;
        return [[...offsets], [...indices], numSrc];
      }),
    ),
  };
}

describe('HeteroNeighborSampler', () => {
  it('rejects unknown relations, node types and uneven hops', () => {
    const make = (fanouts: Record<string, number[]>) => () => new HeteroNeighborSampler(graph, { fanouts });
    expect(make({ reads: [1] })).toThrow(/known edge type/);
    expect(make({ writes: [1], cites: [1, 2] })).toThrow(/hops/);
    expect(make({ writes: [-3] })).toThrow(ValueError);
    expect(() => new HeteroNeighborSampler(graph, { fanouts: [2] }).sample({ editor: [0] })).toThrow(
      /node type/,
    );
  });

  it('samples edges of each relation between rows of its types', () => {
    const sampler = new HeteroNeighborSampler(graph, { fanouts: [4, 3], seed: 2 });
    const batch = sampler.sample({ paper: [3, 50, 3], venue: [1] }, { step: 7 });
    expect([...batch.seedRows.paper]).toEqual([0, 1, 0]);
    expect([...batch.nodeIds.paper.subarray(0, 2)]).toEqual([3, 50]);
    for (const ids of Object.values(batch.nodeIds)) expect(new Set(ids).size).toBe(ids.length);
    const [outer, inner] = batch.blocks;
    expect(inner.numDst).toEqual({ author: 0, paper: 2, venue: 1 });
    expect(outer.numDst).toEqual(inner.numSrc);
    for (const block of batch.blocks) {
      for (const type of block.edgeTypes) {
        const part = block.relation(type);
        const { src, dst } = graph.relation(type).edges();
        const ids = batch.edgeIds(type);
        expect(part.numDstNodes).toBe(block.numDst[type[2]]);
        expect(part.numSrcNodes).toBe(block.numSrc[type[0]]);
        const local = part.adjacency.edges();
        for (let e = 0; e < part.numEdges; e++) {
          expect(batch.nodeIds[type[0]][local.src[e]]).toBe(src[ids[e]]);
          expect(batch.nodeIds[type[2]][local.dst[e]]).toBe(dst[ids[e]]);
        }
      }
    }
    expect(inner.relation('paper,cites,paper')).toBeInstanceOf(Block);
    expect(inner.relation(['author', 'writes', 'paper']).dstOffset).toBe(null);
    expect(() => inner.relation('author,reads,paper')).toThrow(/Known/);
  });

  it('draws by relation, and leaving one out does not change the others', () => {
    const all = new HeteroNeighborSampler(graph, { fanouts: [3], seed: 1 }).sample({ paper: [1, 2, 3] });
    const one = new HeteroNeighborSampler(graph, { fanouts: { cites: [3] }, seed: 1 }).sample({
      paper: [1, 2, 3],
    });
    expect(one.edgeIds('paper,cites,paper')).toEqual(all.edgeIds('paper,cites,paper'));
    expect(one.edgeIds('author,writes,paper').length).toBe(0);
    expect(all.edgeIds('author,writes,paper').length).toBeGreaterThan(3);
  });

  it('is the plain sampler on a graph with one type', () => {
    const { src, dst } = graph.relation('cites').edges();
    const plain = HeteroGraph.fromEdges({ paper: 100 }, { 'paper,cites,paper': [src, dst] });
    const seeds = [5, 9, 70];
    const hetero = new HeteroNeighborSampler(plain, { fanouts: [4, 3], seed: 6 }).sample(
      { paper: seeds },
      { step: 3 },
    );
    const batch = new NeighborSampler(plain.relation('cites'), { fanouts: [4, 3], seed: 6 }).sample(seeds, {
      step: 3,
    });
    expect(hetero.nodeIds.paper).toEqual(batch.nodeIds);
    expect(hetero.edgeIds('paper,cites,paper')).toEqual(batch.edgeIds);
    expect(batchContents(batch)).toMatchObject({ perHop: [hetero.nodesPerHop.paper, batch.edgesPerHop] });
  });

  describe('contract', () => {
    samplerContract({
      make: (seed) => new HeteroNeighborSampler(graph, { fanouts: [4, 3, 2], seed }),
      seeds: { paper: Int32Array.from({ length: 20 }, (_, i) => i * 4), author: [7, 7, 8] },
      otherSeeds: { author: [1, 2, 3] },
      noSeeds: {},
      badSeeds: { paper: [100] },
      contents,
    });
  });
});
