/**
 * Assigns the rows of a feature table to workers, by how likely each worker is to request them (torch-quiver's
 * `quiver_partition_feature`). Nodes are processed in blobs of `chunk` · workers; in each, workers take turns, in an
 * order that rotates from blob to blob, and each takes the nodes with its highest scores: R · Pₐ(v) − Σ_{b ≠ a} P_b(v).
 *
 * Assigned nodes are marked by flags. The original marks them by a score of −1, which valid scores can fall below with
 * three or more workers, so that nodes are assigned twice or not at all.
 */
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import { selectHottest } from '../../util/hottest.js';
import { checkOptionNames } from '../../util/option-names.js';
import { parseSize } from '../../util/size.js';

export interface PartitionFeatureOptions {
  /** Number of nodes that a worker takes per turn (default 256). Workers' numbers of rows differ by at most this. */
  readonly chunk?: number;
  /** Memory of each worker for rows of others, such as "200M"; requires `rowBytes`. Default 0. */
  readonly cacheSize?: string | number;
  /** Bytes of a row. */
  readonly rowBytes?: number;
}

export interface FeaturePartition {
  /** Rows of each worker, ascending; every row once. */
  readonly parts: readonly Int32Array[];
  /** Rows of others that each worker caches, ascending: those it is most likely to request. */
  readonly caches: readonly Int32Array[];
  /** The worker of each row. */
  readonly book: Int32Array;
}

const where = 'partitionFeature';

/** @param probs for every worker, the probability that it requests each node (see `pushHotness`) */
export function partitionFeature(
  probs: readonly ArrayLike<number>[],
  options: PartitionFeatureOptions = {},
): FeaturePartition {
  checkOptionNames('partitionFeature', options, { chunk: true, cacheSize: true, rowBytes: true });
  if (!Array.isArray(probs))
    throw new ValueError(expected(where, 'a list of scores per worker', 'probs', probs));
  const workers = checkInteger(where, 'the number of workers', probs.length, 1);
  const numNodes = probs[0].length;
  for (const [rank, p] of probs.entries())
    if (p.length !== numNodes)
      throw new ShapeError(expected(where, `${numNodes} probabilities`, `probs[${rank}]`, p.length));
  const chunk = checkInteger(where, 'chunk', options.chunk ?? 256, 1);
  const sums = new Float64Array(numNodes);
  for (const [rank, p] of probs.entries())
    for (let v = 0; v < numNodes; v++) sums[v] += checkNumber(where, `probs[${rank}][${v}]`, p[v]);
  const book = new Int32Array(numNodes).fill(-1);
  for (let start = 0, turn = 0; start < numNodes; start += chunk * workers, turn++) {
    const end = Math.min(numNodes, start + chunk * workers);
    let left = end - start;
    for (let i = 0; i < workers; i++) {
      const rank = (turn + i) % workers;
      const count = Math.ceil(left / (workers - i));
      for (const v of selectHighest(probs[rank], sums, book, start, end, count, workers)) book[v] = rank;
      left -= count;
    }
  }
  const parts = probs.map((_, rank) => idsWhere(numNodes, (v) => book[v] === rank));
  const rows = cacheRows(options);
  const caches = probs.map((p, rank) => {
    const scores = Float64Array.from({ length: numNodes }, (_, v) => (book[v] === rank ? -1 : p[v]));
    return selectHottest(scores, Math.min(rows, numNodes - parts[rank].length));
  });
  return { parts, caches, book };
}

/** Returns the `count` unassigned nodes of a blob with a worker's highest scores; the lowest ids among equals. */
function selectHighest(
  p: ArrayLike<number>,
  sums: Float64Array,
  book: Int32Array,
  start: number,
  end: number,
  count: number,
  workers: number,
): number[] {
  const free: number[] = [];
  for (let v = start; v < end; v++) if (book[v] < 0) free.push(v);
  const score = (v: number): number => (workers + 1) * p[v] - sums[v];
  return free.sort((a, b) => score(b) - score(a) || a - b).slice(0, count);
}

function cacheRows({ cacheSize = 0, rowBytes }: PartitionFeatureOptions): number {
  const bytes = parseSize(cacheSize, where, 'cacheSize');
  if (bytes === 0) return 0;
  if (rowBytes === undefined)
    throw new ValueError(expected(where, 'the bytes of a row together with cacheSize', 'rowBytes', rowBytes));
  return Math.floor(bytes / checkInteger(where, 'rowBytes', rowBytes, 1));
}

function idsWhere(n: number, holds: (v: number) => boolean): Int32Array {
  return Int32Array.from({ length: n }, (_, v) => v).filter(holds);
}
