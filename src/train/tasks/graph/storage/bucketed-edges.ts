/**
 * Training edges sorted into the buckets that a run's partitions need, when the dataset was prepared without partitions.
 * The sorted file is written once, with bounded memory, and kept with the run.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PreparedDataset } from '../../../../data/index.js';
import { checksumOf } from '../../../../data/prepare/binary-file.js';
import { sortByBucket } from '../../../../data/prepare/bucket-sort.js';
import { writeFileAtomic } from '../../../../storage/atomic-file.js';
import { FormatError } from '../../../../util/errors.js';
import { FileEdges } from './edge-splits.js';

const bufferBytes = 32 * 2 ** 20;

export async function bucketedEdges(
  dataset: PreparedDataset,
  partitions: number,
  folder: string,
  weighed: boolean,
): Promise<FileEdges> {
  const file = dataset.edgeFile('train');
  if (file === null || file.dtype !== 'int32')
    throw new FormatError(
      `${dataset.directory}: expected training edges of 4-byte ids to sort into ${partitions} partitions. Prepare the dataset with --num-partitions ${partitions}.`,
    );
  const path = join(folder, edgesName);
  const known = await sortedEdges(dataset, folder, weighed);
  const weights = weighed ? dataset.weightsFile('train') : null;
  if (known?.bucketSizes?.length === partitions * partitions) return known;
  await dataset.checkEdges('train');
  await mkdir(folder, { recursive: true });
  const sizes = await sortByBucket({
    edges: file.path,
    weights,
    columns: file.columns,
    numNodes: dataset.stats.num_nodes,
    partitions,
    outEdges: path,
    outWeights: weights === null ? '' : join(folder, weightsName),
    memoryBytes: bufferBytes,
  });
  // Written last: the sorted file is valid only with it.
  const crc32 = Object.fromEntries(
    await Promise.all(namesOf(weights).map(async (name) => [name, await checksumOf(join(folder, name))])),
  ) as Readonly<Record<string, string>>;
  const text = JSON.stringify({ rows: file.rows, sizes: [...sizes], crc32 } satisfies Sorted);
  await writeFileAtomic(join(folder, sizesName), new TextEncoder().encode(text));
  return new FileEdges({ ...file, path }, sizes, weights === null ? null : join(folder, weightsName));
}

const edgesName = 'train_edges.bin';
const weightsName = 'train_edges_weights.bin';
const sizesName = 'train_bucket_sizes.json';

/** The contents of the file of bucket sizes. */
interface Sorted {
  readonly rows: number;
  /** Edges of each bucket. */
  readonly sizes: readonly number[];
  /** The checksums of the sorted files; absent in files of older versions. */
  readonly crc32?: Readonly<Record<string, string>>;
}

const namesOf = (weights: string | null): string[] =>
  weights === null ? [edgesName] : [edgesName, weightsName];

/** Opens the edges that `bucketedEdges` wrote into a folder; null without edges of this dataset. */
export async function sortedEdges(
  dataset: PreparedDataset,
  folder: string,
  weighed: boolean,
): Promise<FileEdges | null> {
  const file = dataset.edgeFile('train');
  if (file === null || !existsSync(join(folder, sizesName))) return null;
  const known = await readSizes(join(folder, sizesName));
  const path = join(folder, edgesName);
  const total = known.sizes.reduce((sum, size) => sum + size, 0);
  const { size } = await stat(path);
  if (known.rows !== file.rows || total !== file.rows || size !== file.rows * file.columns * 4)
    throw new FormatError(
      `${path}: expected the ${file.rows} training edges of ${dataset.directory}, got ${known.rows}. Remove ${folder}; it is made again.`,
    );
  const weights = weighed && dataset.weightsFile('train') !== null ? join(folder, weightsName) : null;
  // Sorted by a version without weights: rewritten with them.
  if (weights !== null && !existsSync(weights)) return null;
  for (const name of namesOf(weights)) await checkSum(join(folder, name), known.crc32?.[name]);
  return new FileEdges({ ...file, path }, Float64Array.from(known.sizes), weights);
}

async function readSizes(path: string): Promise<Sorted> {
  const wrong = new FormatError(
    `${path}: expected the sizes of buckets as JSON, got something else. Remove its folder; it is made again.`,
    { path },
  );
  let found: Partial<Sorted> | null;
  try {
    found = JSON.parse(await readFile(path, 'utf8')) as Partial<Sorted> | null;
  } catch (error) {
    if (error instanceof SyntaxError) throw wrong;
    throw error;
  }
  if (typeof found?.rows !== 'number' || !Array.isArray(found.sizes)) throw wrong;
  return found as Sorted;
}

async function checkSum(path: string, wanted: string | undefined): Promise<void> {
  if (wanted === undefined) return;
  const got = await checksumOf(path);
  if (got !== wanted)
    throw new FormatError(
      `${path}: expected the checksum ${wanted}, got ${got}. The file was damaged; remove its folder, it is made again.`,
      { path },
    );
}
