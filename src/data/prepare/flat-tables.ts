/**
 * Tables stored in a directory as flat f32 files, with the names of their rows: Marius's model directories (embeddings.bin,
 * encoded_nodes.bin, relation_embeddings.bin, … with node_mapping.txt and relation_mapping.txt) and the features of a
 * prepared directory.
 */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FormatError } from '../../util/errors.js';
import { bytesOf, readAt } from './binary-file.js';
import type { RowProvider } from './export-table.js';
import { mappingRecords } from './mapping-file.js';
import { MappedNames, type NameTable } from './name-table.js';
import { PreparedDataset } from './prepared-dataset.js';

/** A table with its name. */
export interface NamedTable {
  readonly name: string;
  readonly rows: RowProvider;
  readonly names: NameTable;
}

/** Files of a model directory, and the mapping file of their rows. */
const modelFiles = {
  embeddings: 'node_mapping.txt',
  encoded_nodes: 'node_mapping.txt',
  relation_embeddings: 'relation_mapping.txt',
  inverse_relation_embeddings: 'relation_mapping.txt',
} as const;

/** Opens the tables of a directory, if it has any. */
export async function openFlatTables(directory: string): Promise<NamedTable[]> {
  const tables: NamedTable[] = [];
  for (const [name, mapping] of Object.entries(modelFiles)) {
    const path = join(directory, `${name}.bin`);
    if (!existsSync(path)) continue;
    const names = readMapping(join(directory, mapping));
    tables.push({ name, names, rows: flatRows(path, names.size) });
  }
  if (existsSync(join(directory, 'dataset.yaml'))) {
    const data = await PreparedDataset.open(directory);
    const file = data.featuresFile();
    if (file !== null) {
      await data.checkFeatures();
      tables.push({ name: 'features', names: await data.nodeNames(), rows: flatRows(file.path, file.rows) });
    }
  }
  return tables;
}

function readMapping(path: string): NameTable {
  if (!existsSync(path))
    throw new FormatError(`${path}: expected the names of the rows, got no file. Copy it from the dataset.`, {
      path,
    });
  const bytes = readFileSync(path);
  let size = 0;
  for (const _ of mappingRecords(bytes.slice(), path)) size++;
  return MappedNames.parse(bytes, path, size);
}

/** Returns the rows of a f32 file; the width follows from its length. */
function flatRows(path: string, rows: number): RowProvider {
  const { size } = statSync(path);
  const width = size / 4 / rows;
  if (rows === 0 || !Number.isInteger(width) || width === 0)
    throw new FormatError(`${path}: expected ${rows} rows of f32 numbers, got ${size} bytes.`, { path });
  return {
    rows,
    width,
    read: (start, end) => {
      const values = new Float32Array((end - start) * width);
      const file = openSync(path, 'r');
      try {
        if (fstatSync(file).size !== size || !readAt(file, bytesOf(values), start * width * 4))
          throw new FormatError(
            `${path}: expected ${size} bytes, got another length. The file changed while it was read.`,
            { path },
          );
      } finally {
        closeSync(file);
      }
      return values;
    },
  };
}
