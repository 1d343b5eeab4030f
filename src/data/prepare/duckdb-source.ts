/**
 * A graph source on DuckDB, for input larger than memory: ids are numbered in order of first appearance (row by row,
 * source before destination, then nodes of the node files), edges come back joined to their numbers in the order of the input.
 *
 * Positions are row numbers and every result has an ORDER BY, so the numbers do not depend on threads or on the version
 * of DuckDB.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { FormatError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import { queryChunks, queryRow, queryStrings } from '../formats/duckdb.js';
import type { NodeSplits } from '../node-data.js';
import { randomNodeSplit } from '../transforms.js';
import { type EdgeTable, loadEdges } from './edge-input.js';
import type { EdgeBlock, FeatureBlock, GraphSource, NodeTables, OnPrepareProgress } from './graph-source.js';
import { loadNodeInput, type NodeInput, npyBlocks } from './node-input.js';
import type { PreprocessOptions } from './preprocess-options.js';

/** Reads the input that the options name; `folder` takes what must be written on the way. */
export async function duckDbSource(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  folder: string,
  progress: OnPrepareProgress,
): Promise<GraphSource> {
  if (options.setup !== undefined) await connection.run(options.setup);
  const edges = await loadEdges(connection, options, progress);
  const input = await loadNodeInput(connection, options, folder);
  const remap = !(options.noRemapIds ?? false);
  progress({ stage: 'number', done: 0, total: 2 });
  const numNodes = remap
    ? await numberNames(connection, 'node', nodePositions(input))
    : await largestId(connection, options, input);
  progress({ stage: 'number', done: 1, total: 2 });
  const numRelations = edges.hasTypes ? await countTypes(connection, options, remap) : 0;
  progress({ stage: 'number', done: 2, total: 2 });
  if (numNodes > 2 ** 31 - 1)
    throw new FormatError(`preprocess: expected fewer than 2^31 nodes, got ${numNodes}.`);
  return {
    numNodes,
    numRelations,
    hasWeights: edges.hasWeights,
    parts: edges.parts,
    blocks: () => edgeBlocks(connection, edges, remap),
    nodeNames: () => (remap ? nameBlocks(connection, 'node') : null),
    relationNames: () => (remap && edges.hasTypes ? nameBlocks(connection, 'kind') : null),
    nodes: await nodeTables(connection, options, input, numNodes, remap),
  };
}

/** All names with their positions: edges first, then the tables of nodes in their order. */
function nodePositions(input: NodeInput): string {
  return [
    'SELECT s AS name, 2 * rowid AS pos FROM edge UNION ALL SELECT d, 2 * rowid + 1 FROM edge',
    ...input.tables.map((table, i) => `SELECT name, ${(i + 1) * 2 ** 42} + rowid FROM ${table}`),
  ].join(' UNION ALL ');
}

/** A table (name, id) with ids in order of first appearance; returns how many. */
async function numberNames(connection: DuckDBConnection, table: string, positions: string): Promise<number> {
  await connection.run(
    `CREATE TABLE ${table} AS SELECT name, (row_number() OVER (ORDER BY pos) - 1)::INTEGER AS id FROM (SELECT name, min(pos) AS pos FROM (${positions}) GROUP BY name)`,
  );
  return (await queryRow(connection, `SELECT count(*) FROM ${table}`))[0];
}

/** The number of nodes whose ids stay: as told, or from the largest. */
async function largestId(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  input: NodeInput,
): Promise<number> {
  for (const table of input.tables) {
    const result = await connection.runAndReadAll(
      `SELECT name FROM ${table} WHERE NOT regexp_full_match(name, '[0-9]{1,10}') OR name::BIGINT >= ${options.numNodes ?? 2 ** 31 - 1} ORDER BY rowid LIMIT 1`,
    );
    const wrong = result.getRows()[0]?.[0];
    if (wrong !== undefined)
      throw new FormatError(
        `preprocess: expected whole numbers below ${options.numNodes ?? 2 ** 31 - 1} for node ids with noRemapIds, got ${JSON.stringify(wrong)}.`,
      );
  }
  const [largest] = await queryRow(connection, `SELECT max(name::BIGINT) FROM (${nodePositions(input)})`);
  return options.numNodes ?? largest + 1;
}

async function countTypes(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  remap: boolean,
): Promise<number> {
  if (remap) return numberNames(connection, 'kind', 'SELECT k AS name, rowid AS pos FROM edge');
  const [largest] = await queryRow(connection, 'SELECT max(k::BIGINT) FROM edge');
  if (options.numRelations !== undefined && largest >= options.numRelations)
    throw new FormatError(
      `preprocess: expected relations from 0 to ${options.numRelations - 1}, got ${largest}. Raise numRelations.`,
    );
  return options.numRelations ?? largest + 1;
}

const blockRows = 1 << 16;

async function* edgeBlocks(
  connection: DuckDBConnection,
  edges: EdgeTable,
  remap: boolean,
): AsyncGenerator<EdgeBlock> {
  const types = edges.hasTypes;
  const selected = [
    ...(remap ? ['a.id', 'b.id'] : ['s::INTEGER', 'd::INTEGER']),
    ...(types ? [remap ? 'kind.id' : 'k::INTEGER'] : []),
    ...(edges.hasWeights ? ['w::FLOAT'] : []),
  ].join(', ');
  const joins = remap
    ? `JOIN node a ON a.name = s JOIN node b ON b.name = d ${types ? 'JOIN kind ON kind.name = k' : ''}`
    : '';
  const src = new Int32Array(blockRows);
  const dst = new Int32Array(blockRows);
  const rel = types ? new Int32Array(blockRows) : null;
  const weight = edges.hasWeights ? new Float32Array(blockRows) : null;
  const columns = [src, dst, rel, weight].filter((column) => column !== null);
  let count = 0;
  const sql = `SELECT ${selected} FROM edge ${joins} ORDER BY edge.rowid`;
  for await (const chunk of queryChunks(connection, sql)) {
    if (count + chunk.rows > blockRows) {
      yield { count, src, rel, dst, weight };
      count = 0;
    }
    columns.forEach((column, c) => {
      column.set(firstOf(chunk.numbers(c), chunk.rows), count);
    });
    count += chunk.rows;
  }
  if (count > 0) yield { count, src, rel, dst, weight };
}

/** The first values of a vector that may be longer than its chunk. */
function firstOf(values: ArrayLike<number>, rows: number): ArrayLike<number> {
  return values.length === rows ? values : (values as Int32Array).subarray(0, rows);
}

async function* nameBlocks(connection: DuckDBConnection, table: string): AsyncGenerator<readonly string[]> {
  for await (const chunk of queryChunks(connection, `SELECT name FROM ${table} ORDER BY id`))
    yield chunk.strings(0);
}

/** SQL for the numbers of a table's names, with other columns, in the order of the table. */
function numberedSql(table: string, columns: string, remap: boolean): string {
  const id = remap ? 'node.id' : `${table}.name::INTEGER`;
  const join = remap ? `JOIN node ON node.name = ${table}.name` : '';
  return `SELECT ${id}${columns} FROM ${table} ${join} ORDER BY ${table}.rowid`;
}

async function idsOf(connection: DuckDBConnection, table: string, remap: boolean): Promise<Int32Array> {
  const [rows] = await queryRow(connection, `SELECT count(*) FROM ${table}`);
  const ids = new Int32Array(rows);
  let at = 0;
  for await (const chunk of queryChunks(connection, numberedSql(table, '', remap))) {
    ids.set(firstOf(chunk.numbers(0), chunk.rows), at);
    at += chunk.rows;
  }
  return ids;
}

async function nodeTables(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  input: NodeInput,
  numNodes: number,
  remap: boolean,
): Promise<NodeTables | null> {
  const { features, labels, parts } = input;
  if (features === null && labels === null && parts === null) return null;
  const rowTable = input.tables.includes('known_node') ? 'known_node' : 'row_name';
  if (features !== null)
    await refuseMissing(connection, options, features.npy === null ? 'feature' : rowTable, numNodes, remap);
  const classes =
    labels === null
      ? null
      : labels === 'table'
        ? await tableClasses(connection, numNodes, remap)
        : await rowClasses();
  async function rowClasses(): Promise<{ labels: Int32Array; classNames: null }> {
    const placed = new Int32Array(numNodes).fill(-1);
    (await idsOf(connection, rowTable, remap)).forEach((node, row) => {
      placed[node] = (labels as Int32Array)[row];
    });
    return { labels: placed, classNames: null };
  }
  return {
    features:
      features === null
        ? null
        : {
            width: features.width,
            blocks: () =>
              features.npy === null
                ? featureBlocks(connection, features.width, remap)
                : npyFeatures(connection, features.npy, rowTable, remap),
          },
    labels: classes?.labels ?? null,
    numClasses:
      classes?.classNames?.length ?? (classes?.labels.reduce((a, b) => Math.max(a, b), -1) ?? -1) + 1,
    classNames: classes?.classNames ?? null,
    splits: await nodeSplits(connection, options, parts, classes?.labels ?? null, remap),
  };
}

/** Every node needs a row of features. */
async function refuseMissing(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  table: string,
  numNodes: number,
  remap: boolean,
): Promise<void> {
  const all = remap
    ? 'SELECT name, id FROM node'
    : `SELECT range::VARCHAR AS name, range AS id FROM range(${numNodes})`;
  const missing = `(${all}) AS n WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE ${table}.name = n.name)`;
  const [count] = await queryRow(connection, `SELECT count(*) FROM ${missing}`);
  if (count === 0) return;
  const [name] = await queryStrings(connection, `SELECT name FROM ${missing} ORDER BY id LIMIT 1`);
  throw new FormatError(
    `${options.nodeFeatures}: expected a row for every node, got none for ${count} of ${numNodes}, the first being ${JSON.stringify(name)}.`,
    { path: options.nodeFeatures, missing: count },
  );
}

/** Classes of the table `label`: numbers as they are, other words in order of first appearance. */
async function tableClasses(
  connection: DuckDBConnection,
  numNodes: number,
  remap: boolean,
): Promise<{ labels: Int32Array; classNames: string[] | null }> {
  const [words] = await queryRow(
    connection,
    "SELECT count(*) FROM label WHERE NOT (regexp_full_match(value, '[0-9]{1,9}') OR value = '-1')",
  );
  let classNames: string[] | null = null;
  let number = 'value::INTEGER';
  if (words > 0) {
    await numberNames(connection, 'class', 'SELECT value AS name, rowid AS pos FROM label');
    classNames = await queryStrings(connection, 'SELECT name FROM class ORDER BY id');
    number = '(SELECT id FROM class WHERE class.name = label.value)';
  }
  const labels = new Int32Array(numNodes).fill(-1);
  for await (const chunk of queryChunks(connection, numberedSql('label', `, ${number}`, remap))) {
    const [nodes, values] = [chunk.numbers(0), chunk.numbers(1)];
    for (let i = 0; i < chunk.rows; i++) labels[nodes[i]] = values[i];
  }
  return { labels, classNames };
}

async function nodeSplits(
  connection: DuckDBConnection,
  options: PreprocessOptions,
  parts: NodeInput['parts'],
  labels: Int32Array | null,
  remap: boolean,
): Promise<NodeSplits | null> {
  if (parts !== null) {
    const lists: Int32Array[] = [];
    const seen = new Set<number>();
    for (const table of parts) {
      const ids = table === null ? new Int32Array(0) : await idsOf(connection, table, remap);
      for (const id of ids) {
        if (seen.has(id))
          throw new FormatError(`preprocess: expected each node in one part, got one twice (${table}).`);
        seen.add(id);
      }
      lists.push(ids.sort());
    }
    return { train: lists[0], valid: lists[1], test: lists[2] };
  }
  if (options.nodeSplit === undefined || labels === null) return null;
  const [train, valid] = options.nodeSplit;
  const seed = new Random(options.seed ?? 1).split(4).nextUint32();
  const fractions = { train, valid: options.nodeSplit.length === 3 ? Math.min(valid, 1 - train) : 0 };
  return randomNodeSplit(labels, { fractions, seed });
}

async function* featureBlocks(
  connection: DuckDBConnection,
  width: number,
  remap: boolean,
): AsyncGenerator<FeatureBlock> {
  const columns = Array.from({ length: width }, (_, i) => `, f${i}`).join('');
  for await (const chunk of queryChunks(connection, numberedSql('feature', columns, remap))) {
    const values = new Float32Array(chunk.rows * width);
    for (let c = 0; c < width; c++) {
      const column = chunk.numbers(c + 1);
      for (let r = 0; r < chunk.rows; r++) values[r * width + c] = column[r];
    }
    yield { nodes: Int32Array.from(firstOf(chunk.numbers(0), chunk.rows)), values };
  }
}

async function* npyFeatures(
  connection: DuckDBConnection,
  npy: NonNullable<NonNullable<NodeInput['features']>['npy']>,
  table: string,
  remap: boolean,
): AsyncGenerator<FeatureBlock> {
  const ids = await idsOf(connection, table, remap);
  let row = 0;
  for await (const values of npyBlocks(npy)) {
    const rows = values.length / npy.width;
    yield { nodes: ids.subarray(row, row + rows), values };
    row += rows;
  }
}
