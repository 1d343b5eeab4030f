/** The work of `skein export`: finds the tables of a directory and writes each to a file of the wanted format. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ExportFormat,
  exportFormats,
  exportTable,
  type NamedTable,
  openFlatTables,
} from '../data/index.js';
import { Output, openRunTables } from '../train/index.js';
import { StorageError, ValueError } from '../util/errors.js';

export interface ExportCommand {
  readonly format: string;
  readonly delim: string;
  readonly outputDir?: string;
  readonly tables?: readonly string[];
  readonly overwrite: boolean;
  readonly json: boolean;
}

/** What knows how to find tables in a directory, tried in order. */
const openers: readonly ((directory: string) => Promise<NamedTable[]>)[] = [openRunTables, openFlatTables];

export async function exportCommand(directory: string, command: ExportCommand): Promise<void> {
  const output = new Output({ json: command.json });
  const format = formatNamed(command.format);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new StorageError(`export: expected a directory, got ${directory}.`, { path: directory });
  const tables: NamedTable[] = [];
  for (const open of openers) tables.push(...(await open(directory)));
  if (tables.length === 0)
    throw new StorageError(`export: expected a model in ${directory}, got none. Train one first.`, {
      path: directory,
    });
  const files: string[] = [];
  for (const table of chosen(tables, command.tables)) {
    const path = join(command.outputDir ?? directory, `${table.name}.${format}`);
    const written = await exportTable({
      ...{ rows: table.rows, names: table.names, format, path, overwrite: command.overwrite },
      delimiter: command.delim.replaceAll('\\t', '\t'),
      tensor: table.name,
    });
    output.text(`${table.name}: ${table.rows.rows} rows of ${table.rows.width} in ${written.join(', ')}`);
    output.event('export', {
      table: table.name,
      rows: table.rows.rows,
      width: table.rows.width,
      files: written,
    });
    files.push(...written);
  }
  output.event('done', { files });
}

function formatNamed(text: string): ExportFormat {
  const lower = text.toLowerCase();
  // Marius's third format is the numbers alone; .npy is these with a header.
  const format = exportFormats.find((known) => known === (lower === 'binary' ? 'npy' : lower));
  if (format === undefined)
    throw new ValueError(`export: expected one of ${exportFormats.join(', ')} for --format, got ${text}.`);
  return format;
}

function chosen(tables: readonly NamedTable[], names: readonly string[] | undefined): readonly NamedTable[] {
  if (names === undefined) return tables;
  return names.map((name) => {
    const table = tables.find((one) => one.name === name);
    if (table === undefined)
      throw new ValueError(
        `export: expected one of ${tables.map((one) => one.name).join(', ')} for --tables, got ${name}.`,
      );
    return table;
  });
}
