/**
 * Training edges sorted into the buckets that a run's partitions need, when the dataset was prepared without partitions.
 * Made once, kept with the run, with bounded memory.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PreparedDataset, sortByBucket } from '../../data/index.js';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { FormatError } from '../../util/errors.js';
import { FileEdges } from '../batch/edge-splits.js';

const bufferBytes = 32 * 2 ** 20;

export async function bucketedEdges(
  dataset: PreparedDataset,
  partitions: number,
  folder: string,
): Promise<FileEdges> {
  const file = dataset.edgeFile('train');
  if (file === null || file.dtype !== 'int32')
    throw new FormatError(
      `${dataset.directory}: expected training edges of 4-byte ids to sort into ${partitions} partitions. Prepare the dataset with --num-partitions ${partitions}.`,
    );
  const path = join(folder, 'train_edges.bin');
  const sizesPath = join(folder, 'train_bucket_sizes.json');
  const wanted = { partitions, rows: file.rows };
  if (existsSync(sizesPath)) {
    const known = JSON.parse(await readFile(sizesPath, 'utf8')) as { sizes: number[] } & typeof wanted;
    if (known.partitions === partitions && known.rows === file.rows)
      return new FileEdges({ ...file, path }, Float64Array.from(known.sizes));
  }
  await mkdir(folder, { recursive: true });
  const sizes = await sortByBucket({
    edges: file.path,
    weights: null,
    columns: file.columns,
    numNodes: dataset.stats.num_nodes,
    partitions,
    outEdges: path,
    outWeights: '',
    memoryBytes: bufferBytes,
  });
  // Written last: without it the sorted file counts as not there.
  await writeFileAtomic(
    sizesPath,
    new TextEncoder().encode(JSON.stringify({ ...wanted, sizes: [...sizes] })),
  );
  return new FileEdges({ ...file, path }, sizes);
}
