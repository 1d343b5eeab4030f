/** The parts of a packed run over a graph besides its model: rows without optimiser state, and files of the dataset. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { datasetSubset } from '../../../data/prepare/dataset-subset.js';
import type { ColumnInit } from '../../../storage/partition-transfer.js';
import { StoredRows } from '../../../storage/stored-rows.js';
import { TableFiles } from '../../../storage/table-files.js';
import { manifestFiles, type TableManifest } from '../../../storage/table-manifest.js';
import type { ArchiveSource } from '../../../storage/write-archive.js';
import type { SkeinConfig } from '../../config/index.js';
import { tableFolder, tableOf } from '../../run/adopt-checkpoint.js';
import { type PackedParts, packedSections } from '../../run/packed-checkpoint.js';
import type { RunRecord } from '../../run/run-record.js';
import type { FoundGraphRun } from './open-graph-run.js';
import { datasetFolder, openRunDataset } from './run-dataset.js';
import { checkIdentity, datasetUse, type RunIdentity, runIdentity } from './run-identity.js';
import { embeddingColumn } from './storage/initialize-table.js';

/** @param scratch a folder for the rows until they are packed. */
export async function packGraphRun(
  found: FoundGraphRun,
  record: RunRecord,
  scratch: string,
): Promise<PackedParts> {
  const { config, directory, checkpoint } = found;
  const dataset = await openRunDataset(found, record);
  const identity = await runIdentity(config, dataset);
  checkIdentity(checkpoint, record.identity as unknown as RunIdentity, identity, dataset);
  const { files, yaml } = await datasetSubset(dataset, datasetUse(config));
  const table = await packTable(tableFolder(directory), tableOf(record), tableFolder(scratch));
  const named = files.map((name) => ({
    name: `${datasetFolder}/${name}`,
    from: join(dataset.directory, name),
  }));
  return {
    config: packedConfig(config),
    files: [
      { name: `${datasetFolder}/dataset.yaml`, from: yaml },
      ...named,
      ...sortedEdges(config, directory),
      ...(table === null ? [] : filesOf('table', tableFolder(scratch), manifestFiles(table))),
    ],
    state: { table, rowOptimizer: null },
  };
}

/** Writes the trained rows of a table without the state of their optimiser. Features are read from the dataset. */
async function packTable(
  folder: string,
  manifest: TableManifest | null,
  target: string,
): Promise<TableManifest | null> {
  const columns = manifest?.columns.filter(({ name }) => name === embeddingColumn) ?? [];
  if (manifest === null || columns.length === 0) return null;
  const old = await TableFiles.open(folder, manifest);
  const rows = new StoredRows(old);
  const init: ColumnInit = ({ column, start, values }) => rows.read(column.name, start, values);
  const table = await TableFiles.create(target, { layout: old.layout, columns, init });
  await table.sync();
  return table.manifest();
}

/** Returns the edges as the run sorted them, if it did: samplers of neighbours depend on their order. */
function sortedEdges({ model }: SkeinConfig, directory: string): ArchiveSource[] {
  const folder = join(directory, 'edges');
  if (model.encoder.layers.length < 2 || !existsSync(folder)) return [];
  return filesOf('edges', folder, readdirSync(folder).sort());
}

function filesOf(name: string, folder: string, names: readonly string[]): ArchiveSource[] {
  return names.map((file) => ({ name: `${name}/${file}`, from: join(folder, file) }));
}

const featuresInFile = {
  type: 'FLAT_FILE',
  options: { dtype: 'float32', hot_cache_size: 0, hot_policy: 'PUSH' },
} as const;

/** Returns the configuration with paths relative to the run. */
function packedConfig(config: SkeinConfig): SkeinConfig {
  const { storage, training, evaluation } = config;
  const { features } = storage;
  return {
    ...config,
    ...packedSections(config),
    storage: {
      ...storage,
      model_dir: '.',
      dataset: { ...storage.dataset, dataset_dir: datasetFolder, name: null },
      // A buffer would need a second copy of the features in the table.
      features: features.type === 'PARTITION_BUFFER' ? featuresInFile : features,
    },
    training: { ...training, resume_training: false, resume_from_checkpoint: '' },
    evaluation: { ...evaluation, checkpoint_dir: '' },
  };
}
