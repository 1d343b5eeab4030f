/**
 * Exports tables of numbers as CSV, NumPy, Parquet or safetensors, with the raw id of each row. Rows are read and written in
 * blocks, so a table may be larger than memory. A file gets its final name when it is complete; files that a killed export
 * left behind are removed by the next export to the same file.
 *
 * - csv: `id` first, then one column per number (`d0`, `d1`, …), with the fewest digits that give the same f32.
 * - npy and safetensors (f32, rows × width): ids are in `<stem>-ids.csv`, lines `raw,row` as in mapping files.
 * - parquet: `id` (text) and `embedding` (a list of f32).
 */
import { existsSync } from 'node:fs';
import { rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../../storage/make-folder.js';
import { removeAbandoned, temporaryName } from '../../storage/temporary-name.js';
import { makeNpyHeader } from '../../tensor/npy.js';
import { checkInteger, expected, ShapeError, StorageError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { csvField } from '../formats/csv-text.js';
import { sqlPath, sqlText, withDuckDb } from '../formats/duckdb.js';
import { bytesOf, FileWriter, sealFile } from './binary-file.js';
import { mappingLine } from './mapping-file.js';
import type { NameTable } from './name-table.js';
import { trackUnfinished, untrackFinished } from './unfinished-files.js';

export type ExportFormat = 'csv' | 'npy' | 'parquet' | 'safetensors';
export const exportFormats: readonly ExportFormat[] = ['csv', 'npy', 'parquet', 'safetensors'];

/** Source of the rows. */
export interface RowProvider {
  readonly rows: number;
  readonly width: number;
  /** Returns rows start … end − 1. */
  read(start: number, end: number): Float32Array | Promise<Float32Array>;
}

export interface ExportOptions {
  readonly rows: RowProvider;
  readonly names: NameTable;
  readonly format: ExportFormat;
  readonly path: string;
  /** Delimiter of csv. Default ','. */
  readonly delimiter?: string;
  readonly overwrite?: boolean;
  /** Name of the tensor in safetensors. Default `embeddings`. */
  readonly tensor?: string;
  progress?(done: number, total: number): void;
}

/** Returns the files that an export writes. */
function exportFiles(path: string, format: ExportFormat): string[] {
  return format === 'npy' || format === 'safetensors' ? [path, idsPath(path)] : [path];
}

function idsPath(path: string): string {
  return `${path.replace(/\.[^./\\]*$/, '')}-ids.csv`;
}

/** Writes a table; returns the paths of the files. */
export async function exportTable(options: ExportOptions): Promise<string[]> {
  checkOptionNames('exportTable', options, {
    rows: true,
    names: true,
    format: true,
    path: true,
    delimiter: true,
    overwrite: true,
    tensor: true,
    progress: true,
  });
  const { rows, names, format, path } = options;
  const where = 'exportTable';
  checkInteger(where, 'rows', rows.rows);
  checkInteger(where, 'width', rows.width, 1);
  if (!exportFormats.includes(format))
    throw new ValueError(expected(where, `one of ${exportFormats.join(', ')}`, 'format', format));
  if (names.size !== rows.rows)
    throw new ShapeError(
      expected(where, `a name for each of the ${rows.rows} rows`, 'names', `${names.size} names`),
    );
  const files = exportFiles(path, format);
  for (const file of files) {
    if (existsSync(file) && !options.overwrite) {
      throw new StorageError(
        `${where}: expected a new file, got ${file}, which exists. Choose another, or replace it with --overwrite (in programs: overwrite: true).`,
        {
          path: file,
        },
      );
    }
  }
  const created = makeFolder(dirname(path));
  const temporary = files.map(temporaryName);
  for (const file of temporary) trackUnfinished(file);
  try {
    for (const file of files) await removeAbandoned(file);
    await writers[format](options, temporary[0]);
    if (temporary.length > 1) writeIds(names, temporary[1]);
    for (const [i, file] of files.entries()) {
      await sealFile(temporary[i]);
      await rename(temporary[i], file);
    }
  } catch (error) {
    await removeAll(temporary);
    // Removes the folders that were created for the files, unless they contain others by now.
    for (const folder of created.toReversed()) await rmdir(folder).catch(() => undefined);
    throw error;
  } finally {
    for (const file of temporary) untrackFinished(file);
  }
  return files;
}

async function removeAll(files: readonly string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
}

const writers: Readonly<Record<ExportFormat, (options: ExportOptions, path: string) => Promise<void>>> = {
  csv: (options, path) => writeCsv(options, path, options.delimiter ?? ',', true),
  npy: (options, path) =>
    writeBinary(options, path, makeNpyHeader('<f4', [options.rows.rows, options.rows.width])),
  safetensors: (options, path) =>
    writeBinary(options, path, safetensorsHeader(options.rows, options.tensor ?? 'embeddings')),
  parquet: writeParquet,
};

/** Numbers per block. */
const blockNumbers = 1 << 18;

async function* readBlocks({
  rows,
  progress,
}: ExportOptions): AsyncGenerator<{ start: number; values: Float32Array }> {
  const step = Math.max(1, Math.floor(blockNumbers / rows.width));
  for (let start = 0; start < rows.rows; start += step) {
    const end = Math.min(rows.rows, start + step);
    const values = await rows.read(start, end);
    if (values.length !== (end - start) * rows.width)
      throw new ShapeError(
        expected(
          'exportTable',
          `${(end - start) * rows.width} numbers`,
          `rows ${start} to ${end - 1}`,
          values.length,
        ),
      );
    yield { start, values };
    progress?.(end, rows.rows);
  }
}

async function writeCsv(
  options: ExportOptions,
  path: string,
  delimiter: string,
  header: boolean,
): Promise<void> {
  const { width } = options.rows;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw new ValueError(expected('exportTable', 'one character', 'delimiter', delimiter));
  const file = new FileWriter(path);
  try {
    const columns = Array.from({ length: width }, (_, i) => `d${i}`);
    if (header) file.writeText(`${['id', ...columns].join(delimiter)}\n`);
    for await (const { start, values } of readBlocks(options)) {
      for (let r = 0; r * width < values.length; r++) {
        let line = csvField(options.names.nameOf(start + r), delimiter);
        for (let c = 0; c < width; c++) line += delimiter + formatShortest(values[r * width + c]);
        file.writeText(`${line}\n`);
      }
    }
  } finally {
    file.close();
  }
}

/** Formats a number with the fewest digits that give the same f32. */
function formatShortest(value: number): string {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : String(value);
}

async function writeBinary(options: ExportOptions, path: string, header: Uint8Array): Promise<void> {
  const file = new FileWriter(path);
  try {
    file.write(header);
    for await (const { values } of readBlocks(options)) file.write(bytesOf(values));
  } finally {
    file.close();
  }
}

function safetensorsHeader({ rows, width }: RowProvider, name: string): Uint8Array {
  const entry = { dtype: 'F32', shape: [rows, width], data_offsets: [0, rows * width * 4] };
  const text = JSON.stringify({ [name]: entry });
  const padded = text.padEnd(
    Math.ceil(Buffer.byteLength(text) / 8) * 8 - Buffer.byteLength(text) + text.length,
  );
  const bytes = Buffer.alloc(8 + Buffer.byteLength(padded));
  bytes.writeBigUInt64LE(BigInt(Buffer.byteLength(padded)), 0);
  bytes.write(padded, 8);
  return bytes;
}

function writeIds(names: NameTable, path: string): void {
  const file = new FileWriter(path);
  try {
    for (let id = 0; id < names.size; id++) file.writeText(mappingLine(names.nameOf(id), id));
  } finally {
    file.close();
  }
}

/** Writes Parquet with DuckDB, which reads the rows, exactly, from a temporary CSV next to the target. */
async function writeParquet(options: ExportOptions, path: string): Promise<void> {
  const rows = `${options.path}.csv`;
  const text = temporaryName(rows);
  trackUnfinished(text);
  try {
    await removeAbandoned(rows);
    await writeCsv(options, text, ',', false);
    const { width } = options.rows;
    const columns = Array.from({ length: width }, (_, i) => `'d${i}': 'FLOAT'`).join(', ');
    const list = Array.from({ length: width }, (_, i) => `d${i}`).join(', ');
    const settings = `delim = ',', quote = '"', escape = '"', header = false, auto_detect = false`;
    await withDuckDb('export', (connection) =>
      connection.run(
        `COPY (SELECT coalesce(id, '') AS id, [${list}]::FLOAT[] AS embedding FROM read_csv(${sqlPath(text)}, columns = {'id': 'VARCHAR', ${columns}}, ${settings})) TO ${sqlText(path)} (FORMAT parquet)`,
      ),
    );
  } finally {
    await rm(text, { force: true });
    untrackFinished(text);
  }
}
