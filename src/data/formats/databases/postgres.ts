/** Results of PostgreSQL, with the optional package `postgres`: COPY streams them as CSV, in a session that cannot write. */
import type { Readable } from 'node:stream';
import { StateError } from '../../../util/errors.js';
import { type Database, databaseError } from './database-url.js';

/** Seconds to wait for a connection. */
const connectSeconds = 15;

/** Yields the result of a query as CSV with a header. Times are ISO 8601 in UTC. */
export async function* readPostgres(database: Database, query: string): AsyncGenerator<Uint8Array> {
  const connect = await importPackage(database);
  const sql = connect(database.location, {
    ...{ max: 1, prepare: false, connect_timeout: connectSeconds, onnotice: () => {} },
    connection: {
      ...{ application_name: 'skein', default_transaction_read_only: true },
      ...{ DateStyle: 'ISO', TimeZone: 'UTC' },
    },
  });
  try {
    // A comment may end the query, hence the line break.
    const text = `COPY (${query.trim().replace(/;+$/, '')}\n) TO STDOUT WITH (FORMAT csv, HEADER)`;
    const stream = (await sql.unsafe(text).readable()) as Readable;
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    const { name, code = '' } = error as Error & { readonly code?: string };
    // Classes of errors: 08 connection, 28 password, 3D unknown database, 57 shutdown.
    const isQuery = name === 'PostgresError' && !/^(08|28|3D|57)/.test(code);
    throw databaseError(database, error, { isQuery, password: 'PGPASSWORD' });
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function importPackage({ shown }: Database): Promise<typeof import('postgres')> {
  try {
    return (await import('postgres')).default;
  } catch (error) {
    throw new StateError(
      `${shown}: expected the package postgres, which reads PostgreSQL, got ${(error as Error).message.split('\n')[0]}. Run "npm install postgres".`,
      { package: 'postgres' },
      { cause: error },
    );
  }
}
