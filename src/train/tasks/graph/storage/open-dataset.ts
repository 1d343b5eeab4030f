/**
 * The dataset of a configuration: a prepared directory, or a dataset of the catalogue that is prepared on first use.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PreparedDataset, prepareDataset } from '../../../../data/index.js';
import type { OnPrepareProgress } from '../../../../data/prepare/graph-source.js';
import { catalogueName } from '../../../../data/prepare/prepare-dataset.js';
import { ConfigError } from '../../../../util/errors.js';
import { invocation } from '../../../../util/invocation.js';
import type { SkeinConfig } from '../../../config/index.js';
import { bufferConfig } from './initialize-table.js';

/** The directory of prepared datasets of the catalogue: below the working directory, apart from downloaded files. */
const preparedRoot = join('data', 'prepared');

export async function openDataset(
  config: SkeinConfig,
  progress?: OnPrepareProgress,
): Promise<PreparedDataset> {
  const { dataset_dir: directory, name } = config.storage.dataset;
  const hasData = existsSync(join(directory, 'dataset.yaml'));
  const known = catalogueName(name ?? directory);
  if (hasData) return PreparedDataset.open(directory);
  if (known === undefined) {
    throw new ConfigError(
      `storage.dataset.dataset_dir: expected a prepared directory or the name of a known dataset, got ${directory}, which has no dataset.yaml. Run "${invocation()} preprocess --output-directory ${directory} …" first.`,
    );
  }
  const partitions = bufferConfig(config)?.num_partitions ?? 1;
  const target =
    name === null ? join(preparedRoot, partitions === 1 ? known : `${known}-p${partitions}`) : directory;
  if (!existsSync(join(target, 'dataset.yaml')))
    await prepareDataset(known, {
      outputDir: target,
      partitions,
      ...(progress === undefined ? {} : { progress }),
    }).catch((error: unknown) => {
      // Another run may have prepared the dataset in the meantime.
      if (!existsSync(join(target, 'dataset.yaml'))) throw error;
    });
  return PreparedDataset.open(target);
}

/** Returns the configuration with the absolute path of its dataset, so that a run can be opened from any working directory. */
export function locatedConfig(config: SkeinConfig, { directory }: PreparedDataset): SkeinConfig {
  const { dataset } = config.storage;
  const prepared =
    resolve(dataset.dataset_dir) !== directory ? catalogueName(dataset.dataset_dir) : undefined;
  const name = dataset.name ?? prepared ?? null;
  return {
    ...config,
    storage: { ...config.storage, dataset: { ...dataset, dataset_dir: directory, name } },
  };
}
