/**
 * Sorts an edge file by bucket (partition of the source, partition of the destination), keeping the order within a bucket:
 * one pass counts, a second writes each edge to its position through a small buffer per bucket.
 *
 * Memory is `memoryBytes` for the buffers plus one block, independent of the number of edges.
 */
import { closeSync } from 'node:fs';
import { PartitionLayout } from '../../storage/partition-layout.js';
import { checkOptionNames } from '../../util/option-names.js';
import { bytesOf, openForWriting, readBlocks, writeAt } from './binary-file.js';

interface SortOptions {
  readonly edges: string;
  /** Weights of the edges, or null. */
  readonly weights: string | null;
  readonly columns: 2 | 3;
  readonly numNodes: number;
  readonly partitions: number;
  readonly outEdges: string;
  readonly outWeights: string;
  readonly memoryBytes: number;
  onRows?(rows: number): void;
}

/** Sorts and returns the sizes of the p² buckets, row by row. */
export async function sortByBucket(options: SortOptions): Promise<Float64Array> {
  checkOptionNames('sortByBucket', options, {
    edges: true,
    weights: true,
    columns: true,
    numNodes: true,
    partitions: true,
    outEdges: true,
    outWeights: true,
    memoryBytes: true,
    onRows: true,
  });
  const { columns, partitions } = options;
  const { size } = new PartitionLayout(options.numNodes, partitions);
  const bucketOf = (rows: Int32Array, at: number): number =>
    Math.floor(rows[at] / size) * partitions + Math.floor(rows[at + columns - 1] / size);

  const sizes = new Float64Array(partitions * partitions);
  for await (const rows of edgeRows(options.edges, columns)) {
    for (let at = 0; at < rows.length; at += columns) sizes[bucketOf(rows, at)]++;
    options.onRows?.(rows.length / columns);
  }

  const edges = new BucketWriter(options.outEdges, sizes, columns, options.memoryBytes);
  const weights =
    options.weights === null ? null : new BucketWriter(options.outWeights, sizes, 1, options.memoryBytes / 4);
  const values = options.weights === null ? null : edgeRows(options.weights, 1);
  try {
    for await (const rows of edgeRows(options.edges, columns)) {
      const count = rows.length / columns;
      const blockWeights = values === null ? null : ((await values.next()).value as Int32Array);
      for (let i = 0; i < count; i++) {
        const bucket = bucketOf(rows, i * columns);
        edges.push(bucket, rows, i * columns);
        if (blockWeights !== null) weights?.push(bucket, blockWeights, i);
      }
      options.onRows?.(count);
    }
    edges.flush();
    weights?.flush();
  } finally {
    await values?.return(undefined);
    edges.close();
    weights?.close();
  }
  return sizes;
}

const blockRows = 1 << 18;

/** Yields rows of a file in blocks whose number of rows does not depend on the width. */
async function* edgeRows(path: string, columns: number): AsyncGenerator<Int32Array> {
  for await (const block of readBlocks(path, blockRows * columns * 4))
    yield new Int32Array(block.buffer, block.byteOffset, block.length / 4);
}

/** Writes rows of 32-bit words to the final positions of their buckets. */
class BucketWriter {
  readonly #file: number;
  readonly #cursors: Float64Array;
  readonly #capacity: number;
  readonly #buffers: (Int32Array | undefined)[] = [];
  readonly #filled: Int32Array;

  constructor(
    path: string,
    readonly sizes: Float64Array,
    readonly width: number,
    memoryBytes: number,
  ) {
    this.#file = openForWriting(path);
    this.#cursors = new Float64Array(sizes.length);
    for (let b = 1; b < sizes.length; b++) this.#cursors[b] = this.#cursors[b - 1] + sizes[b - 1];
    this.#filled = new Int32Array(sizes.length);
    this.#capacity = Math.max(16, Math.floor(memoryBytes / (4 * width * sizes.length)));
  }

  push(bucket: number, rows: Int32Array, at: number): void {
    const { width } = this;
    let buffer = this.#buffers[bucket];
    if (buffer === undefined) {
      buffer = new Int32Array(width * Math.min(this.#capacity, this.sizes[bucket]));
      this.#buffers[bucket] = buffer;
    }
    let to = this.#filled[bucket];
    for (let c = 0; c < width; c++) buffer[to++] = rows[at + c];
    this.#filled[bucket] = to;
    if (to === buffer.length) this.#write(bucket, buffer);
  }

  flush(): void {
    this.#buffers.forEach((buffer, bucket) => {
      if (buffer !== undefined && this.#filled[bucket] > 0) this.#write(bucket, buffer);
    });
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(bucket: number, buffer: Int32Array): void {
    const words = this.#filled[bucket];
    writeAt(this.#file, bytesOf(buffer.subarray(0, words)), this.#cursors[bucket] * this.width * 4);
    this.#cursors[bucket] += words / this.width;
    this.#filled[bucket] = 0;
  }
}
