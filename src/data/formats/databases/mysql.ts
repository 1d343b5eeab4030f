/** Results of MySQL and MariaDB, with the optional package `mysql2`: rows as they arrive, in a session that cannot write. */
import { StateError } from '../../../util/errors.js';
import { csvText, type RowBlock } from '../csv-text.js';
import { type Database, databaseError } from './database-url.js';

/** Milliseconds to wait for a connection. */
const connectTime = 15_000;
const blockRows = 1000;

/** Yields the result of a query as CSV with a header. Times are ISO 8601 in UTC. */
export async function* readMySql(database: Database, query: string): AsyncGenerator<string> {
  const { createConnection } = await importPackage(database);
  const url = new URL(database.location);
  const connection = createConnection({
    uri: `mysql:${database.location.slice(url.protocol.length)}`,
    ...(url.password === '' && process.env['MYSQL_PWD'] !== undefined
      ? { password: process.env['MYSQL_PWD'] }
      : {}),
    ...{ connectTimeout: connectTime, charset: 'utf8mb4' },
  });
  // The driver reports a lost connection here, and not to a query whose rows are streamed.
  let fail: (error: Error) => void = () => {};
  connection.on('error', (error: Error) => fail(error));
  try {
    await run(connection, "SET time_zone = '+00:00'");
    await run(connection, 'SET SESSION TRANSACTION READ ONLY');
    const rows = connection.query({
      sql: query,
      rowsAsArray: true,
      typeCast: (field: { string(): string | null }) => field.string(),
    });
    const stream = rows.stream({ highWaterMark: blockRows });
    const columns = new Promise<string[]>((done, reject) => {
      fail = (error) => {
        reject(error);
        stream.destroy(error);
      };
      rows.once('fields', (fields: readonly { name: string }[] | undefined) =>
        done((fields ?? []).map(({ name }) => name)),
      );
      // The stream repeats errors of the query, also before anyone reads it.
      stream.on('error', reject);
      rows.once('error', reject);
    });
    yield* csvText(await columns, inBlocks(stream));
  } catch (error) {
    const { sqlState, code, fatal } = error as Partial<Record<'sqlState' | 'code' | 'fatal', unknown>>;
    // States of class 08 are of the connection, of 28 about the password.
    const isQuery =
      /^(?!08|28)/.test(String(sqlState ?? '08')) && fatal !== true && code !== 'ER_BAD_DB_ERROR';
    throw databaseError(database, error, { isQuery, password: 'MYSQL_PWD' });
  } finally {
    connection.destroy();
  }
}

/** The part of a connection that is used here. */
interface Connection {
  query(sql: string, done: (error: Error | null) => void): unknown;
}

function run(connection: Connection, sql: string): Promise<void> {
  return new Promise((done, reject) => {
    connection.query(sql, (error) => (error === null ? done() : reject(error)));
  });
}

async function* inBlocks(rows: AsyncIterable<unknown>): AsyncGenerator<RowBlock> {
  let block: (string | null)[][] = [];
  for await (const row of rows) {
    block.push(row as (string | null)[]);
    if (block.length < blockRows) continue;
    yield block;
    block = [];
  }
  yield block;
}

async function importPackage({ shown }: Database): Promise<typeof import('mysql2')> {
  try {
    return await import('mysql2');
  } catch (error) {
    throw new StateError(
      `${shown}: expected the package mysql2, which reads MySQL and MariaDB, got ${(error as Error).message.split('\n')[0]}. Run "npm install mysql2".`,
      { package: 'mysql2' },
      { cause: error },
    );
  }
}
