/**
 * Batches of seeds that share neighbours: METIS partitions the graph of this worker's nodes into as many clusters as
 * there are batches, balanced in seeds and edges, and the seeds of a cluster are a batch. On graphs with communities,
 * fewer nodes are sampled and fewer rows fetched than for random seeds; on graphs without (R-MAT) there is no gain.
 * Batches are the same in every epoch, only their order changes.
 */
import { Graph, removeSelfLoops, toUndirected } from '../../graph/index.js';
import { metisPartitionWeighted } from '../../graph/partition/metis.js';
import type { DistGraph } from './dist-graph.js';

/** Returns the seeds of each of `count` batches, some of which may be empty. */
export function clusterSeeds(graph: DistGraph, seeds: Int32Array, count: number, seed: number): Int32Array[] {
  if (count <= 1 || seeds.length === 0)
    return Array.from({ length: count }, (_, i) => (i === 0 ? seeds : new Int32Array(0)));
  const { start, end } = graph.nodeRange;
  const n = end - start;
  const { offsets, indices } = ownEdges(graph);
  const nodeWeights = new Int32Array(2 * n);
  for (const id of seeds) nodeWeights[2 * (id - start)]++;
  for (let v = 0; v < n; v++) nodeWeights[2 * v + 1] = 1 + offsets[v + 1] - offsets[v];
  const weighted = {
    ...{ offsets, indices, nodeWeights, constraints: 2 },
    edgeWeights: new Int32Array(indices.length).fill(1),
  };
  const { parts } = metisPartitionWeighted(weighted, Math.min(count, n), { seed });
  const batches: number[][] = Array.from({ length: count }, () => []);
  for (const id of seeds) batches[parts[id - start]].push(id);
  return batches.map((ids) => Int32Array.from(ids));
}

/** Returns the edges between nodes of this worker, in both directions, without self loops. */
function ownEdges(graph: DistGraph): { offsets: Int32Array; indices: Int32Array } {
  const { start, end } = graph.nodeRange;
  const { src, dst } = graph.partitionData.allShardEdges[graph.rank];
  const local = Graph.fromEdges(
    src.map((v) => v - start),
    dst.map((v) => v - start),
    { numNodes: end - start },
  );
  const { offsets, indices } = removeSelfLoops(toUndirected(local)).adjacency;
  return { offsets: offsets as Int32Array, indices };
}
