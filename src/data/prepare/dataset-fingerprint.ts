/**
 * Identifies a prepared dataset by the checksums of its files, so that a run can reject a dataset that was prepared again
 * with different contents. If preprocessing recorded the checksums in dataset.yaml, no file is read.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumOf } from './binary-file.js';
import { nodeTypesFile } from './dataset-yaml.js';
import { textFiles } from './node-text.js';
import type { PreparedDataset } from './prepared-dataset.js';

export const graphFiles = [
  ...['nodes/node_mapping.txt', nodeTypesFile, 'edges/relation_mapping.txt'],
  ...['edges/train_edges.bin', 'edges/validation_edges.bin', 'edges/test_edges.bin'],
];
export const classFiles = [
  ...['nodes/label_mapping.txt', 'nodes/labels.bin'],
  ...['nodes/train_nodes.bin', 'nodes/validation_nodes.bin', 'nodes/test_nodes.bin'],
];
const featuresFile = 'nodes/features.bin';
export const featureFiles = [featuresFile, 'nodes/encoding.json'];
export const weightsFile = 'edges/train_edges_weights.bin';

/** Files of a dataset that are used as well as the graph. */
export interface DatasetUse {
  readonly classes: boolean;
  readonly features: boolean;
  readonly text: boolean;
  readonly weights: boolean;
}

/** Checksums by file; a missing file has none. */
export type DatasetFingerprint = Readonly<Record<string, string>>;

export async function datasetFingerprint(
  { directory, details }: Pick<PreparedDataset, 'directory' | 'details'>,
  { classes, features, text, weights }: DatasetUse,
): Promise<DatasetFingerprint> {
  const names = [
    ...graphFiles,
    ...(classes ? classFiles : []),
    ...(features ? featureFiles : []),
    ...(text ? Object.values(textFiles) : []),
    ...(weights ? [weightsFile] : []),
  ];
  const found: Record<string, string> = {};
  for (const name of names) {
    const path = join(directory, name);
    const recorded = details?.files[name]?.crc32;
    if (recorded !== undefined) found[name] = recorded;
    else if (existsSync(path)) found[name] = await computeChecksum(path, name);
  }
  return found;
}

/** Computes the checksum of a file written by Marius; the features may be very large, so their size has to suffice. */
async function computeChecksum(path: string, name: string): Promise<string> {
  if (name === featuresFile) return `${(await stat(path)).size} bytes`;
  return checksumOf(path);
}

/** Returns the files in which two fingerprints differ. */
export function differingFiles(a: DatasetFingerprint, b: DatasetFingerprint): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name]);
}
