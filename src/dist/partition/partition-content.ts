/**
 * The content of one partition, before it is assigned to a worker, and the assembly of a worker's `PartitionData` from
 * its partitions: edges in the order of types, sorted into shards by the worker that owns their sources. All sources of
 * partitions (memory, our files, DGL's files) use it.
 */
import { kernels } from '../../native/index.js';
import type { Tensor } from '../../tensor/index.js';
import { formatShape } from '../../tensor/shape.js';
import { concatInt32 } from '../../util/arrays.js';
import { expected, FormatError, InternalError } from '../../util/errors.js';
import type { IdRange, PartitionBook } from './partition-book.js';
import type { NodeRange, PartitionData, ShardEdgesAndFeatures } from './partition-data.js';
import { concatRows, takeRows } from './rows.js';

/** One partition: edge i has the id book.edgeRange(part).start + i. */
export interface PartitionContent {
  readonly part: number;
  /** Global ids. Destinations are in the partition. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** 'type/name': a row for each node of that type in the partition. */
  readonly nodeFeatures: Readonly<Record<string, Tensor>>;
  /** 'src:relation:dst/name': a row for each edge of that type in the partition. */
  readonly edgeFeatures: Readonly<Record<string, Tensor>>;
  /** Ids within their types before partitioning; null if unknown. */
  readonly originalNodeIds: Int32Array | null;
  readonly originalEdgeIds: Int32Array | null;
}

export interface WorkerRank {
  readonly rank: number;
  readonly workers: number;
}

/**
 * Combines the partitions of one worker into one. `contents` are those of `book.workerParts(rank, workers)`, ascending.
 */
export function joinPartitions(
  book: PartitionBook,
  contents: readonly PartitionContent[],
  { rank, workers }: WorkerRank,
): PartitionData {
  const parts = book.workerParts(rank, workers);
  if (contents.length !== parts.end - parts.start || contents.some(({ part }, i) => part !== parts.start + i))
    throw new InternalError(
      `joinPartitions: expected partitions ${parts.start} to ${parts.end - 1}, got others`,
    );
  const nodeRanges = Array.from({ length: workers }, (_, w): NodeRange => book.workerNodes(w, workers));
  const originalNodeIds = joinIds(contents, (content) => content.originalNodeIds);
  const originalEdgeIds = joinIds(contents, (content) => content.originalEdgeIds);
  const nodeFeatures = joinFeatures(contents.map((content) => content.nodeFeatures));
  checkRows(nodeFeatures, book.nodeTypeNames, book.nodeMap, parts);
  return {
    rank,
    nodeRanges,
    allShardEdges: makeShards(book, contents, parts, nodeRanges),
    nodeFeatures,
    nodeTypes: typesOf(book.nodeMap, parts, nodeRanges[rank]),
    nodeTypeNames: book.nodeTypeNames,
    edgeTypeNames: book.edgeTypeNames,
    partitionBook: book,
    ...(originalNodeIds === null ? {} : { originalNodeIds }),
    ...(originalEdgeIds === null ? {} : { originalEdgeIds }),
  };
}

function joinIds(
  contents: readonly PartitionContent[],
  pick: (content: PartitionContent) => Int32Array | null,
): Int32Array | null {
  const arrays = contents.map(pick);
  return arrays.includes(null) ? null : concatInt32(arrays as Int32Array[]);
}

/**
 * Joins the features of several partitions. A feature that some of them lack, because they have no such nodes, is taken
 * from the others.
 */
function joinFeatures(all: readonly Readonly<Record<string, Tensor>>[]): Record<string, Tensor> {
  if (all.length === 1) return { ...all[0] };
  const names = new Set(all.flatMap((features) => Object.keys(features)));
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      concatRows(
        name,
        all.flatMap((features) => features[name] ?? []),
      ),
    ]),
  );
}

/** Returns the type of a key 'type/name'. Names may contain '/', types of files that we read do not. */
export function typeOfKey(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

function checkRows(
  features: Readonly<Record<string, Tensor>>,
  types: readonly string[],
  map: PartitionBook['nodeMap'],
  parts: IdRange,
): void {
  for (const [key, tensor] of Object.entries(features)) {
    const type = types.indexOf(typeOfKey(key));
    if (type < 0)
      throw new FormatError(expected('partition', `one of ${types.join(', ')} before '/'`, 'a feature', key));
    const ranges = map[type].slice(parts.start, parts.end);
    const rows = ranges.reduce((sum, { start, end }) => sum + end - start, 0);
    if (tensor.rank === 0 || tensor.shape[0] !== rows)
      throw new FormatError(
        expected('partition', `${rows} rows`, `feature ${key}`, `shape ${formatShape(tensor.shape)}`),
      );
  }
}

/** Returns the type of every id in a range; null when there is one type. */
function typesOf(map: PartitionBook['nodeMap'], parts: IdRange, range: IdRange): Int32Array | null {
  if (map.length <= 1) return null;
  const types = new Int32Array(range.end - range.start);
  map.forEach((ranges, type) => {
    for (const { start, end } of ranges.slice(parts.start, parts.end))
      types.fill(type, start - range.start, end - range.start);
  });
  return types;
}

function makeShards(
  book: PartitionBook,
  contents: readonly PartitionContent[],
  parts: IdRange,
  nodeRanges: readonly NodeRange[],
): ShardEdgesAndFeatures[] {
  const src = concatInt32(contents.map((content) => content.src));
  const dst = concatInt32(contents.map((content) => content.dst));
  const ids = book.edgeRange(parts.start, parts.end);
  const types = typesOf(book.edgeMap, parts, ids);
  const features = joinFeatures(contents.map((content) => content.edgeFeatures));
  checkRows(features, book.edgeTypeNames, book.edgeMap, parts);
  const { offsets, order } = byTypeAndOwner(src, types, book.edgeTypeNames.length, nodeRanges);
  const rows = types === null ? null : rowsWithinTypes(types, book.edgeTypeNames.length);
  return nodeRanges.map((_, q) => {
    const picked = order.subarray(offsets[q], offsets[q + 1]);
    const edgeTypes = types === null ? null : gatherInt32(types, picked);
    return {
      src: gatherInt32(src, picked),
      dst: gatherInt32(dst, picked),
      edgeIds: picked.map((edge) => edge + ids.start),
      edgeTypes,
      edgeFeatures: Object.fromEntries(
        Object.entries(features).map(([key, tensor]) => {
          const type = book.edgeType(typeOfKey(key));
          return [key, takeRows(tensor, rowsOfType(picked, edgeTypes, rows, type))];
        }),
      ),
    };
  });
}

/** Returns the indices of edges by owner of the source, then by type, then by id. */
function byTypeAndOwner(
  src: Int32Array,
  types: Int32Array | null,
  numTypes: number,
  nodeRanges: readonly NodeRange[],
): { offsets: Int32Array; order: Int32Array } {
  const n = src.length;
  const byType = new Int32Array(n);
  if (types === null) for (let i = 0; i < n; i++) byType[i] = i;
  else kernels().groupByKey(types, new Int32Array(numTypes + 1), byType, n, numTypes);
  const owner = ownersOf(src, nodeRanges);
  const offsets = new Int32Array(nodeRanges.length + 1);
  const order = new Int32Array(n);
  kernels().groupByKey(gatherInt32(owner, byType), offsets, order, n, nodeRanges.length);
  return { offsets, order: gatherInt32(byType, order) };
}

function ownersOf(nodes: Int32Array, ranges: readonly NodeRange[]): Int32Array {
  const owners = new Int32Array(nodes.length);
  const ends = Int32Array.from(ranges, ({ end }) => end);
  for (let i = 0; i < nodes.length; i++) {
    let low = 0;
    let high = ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (nodes[i] < ends[middle]) high = middle;
      else low = middle + 1;
    }
    owners[i] = low;
  }
  return owners;
}

/** Returns for each edge the number of edges of its type before it. */
function rowsWithinTypes(types: Int32Array, numTypes: number): Int32Array {
  const next = new Int32Array(numTypes);
  return types.map((type) => next[type]++);
}

/** Returns the rows, in the features of one type, of the edges of that type in a shard. */
function rowsOfType(
  picked: Int32Array,
  edgeTypes: Int32Array | null,
  rows: Int32Array | null,
  type: number,
): Int32Array {
  if (edgeTypes === null || rows === null) return picked;
  return gatherInt32(
    rows,
    picked.filter((_, i) => edgeTypes[i] === type),
  );
}

function gatherInt32(values: Int32Array, positions: Int32Array): Int32Array {
  const result = new Int32Array(positions.length);
  kernels().gatherRows(values, positions, result, positions.length, 4);
  return result;
}
