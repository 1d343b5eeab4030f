/**
 * Streams the edges of files and queries to an `EdgeSpool`: text with delimited.ts; Parquet, JSON and SQL with DuckDB. Splits
 * follow one another, rows are in the order of the input. Every row is checked; errors name the file and the line (text) or
 * row (tables).
 */
import { existsSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { FormatError, StorageError, ValueError } from '../../util/errors.js';
import { readRecords } from '../formats/delimited.js';
import { queryChunks, sqlName, sqlPath } from '../formats/duckdb.js';
import { findTextLayout, type TextLayout } from '../formats/text-layout.js';
import { type ColumnIndices, resolveColumns, unusedColumnsNote } from './edge-columns.js';
import type { EdgeSpool } from './edge-spool.js';
import type { OnNote, OnPrepareProgress } from './graph-source.js';
import { type EdgeColumns, listOf, type PreprocessOptions } from './preprocess-options.js';

/** One opened input. */
export interface EdgeInput {
  readonly name: string;
  readonly header: readonly string[] | null;
  readonly indices: ColumnIndices;
  /** Sends all edges to the spool; returns their number. */
  read(spool: EdgeSpool): Promise<number>;
}

/** Opens DuckDB on first use. */
export type Connect = () => Promise<DuckDBConnection>;

/** Opens the files or queries of the options and finds their columns. */
export async function openEdgeInputs(
  options: PreprocessOptions,
  connect: Connect,
  note: OnNote,
): Promise<EdgeInput[]> {
  const inputs: EdgeInput[] = [];
  for (const [i, query] of listOf(options.query).entries())
    inputs.push(await queryInput(await connect(), query, i, options));
  for (const path of listOf(options.edges)) inputs.push(await fileInput(path, options, connect, note));
  for (const { name, header, indices } of inputs) {
    const unused = unusedColumnsNote(name, header, indices);
    if (unused !== null) note(unused);
  }
  const [first] = inputs;
  const other = inputs.find(({ indices }) => (indices.type === null) !== (first.indices.type === null));
  if (other !== undefined)
    throw new FormatError(
      `${other.name}: expected ${first.indices.type === null ? 'no column' : 'a column'} of edge types, as in ${first.name}, got ${other.indices.type === null ? 'none' : 'one'}.`,
      { path: other.name },
    );
  return inputs;
}

/** Sends the edges of all inputs to the spool; returns the number of each. */
export async function readInputs(
  inputs: readonly EdgeInput[],
  spool: EdgeSpool,
  progress: OnPrepareProgress,
): Promise<number[]> {
  const sizes: number[] = [];
  let before = 0;
  for (const input of inputs) {
    const rows = await input.read(spool);
    if (rows === 0) throw noEdgesError(input.name);
    sizes.push(rows);
    before += rows;
    progress({ stage: 'read', done: before, total: 0 });
  }
  return sizes;
}

function noEdgesError(name: string): FormatError {
  return new FormatError(
    `${name}: expected at least one edge, got none. Check the file, its delimiter and its header.`,
    { path: name },
  );
}

async function fileInput(
  path: string,
  options: PreprocessOptions,
  connect: Connect,
  note: OnNote,
): Promise<EdgeInput> {
  if (!existsSync(path))
    throw new StorageError(`preprocess: expected to read ${path}, got ENOENT. Check the path.`, {
      path,
    });
  const format = options.format ?? formatOf(path);
  if (format === 'delimited') {
    const found = await edgeLayout(path, options, note);
    if (found === null) throw noEdgesError(path);
    const { layout, indices } = found;
    return { name: path, header: layout.header, indices, read: (spool) => readText(layout, indices, spool) };
  }
  return tableInput(await connect(), path, tableRelation(path, format), options);
}

/** Returns the format of a file by its extension. */
export function formatOf(path: string): 'delimited' | 'parquet' | 'json' {
  const name = path.replace(/\.gz$/, '');
  if (/\.parquet$/i.test(name)) return 'parquet';
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'json' : 'delimited';
}

/** Returns an SQL expression that reads a file as a table. */
export function tableRelation(path: string, format: 'parquet' | 'json'): string {
  return `${format === 'parquet' ? 'read_parquet' : 'read_json_auto'}(${sqlPath(path)})`;
}

/** Returns the layout and the columns of an edge file; null if it is empty. */
export async function edgeLayout(
  path: string,
  options: EdgeColumns,
  onNote?: OnNote,
): Promise<{ layout: TextLayout; indices: ColumnIndices } | null> {
  const { delimiter, comment, header } = options;
  const wanted = [options.source, options.target, options.edgeType, options.edgeWeight];
  const layout = await findTextLayout(path, { header, delimiter, comment, wanted, onNote });
  if (layout === null) return null;
  return { layout, indices: resolveColumns(path, layout.header, layout.width, options) };
}

async function readText(layout: TextLayout, indices: ColumnIndices, spool: EdgeSpool): Promise<number> {
  const { source, target, type, weight } = indices;
  let rows = 0;
  for await (const block of readRecords(layout)) {
    const { buffer, bounds, width, lines } = block;
    for (let row = 0; row < block.rows; row++) {
      const at = 2 * row * width;
      const [s, d] = [at + 2 * source, at + 2 * target];
      const problem = spool.add(buffer, bounds[s], bounds[s + 1], bounds[d], bounds[d + 1]);
      const typed = type === null ? null : at + 2 * type;
      const worse =
        problem ?? (typed === null ? null : spool.addType(buffer, bounds[typed], bounds[typed + 1]));
      const weighed = weight === null ? null : at + 2 * weight;
      const worst =
        worse ?? (weighed === null ? null : spool.addWeight(buffer, bounds[weighed], bounds[weighed + 1]));
      if (worst === null) continue;
      const line = lines[row];
      throw new FormatError(`${layout.path}:${line}: ${worst}.`, { path: layout.path, line });
    }
    rows += block.rows;
  }
  return rows;
}

async function queryInput(
  connection: DuckDBConnection,
  query: string,
  index: number,
  options: PreprocessOptions,
): Promise<EdgeInput> {
  const table = `given${index}`;
  const name = `query ${index + 1}`;
  try {
    // Materialised, so that an ORDER BY of the query is kept.
    await connection.run(`CREATE TABLE ${table} AS ${query}`);
  } catch (error) {
    const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
    throw new ValueError(
      `preprocess: expected a query that DuckDB runs for ${name}, got ${reason}`,
      {},
      { cause: error },
    );
  }
  return tableInput(connection, name, table, options);
}

async function tableInput(
  connection: DuckDBConnection,
  name: string,
  relation: string,
  options: PreprocessOptions,
): Promise<EdgeInput> {
  let header: string[];
  try {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${relation}`);
    header = described.getRows().map((row) => String(row[0]));
  } catch (error) {
    const reason = (error as Error).message.split('\n').slice(0, 2).join(' ');
    throw new FormatError(`${name}: expected a table, got ${reason}`, { path: name }, { cause: error });
  }
  const indices = resolveColumns(name, header, header.length, options);
  const order = relation.startsWith('given') ? ' ORDER BY rowid' : '';
  const wanted = [indices.source, indices.target, indices.type, indices.weight].filter(
    (index) => index !== null,
  );
  const columns = wanted.map((index) => `${sqlName(header[index])}::VARCHAR`).join(', ');
  const sql = `SELECT ${columns} FROM ${relation}${order}`;
  return { name, header, indices, read: (spool) => readTable(connection, sql, name, indices, spool) };
}

/** Reads the rows of a table as text, which is then parsed as the text of files is. */
async function readTable(
  connection: DuckDBConnection,
  sql: string,
  name: string,
  { type, weight }: ColumnIndices,
  spool: EdgeSpool,
): Promise<number> {
  let rows = 0;
  for await (const chunk of queryChunks(connection, sql)) {
    const columns = Array.from({ length: 2 + (type === null ? 0 : 1) + (weight === null ? 0 : 1) }, (_, c) =>
      chunk.strings(c),
    );
    const [source, target] = columns;
    for (let i = 0; i < chunk.rows; i++) {
      const [s, d] = [Buffer.from(source[i] ?? ''), Buffer.from(target[i] ?? '')];
      const ends = Buffer.concat([s, d]);
      const text = (column: number): Buffer => Buffer.from(columns[column][i] ?? '');
      const problem =
        spool.add(ends, 0, s.length, s.length, ends.length) ??
        (type === null ? null : spool.addType(text(2), 0, text(2).length)) ??
        (weight === null
          ? null
          : spool.addWeight(text(columns.length - 1), 0, text(columns.length - 1).length));
      if (problem !== null)
        throw new FormatError(`${name}: ${problem} in row ${rows + i + 1}.`, {
          path: name,
          row: rows + i + 1,
        });
    }
    rows += chunk.rows;
  }
  return rows;
}
