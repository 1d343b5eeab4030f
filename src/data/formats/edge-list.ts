/**
 * Edge lists as text: CSV, TSV, SNAP (blanks or tabs, # comments), .gz too, with optional weight, time and type columns.
 *
 * DuckDB parses, checks and numbers the ids; edges keep the order of the file. A ragged line, an id that is no whole
 * number or out of range, and a weight or time that is no number are errors with file and line.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { expected, FormatError, SkeinError, ValueError } from '../../util/errors.js';
import type { EdgeArrays } from '../edges.js';
import { queryNumbers, queryRow, queryStrings, sqlPath, sqlText, withDuckDb } from './duckdb.js';
import {
  checkEdgeListOptions,
  type EdgeListOptions,
  explainEdgeList,
  f32Limit,
  findLayout,
  type Layout,
} from './edge-list-layout.js';
import { checkGzip, checkLineEnds } from './text-lines.js';

export interface EdgeList {
  readonly edges: EdgeArrays;
  /** The name of each node; null when ids are whole numbers. */
  readonly names: readonly string[] | null;
  readonly weight: Float32Array | null;
  readonly time: Float64Array | null;
  readonly type: Int32Array | null;
  readonly typeNames: readonly string[] | null;
}

/**
 * Reads an edge list.
 *
 * @example
 * const { edges, time } = await readEdgeList('CollegeMsg.txt', { time: 2, idBase: 1 });
 */
export async function readEdgeList(path: string, options: EdgeListOptions = {}): Promise<EdgeList> {
  if (typeof path !== 'string') throw new ValueError(expected('readEdgeList', 'a path', 'path', path));
  checkEdgeListOptions(options);
  // DuckDB takes what it can of a file that is cut off.
  if (path.endsWith('.gz')) await checkGzip(path);
  const layout = await findLayout(path, options);
  if (layout === null) {
    const none = new Int32Array(0);
    const edges = { numNodes: options.numNodes ?? 0, src: none, dst: none };
    const names = options.ids === 'names' ? [] : null;
    return { edges, names, weight: null, time: null, type: null, typeNames: null };
  }
  // DuckDB skips the wrong lines where the ends of those before the first edge differ.
  await checkLineEnds(path, layout.skip + 1);
  try {
    return await withDuckDb((connection) => readWith(connection, layout));
  } catch (error) {
    if (error instanceof SkeinError && !(error instanceof FormatError)) throw error;
    await explainEdgeList(layout);
    await checkLineEnds(path);
    // The second look found nothing: the reader's own words are all there is.
    const reason = (error as Error).message.split('\n').slice(0, 3).join(' ');
    throw new FormatError(`${path}: expected an edge list, got ${reason}`, { path }, { cause: error });
  }
}

async function readWith(connection: DuckDBConnection, layout: Layout): Promise<EdgeList> {
  await connection.run(`CREATE TABLE edge AS ${selectSql(layout)}`);
  const [rows, wrong] = await queryRow(
    connection,
    `SELECT count(*), count(*) FILTER (WHERE NOT coalesce(${validSql(layout)}, false)) FROM edge`,
  );
  // The layout was found by the first edge, so there is one.
  if (rows === 0) throw new FormatError(`${layout.path}: no line was read`, { path: layout.path });
  if (wrong > 0) throw new FormatError(`${layout.path}: ${wrong} lines are not edges`, { path: layout.path });
  const typeNames =
    layout.type === null
      ? null
      : await makeTable(connection, 'kind', 'SELECT k AS name, rowid AS pos FROM edge');
  const names = layout.names
    ? await makeTable(
        connection,
        'node',
        'SELECT s AS name, 2 * rowid AS pos FROM edge UNION ALL SELECT d, 2 * rowid + 1 FROM edge',
      )
    : null;

  const src = new Int32Array(rows);
  const dst = new Int32Array(rows);
  const weight = layout.weight === null ? null : new Float32Array(rows);
  const time = layout.time === null ? null : new Float64Array(rows);
  const type = layout.type === null ? null : new Int32Array(rows);
  const id = (column: string): string => `(${column}::BIGINT - ${layout.idBase})::INTEGER`;
  const selected = [
    ...(layout.names ? ['a.id', 'b.id'] : [id('s'), id('d')]),
    ...(weight === null ? [] : ['w']),
    ...(time === null ? [] : ['t']),
    ...(type === null ? [] : ['kind.id']),
  ];
  const joins = [
    ...(layout.names ? ['JOIN node a ON a.name = s JOIN node b ON b.name = d'] : []),
    ...(type === null ? [] : ['JOIN kind ON kind.name = k']),
  ];
  // Joins lose the order of the file; without them the table is in order as it is.
  const order = joins.length > 0 ? 'ORDER BY edge.rowid' : '';
  const columns = [src, dst, weight, time, type].filter((column) => column !== null);
  await queryNumbers(
    connection,
    `SELECT ${selected.join(', ')} FROM edge ${joins.join(' ')} ${order}`,
    columns,
  );
  const numNodes = names?.length ?? layout.numNodes ?? largest(src, dst) + 1;
  return { edges: { numNodes, src, dst }, names, weight, time, type, typeNames };
}

/** The wanted columns of the file: s, d, and w, t, k where asked for. */
export function selectSql(layout: Layout): string {
  const columns = Array.from({ length: layout.width }, (_, c) => `'c${c}': 'VARCHAR'`).join(', ');
  const quote = layout.quoted ? "'\"'" : "''";
  // A comment sign inside a name would cut the line there, so with text columns only leading comments are skipped.
  const comments = layout.comment !== '' && !layout.names && layout.type === null;
  const settings = [
    `delim = ${sqlText(layout.delimiter)}`,
    `columns = {${columns}}`,
    `quote = ${quote}, escape = ${quote}`,
    // With comments understood, the lines to skip are counted without them.
    ...(comments
      ? [`comment = ${sqlText(layout.comment)}, skip = ${layout.skipPlain}`]
      : [`skip = ${layout.skip}`]),
    `compression = ${layout.path.endsWith('.gz') ? "'gzip'" : "'none'"}`,
    'header = false, auto_detect = false, strict_mode = true, null_padding = false',
  ];
  const selected = [
    `c${layout.source} AS s, c${layout.target} AS d`,
    ...(layout.weight === null ? [] : [`try_cast(c${layout.weight} AS DOUBLE) AS w`]),
    ...(layout.time === null ? [] : [`try_cast(c${layout.time} AS DOUBLE) AS t`]),
    ...(layout.type === null ? [] : [`c${layout.type} AS k`]),
  ];
  return `SELECT ${selected.join(', ')} FROM read_csv(${sqlPath(layout.path)}, ${settings.join(', ')})`;
}

/** The condition that a row is an edge. */
export function validSql(layout: Layout): string {
  const limit = (layout.numNodes ?? 2 ** 31 - 1) + layout.idBase;
  // Where line ends are mixed, \r stays on the last field.
  const word = (column: string): string => `${column} <> '' AND right(${column}, 1) <> chr(13)`;
  const integer = (column: string): string =>
    // A cast alone would round 1.5 and take 1e3.
    `regexp_full_match(${column}, '[0-9]{1,10}') AND try_cast(${column} AS BIGINT) BETWEEN ${layout.idBase} AND ${limit - 1}`;
  return [
    ...(layout.names ? [word('s'), word('d')] : [integer('s'), integer('d')]),
    ...(layout.weight === null ? [] : [`isfinite(w) AND abs(w) < ${f32Limit}::DOUBLE`]),
    ...(layout.time === null ? [] : ['isfinite(t)']),
    ...(layout.type === null ? [] : [word('k')]),
    ...(layout.type !== null && layout.integerTypes ? ["regexp_full_match(k, '[0-9]{1,9}')"] : []),
  ].join(' AND ');
}

/** A table (name, id) with ids in order of first appearance; returns the names in that order. */
async function makeTable(connection: DuckDBConnection, table: string, names: string): Promise<string[]> {
  await connection.run(
    `CREATE TABLE ${table} AS SELECT name, (row_number() OVER (ORDER BY min(pos)) - 1)::INTEGER AS id FROM (${names}) GROUP BY name`,
  );
  return queryStrings(connection, `SELECT name FROM ${table} ORDER BY id`);
}

function largest(src: Int32Array, dst: Int32Array): number {
  let value = -1;
  for (let i = 0; i < src.length; i++) value = Math.max(value, src[i], dst[i]);
  return value;
}
