/**
 * The edges of a split: an array in memory or a file that is read in ranges. Rows are [src, dst] or
 * [src, relation, dst], ids are those of the whole graph, and a partitioned split is sorted by (partition of the source,
 * partition of the destination) with the size of each such bucket.
 */
import { open } from 'node:fs/promises';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import { PartitionLayout } from '../../../../storage/index.js';
import { expected, FormatError, ShapeError, ValueError } from '../../../../util/errors.js';

export interface EdgeSplit {
  readonly numEdges: number;
  readonly hasRelations: boolean;
  /** Edges per bucket in row-major order; null when the split is not partitioned. */
  readonly bucketSizes: Float64Array | null;
  /** Reads edges begin … end − 1. */
  read(begin: number, end: number): Promise<EdgeList>;
}

/** Edges in memory, as rows of `columns` numbers. */
export class MemoryEdges implements EdgeSplit {
  readonly bucketSizes: Float64Array | null;
  readonly #rows: Int32Array;
  readonly #columns: 2 | 3;
  readonly #weights: Float32Array | null;

  /** @param weights one per edge; null for equal weights. */
  constructor(
    rows: Int32Array,
    columns: 2 | 3,
    bucketSizes: Float64Array | null = null,
    weights: Float32Array | null = null,
  ) {
    if (columns !== 2 && columns !== 3)
      throw new ValueError(expected('MemoryEdges', '2 or 3', 'columns', columns));
    if (rows.length % columns !== 0)
      throw new ShapeError(expected('MemoryEdges', `a multiple of ${columns} numbers`, 'rows', rows.length));
    this.#rows = rows;
    this.#columns = columns;
    this.#weights = weights;
    this.bucketSizes = bucketSizes;
  }

  /** Returns these edges sorted into the buckets between `partitions` partitions of the nodes, stably. */
  inBuckets(numNodes: number, partitions: number): MemoryEdges {
    const size = new PartitionLayout(numNodes, partitions).size;
    const [rows, columns, weights] = [this.#rows, this.#columns, this.#weights];
    const { numEdges } = this;
    const bucketOf = (e: number): number =>
      Math.floor(rows[e * columns] / size) * partitions + Math.floor(rows[(e + 1) * columns - 1] / size);
    const sizes = new Float64Array(partitions * partitions);
    for (let e = 0; e < numEdges; e++) sizes[bucketOf(e)]++;
    const next = new Float64Array(sizes.length);
    for (let b = 1; b < sizes.length; b++) next[b] = next[b - 1] + sizes[b - 1];
    const sorted = new Int32Array(rows.length);
    const sortedWeights = weights === null ? null : new Float32Array(numEdges);
    for (let e = 0; e < numEdges; e++) {
      const at = next[bucketOf(e)]++;
      for (let c = 0; c < columns; c++) sorted[at * columns + c] = rows[e * columns + c];
      if (sortedWeights !== null) sortedWeights[at] = (weights as Float32Array)[e];
    }
    return new MemoryEdges(sorted, columns, sizes, sortedWeights);
  }

  get numEdges(): number {
    return this.#rows.length / this.#columns;
  }

  get hasRelations(): boolean {
    return this.#columns === 3;
  }

  async read(begin: number, end: number): Promise<EdgeList> {
    const edges = toColumns(this.#rows.subarray(begin * this.#columns, end * this.#columns), this.#columns);
    return this.#weights === null ? edges : { ...edges, weights: this.#weights.slice(begin, end) };
  }
}

export interface EdgeFile {
  readonly path: string;
  readonly rows: number;
  readonly columns: 2 | 3;
  readonly dtype: 'int32' | 'int64';
}

/** Edges in a file of little-endian integers. */
export class FileEdges implements EdgeSplit {
  readonly bucketSizes: Float64Array | null;
  readonly #file: EdgeFile;
  readonly #weights: string | null;

  /** @param weights the file of weights, f32, one per edge; null for equal weights. */
  constructor(file: EdgeFile, bucketSizes: Float64Array | null = null, weights: string | null = null) {
    this.#file = file;
    this.#weights = weights;
    this.bucketSizes = bucketSizes;
  }

  get numEdges(): number {
    return this.#file.rows;
  }

  get hasRelations(): boolean {
    return this.#file.columns === 3;
  }

  async read(begin: number, end: number): Promise<EdgeList> {
    const { path, columns, dtype } = this.#file;
    const width = columns * (dtype === 'int64' ? 8 : 4);
    const bytes = await readRange(path, begin * width, (end - begin) * width);
    const edges = toColumns(
      dtype === 'int64' ? narrowed(path, bytes) : new Int32Array(bytes.buffer),
      columns,
    );
    if (this.#weights === null) return edges;
    const weights = await readRange(this.#weights, begin * 4, (end - begin) * 4);
    return { ...edges, weights: new Float32Array(weights.buffer) };
  }
}

/** Edges per read. */
const chunkEdges = 2 ** 18;

/** Reads the edges of some splits, or edges begin … end − 1 of each, in chunks. */
export async function* chunksOf(
  splits: readonly EdgeSplit[],
  begin = 0,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<EdgeList> {
  for (const split of splits)
    for (let first = begin; first < Math.min(end, split.numEdges); first += chunkEdges)
      yield await split.read(first, Math.min(end, split.numEdges, first + chunkEdges));
}

async function readRange(path: string, start: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const handle = await open(path, 'r');
  try {
    let done = 0;
    while (done < length) {
      const { bytesRead } = await handle.read(bytes, done, length - done, start + done);
      if (bytesRead === 0)
        throw new FormatError(
          `${path}: expected ${length} bytes of edges from byte ${start}, got ${done}. The file is truncated; prepare the dataset again.`,
        );
      done += bytesRead;
    }
  } finally {
    await handle.close();
  }
  return bytes;
}

function narrowed(path: string, bytes: Uint8Array): Int32Array {
  const wide = new BigInt64Array(bytes.buffer);
  const ids = new Int32Array(wide.length);
  for (let i = 0; i < wide.length; i++) {
    ids[i] = Number(wide[i]);
    if (BigInt(ids[i]) !== wide[i])
      throw new FormatError(`${path}: expected ids below 2^31, got ${wide[i]} at number ${i}.`);
  }
  return ids;
}

function toColumns(rows: Int32Array, columns: 2 | 3): EdgeList {
  const n = rows.length / columns;
  const src = new Int32Array(n);
  const dst = new Int32Array(n);
  const relations = columns === 3 ? new Int32Array(n) : null;
  for (let i = 0, at = 0; i < n; i++, at += columns) {
    src[i] = rows[at];
    if (relations !== null) relations[i] = rows[at + 1];
    dst[i] = rows[at + columns - 1];
  }
  return { src, dst, relations };
}
