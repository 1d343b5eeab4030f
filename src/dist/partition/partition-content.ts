/**
 * What one partition holds, before it is known which worker takes it, and how a worker's `PartitionData` is made of its
 * partitions: edges in the order of types, sorted into shards by the worker that owns their sources. All sources of
 * partitions (memory, our files, DGL's files) meet here.
 */
import { kernels } from '../../native/index.js';
import { formatShape, type Tensor } from '../../tensor/index.js';
import { expected, FormatError, InternalError } from '../../util/errors.js';
import type { IdRange, PartitionBook } from './partition-book.js';
import type { NodeRange, PartitionData, ShardEdgesAndFeatures } from './partition-data.js';
import { concatInt32, concatRows, takeRows } from './rows.js';

/** One partition: edge i has the id book.edgeRange(part).start + i. */
export interface PartitionContent {
  readonly part: number;
  /** Global ids. Destinations lie in the partition. */
  readonly src: Int32Array;
  readonly dst: Int32Array;
  /** 'type/name': a row for each node of that type in the partition. */
  readonly nodeFeatures: Readonly<Record<string, Tensor>>;
  /** 'src:relation:dst/name': a row for each edge of that type in the partition. */
  readonly edgeFeatures: Readonly<Record<string, Tensor>>;
  /** Ids within their types before the graph was cut; null where that is not known. */
  readonly originalNodeIds: Int32Array | null;
  readonly originalEdgeIds: Int32Array | null;
}

export interface WorkerPlace {
  readonly rank: number;
  readonly workers: number;
}

/** The partitions of one worker as one. `contents` are those of `book.workerParts(rank, workers)`, ascending. */
export function joinPartitions(
  book: PartitionBook,
  contents: readonly PartitionContent[],
  { rank, workers }: WorkerPlace,
): PartitionData {
  const parts = book.workerParts(rank, workers);
  if (contents.length !== parts.end - parts.start || contents.some(({ part }, i) => part !== parts.start + i))
    throw new InternalError(`joinPartitions: partitions ${parts.start} to ${parts.end - 1} were expected`);
  const nodeRanges = Array.from({ length: workers }, (_, w): NodeRange => book.workerNodes(w, workers));
  const originalNodeIds = joined(contents, (content) => content.originalNodeIds);
  const originalEdgeIds = joined(contents, (content) => content.originalEdgeIds);
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

function joined(
  contents: readonly PartitionContent[],
  pick: (content: PartitionContent) => Int32Array | null,
): Int32Array | null {
  const arrays = contents.map(pick);
  return arrays.includes(null) ? null : concatInt32(arrays as Int32Array[]);
}

/** Fields of several partitions; one that some of them lack because they have no such node is taken from the others. */
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

/** The type that 'type/name' begins with. Names may contain '/', types of files that we read do not. */
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

/** The type of every id in a range; null when there is one type. */
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
    const edgeTypes = types === null ? null : pick(types, picked);
    return {
      src: pick(src, picked),
      dst: pick(dst, picked),
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

/** Places of edges by owner of the source, then by type, then by id. */
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
  kernels().groupByKey(pick(owner, byType), offsets, order, n, nodeRanges.length);
  return { offsets, order: pick(byType, order) };
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

/** How many edges of its own type come before each edge. */
function rowsWithinTypes(types: Int32Array, numTypes: number): Int32Array {
  const next = new Int32Array(numTypes);
  return types.map((type) => next[type]++);
}

/** Rows, in the features of one type, of the edges in a shard that are of that type. */
function rowsOfType(
  picked: Int32Array,
  edgeTypes: Int32Array | null,
  rows: Int32Array | null,
  type: number,
): Int32Array {
  if (edgeTypes === null || rows === null) return picked;
  return pick(
    rows,
    picked.filter((_, i) => edgeTypes[i] === type),
  );
}

function pick(values: Int32Array, places: Int32Array): Int32Array {
  const result = new Int32Array(places.length);
  kernels().gatherRows(values, places, result, places.length, 4);
  return result;
}
