/**
 * Training edges sorted into the buckets that a run's partitions need, when the dataset was prepared without partitions.
 * Made once, kept with the run, with bounded memory.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type PreparedDataset, sortByBucket } from '../../../../data/index.js';
import { writeFileAtomic } from '../../../../storage/atomic-file.js';
import { FormatError } from '../../../../util/errors.js';
import { FileEdges } from '../../../batch/edge-splits.js';

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
  // Written last: without it the sorted file counts as not there.
  const text = JSON.stringify({ rows: file.rows, sizes: [...sizes] });
  await writeFileAtomic(join(folder, sizesName), new TextEncoder().encode(text));
  return new FileEdges({ ...file, path }, sizes, weights === null ? null : join(folder, weightsName));
}

const edgesName = 'train_edges.bin';
const weightsName = 'train_edges_weights.bin';
const sizesName = 'train_bucket_sizes.json';

/** The edges that `bucketedEdges` left in a folder; null when there are none of this dataset. */
export async function sortedEdges(
  dataset: PreparedDataset,
  folder: string,
  weighed: boolean,
): Promise<FileEdges | null> {
  const file = dataset.edgeFile('train');
  if (file === null || !existsSync(join(folder, sizesName))) return null;
  const known = JSON.parse(await readFile(join(folder, sizesName), 'utf8')) as {
    rows: number;
    sizes: number[];
  };
  const path = join(folder, edgesName);
  const total = known.sizes.reduce((sum, size) => sum + size, 0);
  const { size } = await stat(path);
  if (known.rows !== file.rows || total !== file.rows || size !== file.rows * file.columns * 4)
    throw new FormatError(
      `${path}: expected the ${file.rows} training edges of ${dataset.directory}, got ${known.rows}. Remove ${folder}; it is made again.`,
    );
  const weights = weighed && dataset.weightsFile('train') !== null ? join(folder, weightsName) : null;
  // Sorted before weights were used: made again with them.
  if (weights !== null && !existsSync(weights)) return null;
  return new FileEdges({ ...file, path }, Float64Array.from(known.sizes), weights);
}
