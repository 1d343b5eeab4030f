/**
 * The dataset of a saved run. A finished run has a copy of the files that its model reads (names, edges, where small also
 * features), so that it answers after its dataset was moved or removed.
 *
 * Files are linked where the file system allows it, which takes no space: a dataset that is prepared again gets new files.
 */
import { existsSync } from 'node:fs';
import { copyFile, link, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { PreparedDataset } from '../../../data/index.js';
import { datasetFingerprint, differingFiles } from '../../../data/prepare/dataset-fingerprint.js';
import { type DatasetSubset, datasetSubset } from '../../../data/prepare/dataset-subset.js';
import { catalogueName } from '../../../data/prepare/prepare-dataset.js';
import { codeOf, storageError, syncFolder, writeFileAtomic } from '../../../storage/atomic-file.js';
import { removeAbandoned, temporaryName } from '../../../storage/temporary-name.js';
import { ConfigError } from '../../../util/errors.js';
import type { SkeinConfig } from '../../config/index.js';
import { dataPlaces } from '../../run/data-places.js';
import type { RunRecord } from '../../run/run-record.js';
import type { FoundGraphRun } from './open-graph-run.js';
import { datasetUse, type RunIdentity } from './run-identity.js';
import { openDataset } from './storage/open-dataset.js';

/** The folder of a run with the files of its dataset. */
export const datasetFolder = 'dataset';

/** The most bytes that are kept for a model with an encoder, whose features may be larger than all else. */
const keptBytes = 256 * 2 ** 20;

interface KeptModel {
  readonly config: SkeinConfig;
  /** Whether it compares trained rows alone. Its edges are smaller than the rows, so they are always kept. */
  readonly comparesEmbeddings: boolean;
}

/** Keeps the files of the dataset that the model reads in the directory of its run. Returns false if they are too large. */
export async function keepDataset(
  directory: string,
  dataset: PreparedDataset,
  { config, comparesEmbeddings }: KeptModel,
): Promise<boolean> {
  const subset = await datasetSubset(dataset, datasetUse(config));
  if (!comparesEmbeddings && subset.bytes > keptBytes) return false;
  const target = join(directory, datasetFolder);
  if (await hasSubset(target, subset)) return true;
  const temporary = temporaryName(target);
  try {
    await removeAbandoned(target);
    await mkdir(temporary);
    for (const name of subset.files) {
      await mkdir(dirname(join(temporary, name)), { recursive: true });
      await linkOrCopy(join(dataset.directory, name), join(temporary, name));
    }
    await writeFileAtomic(join(temporary, 'dataset.yaml'), subset.yaml);
    await rm(target, { recursive: true, force: true });
    await rename(temporary, target);
    await syncFolder(directory);
  } catch (error) {
    throw storageError('write', target, error);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return true;
}

async function hasSubset(target: string, { yaml }: DatasetSubset): Promise<boolean> {
  const path = join(target, 'dataset.yaml');
  return existsSync(path) && (await readFile(path)).equals(yaml);
}

/** Links a file, or copies it where it cannot be linked: on another disk, or on a file system without links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'EACCES', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(codeOf(error))) throw error;
    await copyFile(from, to);
  }
}

/**
 * Opens the dataset of a saved run: where its configuration says, or, if the run or the dataset was moved, the first place
 * that has the same dataset; otherwise the run's own copy.
 */
export async function openRunDataset(
  found: Pick<FoundGraphRun, 'directory' | 'config' | 'isDataGiven'>,
  record: RunRecord,
): Promise<PreparedDataset> {
  const { config, directory, isDataGiven } = found;
  const { dataset_dir: data, name } = config.storage.dataset;
  if (isDataGiven) return openDataset(config);
  const places = dataPlaces({ directory, trainedIn: config.storage.model_dir, data });
  let other: PreparedDataset | null = null;
  for (const place of [...places, join(directory, datasetFolder)]) {
    if (!existsSync(join(place, 'dataset.yaml'))) continue;
    const dataset = await PreparedDataset.open(place);
    // The caller reports how a dataset differs that is where the configuration of a run that was not moved says.
    if ((place === places[0] && place === resolve(data)) || (await isDatasetOf(dataset, config, record)))
      return dataset;
    other ??= dataset;
  }
  if (other !== null) return other;
  if (catalogueName(name ?? data) !== undefined) return openDataset(config);
  throw new ConfigError(
    `${directory}: expected the dataset that the run was trained on, which its model needs, got none in ${places.join(' or ')}. Put it next to the run, or name its directory with --storage.dataset.dataset_dir=DIR (in programs: overrides).`,
    { path: directory },
  );
}

async function isDatasetOf(
  dataset: PreparedDataset,
  config: SkeinConfig,
  { identity }: RunRecord,
): Promise<boolean> {
  const { files } = identity as unknown as RunIdentity;
  if (files === undefined) return true;
  return differingFiles(files, await datasetFingerprint(dataset, datasetUse(config))).length === 0;
}
