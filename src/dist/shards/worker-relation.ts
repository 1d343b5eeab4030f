/**
 * Constructs one relation of a worker's partition from edges with global ids. Full graphs and the layers of
 * message-flow graphs use it; they differ in the nodes on both sides.
 */
import { Adjacency, type EdgeType, type Frame } from '../../graph/index.js';
import { gatherRows, noGrad, type Tensor } from '../../tensor/index.js';
import { unscoped } from '../../tensor/scope.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';
import type { Communicator } from '../comm/communicator.js';
import type { PartitionData } from '../partition/partition-data.js';
import { connectEdges } from './connect-edges.js';
import type { DistributedEdges, OriginalIds } from './distributed-graph.js';
import type { RelationEdges } from './relation-edges.js';

/** The nodes on both sides of a relation, as global ids in row order. */
export interface Sides {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** Own row at which the destinations begin among the sources; null if they are other nodes. */
  readonly dstOffset: number | null;
  readonly frames: { readonly src: Frame; readonly dst: Frame } | null;
}

/** Splits 'src:relation:dst' of a partitioned graph into a triple. */
export function parseEdgeType(name: string): EdgeType {
  const parts = name.split(':');
  if (parts.length !== 3)
    throw new ValueError(expected('partitionData', "names 'src:relation:dst'", 'edge types', name));
  return [parts[0], parts[1], parts[2]];
}

/** Returns the global ids of the nodes that a worker owns, by type. */
export function ownNodes(pd: PartitionData): Record<string, Int32Array> {
  const { start, end } = pd.nodeRanges[pd.rank];
  const lists = pd.nodeTypeNames.map((): number[] => []);
  for (let id = start; id < end; id++) lists[pd.nodeTypes === null ? 0 : pd.nodeTypes[id - start]].push(id);
  return Object.fromEntries(pd.nodeTypeNames.map((type, t) => [type, Int32Array.from(lists[t])]));
}

/** Throws if the data are for another rank or another number of workers. */
export function checkWorkers(where: string, pd: PartitionData, comm: Communicator): void {
  if (pd.nodeRanges.length === comm.size && pd.rank === comm.rank) return;
  const got = `that of worker ${pd.rank} of ${pd.nodeRanges.length}`;
  const want = `the data of worker ${comm.rank} of ${comm.size}`;
  throw new ValueError(expected(where, want, 'partitionData', got));
}

/** Collective. Returns the structure of all given edges, whose destinations are among `sides.dst`. */
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
      weights === null || edgeIds === null
        ? weights
        : weights.map((_, position) => weights[edgeIds[position]]),
    frames: sides.frames,
    original: originalIds(pd, edges, sides),
  };
}

/**
 * Returns the ids before partitioning; partitions without them use their current ids, which do not depend on the number
 * of workers either.
 */
function originalIds(pd: PartitionData, { edgeIds, name }: RelationEdges, { src, dst }: Sides): OriginalIds {
  const { originalNodeIds, originalEdgeIds, partitionBook: book, nodeRanges, rank } = pd;
  const { start } = nodeRanges[rank];
  const nodes = (ids: Int32Array): (() => Int32Array) =>
    memoize(() => (originalNodeIds === undefined ? ids : ids.map((id) => originalNodeIds[id - start])));
  return {
    src: nodes(src),
    dst: nodes(dst),
    // The graph caches them by edge position.
    edges: () => {
      if (originalEdgeIds === undefined) return edgeIds;
      const { start: first } = book.workerEdges(rank, nodeRanges.length);
      return edgeIds.map((id) => originalEdgeIds[id - first]);
    },
    numSrc: book.numNodes(parseEdgeType(name)[0]),
    numEdges: book.numEdges(name),
  };
}

function memoize<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Returns the edge feature `name` as weights by edge; null without a name. */
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

/** Returns the edges at some indices, with their features. */
export function pickEdges(edges: RelationEdges, indices: Int32Array): RelationEdges {
  const pick = (values: Int32Array): Int32Array => indices.map((i) => values[i]);
  const features: Record<string, Tensor> = {};
  for (const [name, rows] of Object.entries(edges.features))
    features[name] = unscoped(() => noGrad(() => gatherRows(rows, indices)));
  return {
    name: edges.name,
    src: pick(edges.src),
    dst: pick(edges.dst),
    edgeIds: pick(edges.edgeIds),
    features,
  };
}

/**
 * Returns the weighted in-degrees of a worker's nodes (by index in its range); with `selfLoops`, plus 1 if there is no
 * self loop.
 */
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
