/**
 * Tells one prepared dataset from another by the checksums of its files, so that a run can refuse a dataset that was
 * prepared again in another way. Preprocessing records the checksums in dataset.yaml; then no file is read here.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumOf } from './binary-file.js';
import { nodeTypesFile } from './dataset-yaml.js';
import type { PreparedDataset } from './prepared-dataset.js';

const graphFiles = [
  ...['nodes/node_mapping.txt', nodeTypesFile, 'edges/relation_mapping.txt'],
  ...['edges/train_edges.bin', 'edges/validation_edges.bin', 'edges/test_edges.bin'],
];
const classFiles = [
  ...['nodes/label_mapping.txt', 'nodes/labels.bin'],
  ...['nodes/train_nodes.bin', 'nodes/validation_nodes.bin', 'nodes/test_nodes.bin'],
];
const featuresFile = 'nodes/features.bin';
const featureFiles = [featuresFile, 'nodes/encoding.json'];

/** What of a dataset is used beside the graph. */
export interface DatasetUse {
  readonly classes: boolean;
  readonly features: boolean;
  readonly weights: boolean;
}

/** Checksums by file; a file that is not there has none. */
export type DatasetFingerprint = Readonly<Record<string, string>>;

export async function datasetFingerprint(
  { directory, details }: Pick<PreparedDataset, 'directory' | 'details'>,
  { classes, features, weights }: DatasetUse,
): Promise<DatasetFingerprint> {
  const names = [
    ...graphFiles,
    ...(classes ? classFiles : []),
    ...(features ? featureFiles : []),
    ...(weights ? ['edges/train_edges_weights.bin'] : []),
  ];
  const found: Record<string, string> = {};
  for (const name of names) {
    const path = join(directory, name);
    const recorded = details?.files[name]?.crc32;
    if (recorded !== undefined) found[name] = recorded;
    else if (existsSync(path)) found[name] = await sumOf(path, name);
  }
  return found;
}

/** Of a file that Marius wrote. Features may be larger than all the rest together: there the size must do. */
async function sumOf(path: string, name: string): Promise<string> {
  if (name === featuresFile) return `${(await stat(path)).size} bytes`;
  return checksumOf(path);
}

/** The files that two fingerprints do not have in common. */
export function differingFiles(a: DatasetFingerprint, b: DatasetFingerprint): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => a[name] !== b[name]);
}
