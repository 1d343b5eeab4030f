/** Groups A–E: published vectors of pyg-lib and Quiver, and invariants of every sampled batch. */
import { GPUSampler, type GpuDevice } from 'skein/gpu';
import { Graph, TemporalGraph } from 'skein/graph';
import { NeighborSampler, TemporalNeighborSampler } from 'skein/sample';
import { equal, ok } from './assert.js';
import type { GpuCase } from './case.js';
import { cycle, skewedGraph, withSampler } from './sampling-graphs.js';

async function fullFanOut(gpu: GpuDevice): Promise<void> {
  await withSampler(gpu, cycle, { sizes: [-1, -1] }, async (sampler) => {
    const { allNode, adjs, batchSize, nodesPerHop, edgesPerHop } = await sampler.sample([2, 3]);
    equal(allNode, [2, 3, 1, 4, 0, 5], 'allNode');
    equal(adjs[0].col, [0, 0, 1, 1, 2, 2, 3, 3], 'destinations');
    equal(adjs[0].row, [2, 1, 0, 3, 4, 0, 1, 5], 'sources');
    equal(adjs[0].eId, [4, 5, 6, 7, 2, 3, 8, 9], 'eId');
    equal(adjs[0].size, [6, 4], 'size of the outer hop');
    equal(adjs[1].size, [4, 2], 'size of the inner hop');
    equal(batchSize, 2, 'batchSize');
    equal(nodesPerHop, [2, 2, 2], 'nodesPerHop');
    equal(edgesPerHop, [4, 4], 'edgesPerHop');
  });
}

async function noEdges(gpu: GpuDevice): Promise<void> {
  const csr = { indptr: new Int32Array(6), indices: new Int32Array(0) };
  await withSampler(gpu, csr, { sizes: [-1, -1] }, async (sampler) => {
    const { allNode, adjs, nodesPerHop, edgesPerHop } = await sampler.sample([0, 1, 2, 3, 4]);
    equal(allNode, [0, 1, 2, 3, 4], 'allNode');
    equal(
      adjs.map(({ numEdges }) => numEdges),
      [0, 0],
      'edges of layers',
    );
    equal(nodesPerHop, [5, 0, 0], 'nodesPerHop');
    equal(edgesPerHop, [0, 0], 'edgesPerHop');
  });
}

async function biased(gpu: GpuDevice): Promise<void> {
  const weights = Float32Array.from({ length: 12 }, (_, edge) => 1 - (edge % 2));
  await withSampler(gpu, cycle, { sizes: [1], weights }, async (sampler) => {
    const { allNode, adjs } = await sampler.sample([0, 1]);
    equal(adjs[0].col, [0, 1], 'destinations');
    equal(adjs[0].row, [2, 0], 'sources');
    equal(allNode, [0, 1, 5], 'allNode');
    equal(adjs[0].eId, [0, 2], 'eId');
  });
}

/** Disjoint trees and times are supported by the CPU samplers only. */
async function disjoint(): Promise<void> {
  const graph = Graph.fromCsc(cycle.indptr, cycle.indices);
  const batch = new NeighborSampler(graph, { fanouts: [2, 2], disjoint: true }).sample([2, 3]);
  const [outer] = batch.adjs();
  equal(outer.col, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], 'destinations');
  equal(outer.row, [2, 3, 4, 5, 6, 0, 0, 7, 8, 1, 1, 9], 'sources');
  equal(batch.trees, [0, 1, 0, 0, 1, 1, 0, 0, 1, 1], 'trees');
  equal(batch.nodeIds, [2, 3, 1, 3, 2, 4, 0, 4, 1, 5], 'nodes');
  equal(outer.eId, [4, 5, 6, 7, 2, 3, 6, 7, 4, 5, 8, 9], 'eId');
}

/** Returns the edge ids that the rows of each hop take; `timeOf` is the time of an entry of the cycle. */
function temporalEdges(
  timeOf: (edge: number) => number,
  fanouts: number[],
  times: number[],
): readonly number[][] {
  const dst = Int32Array.from(cycle.indices, (_, edge) => edge >> 1);
  const time = Float64Array.from(cycle.indices, (_, edge) => timeOf(edge));
  const order = [...time.keys()].sort((a, b) => time[a] - time[b] || a - b);
  const sorted = <A extends Int32Array | Float64Array>(values: A) =>
    values.map((_, i) => values[order[i]]) as A;
  const graph = new TemporalGraph(
    { src: sorted(cycle.indices), dst: sorted(dst), time: sorted(time) },
    { directed: true, numNodes: 6 },
  );
  // "Up to a time" in the vectors is strictly before a moment later here.
  const sampler = new TemporalNeighborSampler(graph, { fanouts, strategy: 'recent', propTime: true });
  const { hops } = sampler.sample({ nodes: [2, 3], times: times.map((t) => t + 0.5) });
  // The rows of a hop begin with those of the one before, which draw again.
  return hops.map(({ eventRows, indptr }, h) => {
    const found = eventRows.subarray(h === 0 ? 0 : indptr[hops[h - 1].numDst]);
    return Array.from(found, (row) => order[row]).sort((a, b) => a - b);
  });
}

async function temporal(): Promise<void> {
  const nodeTime = (edge: number) => cycle.indices[edge];
  for (const fanouts of [
    [2, 2],
    [1, 2],
  ]) {
    const [first, second] = temporalEdges(nodeTime, fanouts, [2, 3]);
    equal(first, [4, 6], `edges of hop 0 by node times, [${fanouts}]`);
    equal(second, [2, 3, 4, 5], `edges of hop 1 by node times, [${fanouts}]`);
  }
  const [first, second] = temporalEdges((edge) => edge, [2, 2], [5, 6]);
  equal(first, [4, 5, 6], 'edges of hop 0 by edge times');
  equal(second, [2, 3, 4, 5], 'edges of hop 1 by edge times');
  const none = temporalEdges((edge) => edge, [1, 1], [-1, -1]);
  equal(none[0].length + none[1].length, 0, 'edges before all times');
}

async function stars(gpu: GpuDevice, count: number, degree: number, fanout: number): Promise<void> {
  const indptr = Int32Array.from({ length: count + 1 }, (_, v) => v * degree);
  const indices = Int32Array.from({ length: count * degree }, (_, i) => {
    const v = Math.floor(i / degree);
    return (v * 7 + (i % degree) + 1) % count;
  });
  await withSampler(gpu, { indptr, indices }, { sizes: [fanout] }, async (sampler) => {
    const seeds = Int32Array.from({ length: count }, (_, v) => v);
    const { allNode, adjs } = await sampler.sample(seeds);
    const [{ row, col, eId, numEdges }] = adjs;
    equal(numEdges, count * Math.min(degree, fanout), 'edges');
    equal(new Set(eId).size, numEdges, 'edges that differ');
    const taken = new Int32Array(count);
    for (let e = 0; e < numEdges; e++) {
      taken[col[e]]++;
      ok(eId[e] >= indptr[col[e]] && eId[e] < indptr[col[e] + 1], `edge ${e} belongs to its node`);
      ok(indices[eId[e]] === allNode[row[e]], `edge ${e} leads to its neighbour`);
    }
    ok(
      taken.every((n) => n === Math.min(degree, fanout)),
      'each node takes min(degree, k)',
    );
  });
}

async function invariants(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(2708, 10556);
  const { offsets, indices, edgeIds } = graph.adjacency;
  const slotOf = graph.adjacency.edgePositions() as Int32Array;
  ok(edgeIds !== null, 'edge ids differ from edge positions');
  const seeds = Int32Array.from({ length: 512 }, (_, i) => (i * 5) % 2708);
  const sampler = new GPUSampler(gpu, graph, { seed: 3 }).setSize([25, 10]);
  const { allNode, adjs, batchSize } = await sampler.sample(seeds);
  sampler.release();
  equal(allNode.subarray(0, batchSize), seeds, 'seeds come first');
  equal(new Set(allNode).size, allNode.length, 'nodes that differ');
  equal(adjs.length, 2, 'layers');
  equal(adjs[1].size[1], batchSize, 'destinations of the last layer');
  equal(adjs[0].size[1], adjs[1].size[0], 'layers fit together');
  equal(adjs[0].size[0], allNode.length, 'sources of the first layer');
  for (const { row, col, eId, size } of adjs) {
    ok(size[0] >= size[1], 'no fewer sources than destinations');
    for (let e = 0; e < row.length; e++) {
      const node = allNode[col[e]];
      const slot = slotOf[eId[e]];
      ok(row[e] < size[0] && col[e] < size[1], `edge ${e} is within the layer`);
      ok(slot >= offsets[node] && slot < offsets[node + 1], `edge ${e} belongs to its node`);
      ok(indices[slot] === allNode[row[e]], `edge ${e} leads to its neighbour`);
    }
  }
}

export const cases: readonly GpuCase[] = [
  { group: 'A', name: 'all neighbours on a cycle', run: fullFanOut },
  { group: 'B', name: 'a graph without edges', run: noEdges },
  { group: 'C', name: 'alternating weights 1 and 0', run: biased },
  { group: 'C', name: 'disjoint trees (CPU)', run: disjoint },
  { group: 'C', name: 'times of nodes and edges, the last ones first (CPU)', run: temporal },
  { group: 'D', name: '10 nodes of degree 5, k = 10', run: (gpu) => stars(gpu, 10, 5, 10) },
  { group: 'D', name: '100 nodes of degree 10, k = 5', run: (gpu) => stars(gpu, 100, 10, 5) },
  { group: 'D', name: '1000 nodes of degree 10, k = 10', run: (gpu) => stars(gpu, 1000, 10, 10) },
  { group: 'E', name: 'rows, ids and sizes fit together', run: invariants },
];
