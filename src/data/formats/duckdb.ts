/**
 * DuckDB, loaded if an input needs it: Parquet, JSON, SQL. It is an optional package; text is read without it.
 *
 * The database is in memory; queries read and write local files, and no extensions are installed.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { expected, StateError, ValueError } from '../../util/errors.js';

/** Runs `work` with a connection to a new database and closes it. */
export async function withDuckDb<T>(
  where: string,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  const database = lazyDuckDb(where);
  try {
    return await work(await database.connect());
  } finally {
    await database.close();
  }
}

export interface LazyDuckDb {
  /** Returns the connection; the first call loads the package and runs `setup`. */
  connect(): Promise<DuckDBConnection>;
  close(): Promise<void>;
}

/** Returns a database in memory that is opened at the first use. `settings` are those of DuckDB. */
export function lazyDuckDb(
  where: string,
  settings: Readonly<Record<string, string>> = {},
  setup?: string,
): LazyDuckDb {
  let opened: { database: DuckDBInstance; connection: DuckDBConnection } | null = null;
  return {
    connect: async () => {
      if (opened !== null) return opened.connection;
      const { DuckDBInstance: Instance } = await load(where);
      const database = await Instance.create(':memory:', {
        autoinstall_known_extensions: 'false',
        autoload_known_extensions: 'false',
        temp_directory: join(tmpdir(), `skein-duckdb-${process.pid}`),
        ...settings,
      });
      opened = { database, connection: await database.connect() };
      if (setup !== undefined) await runSetup(where, opened.connection, setup);
      return opened.connection;
    },
    close: async () => {
      opened?.connection.closeSync();
      opened?.database.closeSync();
      opened = null;
    },
  };
}

/** Runs the user's SQL; its errors are input errors. */
async function runSetup(where: string, connection: DuckDBConnection, sql: string): Promise<void> {
  try {
    await connection.run(sql);
  } catch (error) {
    const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0];
    throw new ValueError(expected(where, 'SQL that DuckDB runs', 'setup', sql, reason));
  }
}

type DuckDb = typeof import('@duckdb/node-api');

async function load(where: string): Promise<DuckDb> {
  const duckDb = await importPackage(where);
  checkDuckDb(where, duckDb);
  return duckDb;
}

/** Methods used of each class of the package. */
const methods: Readonly<Record<string, readonly string[]>> = {
  DuckDBInstance: ['connect', 'closeSync'],
  DuckDBConnection: ['run', 'runAndReadAll', 'stream', 'extractStatements', 'closeSync'],
  DuckDBExtractedStatements: ['prepare'],
  DuckDBPreparedStatement: ['destroySync'],
  DuckDBResult: ['fetchChunk'],
  DuckDBDataChunk: ['getColumnVector', 'getColumnValues'],
};

/**
 * Throws if the version of the package lacks a method that is used. To npm all its versions are prereleases (1.5.5-r.5), of
 * which a range admits those of one version only, so package.json admits any version and this checks it.
 */
export function checkDuckDb(where: string, duckDb: object): void {
  const classes = duckDb as Readonly<Record<string, { prototype?: Record<string, unknown> } | undefined>>;
  const missing = Object.entries(methods).flatMap(([name, used]) =>
    used
      .filter((method) => typeof classes[name]?.prototype?.[method] !== 'function')
      .map((m) => `${name}.${m}`),
  );
  const { DuckDBInstance: instance, version } = duckDb as Partial<DuckDb>;
  if (typeof instance?.create !== 'function') missing.push('DuckDBInstance.create');
  if (missing.length === 0) return;
  const found = typeof version === 'function' ? version() : 'an unknown version';
  throw new StateError(
    `${where}: expected a version of @duckdb/node-api that Skein can use, such as 1.5.5-r.5, got ${found} without ${missing.join(', ')}. Run "npm install @duckdb/node-api@1.5.5-r.5".`,
    { package: '@duckdb/node-api' },
  );
}

async function importPackage(where: string): Promise<DuckDb> {
  try {
    return await import('@duckdb/node-api');
  } catch (error) {
    throw new StateError(
      `${where}: expected the package @duckdb/node-api, which reads and writes Parquet, JSON and SQL, got ${(error as Error).message.split('\n')[0]}. Run "npm install @duckdb/node-api"; plain text (CSV, TSV) needs no package.`,
      { package: '@duckdb/node-api' },
      { cause: error },
    );
  }
}

/** Returns an SQL string literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns a file name for DuckDB's readers, which would expand * ? [ as patterns. */
export function sqlPath(path: string): string {
  return sqlText(resolve(path).replace(/[*?[]/g, (c) => `[${c}]`));
}

/** Returns a quoted SQL identifier. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Columns of one chunk of a result. The caller must exclude `null` values in the query. */
export interface ColumnChunk {
  readonly rows: number;
  /** Numbers of column c, in DuckDB's memory; valid until the next chunk. */
  numbers(c: number): ArrayLike<number>;
  strings(c: number): readonly string[];
}

/** Yields the result of a query in chunks, in the memory of one chunk. */
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
