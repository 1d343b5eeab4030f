/** The tables that can be read: files of several formats, and queries of databases. table-text.ts reads them. */
import { describe, expected, ValueError } from '../../util/errors.js';
import { parseDatabase } from './databases/database-url.js';
import { rdfFormatOf } from './rdf.js';

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
