/**
 * Files about nodes as DuckDB tables: lists of ids, features, classes, parts. Each table has a column `name` (raw id) and the
 * order of its file; duckdb-source.ts numbers the names and joins.
 *
 * Text files have the id in the first column. An .npy of features or classes has a row per node: node i is the raw id i,
 * or line i of the list of nodes when there is one.
 */
import { existsSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { type NpyHeader, parseNpyHeader } from '../../tensor/npy.js';
import { decodeNumpyArray, numpyTypeBytes } from '../../tensor/numpy-array.js';
import { FormatError, StorageError } from '../../util/errors.js';
import { queryRow } from '../formats/duckdb.js';
import { selectSql } from '../formats/edge-list.js';
import { findLayout, type Layout, splitLine } from '../formats/edge-list-layout.js';
import { readNpy } from '../formats/npy.js';
import { readLines } from '../formats/text-lines.js';
import { readBlocks } from './binary-file.js';
import type { PreprocessOptions } from './preprocess-options.js';

/** A matrix in an .npy file that is read in blocks of rows. */
export interface NpyRows {
  readonly path: string;
  readonly header: NpyHeader;
  readonly rows: number;
  readonly width: number;
}

export interface NodeInput {
  /** Tables with a column `name`, in the order in which they number nodes. */
  readonly tables: readonly string[];
  readonly features: { readonly width: number; readonly npy: NpyRows | null } | null;
  /** Class numbers of an .npy by row; a table `label` (name, value) when the classes come as text; null without. */
  readonly labels: Int32Array | 'table' | null;
  /** Tables of the ids of each part, or null for an empty one. */
  readonly parts: readonly (string | null)[] | null;
}

/** Reads the files that the options name. */
export async function loadNodeInput(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  folder: string,
): Promise<NodeInput> {
  const tables: string[] = [];
  const list = async (path: string | undefined, table: string): Promise<string | null> => {
    if (path === undefined) return null;
    await loadList(connection, path, table, folder);
    tables.push(table);
    return table;
  };
  const known = await list(options.nodes, 'known_node');
  const matrix = isNpy(options.nodeFeatures) ? await openNpy(options.nodeFeatures) : null;
  const classes = isNpy(options.nodeLabels) ? await npyLabels(options.nodeLabels) : null;
  for (const [path, rows] of [
    [options.nodeFeatures, matrix?.rows],
    [options.nodeLabels, classes?.length],
  ] as const) {
    if (path !== undefined && rows !== undefined) await loadRowNames(connection, path, rows, known, tables);
  }
  let width = matrix?.width ?? 0;
  if (options.nodeFeatures !== undefined && matrix === null) {
    width = await loadFeatures(connection, options.nodeFeatures);
    tables.push('feature');
  }
  if (options.nodeLabels !== undefined && classes === null) {
    await loadLabels(connection, options.nodeLabels);
    tables.push('label');
  }
  const parts =
    options.trainNodes === undefined
      ? null
      : [
          await list(options.trainNodes, 'train_node'),
          await list(options.validNodes, 'valid_node'),
          await list(options.testNodes, 'test_node'),
        ];
  return {
    tables,
    features: options.nodeFeatures === undefined ? null : { width, npy: matrix },
    labels: classes ?? (options.nodeLabels === undefined ? null : 'table'),
    parts,
  };
}

function isNpy(path: string | undefined): path is string {
  return path?.endsWith('.npy') ?? false;
}

function checkThere(path: string): void {
  if (!existsSync(path))
    throw new StorageError(`preprocess: expected to read ${path}, got ENOENT. Look at the spelling.`, {
      path,
    });
}

/** The layout of a text file with an id in its first column. */
async function layoutOf(path: string, header: boolean): Promise<Layout> {
  checkThere(path);
  const layout = await findLayout(path, { source: 0, target: 0, ids: 'names', header });
  if (layout === null) throw new FormatError(`${path}: expected node ids, got an empty file.`, { path });
  return layout;
}

async function loadList(
  connection: DuckDBConnection,
  path: string,
  table: string,
  folder: string,
): Promise<void> {
  checkThere(path);
  let text = path;
  if (isNpy(path)) {
    const { data } = await readNpy(path);
    text = join(folder, `${table}.txt`);
    await writeFile(text, Array.from(data as ArrayLike<number | string>, (id) => `${id}\n`).join(''));
  }
  const layout = await layoutOf(text, false);
  await run(connection, path, `CREATE TABLE ${table} AS SELECT s AS name FROM (${selectSql(layout)})`);
  await refuseEmptyNames(connection, path, table);
}

async function refuseEmptyNames(connection: DuckDBConnection, path: string, table: string): Promise<void> {
  const [row] = await queryRow(
    connection,
    `SELECT coalesce(min(rowid) + 1, 0) FROM ${table} WHERE name IS NULL OR name = ''`,
  );
  if (row > 0)
    throw new FormatError(`${path}: expected an id in the first column of row ${row}, got none.`, {
      path,
      row,
    });
}

/** Tells which node each row of an .npy is: table `row_name`. */
async function loadRowNames(
  connection: DuckDBConnection,
  path: string,
  rows: number,
  known: string | null,
  tables: string[],
): Promise<void> {
  const created = tables.includes('row_name') || tables.includes('known_node');
  if (!created) {
    await connection.run(`CREATE TABLE row_name AS SELECT range::VARCHAR AS name FROM range(${rows})`);
    tables.push('row_name');
  }
  const [count] = await queryRow(connection, `SELECT count(*) FROM ${known ?? 'row_name'}`);
  if (count !== rows) {
    const what =
      known === null ? `${count} rows as in the other file` : `a row for each of the ${count} nodes`;
    throw new FormatError(`${path}: expected ${what}, got ${rows}.`, { path });
  }
}

/** Features as text: a table `feature` of name and f0, f1, …; returns how many. */
async function loadFeatures(connection: DuckDBConnection, path: string): Promise<number> {
  let layout = await layoutOf(path, false);
  // A first line without numbers names the columns.
  for await (const { lines } of readLines(path)) {
    const fields = splitLine(lines[layout.skip] ?? '', layout.delimiter, layout.quoted);
    if (fields.length > 1 && !isNumber(fields[1])) layout = await layoutOf(path, true);
    break;
  }
  const width = layout.width - 1;
  if (width < 1)
    throw new FormatError(`${path}: expected an id and numbers in each line, got one column.`, { path });
  const values = Array.from({ length: width }, (_, i) => `try_cast(c${i + 1} AS FLOAT) AS f${i}`).join(', ');
  const relation = selectSql(layout).replace(
    /^SELECT .*? FROM read_csv\(/s,
    `SELECT c0 AS name, ${values} FROM read_csv(`,
  );
  try {
    await connection.run(`CREATE TABLE feature AS ${relation}`);
    const [wrong] = await queryRow(
      connection,
      `SELECT count(*) FROM feature WHERE NOT (${Array.from({ length: width }, (_, i) => `coalesce(isfinite(f${i}), false)`).join(' AND ')})`,
    );
    if (wrong > 0) throw new Error(`${wrong} lines with fields that are not finite numbers`);
  } catch (error) {
    await explainNumbers(layout);
    throw new FormatError(`${path}: expected features, got ${(error as Error).message.split('\n')[0]}`, {
      path,
    });
  }
  await refuseEmptyNames(connection, path, 'feature');
  await refuseRepeated(connection, path, 'feature');
  return width;
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

/** The first line of a file of numbers that breaks a rule. */
async function explainNumbers(layout: Layout): Promise<void> {
  const { path } = layout;
  for await (const { first, lines } of readLines(path)) {
    for (let i = 0; i < lines.length; i++) {
      const line = first + i;
      if (line <= layout.skip || lines[i] === '') continue;
      const fields = splitLine(lines[i], layout.delimiter, layout.quoted);
      if (fields.length !== layout.width)
        throw new FormatError(`${path}:${line}: expected ${layout.width} columns, got ${fields.length}.`, {
          path,
          line,
        });
      const wrong = fields.findIndex(
        (field, c) => c > 0 && (!isNumber(field) || !Number.isFinite(Math.fround(Number(field)))),
      );
      if (wrong > 0) {
        throw new FormatError(
          `${path}:${line}: expected a finite number in column ${wrong}, got ${JSON.stringify(fields[wrong])}.`,
          { path, line },
        );
      }
    }
  }
}

async function refuseRepeated(connection: DuckDBConnection, path: string, table: string): Promise<void> {
  const result = await connection.runAndReadAll(
    `SELECT name FROM ${table} GROUP BY name HAVING count(*) > 1 ORDER BY min(rowid) LIMIT 1`,
  );
  const name = result.getRows()[0]?.[0];
  if (name !== undefined)
    throw new FormatError(`${path}: expected each node once, got ${JSON.stringify(name)} twice.`, { path });
}

async function loadLabels(connection: DuckDBConnection, path: string): Promise<void> {
  const layout = await layoutOf(path, false);
  if (layout.width < 2)
    throw new FormatError(`${path}: expected an id and a class in each line, got one column.`, { path });
  const sql = selectSql({ ...layout, target: 1 });
  await run(connection, path, `CREATE TABLE label AS SELECT s AS name, d AS value FROM (${sql})`);
  const [row] = await queryRow(
    connection,
    'SELECT coalesce(min(rowid) + 1, 0) FROM label WHERE value IS NULL',
  );
  if (row > 0) throw new FormatError(`${path}: expected a class in row ${row}, got none.`, { path, row });
  await refuseEmptyNames(connection, path, 'label');
  await refuseRepeated(connection, path, 'label');
}

async function run(connection: DuckDBConnection, path: string, sql: string): Promise<void> {
  try {
    await connection.run(sql);
  } catch (error) {
    const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
    throw new FormatError(`${path}: expected a table of nodes, got ${reason}`, { path }, { cause: error });
  }
}

/** Classes of an .npy: whole numbers from −1. */
async function npyLabels(path: string): Promise<Int32Array> {
  checkThere(path);
  const { data, shape } = await readNpy(path);
  const flat = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (!flat)
    throw new FormatError(`${path}: expected one class per row, got the shape [${shape.join(', ')}].`, {
      path,
    });
  return Int32Array.from(data as ArrayLike<number>, (value, i) => {
    // NaN marks nodes without a class in some files.
    if (Number.isNaN(value)) return -1;
    if (Number.isInteger(value) && value >= -1 && value < 2 ** 31 - 1) return value;
    throw new FormatError(`${path}: expected a class from -1 for row ${i}, got ${String(value)}.`, {
      path,
      row: i,
    });
  });
}

async function openNpy(path: string): Promise<NpyRows> {
  checkThere(path);
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = new Uint8Array(Math.min(size, 65536));
    await file.read(head, 0, head.length, 0);
    const header = parseNpyHeader(head, path);
    const [rows = 0, width = 1] = header.shape;
    const bytes = rows * width * numpyTypeBytes(header.type);
    if (header.shape.length > 2 || header.fortran || 'SU'.includes(header.type.kind))
      throw new FormatError(
        `${path}: expected a matrix of numbers in C order, got the shape [${header.shape.join(', ')}]${header.fortran ? ' in Fortran order' : ''}.`,
        { path },
      );
    if (size - header.start < bytes)
      throw new FormatError(`${path}: expected ${bytes} bytes of elements, got ${size - header.start}.`, {
        path,
      });
    return { path, header, rows, width };
  } finally {
    await file.close();
  }
}

/** The rows of an .npy as f32, in blocks. */
export async function* npyBlocks({ path, header, rows, width }: NpyRows): AsyncGenerator<Float32Array> {
  const rowBytes = width * numpyTypeBytes(header.type);
  const perBlock = Math.max(1, Math.floor(2 ** 22 / Math.max(1, rowBytes)));
  let rest = new Uint8Array(0);
  let skip = header.start;
  let done = 0;
  for await (const block of readBlocks(path)) {
    const fresh = skip > 0 ? block.subarray(skip) : block;
    skip = Math.max(0, skip - block.length);
    const bytes = new Uint8Array(rest.length + fresh.length);
    bytes.set(rest);
    bytes.set(fresh, rest.length);
    let at = 0;
    while (done < rows) {
      const count = Math.min(perBlock, rows - done, Math.floor((bytes.length - at) / rowBytes));
      if (count === 0) break;
      const part = bytes.slice(at, at + count * rowBytes);
      const { data } = decodeNumpyArray(path, header.type, [count, width], part, false);
      const values = data instanceof Float32Array ? data : Float32Array.from(data as ArrayLike<number>);
      const wrong = values.findIndex((value) => value - value !== 0);
      if (wrong >= 0)
        throw new FormatError(
          `${path}: expected a finite number in row ${done + Math.floor(wrong / width)}, column ${wrong % width}, got ${values[wrong]}.`,
          { path },
        );
      yield values;
      at += count * rowBytes;
      done += count;
    }
    rest = bytes.slice(at);
  }
}
