/** Results of SQLite files, with `node:sqlite`, which Node.js has from version 22.13. The file is opened for reading only. */
import { existsSync } from 'node:fs';
import { StateError, StorageError } from '../../../util/errors.js';
import { csvText, type RowBlock } from '../csv-text.js';
import { type Database, databaseError } from './database-url.js';

/** The part of `node:sqlite` that is used here; the types of Node.js 20 do not have it. */
export interface SqliteModule {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean }) => SqliteFile;
}

interface SqliteFile {
  prepare(sql: string): SqliteQuery;
  close(): void;
}

interface SqliteQuery {
  setReadBigInts(enabled: boolean): void;
  /** Names of the columns; absent in the first versions of the module. */
  columns?(): readonly { readonly name: string }[];
  iterate(): Iterable<Readonly<Record<string, unknown>>>;
}

const blockRows = 1000;

/** Yields the result of a query as CSV with a header. */
export async function* readSqlite(
  database: Database,
  query: string,
  given?: SqliteModule,
): AsyncGenerator<string> {
  const { location, shown } = database;
  const sqlite = given ?? loadModule(database);
  if (!existsSync(location))
    throw new StorageError(`preprocess: expected to read ${shown}, which does not exist. Check the path.`, {
      path: shown,
    });
  let file: SqliteFile | null = null;
  try {
    file = new sqlite.DatabaseSync(location, { readOnly: true });
    const statement = file.prepare(query);
    // Whole numbers beyond 2^53 would otherwise be an error.
    statement.setReadBigInts(true);
    const rows = statement.iterate()[Symbol.iterator]();
    const first = rows.next();
    const columns = statement.columns?.().map(({ name }) => name) ?? Object.keys(first.value ?? {});
    yield* csvText(columns, inBlocks(columns, first, rows));
  } catch (error) {
    throw databaseError(database, error, { isQuery: true, password: '' });
  } finally {
    file?.close();
  }
}

type Row = Readonly<Record<string, unknown>>;

function* inBlocks(
  columns: readonly string[],
  first: IteratorResult<Row>,
  rows: Iterator<Row>,
): Generator<RowBlock> {
  let block: (string | null)[][] = [];
  for (let next = first; next.done !== true; next = rows.next()) {
    const row = next.value;
    block.push(columns.map((column) => textOf(row[column])));
    if (block.length < blockRows) continue;
    yield block;
    block = [];
  }
  yield block;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')
    : String(value);
}

function loadModule({ shown }: Database): SqliteModule {
  const found = process.getBuiltinModule('node:sqlite' as 'node:fs') as unknown as SqliteModule | undefined;
  if (found !== undefined) return found;
  throw new StateError(
    `${shown}: expected Node.js 22.13 or later, which reads SQLite, got ${process.version}. Use a newer one, or export the table as CSV: sqlite3 -header -csv FILE "SELECT …" > table.csv.`,
    { version: process.version },
  );
}
