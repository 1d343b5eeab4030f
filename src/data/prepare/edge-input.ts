/**
 * Edges of files and queries, streamed to an `EdgeSpool`: text through our own reader, Parquet, JSON and SQL through DuckDB. The
 * parts follow one another, rows in the order of the input. Every row is checked; what is wrong is reported with file and
 * line (text) or row (tables).
 */
import { existsSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { FormatError, StorageError, ValueError } from '../../util/errors.js';
import { readRecords } from '../formats/delimited.js';
import { queryChunks, sqlName, sqlPath } from '../formats/duckdb.js';
import { findTextLayout, type TextLayout } from '../formats/text-layout.js';
import { leftOutNote, type Places, resolvePlaces } from './edge-columns.js';
import type { EdgeSpool } from './edge-spool.js';
import type { OnNote, OnPrepareProgress } from './graph-source.js';
import { type EdgeColumns, listOf, type PreprocessOptions } from './preprocess-options.js';

/** One input, ready to be read. */
export interface EdgeInput {
  readonly name: string;
  readonly header: readonly string[] | null;
  readonly places: Places;
  /** Sends all edges; returns how many. */
  read(spool: EdgeSpool): Promise<number>;
}

/** Opens DuckDB when it is needed. */
export type Connect = () => Promise<DuckDBConnection>;

/** The files or queries of the options; columns are known then. */
export async function edgeInputs(
  options: PreprocessOptions,
  connect: Connect,
  note: OnNote,
): Promise<EdgeInput[]> {
  const inputs: EdgeInput[] = [];
  for (const [i, query] of listOf(options.query).entries())
    inputs.push(await queryInput(await connect(), query, i, options));
  for (const path of listOf(options.edges)) inputs.push(await fileInput(path, options, connect, note));
  for (const { name, header, places } of inputs) {
    const left = leftOutNote(name, header, places);
    if (left !== null) note(left);
  }
  const [first] = inputs;
  const other = inputs.find(({ places }) => (places.type === null) !== (first.places.type === null));
  if (other !== undefined)
    throw new FormatError(
      `${other.name}: expected ${first.places.type === null ? 'no column' : 'a column'} of edge types, as in ${first.name}, got ${other.places.type === null ? 'none' : 'one'}.`,
      { path: other.name },
    );
  return inputs;
}

/** Sends the edges of all inputs; returns the size of each part. */
export async function readInputs(
  inputs: readonly EdgeInput[],
  spool: EdgeSpool,
  progress: OnPrepareProgress,
): Promise<number[]> {
  const parts: number[] = [];
  let before = 0;
  for (const input of inputs) {
    const rows = await input.read(spool);
    if (rows === 0) throw noEdges(input.name);
    parts.push(rows);
    before += rows;
    progress({ stage: 'read', done: before, total: 0 });
  }
  return parts;
}

function noEdges(name: string): FormatError {
  return new FormatError(
    `${name}: expected at least one edge, got none. Look at the file, its delimiter and header.`,
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
    throw new StorageError(`preprocess: expected to read ${path}, got ENOENT. Look at the spelling.`, {
      path,
    });
  const format = options.format ?? formatOf(path);
  if (format === 'delimited') {
    const found = await edgeLayout(path, options, note);
    if (found === null) throw noEdges(path);
    const { layout, places } = found;
    return { name: path, header: layout.header, places, read: (spool) => readText(layout, places, spool) };
  }
  return tableInput(await connect(), path, tableRelation(path, format), options);
}

/** The format of a file by its ending. */
export function formatOf(path: string): 'delimited' | 'parquet' | 'json' {
  const name = path.replace(/\.gz$/, '');
  if (/\.parquet$/i.test(name)) return 'parquet';
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'json' : 'delimited';
}

/** A file as a table in SQL. */
export function tableRelation(path: string, format: 'parquet' | 'json'): string {
  return `${format === 'parquet' ? 'read_parquet' : 'read_json_auto'}(${sqlPath(path)})`;
}

/** Layout and columns of a text file of edges; null when it has none. */
export async function edgeLayout(
  path: string,
  options: EdgeColumns,
  onNote?: OnNote,
): Promise<{ layout: TextLayout; places: Places } | null> {
  const { delimiter, comment, header } = options;
  const wanted = [options.source, options.target, options.edgeType, options.edgeWeight];
  const layout = await findTextLayout(path, { header, delimiter, comment, wanted, onNote });
  if (layout === null) return null;
  return { layout, places: resolvePlaces(path, layout.header, layout.width, options) };
}

async function readText(layout: TextLayout, places: Places, spool: EdgeSpool): Promise<number> {
  const { source, target, type, weight } = places;
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
    // A table of its own: an ORDER BY of the query then holds for sure.
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
  const places = resolvePlaces(name, header, header.length, options);
  const order = relation.startsWith('given') ? ' ORDER BY rowid' : '';
  const wanted = [places.source, places.target, places.type, places.weight].filter((place) => place !== null);
  const columns = wanted.map((place) => `${sqlName(header[place])}::VARCHAR`).join(', ');
  const sql = `SELECT ${columns} FROM ${relation}${order}`;
  return { name, header, places, read: (spool) => readTable(connection, sql, name, places, spool) };
}

/** Rows of a table as text, which is then read as the text of files is. */
async function readTable(
  connection: DuckDBConnection,
  sql: string,
  name: string,
  { type, weight }: Places,
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
