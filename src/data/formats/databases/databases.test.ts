/** Readers of databases over fake drivers: statements sent, rows received, and addresses that hide their password. */
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { StateError, StorageError, ValueError } from '../../../util/errors.js';
import { databaseError, hasSecrets, parseDatabase } from './database-url.js';
import { readMySql } from './mysql.js';
import { readPostgres } from './postgres.js';
import { readSqlite, type SqliteModule } from './sqlite.js';

const seen: { url: string; options: Record<string, unknown>; statements: string[]; ended: number } = {
  url: '',
  options: {},
  statements: [],
  ended: 0,
};
let answer: (sql: string) => unknown[][] = () => [];
let failure: Error | null = null;

vi.mock('postgres', () => ({
  default: (url: string, options: Record<string, unknown>) => {
    Object.assign(seen, { url, options });
    return {
      unsafe: (sql: string) => {
        seen.statements.push(sql);
        return {
          readable: async () => {
            if (failure !== null) throw failure;
            return Readable.from(answer(sql).map((row) => Buffer.from(`${row.join(',')}\n`)));
          },
        };
      },
      end: async () => {
        seen.ended++;
      },
    };
  },
}));

vi.mock('mysql2', () => ({
  createConnection: (options: Record<string, unknown>) => {
    Object.assign(seen, { options });
    return {
      on: () => {},
      destroy: () => {
        seen.ended++;
      },
      query: (given: string | { sql: string }, done?: (error: Error | null) => void) => {
        seen.statements.push(typeof given === 'string' ? given : given.sql);
        if (done !== undefined) {
          done(failure);
          return undefined;
        }
        const [header, ...rows] = answer('');
        const query = new EventEmitter();
        setImmediate(() =>
          query.emit(
            'fields',
            header.map((name) => ({ name })),
          ),
        );
        return Object.assign(query, { stream: () => Readable.from(rows) });
      },
    };
  },
}));

afterEach(() => {
  Object.assign(seen, { url: '', options: {}, statements: [], ended: 0 });
  failure = null;
});

async function textOf(chunks: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk as string).toString();
  return text;
}

const at = (url: string) => parseDatabase('test', url);

test('addresses: kinds, and what is shown of them', () => {
  const shown = (url: string): string[] => [at(url).kind, at(url).shown];
  expect(shown('postgres://ana:s%40cret@db.example:5433/shop?sslmode=require')).toEqual([
    ...['postgres', 'postgres://ana@db.example:5433/shop'],
  ]);
  expect(shown('postgresql://db/shop')).toEqual(['postgres', 'postgresql://db/shop']);
  expect(shown('mariadb://ana:x@db/shop')).toEqual(['mysql', 'mariadb://ana@db/shop']);
  expect(shown('sqlite:a/b.data')).toEqual(['sqlite', 'a/b.data']);
  expect(shown('sqlite:///tmp/b.db')).toEqual(['sqlite', '/tmp/b.db']);
  expect(shown('shop.sqlite3')).toEqual(['sqlite', 'shop.sqlite3']);
  expect(shown('shop.duckdb')).toEqual(['duckdb', 'shop.duckdb']);
  expect(hasSecrets('postgres://ana:x@db/shop')).toBe(true);
  expect(hasSecrets('mysql://db/shop?password=x')).toBe(true);
  expect(hasSecrets('postgres://ana@db/shop')).toBe(false);
  expect(hasSecrets('shop.sqlite')).toBe(false);
});

test('a wrong address is not repeated in the error', () => {
  for (const url of ['oracle://ana:hush@db/x', 'ana:hush@db', 'postgres://ana:hush@:x/y', 'http://hush']) {
    expect(() => at(url), url).toThrow(ValueError);
    expect(() => at(url), url).toThrow(/expected postgres:\/\/user@host\/name/);
    expect(() => at(url), url).not.toThrow(/hush/);
  }
});

test('an address that is mistyped is not taken for a file, and not repeated', () => {
  for (const url of [
    ...['ana:hush@db/x.db', 'sqlite:ana:hush@db', 'sqlite://ana:hush@db/x.db', '//ana:hush@db/x.db'],
    ...['postgres:/ana:hush@db/x.db', '"postgres://ana:hush@db/x.db', 'ana:hu/hush@db/x.duckdb'],
    ...['postgres://ana:1/hush@db/x', 'postgres://ana:1#hush@db/x', 'sqlite:postgres://ana:hush@db/x'],
  ]) {
    expect(() => at(url), url).toThrow(ValueError);
    expect(() => at(url), url).not.toThrow(/hush/);
    expect(hasSecrets(url), url).toBe(true);
  }
  expect(at(' postgres://ana:hush@db/x.db ')).toEqual({
    ...{ kind: 'postgres', location: 'postgres://ana:hush@db/x.db', shown: 'postgres://ana@db/x.db' },
  });
  for (const path of ['C:\\me@work\\x.db', '/tmp/12:30/me@work.db', './a:b@c.db', 'me@work.db']) {
    expect(at(path)).toEqual({ kind: 'sqlite', location: path, shown: path });
    expect(at(`sqlite:${path}`).location).toBe(path);
    expect(hasSecrets(path)).toBe(false);
  }
});

test('a % that is not encoded is named before a driver decodes it', () => {
  for (const url of ['postgres://ana:hu%sh@db/x', 'mysql://a%na:hush@db/x', 'postgres://ana:hu%E9sh@db/x%']) {
    expect(() => at(url), url).toThrow(ValueError);
    expect(() => at(url), url).toThrow(/^test: expected an encoded URL .* as %25\.$/);
    expect(() => at(url), url).not.toThrow(/hu%|hush/);
  }
  expect(at('postgres://ana:hu%25sh@db/x').shown).toBe('postgres://ana@db/x');
});

test('PostgreSQL: one COPY in a session that only reads', async () => {
  answer = () => [
    ['a', 'b'],
    ['1', '"x,y"'],
  ];
  const database = at('postgres://ana:hush@db/shop');
  expect(await textOf(readPostgres(database, 'SELECT a, b FROM t; '))).toBe('a,b\n1,"x,y"\n');
  expect(seen.statements).toEqual(['COPY (SELECT a, b FROM t\n) TO STDOUT WITH (FORMAT csv, HEADER)']);
  expect(seen.options).toMatchObject({
    connection: { default_transaction_read_only: true, TimeZone: 'UTC', DateStyle: 'ISO' },
  });
  expect(seen.ended).toBe(1);
});

test('errors of PostgreSQL: a query, a connection; never a password', async () => {
  const database = at('postgres://ana:hush@db/shop');
  failure = Object.assign(new Error('relation "t" does not exist'), { name: 'PostgresError', code: '42P01' });
  await expect(textOf(readPostgres(database, 'SELECT 1'))).rejects.toThrow(
    new ValueError(
      'postgres://ana@db/shop: expected a query that the database runs, got relation "t" does not exist.',
    ),
  );
  failure = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
  await expect(textOf(readPostgres(database, 'SELECT 1'))).rejects.toThrow(StorageError);
  await expect(textOf(readPostgres(database, 'SELECT 1'))).rejects.toThrow(
    /expected a connection, got ECONNREFUSED\. Check .*PGPASSWORD/,
  );
  failure = new Error('cannot use postgres://ana:hush@db/shop with hush');
  const error = (await textOf(readPostgres(database, 'SELECT 1')).catch((e: unknown) => e)) as Error;
  expect(error.message).toContain('got cannot use postgres://ana@db/shop with ***.');
  expect(error.cause).toBeUndefined();
  expect(seen.ended).toBe(4);
});

test('MySQL: rows as text, nulls empty, a session that only reads', async () => {
  answer = () => [
    ['a', 'b'],
    ['1', null],
    [' 2', 'x"y'],
  ];
  const database = at('mariadb://ana:hush@db/shop');
  expect(await textOf(readMySql(database, 'SELECT a, b FROM t'))).toBe('a,b\n1,\n" 2","x""y"\n');
  expect(seen.statements).toEqual([
    "SET time_zone = '+00:00'",
    'SET SESSION TRANSACTION READ ONLY',
    'SELECT a, b FROM t',
  ]);
  expect(seen.options).toMatchObject({ uri: 'mysql://ana:hush@db/shop' });
  expect(seen.ended).toBe(1);
  failure = Object.assign(new Error("Access denied for user 'ana' with hush"), {
    sqlState: '28000',
    fatal: true,
  });
  await expect(textOf(readMySql(database, 'SELECT 1'))).rejects.toThrow(
    /^mariadb:\/\/ana@db\/shop: expected a connection, got Access denied for user 'ana' with \*\*\*\./,
  );
});

test('SQLite: a file opened for reading; large numbers, bytes and nulls', async () => {
  const rows = [
    { id: 2n ** 60n, name: 'a', data: Uint8Array.of(1, 255) },
    { id: 2n, name: null, data: null },
  ];
  const opened: unknown[] = [];
  const module: SqliteModule = {
    DatabaseSync: class {
      constructor(path: string, options: object) {
        opened.push(path, options);
      }
      prepare(sql: string) {
        if (sql === 'wrong') throw new Error('near "wrong": syntax error');
        return { setReadBigInts: () => {}, iterate: () => rows };
      }
      close(): void {
        opened.push('closed');
      }
    },
  };
  const path = import.meta.filename;
  const read = (sql: string, file = path) => textOf(readSqlite(at(`sqlite:${file}`), sql, module));
  expect(await read('SELECT *')).toBe('id,name,data\n1152921504606846976,a,01ff\n2,,\n');
  expect(opened).toEqual([path, { readOnly: true }, 'closed']);
  await expect(read('wrong')).rejects.toThrow(/expected a query that the database runs, got near "wrong"/);
  await expect(read('SELECT *', '/nowhere.db')).rejects.toThrow(
    /expected to read \/nowhere\.db, which does not exist/,
  );
});

const hasSqlite = process.getBuiltinModule('node:sqlite' as 'node:fs') !== undefined;
test.skipIf(hasSqlite)(
  'SQLite without the module is one sentence (Node.js without node:sqlite)',
  async () => {
    const reading = textOf(readSqlite(at('sqlite:x.db'), 'SELECT 1'));
    await expect(reading).rejects.toThrow(StateError);
    await expect(reading).rejects.toThrow(
      /x\.db: expected Node\.js 22\.13 or later, which reads SQLite, got v/,
    );
  },
);

test('secrets in the options of an address are hidden too', () => {
  const database = at('mysql://db/shop?password=hushhush');
  const about = { isQuery: false, password: 'MYSQL_PWD' };
  expect(databaseError(database, new Error('bad hushhush'), about).message).not.toContain('hushhush');
});
