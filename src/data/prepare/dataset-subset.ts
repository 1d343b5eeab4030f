/**
 * The part of a prepared directory that a model reads: its files, and a dataset.yaml that lists these alone. The part is a
 * prepared directory itself, with the checksums of the whole one, so that a run is recognised by either.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readWholeFile } from '../../storage/atomic-file.js';
import { classFiles, type DatasetUse, featureFiles, graphFiles, weightsFile } from './dataset-fingerprint.js';
import { formatDatasetYaml } from './dataset-yaml.js';
import { textFiles } from './node-text.js';
import type { PreparedDataset } from './prepared-dataset.js';

export interface DatasetSubset {
  /** Names of the files in the directory, with forward slashes; without dataset.yaml. */
  readonly files: readonly string[];
  /** Bytes of these files. */
  readonly bytes: number;
  /** The contents of dataset.yaml. */
  readonly yaml: Uint8Array;
}

const bucketFiles = ['train', 'validation', 'test'].map((split) => `edges/${split}_partition_offsets.txt`);

/** Returns the files of a dataset that a model with this use reads. Classes are always among them: they are small. */
export async function datasetSubset(
  { directory, details, stats }: Pick<PreparedDataset, 'directory' | 'details' | 'stats'>,
  use: Omit<DatasetUse, 'classes'>,
): Promise<DatasetSubset> {
  // The dataset.yaml of Marius has no list of files, and its feature width implies the file.
  const features = use.features || details === null;
  const files = [
    ...[...graphFiles, ...bucketFiles, ...classFiles, 'nodes/glosses.csv'],
    ...(features ? featureFiles : []),
    ...(use.text ? Object.values(textFiles) : []),
    ...(use.weights ? [weightsFile] : []),
  ].filter((name) => existsSync(join(directory, name)));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(directory, name))).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (details === null) return { files, bytes, yaml: await readWholeFile(join(directory, 'dataset.yaml')) };
  const { text, files: listed, ...others } = details;
  const kept = Object.entries(listed).filter(([name]) => files.includes(name));
  const yaml = formatDatasetYaml(
    { ...stats, ...(features ? {} : { node_feature_dim: -1 }), dataset_dir: '' },
    {
      ...others,
      ...(use.text && text !== undefined ? { text } : {}),
      files: Object.fromEntries(kept),
    },
  );
  return { files, bytes, yaml: new TextEncoder().encode(yaml) };
}
