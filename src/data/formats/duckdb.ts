/**
 * DuckDB, loaded when the first file needs it: it parses and remaps text tables out of core and in parallel.
 *
 * The database lives in memory, reads local files only and loads no extension.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StateError } from '../../util/errors.js';

/** Runs `work` with a connection to a fresh database and closes it. */
export async function withDuckDb<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const { DuckDBInstance } = await load();
  const database = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    temp_directory: join(tmpdir(), `skein-duckdb-${process.pid}`),
  });
  try {
    const connection = await database.connect();
    try {
      return await work(connection);
    } finally {
      connection.closeSync();
    }
  } finally {
    database.closeSync();
  }
}

async function load(): Promise<typeof import('@duckdb/node-api')> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    throw new StateError(
      `edge list: expected the package @duckdb/node-api, got ${(error as Error).message.split('\n')[0]}. Run "npm install @duckdb/node-api"; it has binaries for Linux, macOS and Windows on x64 and arm64.`,
      {},
      { cause: error },
    );
  }
}

/** A string literal of SQL. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A file name for DuckDB's readers, which would take * ? [ for patterns. */
export function sqlPath(path: string): string {
  return sqlText(resolve(path).replace(/[*?[]/g, (c) => `[${c}]`));
}

/** The columns of numbers that a query gives. */
export async function queryNumbers(
  connection: DuckDBConnection,
  sql: string,
  columns: readonly (Int32Array | Float64Array | Float32Array)[],
): Promise<void> {
  const result = await connection.stream(sql);
  let row = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    columns.forEach((column, c) => {
      column.set(chunk.getColumnValues(c) as number[], row);
    });
    row += chunk.rowCount;
  }
}

/** The one row of whole numbers that a query gives. */
export async function queryRow(connection: DuckDBConnection, sql: string): Promise<number[]> {
  const result = await connection.runAndReadAll(sql);
  return result.getRows()[0].map(Number);
}

/** The strings of the one column that a query gives. */
export async function queryStrings(connection: DuckDBConnection, sql: string): Promise<string[]> {
  const result = await connection.runAndReadAll(sql);
  return result.getColumns()[0].map(String);
}
