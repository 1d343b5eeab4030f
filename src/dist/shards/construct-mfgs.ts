/**
 * Message-flow graphs: one distributed graph per layer that computes only what the seeds need. From the last layer down, the
 * sources of a layer are the destinations of the one below.
 *
 * Rows: the destinations of the last layer are the seeds in ascending order. Sources of a layer are its destinations, in
 * their order, then the other nodes that some worker needs, ascending. Every step is taken by all workers, also by those
 * without seeds.
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
import { checkOneType, checkTogether, type FullGraphOptions, workerOf } from './construct-full-graph.js';
import { GraphShardManager } from './graph-shard-manager.js';
import { HeteroGraphShardManager } from './hetero-graph-shard-manager.js';
import { type RelationEdges, relationEdges } from './relation-edges.js';
import type { ShardingOptions } from './sharding-options.js';
import {
  edgeWeights,
  inDegreesOf,
  pickEdges,
  type Sides,
  tripleOf,
  workerRelation,
} from './worker-relation.js';

type IdsByType = Readonly<Record<string, Int32Array>>;

/** A relation of the whole graph, as far as this worker holds it. */
interface Whole {
  readonly type: EdgeType;
  readonly edges: RelationEdges;
  readonly weights: Float32Array | null;
  readonly degrees: (selfLoops: boolean) => Float64Array;
}

/**
 * One graph per layer for a graph of one node type and one edge type; the first is that of the input layer. Collective.
 *
 * @param seedNodesGlobal global ids of own nodes whose results are wanted; a worker may have none.
 * @param keepSeedNodes keep every destination among the sources, at their start, as most layers need it.
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
  return layers('constructMfgs', pd, seedNodesGlobal, nLayers, keepSeedNodes, options).map(
    ({ relations }) => relations[0][1],
  );
}

/** Message-flow graphs of a graph with several node or edge types; seeds may be of any types. */
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
  const made = layers('constructHeteroMfgs', pd, seedNodesGlobal, nLayers, keepSeedNodes, options);
  return made.map((layer) => new HeteroGraphShardManager({ ...layer, partitionBook, nodeRanges }));
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

function layers(
  where: string,
  pd: PartitionData,
  seedNodesGlobal: Ids,
  nLayers: number,
  keep: boolean,
  options: FullGraphOptions,
): Layer[] {
  const comm = workerOf(where, options);
  checkInteger(where, 'nLayers', nLayers, 1);
  const sharding = checkTogether(where, comm, pd, options, { nLayers, keepSeedNodes: keep });
  const { start, end } = pd.nodeRanges[comm.rank];
  const seeds = checkIds(where, 'seedNodesGlobal', seedNodesGlobal, end, start);
  const wholes = pd.edgeTypeNames.map((name, t): Whole => {
    const edges = relationEdges(pd, t);
    const weights = edgeWeights(where, edges, options.edgeWeight);
    return {
      type: tripleOf(name),
      edges,
      weights,
      degrees: (loops) => inDegreesOf(pd, edges, weights, loops),
    };
  });
  let wanted = byType(
    pd,
    [...new Set(seeds)].sort((a, b) => a - b),
  );
  const made: Layer[] = [];
  for (let layer = 0; layer < nLayers; layer++) {
    const places = wholes.map(({ edges }) => edgesInto(pd, edges, wanted));
    const inputs = inputNodes(comm, pd, wholes, places, wanted, keep);
    const [src, dst] = [nodesOf('srcNodes', inputs), nodesOf('dstNodes', wanted)];
    const relations = wholes.map((whole, r) => {
      const graph = layerRelation(comm, pd, whole, places[r], { src, dst, keep }, sharding);
      return [whole.type, graph] as const;
    });
    made.unshift({ relations, src, dst });
    wanted = inputs;
  }
  return made;
}

function layerRelation(
  comm: Communicator,
  pd: PartitionData,
  { type, edges, weights, degrees }: Whole,
  places: Int32Array,
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
  const own = pickEdges(edges, places);
  const ownWeights = weights === null ? null : Float32Array.from(places, (place) => weights[place]);
  const structure = workerRelation(comm, pd, own, sides, ownWeights);
  const wholeDegrees =
    from !== to
      ? null
      : (selfLoops: boolean): Float64Array => {
          const all = degrees(selfLoops);
          return Float64Array.from(sides.src, (id) => all[id - start]);
        };
  const graph = new GraphShardManager({ ...structure, parentEdgeIds: places, wholeDegrees }, sharding);
  for (const [name, rows] of Object.entries(own.features)) graph.edata[name] = rows;
  return graph;
}

function byType(pd: PartitionData, ids: readonly number[]): Record<string, Int32Array> {
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

/** Places of the edges whose destination is wanted. */
function edgesInto(pd: PartitionData, { dst }: RelationEdges, wanted: IdsByType): Int32Array {
  const { start, end } = pd.nodeRanges[pd.rank];
  const marked = new Uint8Array(end - start);
  for (const ids of Object.values(wanted)) for (const id of ids) marked[id - start] = 1;
  const places: number[] = [];
  for (let e = 0; e < dst.length; e++) if (marked[dst[e] - start] === 1) places.push(e);
  return Int32Array.from(places);
}

/** Collective. Own nodes that some worker needs as sources, by type. */
function inputNodes(
  comm: Communicator,
  pd: PartitionData,
  wholes: readonly Whole[],
  places: readonly Int32Array[],
  wanted: IdsByType,
  keep: boolean,
): Record<string, Int32Array> {
  const marks = pd.nodeRanges.map(({ start, end }) => new Uint8Array(end - start));
  for (const [r, { edges }] of wholes.entries()) {
    for (const place of places[r]) {
      const id = edges.src[place];
      const q = ownerOf(pd.nodeRanges, id);
      marks[q][id - pd.nodeRanges[q].start] = 1;
    }
  }
  const asked = comm.allToAllv(
    marks.map((marked, q) => (q === comm.rank ? new Int32Array(0) : placesOf(marked, 1))),
  );
  const own = marks[comm.rank];
  for (const rows of asked) for (const row of rows) own[row] = 1;
  const { start } = pd.nodeRanges[comm.rank];
  if (keep) for (const ids of Object.values(wanted)) for (const id of ids) own[id - start] = 2;
  const others = byType(
    pd,
    [...placesOf(own, 1)].map((row) => row + start),
  );
  if (!keep) return others;
  return Object.fromEntries(
    Object.entries(wanted).map(([type, ids]) => [type, Int32Array.from([...ids, ...others[type]])]),
  );
}

function placesOf(marks: Uint8Array, value: number): Int32Array {
  const found: number[] = [];
  for (let i = 0; i < marks.length; i++) if (marks[i] === value) found.push(i);
  return Int32Array.from(found);
}
