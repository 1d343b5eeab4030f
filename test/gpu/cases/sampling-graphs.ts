/** Graphs and comparisons for the cases about sampling. */

import { GPUSampler, type GPUSamplerOptions, type GpuDevice } from 'skein/gpu';
import { Graph } from 'skein/graph';
import { type Batch, NeighborSampler, type NeighborSamplerOptions } from 'skein/sample';
import { Random } from 'skein/util';
import type { CsrLike } from '#internal/gpu/sampling/csr-source.js';
import { equal } from './assert.js';

/**
 * A graph with many edges at few nodes, multi-edges and self loops included; the last tenth of the nodes is isolated.
 */
export function skewedGraph(numNodes: number, numEdges: number, seed = 1): Graph {
  const random = new Random(seed);
  const used = Math.max(1, Math.floor(numNodes * 0.9));
  const draw = () => Math.floor(random.nextFloat() ** 2 * used);
  const src = Int32Array.from({ length: numEdges }, draw);
  const dst = Int32Array.from({ length: numEdges }, draw);
  return Graph.fromEdges(src, dst, { numNodes });
}

/** Node v lists v − 1 and v + 1, in the order of the published vectors. */
export const cycle = {
  indptr: Int32Array.of(0, 2, 4, 6, 8, 10, 12),
  indices: Int32Array.of(5, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 0),
};

/** The nodes 0 … rows − 1 each list the nodes rows … rows + degree − 1. */
export function sharedLeaves(rows: number, degree: number): CsrLike {
  const indptr = Int32Array.from({ length: rows + 1 }, (_, v) => v * degree);
  const indices = Int32Array.from({ length: rows * degree }, (_, i) => rows + (i % degree));
  return { indptr, indices, numNodes: rows + degree };
}

/** Runs `use` with a sampler and releases it. */
export async function withSampler<T>(
  gpu: GpuDevice,
  csr: CsrLike,
  options: GPUSamplerOptions,
  use: (sampler: GPUSampler) => Promise<T>,
): Promise<T> {
  const sampler = new GPUSampler(gpu, csr, options);
  try {
    return await use(sampler);
  } finally {
    sampler.release();
  }
}

/** Fails unless two batches have the same nodes, edges and counts. */
export function equalBatches(actual: Batch, expected: Batch, what: string): void {
  equal(actual.nodeIds, expected.nodeIds, `${what}: nodeIds`);
  equal(actual.seedRows, expected.seedRows, `${what}: seedRows`);
  equal(actual.nodesPerHop, expected.nodesPerHop, `${what}: nodesPerHop`);
  equal(actual.edgesPerHop, expected.edgesPerHop, `${what}: edgesPerHop`);
  equal(actual.edgeIds, expected.edgeIds, `${what}: edgeIds`);
  const theirs = expected.adjs();
  for (const [layer, adj] of actual.adjs().entries()) {
    equal(adj.row, theirs[layer].row, `${what}: adjs[${layer}].row`);
    equal(adj.col, theirs[layer].col, `${what}: adjs[${layer}].col`);
    equal(adj.eId, theirs[layer].eId, `${what}: adjs[${layer}].eId`);
    equal(adj.size, theirs[layer].size, `${what}: adjs[${layer}].size`);
  }
}

/** Fails unless the batch of the device equals that of `NeighborSampler` with the same options. */
export async function sameAsCpu(
  gpu: GpuDevice,
  graph: Graph,
  options: NeighborSamplerOptions,
  seeds: ArrayLike<number>,
  device: GPUSamplerOptions = {},
): Promise<void> {
  const { fanouts, strategy: _, rate, ...shared } = options;
  const onDevice = { ...shared, ...device, sizes: fanouts, ...(rate === undefined ? {} : { dropout: rate }) };
  const cpu = new NeighborSampler(graph, options);
  const ids = Int32Array.from(seeds);
  await withSampler(gpu, graph, onDevice, async (sampler) => {
    for (const at of [{ step: 0 }, { epoch: 3, step: 4_000_000_000 }]) {
      const what = `[${fanouts}] ${Object.keys(shared)} at step ${at.step}`;
      equalBatches(await sampler.sampleAsync(ids, at), cpu.sample(ids, at), what);
    }
  });
}
