/**
 * Message-flow graphs: one distributed graph per layer that computes only what the seeds need. From the last layer
 * down, the sources of a layer are the destinations of the one below.
 *
 * Rows: the destinations of the last layer are the seeds in ascending order. Sources of a layer are its destinations,
 * in their order, then the other nodes that some worker needs, ascending. Every step is collective; workers without
 * seeds take part.
 */
import { makeFrame } from '../../graph/frame.js';
import type { EdgeType, Frame } from '../../graph/index.js';
import type { Ids } from '../../tensor/index.js';
import { checkIds } from '../../tensor/ops/common.js';
import { checkInteger } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import { ownerOf } from './connect-edges.js';
import {
  checkCollectively,
  checkOneType,
  communicatorFor,
  type FullGraphOptions,
} from './construct-full-graph.js';
import { GraphShardManager } from './graph-shard-manager.js';
import { HeteroGraphShardManager } from './hetero-graph-shard-manager.js';
import { type RelationEdges, relationEdges } from './relation-edges.js';
import type { ShardingOptions } from './sharding-options.js';
import {
  edgeWeights,
  inDegreesOf,
  parseEdgeType,
  pickEdges,
  type Sides,
  workerRelation,
} from './worker-relation.js';

type IdsByType = Readonly<Record<string, Int32Array>>;

/** This worker's partition of one relation of the full graph. */
interface FullRelation {
  readonly type: EdgeType;
  readonly edges: RelationEdges;
  readonly weights: Float32Array | null;
  readonly degrees: (selfLoops: boolean) => Float64Array;
}

/**
 * Constructs one graph per layer for a graph of one node type and one edge type; the first is that of the input layer.
 * Collective.
 *
 * @param seedNodesGlobal global ids of this worker's nodes whose results are needed; may be empty.
 * @param keepSeedNodes include every destination in the sources, at their start, as most layers require.
 * @example
 * const blocks = constructMfgs(partitionData, trainIds, 3);
 * const logits = model.forward(blocks, gatherRows(features, blocks[0].inputNodes.map((id) => id - first)));
 */
export function constructMfgs(
  pd: PartitionData,
  seedNodesGlobal: Ids,
  nLayers: number,
  keepSeedNodes = true,
  options: FullGraphOptions = {},
): GraphShardManager[] {
  checkOptionNames('constructMfgs', options, {
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
  checkOneType('constructMfgs', pd, 'constructHeteroMfgs');
  return buildLayers('constructMfgs', pd, seedNodesGlobal, nLayers, keepSeedNodes, options).map(
    ({ relations }) => relations[0][1],
  );
}

/** Constructs message-flow graphs of a graph with several node or edge types; seeds may be of any type. */
export function constructHeteroMfgs(
  pd: PartitionData,
  seedNodesGlobal: Ids,
  nLayers: number,
  keepSeedNodes = true,
  options: FullGraphOptions = {},
): HeteroGraphShardManager[] {
  checkOptionNames('constructHeteroMfgs', options, {
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
  const { partitionBook, nodeRanges } = pd;
  const layers = buildLayers('constructHeteroMfgs', pd, seedNodesGlobal, nLayers, keepSeedNodes, options);
  return layers.map((layer) => new HeteroGraphShardManager({ ...layer, partitionBook, nodeRanges }));
}

interface Nodes {
  readonly ids: IdsByType;
  readonly frames: Readonly<Record<string, Frame>>;
}

interface Layer {
  readonly relations: readonly (readonly [EdgeType, GraphShardManager])[];
  readonly src: Nodes;
  readonly dst: Nodes;
}

function buildLayers(
  where: string,
  pd: PartitionData,
  seedNodesGlobal: Ids,
  nLayers: number,
  keep: boolean,
  options: FullGraphOptions,
): Layer[] {
  const comm = communicatorFor(where, options);
  checkInteger(where, 'nLayers', nLayers, 1);
  const sharding = checkCollectively(where, comm, pd, options, { nLayers, keepSeedNodes: keep });
  const { start, end } = pd.nodeRanges[comm.rank];
  const seeds = checkIds(where, 'seedNodesGlobal', seedNodesGlobal, end, start);
  const fullRelations = pd.edgeTypeNames.map((name, t): FullRelation => {
    const edges = relationEdges(pd, t);
    const weights = edgeWeights(where, edges, options.edgeWeight);
    return {
      type: parseEdgeType(name),
      edges,
      weights,
      degrees: (loops) => inDegreesOf(pd, edges, weights, loops),
    };
  });
  let wanted = groupByType(
    pd,
    [...new Set(seeds)].sort((a, b) => a - b),
  );
  const layers: Layer[] = [];
  for (let layer = 0; layer < nLayers; layer++) {
    const edgeIndices = fullRelations.map(({ edges }) => edgesInto(pd, edges, wanted));
    const inputs = inputNodes(comm, pd, fullRelations, edgeIndices, wanted, keep);
    const [src, dst] = [nodesOf('srcNodes', inputs), nodesOf('dstNodes', wanted)];
    const relations = fullRelations.map((whole, r) => {
      const graph = layerRelation(comm, pd, whole, edgeIndices[r], { src, dst, keep }, sharding);
      return [whole.type, graph] as const;
    });
    layers.unshift({ relations, src, dst });
    wanted = inputs;
  }
  return layers;
}

function layerRelation(
  comm: Communicator,
  pd: PartitionData,
  { type, edges, weights, degrees }: FullRelation,
  edgeIndices: Int32Array,
  { src, dst, keep }: { readonly src: Nodes; readonly dst: Nodes; readonly keep: boolean },
  sharding: Required<ShardingOptions>,
): GraphShardManager {
  const [from, , to] = type;
  const { start } = pd.nodeRanges[comm.rank];
  const sides: Sides = {
    src: src.ids[from],
    dst: dst.ids[to],
    dstOffset: keep && from === to ? 0 : null,
    frames: { src: src.frames[from], dst: dst.frames[to] },
  };
  const own = pickEdges(edges, edgeIndices);
  const ownWeights = weights === null ? null : Float32Array.from(edgeIndices, (e) => weights[e]);
  const structure = workerRelation(comm, pd, own, sides, ownWeights);
  const wholeDegrees =
    from !== to
      ? null
      : (selfLoops: boolean): Float64Array => {
          const all = degrees(selfLoops);
          return Float64Array.from(sides.src, (id) => all[id - start]);
        };
  const graph = new GraphShardManager({ ...structure, parentEdgeIds: edgeIndices, wholeDegrees }, sharding);
  for (const [name, rows] of Object.entries(own.features)) graph.edata[name] = rows;
  return graph;
}

function groupByType(pd: PartitionData, ids: readonly number[]): Record<string, Int32Array> {
  const { start } = pd.nodeRanges[pd.rank];
  const lists = pd.nodeTypeNames.map((): number[] => []);
  for (const id of ids) lists[pd.nodeTypes === null ? 0 : pd.nodeTypes[id - start]].push(id);
  return Object.fromEntries(pd.nodeTypeNames.map((type, t) => [type, Int32Array.from(lists[t])]));
}

function nodesOf(name: string, ids: IdsByType): Nodes {
  const frames = Object.entries(ids).map(([type, list]) => [
    type,
    makeFrame(`${name}('${type}')`, list.length),
  ]);
  return { ids, frames: Object.fromEntries(frames) };
}

/** Returns the indices of the edges into the wanted destinations. */
function edgesInto(pd: PartitionData, { dst }: RelationEdges, wanted: IdsByType): Int32Array {
  const { start, end } = pd.nodeRanges[pd.rank];
  const marked = new Uint8Array(end - start);
  for (const ids of Object.values(wanted)) for (const id of ids) marked[id - start] = 1;
  const edgeIndices: number[] = [];
  for (let e = 0; e < dst.length; e++) if (marked[dst[e] - start] === 1) edgeIndices.push(e);
  return Int32Array.from(edgeIndices);
}

/** Collective. Returns this worker's nodes that some worker needs as sources, by type. */
function inputNodes(
  comm: Communicator,
  pd: PartitionData,
  fullRelations: readonly FullRelation[],
  edgeIndices: readonly Int32Array[],
  wanted: IdsByType,
  keep: boolean,
): Record<string, Int32Array> {
  const marks = pd.nodeRanges.map(({ start, end }) => new Uint8Array(end - start));
  for (const [r, { edges }] of fullRelations.entries()) {
    for (const place of edgeIndices[r]) {
      const id = edges.src[place];
      const q = ownerOf(pd.nodeRanges, id);
      marks[q][id - pd.nodeRanges[q].start] = 1;
    }
  }
  const requested = comm.allToAllv(
    marks.map((marked, q) => (q === comm.rank ? new Int32Array(0) : indicesOf(marked, 1))),
  );
  const own = marks[comm.rank];
  for (const rows of requested) for (const row of rows) own[row] = 1;
  const { start } = pd.nodeRanges[comm.rank];
  if (keep) for (const ids of Object.values(wanted)) for (const id of ids) own[id - start] = 2;
  const others = groupByType(
    pd,
    [...indicesOf(own, 1)].map((row) => row + start),
  );
  if (!keep) return others;
  return Object.fromEntries(
    Object.entries(wanted).map(([type, ids]) => [type, Int32Array.from([...ids, ...others[type]])]),
  );
}

function indicesOf(marks: Uint8Array, value: number): Int32Array {
  const found: number[] = [];
  for (let i = 0; i < marks.length; i++) if (marks[i] === value) found.push(i);
  return Int32Array.from(found);
}
