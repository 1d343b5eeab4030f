/** Constructs the graphs that layers take from a worker's `PartitionData`. */
import { makeFrame } from '../../graph/frame.js';
import type { Frame } from '../../graph/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';
import type { PartitionData } from '../partition/partition-data.js';
import type { Lock } from '../single-node/lock.js';
import type { PartitionDataManager } from '../single-node/partition-data-manager.js';
import { enterSingleNode } from '../single-node/spilling-communicator.js';
import { checkAgreement } from './check-agreement.js';
import { GraphShardManager } from './graph-shard-manager.js';
import { HeteroGraphShardManager } from './hetero-graph-shard-manager.js';
import { relationEdges } from './relation-edges.js';
import { checkShardingOptions, type ShardingOptions } from './sharding-options.js';
import {
  checkWorkers,
  edgeWeights,
  ownNodes,
  parseEdgeType,
  type Sides,
  workerRelation,
} from './worker-relation.js';

export interface FullGraphOptions extends ShardingOptions {
  /** Default: the current communicator. */
  readonly comm?: Communicator;
  /** The edge feature with the edge weights, by its name without the type; default: all weights are 1. */
  readonly edgeWeight?: string;
  /**
   * Single-node mode: from here on only the holder of the manager's lock computes, and the state of the other workers
   * is on disk while they wait. All communication then uses the current communicator.
   */
  readonly partitionDataManager?: PartitionDataManager;
  /** Must be the manager's lock. */
  readonly lock?: Lock;
}

/**
 * Constructs this worker's partition of a graph of one node type and one edge type. Collective. Edge features become
 * `edata`.
 *
 * @example
 * const graph = constructFullGraph(partitionData);
 * const y = model.forward(graph, suffixKeyLookup(partitionData.nodeFeatures, 'features'));
 */
export function constructFullGraph(pd: PartitionData, options: FullGraphOptions = {}): GraphShardManager {
  checkOptionNames('constructFullGraph', options, {
    mode: true,
    pipelineDepth: true,
    windowRows: true,
    compression: true,
    maxCollectiveSize: true,
    comm: true,
    edgeWeight: true,
    partitionDataManager: true,
    lock: true,
  });
  const where = 'constructFullGraph';
  checkOneType(where, pd, 'constructHeteroGraph');
  const [type] = pd.nodeTypeNames;
  const comm = communicatorFor(where, options);
  const sharding = checkCollectively(where, comm, pd, options);
  const ids = ownNodes(pd)[type];
  const sides = { src: ids, dst: ids, dstOffset: 0, frames: null };
  const graph = fullRelation(where, comm, pd, 0, sides, options, sharding);
  rememberSource(graph, pd, options);
  return graph;
}

/**
 * Constructs this worker's partition of a graph of several node or edge types. Collective.
 *
 * @example
 * const graph = constructHeteroGraph(partitionData);
 * const { paper } = new HeteroConv(layers).forward(graph, { author, paper });
 */
export function constructHeteroGraph(
  pd: PartitionData,
  options: FullGraphOptions = {},
): HeteroGraphShardManager {
  checkOptionNames('constructHeteroGraph', options, {
    mode: true,
    pipelineDepth: true,
    windowRows: true,
    compression: true,
    maxCollectiveSize: true,
    comm: true,
    edgeWeight: true,
    partitionDataManager: true,
    lock: true,
  });
  const where = 'constructHeteroGraph';
  const comm = communicatorFor(where, options);
  const sharding = checkCollectively(where, comm, pd, options);
  const nodes = ownNodes(pd);
  const frames: Record<string, Frame> = {};
  for (const type of pd.nodeTypeNames) frames[type] = makeFrame(`nodes('${type}')`, nodes[type].length);
  const relations = pd.edgeTypeNames.map((name, t) => {
    const type = parseEdgeType(name);
    const [src, , dst] = type;
    const dstOffset = src === dst ? 0 : null;
    const sides = {
      src: nodes[src],
      dst: nodes[dst],
      dstOffset,
      frames: { src: frames[src], dst: frames[dst] },
    };
    return [type, fullRelation(where, comm, pd, t, sides, options, sharding)] as const;
  });
  return new HeteroGraphShardManager({
    relations,
    src: { ids: nodes, frames },
    dst: { ids: nodes, frames },
    partitionBook: pd.partitionBook,
    nodeRanges: pd.nodeRanges,
  });
}

/** Collective. Checks options and data on all workers; returns the options with defaults. */
export function checkCollectively(
  where: string,
  comm: Communicator,
  pd: PartitionData,
  options: FullGraphOptions,
  more: Readonly<Record<string, unknown>> = {},
): Required<ShardingOptions> {
  const checked = checkShardingOptions(where, options, pd);
  checkAgreement(where, comm, pd, checked, { edgeWeight: options.edgeWeight, ...more });
  checkWorkers(where, pd, comm);
  return checked;
}

function fullRelation(
  where: string,
  comm: Communicator,
  pd: PartitionData,
  type: number,
  sides: Sides,
  options: FullGraphOptions,
  sharding: Required<ShardingOptions>,
): GraphShardManager {
  const edges = relationEdges(pd, type);
  const weights = edgeWeights(where, edges, options.edgeWeight);
  const graph = new GraphShardManager(workerRelation(comm, pd, edges, sides, weights), sharding);
  for (const [name, rows] of Object.entries(edges.features)) graph.edata[name] = rows;
  return graph;
}

/** Returns the communicator to use; with a manager, the one that spills the state to disk while it waits. */
export function communicatorFor(where: string, options: FullGraphOptions): Communicator {
  const { comm = currentCommunicator(), partitionDataManager: manager, lock } = options;
  if (lock !== undefined && lock !== manager?.lock)
    throw new ValueError(expected(where, 'the lock of partitionDataManager', 'lock', 'another one'));
  return manager === undefined ? comm : enterSingleNode(comm, manager);
}

const sources = new WeakMap<GraphShardManager, PartitionData>();

/** Returns the data from which a full graph was constructed; undefined for other graphs. @internal */
export function partitionDataOf(graph: GraphShardManager): PartitionData | undefined {
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
  for (const shard of [graph.own, ...graph.chunks])
    for (const key of ['offsets', 'indices', 'edgePositions', 'dstRows'] as const) {
      const values = shard[key];
      if (values !== null) manager.register(`shard-${shard.owner}-${shard.start}/graph-${key}`, values);
    }
}

export function checkOneType(where: string, pd: PartitionData, other: string): void {
  if (pd.nodeTypeNames.length === 1 && pd.edgeTypeNames.length === 1) return;
  const got = `${pd.nodeTypeNames.length} and ${pd.edgeTypeNames.length}`;
  const want = 'one node type and one edge type';
  throw new ValueError(expected(where, want, 'partitionData', got, `Use ${other}.`));
}
