/** From a worker's `PartitionData` to the graph that layers take. */
import { Adjacency } from '../../graph/index.js';
import type { Tensor } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { Lock } from '../single-node/lock.js';
import type { PartitionDataManager } from '../single-node/partition-data-manager.js';
import { enterSingleNode } from '../single-node/spilling-communicator.js';
import { connectEdges } from './connect-edges.js';
import { GraphShardManager } from './graph-shard-manager.js';
import { relationEdges } from './relation-edges.js';
import { checkShardingOptions, type ShardingOptions } from './sharding-options.js';

export interface FullGraphOptions extends ShardingOptions {
  /** The current communicator by default. */
  readonly comm?: Communicator;
  /** The edge feature that holds edge weights, by its name without the type; without it all weights are 1. */
  readonly edgeWeight?: string;
  /**
   * Training on one machine: from here on only the holder of the manager's lock computes, and what the others know is on
   * disk while they wait. All communication goes through the current communicator then.
   */
  readonly partitionDataManager?: PartitionDataManager;
  /** The manager's lock, and no other. */
  readonly lock?: Lock;
}

/**
 * The whole graph of one node type and one edge type, for this worker. Collective. Edge features become `edata`.
 *
 * @example
 * const graph = constructFullGraph(partitionData);
 * const y = model.forward(graph, suffixKeyLookup(partitionData.nodeFeatures, 'features'));
 */
export function constructFullGraph(pd: PartitionData, options: FullGraphOptions = {}): GraphShardManager {
  const where = 'constructFullGraph';
  const comm = workerOf(where, options);
  const checked = checkShardingOptions(where, options);
  checkWorkers(where, pd, comm);
  if (pd.nodeTypeNames.length !== 1 || pd.edgeTypeNames.length !== 1) {
    const got = `${pd.nodeTypeNames.length} and ${pd.edgeTypeNames.length}`;
    const hint = 'Use constructHeteroGraph.';
    throw new ValueError(expected(where, 'one node type and one edge type', 'partitionData', got, hint));
  }
  const range = pd.nodeRanges[comm.rank];
  const own = Int32Array.from({ length: range.end - range.start }, (_, row) => range.start + row);
  const edges = relationEdges(pd, 0);
  const { link, sources, usedIds } = connectEdges(comm, pd.nodeRanges, edges.src, own);
  const dst = edges.dst.map((id) => id - range.start);
  const adjacency = Adjacency.fromEdges(sources, dst, link.numUsed, own.length);
  const weights = edgeWeights(where, edges.features, adjacency, options.edgeWeight);
  const graph = new GraphShardManager(
    { link, adjacency, usedIds, dstIds: own, tgtNodeRange: range, dstOffset: 0, weights },
    checked,
  );
  for (const [name, rows] of Object.entries(edges.features)) graph.edata[name] = rows;
  rememberSource(graph, pd, options);
  return graph;
}

/** The communicator to use; with a manager, the one that hands the machine over while it waits. */
function workerOf(where: string, options: FullGraphOptions): Communicator {
  const { comm = currentCommunicator(), partitionDataManager: manager, lock } = options;
  if (lock !== undefined && lock !== manager?.lock)
    throw new ValueError(expected(where, 'the lock of partitionDataManager', 'lock', 'another one'));
  return manager === undefined ? comm : enterSingleNode(comm, manager);
}

const sources = new WeakMap<GraphShardManager, PartitionData>();

/** What a graph was made from; undefined for one that is not the whole graph. @internal */
export function sourceOf(graph: GraphShardManager): PartitionData | undefined {
  return sources.get(graph);
}

function rememberSource(graph: GraphShardManager, pd: PartitionData, options: FullGraphOptions): void {
  sources.set(graph, pd);
  const { partitionDataManager: manager } = options;
  if (manager === undefined) return;
  const { offsets, indices, edgeIds } = graph.adjacency;
  const arrays = { offsets: offsets as Int32Array, indices, edgeIds, usedIds: graph.usedIds };
  for (const [key, values] of Object.entries(arrays))
    if (values !== null) manager.register(`graph/${key}`, values);
  for (const shard of graph.shards)
    for (const key of ['offsets', 'indices', 'slots', 'dstRows'] as const) {
      const values = shard[key];
      if (values !== null) manager.register(`shard-${shard.owner}/graph-${key}`, values);
    }
}

/** Refuses data that another number of workers was meant for. */
export function checkWorkers(where: string, pd: PartitionData, comm: Communicator): void {
  if (pd.nodeRanges.length !== comm.size) {
    throw new ValueError(
      expected(where, `data for ${comm.size} workers`, 'partitionData', pd.nodeRanges.length),
    );
  }
  if (pd.rank !== comm.rank)
    throw new ValueError(
      expected(where, `data of worker ${comm.rank}`, 'partitionData', `that of ${pd.rank}`),
    );
}

/** The named feature as weights by slot. */
export function edgeWeights(
  where: string,
  features: Readonly<Record<string, Tensor>>,
  adjacency: Adjacency,
  name: string | undefined,
): Float32Array | null {
  if (name === undefined) return null;
  if (!Object.hasOwn(features, name)) {
    const known = Object.keys(features).join(', ') || 'none';
    throw new ValueError(expected(where, `an edge feature (there are: ${known})`, 'edgeWeight', name));
  }
  const values = features[name].dataSync();
  if (values.length !== adjacency.numEdges)
    throw new ShapeError(expected(where, `${adjacency.numEdges} weights`, `feature ${name}`, values.length));
  return Float32Array.from({ length: values.length }, (_, slot) => values[adjacency.edgeIds?.[slot] ?? slot]);
}
