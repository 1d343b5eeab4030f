/**
 * Tables that are not delimited text: Parquet, JSON, RDF, GraphML, and queries of databases. All become CSV text
 * (table-files.ts stores it), so that every reader of text reads them: edges, nodes, features, classes, events.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { describe, expected, ValueError } from '../../util/errors.js';
import { csvText } from './csv-text.js';
import { type Database, parseDatabase } from './databases/database-url.js';
import { readMySql } from './databases/mysql.js';
import { readPostgres } from './databases/postgres.js';
import { readSqlite } from './databases/sqlite.js';
import { readDuckQuery, readTableFile } from './duckdb-table.js';
import { graphmlTable } from './graphml.js';
import type { RdfStatement } from './n-triples.js';
import { rdfFormatOf, readStatements } from './rdf.js';

/** The result of a query. */
export interface TableQuery {
  /** A SELECT statement in the SQL of the database. */
  readonly query: string;
  /**
   * `postgres://…`, `mysql://…`, `mariadb://…`, `sqlite:FILE`, or a file .sqlite, .db or .duckdb. Default: DuckDB without a
   * database, whose queries read files: `SELECT * FROM 'events.parquet'`.
   */
  readonly database?: string;
}

/** A file, or the result of a query. */
export type TableSource = string | TableQuery;

/** The rows of a graph: GraphML has both in one file. */
export type TableKind = 'nodes' | 'edges';

/** Opens DuckDB on first use. */
export type Connect = () => Promise<DuckDBConnection>;

/** Formats of tables; `delimited` is CSV, TSV and similar text. */
export const tableFormats = ['delimited', 'parquet', 'json', 'rdf', 'graphml'] as const;
export type TableFormat = (typeof tableFormats)[number];

/** Returns the format of a file by its extension. */
export function formatOf(path: string): TableFormat {
  const name = path.replace(/\.gz$/i, '');
  if (/\.parquet$/i.test(name)) return 'parquet';
  if (/\.graphml$/i.test(name)) return 'graphml';
  if (rdfFormatOf(name) !== undefined) return 'rdf';
  return /\.(json|jsonl|ndjson)$/i.test(name) ? 'json' : 'delimited';
}

/** Throws unless a value is a path or a query. The error shows no address, which may contain a password. */
export function checkTableSource(where: string, name: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') {
    if (/^\s*(postgres|postgresql|mysql|mariadb|sqlite):/i.test(value))
      throw new ValueError(
        `${where}: expected a file for ${name}, got the address of a database. Give a query too: { database, query } (--database URL --query SQL).`,
      );
    return;
  }
  if (typeof value !== 'object' || value === null)
    throw new ValueError(expected(where, 'a path, or { query, database }', name, value));
  const unknown = Object.keys(value).find((key) => key !== 'query' && key !== 'database');
  if (unknown !== undefined) throw new ValueError(expected(where, 'query and database alone', name, unknown));
  const { query, database } = value as Partial<TableQuery>;
  if (typeof query !== 'string' || query.trim() === '')
    throw new ValueError(`${where}: expected SQL for ${name}.query, got ${describe(query)}.`);
  if (database !== undefined) parseDatabase(where, database);
}

/** Returns whether a value is a query. */
export function isTableQuery(value: unknown): value is TableQuery {
  return typeof value === 'object' && value !== null && typeof (value as TableQuery).query === 'string';
}

/** Returns whether a value is a file or a query. */
export function isTableSource(value: unknown): value is TableSource {
  return typeof value === 'string' || isTableQuery(value);
}

export interface TableRequest {
  readonly source: TableSource;
  readonly kind: TableKind;
  /** Name in messages. */
  readonly name: string;
  /** Default: by the extension. */
  readonly format?: TableFormat | undefined;
  /** Whether to keep statements of RDF with a literal. Default true. */
  readonly literals?: boolean | undefined;
}

/** Returns the CSV text of a table, with a header; null for delimited text, which is read as it is. */
export function tableText(
  { source, kind, name, format, literals = true }: TableRequest,
  connect: Connect,
): AsyncIterable<string | Uint8Array> | null {
  if (isTableQuery(source)) return queryText(source, name, connect);
  switch (format ?? formatOf(source)) {
    case 'delimited':
      return null;
    case 'parquet':
      return fileText(source, 'parquet', connect);
    case 'json':
      return fileText(source, 'json', connect);
    case 'rdf':
      return csvText(['subject', 'predicate', 'object'], statementRows(readStatements(source, { literals })));
    case 'graphml':
      return graphmlTable(source, kind === 'nodes' ? 'node' : 'edge');
  }
}

async function* fileText(path: string, format: 'parquet' | 'json', connect: Connect): AsyncGenerator<string> {
  yield* readTableFile(await connect(), path, format);
}

async function* statementRows(
  blocks: AsyncIterable<readonly RdfStatement[]>,
): AsyncGenerator<readonly (readonly string[])[]> {
  for await (const statements of blocks)
    yield statements.map(([subject, predicate, object]) => [subject, predicate, object]);
}

async function* queryText(
  { query, database }: TableQuery,
  name: string,
  connect: Connect,
): AsyncGenerator<string | Uint8Array> {
  const target: Database | null = database === undefined ? null : parseDatabase(name, database);
  switch (target?.kind) {
    case 'postgres':
      yield* readPostgres(target, query);
      break;
    case 'mysql':
      yield* readMySql(target, query);
      break;
    case 'sqlite':
      yield* readSqlite(target, query);
      break;
    default:
      yield* readDuckQuery(await connect(), {
        ...{ query, name },
        ...(target === null ? {} : { file: target.location }),
      });
  }
}
