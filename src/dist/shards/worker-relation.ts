/**
 * One relation of a worker's part of a graph: from edges with global ids to the structure of a distributed graph. The same for
 * a whole graph and for the layers of message-flow graphs, which differ in the nodes on both sides.
 */
import { Adjacency, type EdgeType, type Frame } from '../../graph/index.js';
import { gatherRows, noGrad, type Tensor, unscoped } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import { connectEdges } from './connect-edges.js';
import type { DistributedEdges, OriginalIds } from './distributed-graph.js';
import type { RelationEdges } from './relation-edges.js';

/** The nodes on both sides of a relation, as global ids in the order of rows. */
export interface Sides {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Own row at which the destinations begin among the sources; null when they are other nodes. */
  readonly dstOffset: number | null;
  readonly frames: { readonly src: Frame; readonly dst: Frame } | null;
}

/** 'src:relation:dst' of a partitioned graph as a triple. */
export function tripleOf(name: string): EdgeType {
  const parts = name.split(':');
  if (parts.length !== 3)
    throw new ValueError(expected('partitionData', "names 'src:relation:dst'", 'edge types', name));
  return [parts[0], parts[1], parts[2]];
}

/** Global ids of the nodes that a worker owns, by type. */
export function ownNodes(pd: PartitionData): Record<string, Int32Array> {
  const { start, end } = pd.nodeRanges[pd.rank];
  const lists = pd.nodeTypeNames.map((): number[] => []);
  for (let id = start; id < end; id++) lists[pd.nodeTypes === null ? 0 : pd.nodeTypes[id - start]].push(id);
  return Object.fromEntries(pd.nodeTypeNames.map((type, t) => [type, Int32Array.from(lists[t])]));
}

/** Refuses data that another number of workers was meant for. */
export function checkWorkers(where: string, pd: PartitionData, comm: Communicator): void {
  if (pd.nodeRanges.length === comm.size && pd.rank === comm.rank) return;
  const got = `that of worker ${pd.rank} of ${pd.nodeRanges.length}`;
  const want = `the data of worker ${comm.rank} of ${comm.size}`;
  throw new ValueError(expected(where, want, 'partitionData', got));
}

/** Collective. The structure for all edges given, whose destinations are among `sides.dst`. */
export function workerRelation(
  comm: Communicator,
  pd: PartitionData,
  edges: RelationEdges,
  sides: Sides,
  weights: Float32Array | null,
): DistributedEdges {
  const range = pd.nodeRanges[comm.rank];
  const rowOf = new Int32Array(range.end - range.start).fill(-1);
  for (let row = 0; row < sides.dst.length; row++) rowOf[sides.dst[row] - range.start] = row;
  const { link, sources, usedIds } = connectEdges(comm, pd.nodeRanges, edges.src, sides.src);
  const dst = edges.dst.map((id) => rowOf[id - range.start]);
  const adjacency = Adjacency.fromEdges(sources, dst, link.numUsed, sides.dst.length);
  const { edgeIds } = adjacency;
  return {
    link,
    adjacency,
    usedIds,
    dstIds: sides.dst,
    tgtNodeRange: range,
    dstOffset: sides.dstOffset,
    weights:
      weights === null || edgeIds === null ? weights : weights.map((_, slot) => weights[edgeIds[slot]]),
    frames: sides.frames,
    original: originalIds(pd, edges, sides),
  };
}

/** Partitions that do not say what their ids were before keep the ids they have, which every number of workers has too. */
function originalIds(pd: PartitionData, { edgeIds, name }: RelationEdges, { src, dst }: Sides): OriginalIds {
  const { originalNodeIds, originalEdgeIds, partitionBook: book, nodeRanges, rank } = pd;
  const { start } = nodeRanges[rank];
  const nodes = (ids: Int32Array): (() => Int32Array) =>
    once(() => (originalNodeIds === undefined ? ids : ids.map((id) => originalNodeIds[id - start])));
  return {
    src: nodes(src),
    dst: nodes(dst),
    // Graphs keep those of their slots.
    edges: () => {
      if (originalEdgeIds === undefined) return edgeIds;
      const { start: first } = book.workerEdges(rank, nodeRanges.length);
      return edgeIds.map((id) => originalEdgeIds[id - first]);
    },
    numSrc: book.numNodes(tripleOf(name)[0]),
    numEdges: book.numEdges(name),
  };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The edge feature `name` as weights by edge; null without a name. */
export function edgeWeights(
  where: string,
  { features, src }: RelationEdges,
  name: string | undefined,
): Float32Array | null {
  if (name === undefined) return null;
  if (!Object.hasOwn(features, name)) {
    const known = Object.keys(features).join(', ') || 'none';
    throw new ValueError(expected(where, `an edge feature (there are: ${known})`, 'edgeWeight', name));
  }
  const values = features[name].dataSync();
  if (values.length !== src.length)
    throw new ShapeError(expected(where, `${src.length} weights`, `feature ${name}`, values.length));
  return Float32Array.from(values);
}

/** The edges at some places, with their features. */
export function pickEdges(edges: RelationEdges, places: Int32Array): RelationEdges {
  const pick = (values: Int32Array): Int32Array => places.map((place) => values[place]);
  const features: Record<string, Tensor> = {};
  for (const [name, rows] of Object.entries(edges.features))
    features[name] = unscoped(() => noGrad(() => gatherRows(rows, places)));
  return {
    name: edges.name,
    src: pick(edges.src),
    dst: pick(edges.dst),
    edgeIds: pick(edges.edgeIds),
    features,
  };
}

/** Weighted in-degrees of a worker's nodes (by place in its range); with `selfLoops`, plus 1 where there is none. */
export function inDegreesOf(
  pd: PartitionData,
  { src, dst }: RelationEdges,
  weights: Float32Array | null,
  selfLoops: boolean,
): Float64Array {
  const { start, end } = pd.nodeRanges[pd.rank];
  const degrees = new Float64Array(end - start);
  const looped = new Uint8Array(end - start);
  for (let e = 0; e < dst.length; e++) {
    degrees[dst[e] - start] += weights === null ? 1 : weights[e];
    if (src[e] === dst[e]) looped[dst[e] - start] = 1;
  }
  return selfLoops ? degrees.map((degree, v) => (looped[v] === 0 ? degree + 1 : degree)) : degrees;
}
