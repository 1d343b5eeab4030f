/**
 * DuckDB, loaded when the first file needs it: it parses and remaps text tables out of core and in parallel.
 *
 * Unless a path is given the database lives in memory; it reads local files only and installs no extension.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StateError } from '../../util/errors.js';

/** Runs `work` with a connection to a fresh database and closes it. `settings` are DuckDB's own. */
export async function withDuckDb<T>(
  work: (connection: DuckDBConnection) => Promise<T>,
  path = ':memory:',
  settings: Readonly<Record<string, string>> = {},
): Promise<T> {
  const { DuckDBInstance } = await load();
  const database = await DuckDBInstance.create(path, {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    temp_directory: join(tmpdir(), `skein-duckdb-${process.pid}`),
    ...settings,
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

/** A name of a column or table in SQL. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Columns of one chunk of a result, whole vectors where DuckDB keeps one; `null` values are the caller's to exclude. */
export interface ColumnChunk {
  readonly rows: number;
  /** Numbers of column c: an array of DuckDB's own memory, gone with the next chunk. */
  numbers(c: number): ArrayLike<number>;
  strings(c: number): readonly string[];
}

/** The result of a query, chunk after chunk; memory is that of one chunk. */
export async function* queryChunks(connection: DuckDBConnection, sql: string): AsyncGenerator<ColumnChunk> {
  const result = await connection.stream(sql);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    yield {
      rows: chunk.rowCount,
      numbers: (c) => {
        const { items } = chunk.getColumnVector(c) as { items?: ArrayLike<number> };
        return items !== undefined && ArrayBuffer.isView(items)
          ? items
          : (chunk.getColumnValues(c) as unknown[]).map(Number);
      },
      strings: (c) => chunk.getColumnValues(c) as string[],
    };
  }
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
