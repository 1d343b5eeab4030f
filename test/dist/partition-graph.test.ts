/** The contract of all partitioning algorithms: every node once, balanced, deterministic, and no worse than random. */
import { partitionGraph } from 'skein/dist';
import { Graph } from 'skein/graph';
import { ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import {
  type GraphPartitioner,
  graphPartitioners,
  type PartitionBalance,
} from '#internal/dist/partition/partition-graph.js';
import { randomGraph, randomHetero } from './partition-fixtures.js';

/** Rings of 50 nodes with chords: a partitioning by rings cuts no edges. */
function rings(count: number): Graph {
  const src: number[] = [];
  const dst: number[] = [];
  for (let i = 0; i < count * 50; i++) {
    const ring = i - (i % 50);
    for (const step of [1, 7]) {
      src.push(i, ring + ((i + step) % 50));
      dst.push(ring + ((i + step) % 50), i);
    }
  }
  return Graph.fromEdges(src, dst, { numNodes: count * 50 });
}

describe('partitionGraph: wrong input', () => {
  const graph = Graph.fromEdges([0], [1], { numNodes: 2 });
  it('is named in the error', () => {
    expect(() => partitionGraph(graph, { parts: 3 })).toThrow(/from 1 to 2 for parts, got 3/);
    const algorithm = 'metiss' as GraphPartitioner;
    expect(() => partitionGraph(graph, { parts: 2, algorithm })).toThrow(/one of metis, ldg, speed, random/);
    const mask = { trainMask: [1] };
    expect(() => partitionGraph(graph, { parts: 2, balance: mask })).toThrow(
      /2 values for balance.trainMask/,
    );
    const ldg = () => partitionGraph(graph, { parts: 2, algorithm: 'ldg', balance: { edges: true } });
    expect(ldg).toThrow(ValueError);
  });
});

describe.each(graphPartitioners)('%s', (algorithm) => {
  it.each([1, 2, 3, 4, 8])('%i parts: every node once, even, deterministic', (parts) => {
    for (const graph of [rings(8), randomGraph(), randomHetero()]) {
      const { parts: list, stats, partsByType } = partitionGraph(graph, { parts, algorithm, seed: 5 });
      const numNodes = graph instanceof Graph ? graph.numNodes : graph.numNodes();
      expect(list.length).toBe(numNodes);
      expect(list.every((part) => part >= 0 && part < parts)).toBe(true);
      expect(stats.nodes.reduce((a, b) => a + b)).toBe(numNodes);
      expect(Object.values(partsByType).reduce((sum, { length }) => sum + length, 0)).toBe(numNodes);
      // A partition may exceed the mean by the slack of the method, or by one node due to rounding.
      expect(Math.max(...stats.nodes)).toBeLessThanOrEqual(Math.ceil((numNodes / parts) * 1.1) + 1);
      expect(partitionGraph(graph, { parts, algorithm, seed: 5 }).parts).toEqual(list);
    }
  });

  it('counts the cut edges', () => {
    const graph = randomGraph();
    const { parts, stats } = partitionGraph(graph, { parts: 3, algorithm });
    const { src, dst } = graph.edges();
    const halo = [0, 1, 2].map(
      (p) => new Set(src.filter((u, e) => parts[dst[e]] === p && parts[u] !== p)).size,
    );
    expect(stats.halo).toEqual(halo);
    expect(stats.cutEdges).toBe(src.filter((u, e) => parts[u] !== parts[dst[e]]).length);
    expect(stats.edges.reduce((a, b) => a + b)).toBe(900);
  });
});

describe('properties of the methods', () => {
  it('metis, ldg and speed cut fewer edges than random', () => {
    const graph = rings(8);
    const cutEdges = (algorithm: GraphPartitioner) =>
      partitionGraph(graph, { parts: 4, algorithm }).stats.cutEdges;
    expect(cutEdges('metis')).toBe(0);
    expect(cutEdges('ldg')).toBeLessThan(cutEdges('random') / 2);
    expect(cutEdges('speed')).toBeLessThan(cutEdges('random'));
  });

  it('speed uses times if they are given', () => {
    const { src, dst } = randomGraph().edges();
    const graph = Graph.fromEdges(src, dst, { numNodes: 200 });
    const turned = Graph.fromEdges(src.slice().reverse(), dst.slice().reverse(), { numNodes: 200 });
    const time = Array.from(src, (_, e) => src.length - 1 - e);
    const cut = (of: Graph, times?: number[]) =>
      partitionGraph(of, { parts: 3, algorithm: 'speed', ...(times && { time: times }) }).parts;
    expect(cut(turned, time)).toEqual(cut(graph));
    expect(cut(turned)).not.toEqual(cut(graph));
    expect(() => cut(graph, [1])).toThrow(/900 times/);
  });

  it('metis balances edges, training nodes and types at once', () => {
    const graph = randomHetero();
    const trainMask = Uint8Array.from({ length: graph.numNodes() }, (_, v) => (v % 3 === 0 ? 1 : 0));
    const balance: PartitionBalance = { edges: true, trainMask, nodeTypes: true };
    const { stats, partsByType } = partitionGraph(graph, { parts: 2, balance });
    expect(stats.edgeBalance).toBeLessThan(1.3);
    expect(stats.trainBalance).toBeLessThan(1.3);
    const users = partsByType.user.filter((part) => part === 0).length;
    expect(Math.abs(users - 30)).toBeLessThan(9);
  });
});
