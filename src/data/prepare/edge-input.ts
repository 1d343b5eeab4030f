/**
 * Edges of files and queries as a DuckDB table `edge`: s, d (text), k (text) where there are types, w (double) where there
 * are weights, in the order of the input, the parts one after another.
 *
 * Checks every row; what is wrong is reported with file and line (delimited files) or row (tables).
 */
import { existsSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { expected, FormatError, SkeinError, StorageError, ValueError } from '../../util/errors.js';
import { queryRow, sqlName, sqlPath } from '../formats/duckdb.js';
import { selectSql, validSql } from '../formats/edge-list.js';
import {
  type Column,
  explainEdgeList,
  f32Limit,
  findLayout,
  type Layout,
} from '../formats/edge-list-layout.js';
import { checkGzip, checkLineEnds } from '../formats/text-lines.js';
import type { OnPrepareProgress } from './graph-source.js';
import { type EdgeColumns, listOf, type PreprocessOptions } from './preprocess-options.js';

export interface EdgeTable {
  /** Rows of each part. */
  readonly parts: readonly number[];
  readonly hasTypes: boolean;
  readonly hasWeights: boolean;
}

/** Where the four columns are. */
export interface Places {
  readonly source: number;
  readonly target: number;
  readonly type: number | null;
  readonly weight: number | null;
}

/** One input, ready to be read. */
interface Input {
  readonly name: string;
  readonly sql: string;
  readonly layout: Layout;
  /** Whether `name` is a delimited file, whose lines can be looked at again. */
  readonly lines: boolean;
}

/** Makes the table `edge`. */
export async function loadEdges(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  progress: OnPrepareProgress,
): Promise<EdgeTable> {
  const parts: number[] = [];
  const queries = listOf(options.query);
  const names = queries.length > 0 ? queries : listOf(options.edges);
  let before = 0;
  let first: Input | null = null;
  for (const [i, name] of names.entries()) {
    const input =
      queries.length > 0
        ? await queryInput(connection, name, i, options)
        : await fileInput(connection, name, options);
    first ??= input;
    const rows = await readInput(connection, input, before);
    parts.push(rows);
    before += rows;
    progress({ stage: 'read', done: before, total: 0 });
  }
  const layout = (first as Input).layout;
  return { parts, hasTypes: layout.type !== null, hasWeights: layout.weight !== null };
}

async function readInput(connection: DuckDBConnection, input: Input, before: number): Promise<number> {
  try {
    const exists = before > 0;
    await connection.run(exists ? `INSERT INTO edge ${input.sql}` : `CREATE TABLE edge AS ${input.sql}`);
  } catch (error) {
    return refuseInput(input, error);
  }
  const [rows, wrong] = await queryRow(
    connection,
    `SELECT count(*), count(*) FILTER (WHERE NOT coalesce(${validSql(input.layout)}, false)) FROM edge WHERE rowid >= ${before}`,
  );
  if (rows === 0) throw noEdges(input.name);
  if (wrong > 0) {
    if (input.lines) return refuseInput(input, new Error(`${wrong} lines that are not edges`));
    await explainRow(connection, input, before);
  }
  return rows;
}

/** The slow second look at a file that was refused. */
async function refuseInput({ name, layout, lines }: Input, error: unknown): Promise<never> {
  if (error instanceof SkeinError) throw error;
  if (lines) {
    await explainEdgeList(layout);
    await checkLineEnds(name);
  }
  const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
  throw new FormatError(`${name}: expected edges, got ${reason}`, { path: name }, { cause: error });
}

/** Throws the error of the first row of a table that is no edge. */
async function explainRow(
  connection: DuckDBConnection,
  { name, layout }: Input,
  before: number,
): Promise<never> {
  const result = await connection.runAndReadAll(
    `SELECT * FROM (SELECT row_number() OVER (ORDER BY rowid) AS row, * FROM edge WHERE rowid >= ${before}) WHERE NOT coalesce(${validSql(layout)}, false) ORDER BY row LIMIT 1`,
  );
  const found = result.getRowObjects()[0];
  const row = Number(found['row']);
  const say = (what: string, column: string, value: unknown): never => {
    throw new FormatError(
      `${name}: expected ${what} for the ${column} in row ${row}, got ${value === null ? 'null' : JSON.stringify(value)}.`,
      { path: name, row },
    );
  };
  const id = layout.names ? 'an id' : `a whole number from 0 to ${(layout.numNodes ?? 2 ** 31 - 1) - 1}`;
  const wrongId = (value: unknown): boolean =>
    value === null || value === '' || (!layout.names && !/^\d{1,10}$/.test(String(value)));
  if (wrongId(found['s'])) say(id, 'source', found['s']);
  if (wrongId(found['d'])) say(id, 'destination', found['d']);
  const { k = '0', w = 0 } = found as { k?: unknown; w?: unknown };
  if (k === null || k === '' || (layout.integerTypes && !/^\d{1,9}$/.test(String(k))))
    say(layout.integerTypes ? 'a whole number' : 'a word', 'type', k);
  if (typeof w !== 'number' || !(Math.abs(w) < f32Limit)) say('a finite number', 'weight', String(w));
  return say(id, 'source or destination', [found['s'], found['d']]);
}

function noEdges(name: string): FormatError {
  return new FormatError(
    `${name}: expected at least one edge, got none. Look at the file, its delimiter and header.`,
    {
      path: name,
    },
  );
}

async function fileInput(
  connection: DuckDBConnection,
  path: string,
  options: PreprocessOptions,
): Promise<Input> {
  if (!existsSync(path))
    throw new StorageError(`preprocess: expected to read ${path}, got ENOENT. Look at the spelling.`, {
      path,
    });
  const format = options.format ?? formatOf(path);
  if (format === 'delimited') return delimitedInput(path, options);
  const relation =
    format === 'parquet' ? `read_parquet(${sqlPath(path)})` : `read_json_auto(${sqlPath(path)})`;
  return tableInput(connection, path, relation, options);
}

/** The format of a file by its ending. */
export function formatOf(path: string): 'delimited' | 'parquet' | 'json' {
  const name = path.replace(/\.gz$/, '');
  if (/\.parquet$/i.test(name)) return 'parquet';
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'json' : 'delimited';
}

async function queryInput(
  connection: DuckDBConnection,
  query: string,
  index: number,
  options: PreprocessOptions,
): Promise<Input> {
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
): Promise<Input> {
  let header: string[];
  try {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${relation}`);
    header = described.getRows().map((row) => String(row[0]));
  } catch (error) {
    const reason = (error as Error).message.split('\n').slice(0, 2).join(' ');
    throw new FormatError(`${name}: expected a table, got ${reason}`, { path: name }, { cause: error });
  }
  const places = resolvePlaces(name, header, header.length, options);
  const column = (place: number): string => sqlName(header[place]);
  const selected = [
    `CAST(${column(places.source)} AS VARCHAR) AS s, CAST(${column(places.target)} AS VARCHAR) AS d`,
    ...(places.weight === null ? [] : [`try_cast(${column(places.weight)} AS DOUBLE) AS w`]),
    ...(places.type === null ? [] : [`CAST(${column(places.type)} AS VARCHAR) AS k`]),
  ];
  const order = relation.startsWith('given') ? ' ORDER BY rowid' : '';
  const layout: Layout = {
    ...{ path: name, delimiter: ',', comment: '', quoted: false, skip: 0, skipPlain: 0 },
    ...{ width: header.length, header, ...places, time: null, idBase: 0 },
    ...idRules(options),
  };
  return { name, sql: `SELECT ${selected.join(', ')} FROM ${relation}${order}`, layout, lines: false };
}

async function delimitedInput(path: string, options: PreprocessOptions): Promise<Input> {
  // DuckDB takes what it can of a file that is cut off.
  if (path.endsWith('.gz')) await checkGzip(path);
  const { delimiter, comment } = options;
  const named = [options.source, options.target, options.edgeType, options.edgeWeight];
  const found = await findLayout(path, {
    ...{ source: 0, target: 0, ids: 'names' },
    header: options.header ?? named.some((column) => typeof column === 'string'),
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(comment === undefined ? {} : { comment }),
  });
  if (found === null) throw noEdges(path);
  // DuckDB skips the wrong lines where the ends of those before the first edge differ.
  await checkLineEnds(path, found.skip + 1);
  const layout: Layout = {
    ...found,
    ...resolvePlaces(path, found.header, found.width, options),
    ...idRules(options),
  };
  return { name: path, sql: selectSql(layout), layout, lines: true };
}

function idRules(options: PreprocessOptions): Pick<Layout, 'names' | 'numNodes' | 'integerTypes' | 'advice'> {
  const integers = options.noRemapIds ?? false;
  return {
    names: !integers,
    numNodes: options.numNodes ?? null,
    integerTypes: integers,
    advice: 'ids are kept as they are with noRemapIds',
  };
}

/** Where the columns of the options are; those that are missing are named with those that are there. */
export function resolvePlaces(
  name: string,
  header: readonly string[] | null,
  width: number,
  options: EdgeColumns,
): Places {
  const have = header === null ? `${width} columns without a header` : `the columns ${header.join(', ')}`;
  const place = (what: string, column: Column): number => {
    const found = typeof column === 'number' ? column : (header?.indexOf(column) ?? -1);
    if (found >= 0 && found < width) return found;
    throw new ValueError(expected(name, `one of ${have}`, what, column), {
      path: name,
      columns: header ?? width,
    });
  };
  const { source, target, edgeType, edgeWeight } = options;
  const weight = edgeWeight === undefined ? null : place('edgeWeight', edgeWeight);
  if (source === undefined && target === undefined && edgeType === undefined) {
    const rest = Array.from({ length: width }, (_, i) => i).filter((i) => i !== weight);
    if (rest.length === 2) return { source: rest[0], target: rest[1], type: null, weight };
    if (rest.length === 3) return { source: rest[0], type: rest[1], target: rest[2], weight };
    throw new ValueError(expected(name, 'source and target to be named', 'columns', have), { path: name });
  }
  if (source === undefined || target === undefined)
    throw new ValueError(
      expected(name, `one of ${have}`, source === undefined ? 'source' : 'target', undefined),
      {
        path: name,
      },
    );
  return {
    source: place('source', source),
    target: place('target', target),
    type: edgeType === undefined ? null : place('edgeType', edgeType),
    weight,
  };
}
