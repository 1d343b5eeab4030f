import { Graph, metisPartition } from 'skein/graph';
import { type ClusterBatch, ClusterSampler } from 'skein/sample';
import { StateError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { skewedGraph } from './graphs.js';
import { samplerContract } from './sampler-contract.js';

const graph = skewedGraph(120, 2000);
const clusters = Int32Array.from({ length: 120 }, (_, v) => (v * 7) % 6);

const contents = ({ graph: part, nodeIds, edgeIds }: ClusterBatch) => {
  const { src, dst } = part.edges();
  return [[...src], [...dst], [...nodeIds], [...edgeIds]];
};

/** Four cliques of 20 with one edge between each and the next. */
function cliques(): Graph {
  const src: number[] = [];
  const dst: number[] = [];
  for (let c = 0; c < 4; c++) {
    for (let u = 0; u < 20; u++) {
      for (let v = 0; v < u; v++) {
        src.push(20 * c + u);
        dst.push(20 * c + v);
      }
    }
    src.push(20 * c);
    dst.push((20 * c + 39) % 80);
  }
  return Graph.fromEdges(src, dst, { numNodes: 80 });
}

/** The partition, or null where METIS is missing. */
function partition(parts: number, seed: number): ReturnType<typeof metisPartition> | null {
  try {
    return metisPartition(cliques(), parts, { seed });
  } catch (error) {
    expect(error).toBeInstanceOf(StateError);
    expect(String(error)).toMatch(/libmetis/);
    return null;
  }
}

describe('ClusterSampler', () => {
  it('rejects bad options', () => {
    expect(() => new ClusterSampler(graph, {})).toThrow(/either/);
    expect(() => new ClusterSampler(graph, { clusters: [1, 2] })).toThrow(/120 numbers/);
    expect(() => new ClusterSampler(graph, { clusters: clusters.map((c) => c - 1) })).toThrow(/clusters/);
    expect(() => metisPartition(graph, 0)).toThrow(/numParts/);
  });

  it('gives the subgraph of the chosen clusters', () => {
    const edgeWeight = Float32Array.from({ length: 2000 }, (_, i) => i);
    const { src, dst } = graph.edges();
    const heavy = Graph.fromEdges(src, dst, { numNodes: 120, edgeWeight });
    const sampler = new ClusterSampler(heavy, { clusters });
    expect(sampler.numClusters).toBe(6);
    const { graph: part, nodeIds, edgeIds } = sampler.sample([4, 1, 4]);
    expect([...nodeIds]).toEqual([...sampler.nodesOf(4), ...sampler.nodesOf(1)]);
    const inside = new Set(nodeIds);
    const wanted = Array.from(src.keys()).filter((e) => inside.has(src[e]) && inside.has(dst[e]));
    expect([...edgeIds].sort((a, b) => a - b)).toEqual(wanted);
    const local = part.edges();
    edgeIds.forEach((id, e) => {
      expect([nodeIds[local.src[e]], nodeIds[local.dst[e]]]).toEqual([src[id], dst[id]]);
      expect(part.edgeWeight?.[e]).toBe(id);
    });
  });

  it('finds cliques by METIS, or names how to install it', () => {
    const found = partition(4, 3);
    if (found === null) return;
    expect(found.cut).toBe(4);
    for (let v = 0; v < 80; v++) expect(found.parts[v]).toBe(found.parts[20 * Math.floor(v / 20)]);
    expect(partition(4, 3)?.parts).toEqual(found.parts);
    expect(partition(1, 0)?.cut).toBe(0);
    const sampler = new ClusterSampler(cliques(), { numClusters: 4 });
    expect(sampler.sample([0]).graph.numEdges).toBe(190);
  });

  describe('contract', () => {
    samplerContract({
      make: () => new ClusterSampler(graph, { clusters }),
      seeds: [0, 3],
      otherSeeds: [2, 5, 1],
      noSeeds: [],
      badSeeds: [6],
      contents,
      fixed: true,
    });
  });
});
