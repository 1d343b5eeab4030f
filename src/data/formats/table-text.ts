/**
 * Tables that are not delimited text: Parquet, JSON, RDF, GraphML, and queries of databases. All become CSV text
 * (table-files.ts stores it), so that every reader of text reads them: edges, nodes, features, classes, events.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { csvText } from './csv-text.js';
import { type Database, parseDatabase } from './databases/database-url.js';
import { readMySql } from './databases/mysql.js';
import { readPostgres } from './databases/postgres.js';
import { readSqlite } from './databases/sqlite.js';
import { readDuckQuery, readTableFile } from './duckdb-table.js';
import { graphmlTable } from './graphml.js';
import type { RdfStatement } from './n-triples.js';
import { readStatements } from './rdf.js';
import { formatOf, isTableQuery, type TableQuery, type TableRequest } from './table-source.js';

/** Opens DuckDB on first use. */
export type Connect = () => Promise<DuckDBConnection>;

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
