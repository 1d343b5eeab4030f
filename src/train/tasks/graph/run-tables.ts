/**
 * Node embeddings and relations of a run as tables with raw ids, for exports: embeddings from the files of its checkpoint,
 * one partition at a time. Encoded nodes are not among them: they need the graph and the encoder.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { RowProvider } from '../../../data/prepare/export-table.js';
import type { NamedTable } from '../../../data/prepare/flat-tables.js';
import { loadTensors } from '../../../storage/index.js';
import { StoredRows } from '../../../storage/stored-rows.js';
import { TableFiles } from '../../../storage/table-files.js';
import type { TableColumn } from '../../../storage/table-manifest.js';
import { StateError } from '../../../util/errors.js';
import { loadConfig } from '../../config/index.js';
import { tableFolder, tableOf } from '../../run/adopt-checkpoint.js';
import { latestCheckpoint, modelFile, readRecord } from '../../run/run-record.js';
import { openRunDataset } from './run-dataset.js';
import { checkIdentity, type RunIdentity, runIdentity } from './run-identity.js';
import { embeddingColumn } from './storage/initialize-table.js';

/** Tensors of a link prediction model whose rows are relations. */
const relationTensors = {
  relation_embeddings: 'model.decoder.relations',
  inverse_relation_embeddings: 'model.decoder.inverseRelations',
} as const;

/** Opens the tables of a run's directory (its latest checkpoint) or of one of its checkpoints; none for other directories. */
export async function openRunTables(directory: string): Promise<NamedTable[]> {
  const run = [resolve(directory), dirname(resolve(directory))].find((path) =>
    existsSync(join(path, 'full_config.yaml')),
  );
  if (run === undefined) return [];
  const direct = existsSync(join(directory, modelFile));
  const name = direct ? null : (await latestCheckpoint(directory))?.name;
  if (name === undefined)
    throw new StateError(
      `export: expected a checkpoint in ${directory}, got none. Let the run finish its first epoch.`,
    );
  const folder = name === null ? directory : join(directory, name);
  const record = await readRecord(folder);
  const table = tableOf(record);
  const { config } = loadConfig(join(run, 'full_config.yaml'), []);
  const dataset = await openRunDataset({ directory: run, config, isDataGiven: false }, record);
  checkIdentity(
    folder,
    record.identity as unknown as RunIdentity,
    await runIdentity(config, dataset),
    dataset,
  );
  const tables: NamedTable[] = [];
  if (table?.columns.some((column) => column.name === embeddingColumn) === true) {
    const files = await TableFiles.open(tableFolder(run), table);
    tables.push({
      name: 'embeddings',
      names: await dataset.nodeNames(),
      rows: columnRows(files, embeddingColumn),
    });
  }
  const { tensors } = await loadTensors(join(folder, modelFile));
  for (const [title, key] of Object.entries(relationTensors)) {
    const tensor = tensors[key];
    if (tensor === undefined) continue;
    const [rows, width] = tensor.shape;
    const values = tensor.array as Float32Array;
    const read = (start: number, end: number): Float32Array => values.subarray(start * width, end * width);
    tables.push({ name: title, names: await dataset.relationNames(), rows: { rows, width, read } });
  }
  return tables;
}

function columnRows(files: TableFiles, name: string): RowProvider {
  const { width } = files.columns.find((column) => column.name === name) as TableColumn;
  const stored = new StoredRows(files);
  return {
    rows: files.layout.rows,
    width,
    read: async (start, end) => {
      const out = new Float32Array((end - start) * width);
      await stored.read(name, start, out);
      return out;
    },
  };
}
