/** PostgreSQL and MariaDB as sources of edges, nodes and events, against servers that the test starts. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import postgres from 'postgres';
import { preprocess, readTemporal } from 'skein/data';
import { fitEvents } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { skein } from '../programs.js';
import {
  type DatabaseServer,
  hasMariaDb,
  hasPostgres,
  password,
  startMariaDb,
  startPostgres,
} from './database-servers.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-databases-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const people = Array.from({ length: 500 }, (_, i) => ({
  id: `p${i}`,
  age: i % 17 === 0 ? null : 18 + (i % 50),
  joined: new Date(Date.UTC(2020, 0, 1 + i)).toISOString().slice(0, 10),
  note: i % 3 === 0 ? `two\nlines, "quoted" é ${i}` : 'x',
  segment: i % 2 === 0 ? 'a' : 'b',
}));
const calls = Array.from({ length: 20_000 }, (_, i) => ({
  source: `p${(i * 7) % 500}`,
  target: `p${(i * 13 + 1) % 500}`,
  time: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString().replace('T', ' ').slice(0, 19),
  seconds: (i % 600) / 8,
}));

const cell = (value: unknown): string => `"${String(value ?? '').replaceAll('"', '""')}"`;
const csv = (rows: readonly object[]): string =>
  [Object.keys(rows[0]), ...rows.map(Object.values)].map((row) => row.map(cell).join(',')).join('\n');
const tables = {
  people: 'id VARCHAR(20), age INT, joined DATE, note TEXT, segment VARCHAR(3)',
  calls: 'n INT, source VARCHAR(20), target VARCHAR(20), time TIMESTAMP, seconds DOUBLE PRECISION',
};
const literal = (value: unknown): string =>
  value === null
    ? 'NULL'
    : typeof value === 'number'
      ? String(value)
      : `'${String(value).replaceAll("'", "''")}'`;

/** Creates the tables with a function that runs statements. */
async function fill(run: (sql: string) => Promise<unknown>): Promise<void> {
  for (const [name, columns] of Object.entries(tables)) await run(`CREATE TABLE ${name} (${columns})`);
  const numbered = calls.map((call, n) => ({ n, ...call }));
  for (const [name, rows] of [
    ['people', people],
    ['calls', numbered],
  ] as const)
    for (let i = 0; i < rows.length; i += 500) {
      const values = rows.slice(i, i + 500).map((row) => `(${Object.values(row).map(literal).join(', ')})`);
      await run(`INSERT INTO ${name} VALUES ${values.join(', ')}`);
    }
}

/** Bytes of a prepared directory; dataset.yaml without its checksum and directory. */
function filesOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path.slice(directory.length), readFileSync(path, 'latin1')];
    }),
  );
}

const callQuery = 'SELECT source, target, time, seconds FROM calls ORDER BY n';
const nodeOptions = { labelColumn: 'segment', textColumns: ['note'], nodeTypes: ['node'] };

const kinds = [
  {
    ...{ name: 'PostgreSQL', has: hasPostgres, start: startPostgres, variable: 'PGPASSWORD' },
    fill: async (url: string) => {
      const sql = postgres(url, { max: 1, connection: { TimeZone: 'UTC' } });
      await fill((text) => sql.unsafe(text));
      await sql.end();
    },
    write: 'DELETE FROM calls RETURNING *',
    slow: 'SELECT a.source, b.target FROM calls a, calls b, calls c',
  },
  {
    ...{ name: 'MariaDB', has: hasMariaDb, start: startMariaDb, variable: 'MYSQL_PWD' },
    fill: async (url: string) => {
      const connection = await createConnection(url);
      await connection.query("SET time_zone = '+00:00'");
      await fill((text) => connection.query(text));
      await connection.end();
    },
    write: 'DELETE FROM calls',
    slow: 'SELECT a.source, b.target FROM calls a, calls b, calls c',
  },
];

describe.each(kinds)('$name', ({ name, has, start, fill: fillTables, variable, write, slow }) => {
  const skipped = has ? '' : ` (skipped: ${name} is not installed)`;
  let server: DatabaseServer;
  beforeAll(async () => {
    if (!has) return;
    server = await start();
    await fillTables(server.url);
  });
  afterAll(() => server?.close());

  test.skipIf(!has)(`edges, nodes and events are those of the files${skipped}`, async () => {
    writeFileSync(at('people.csv'), csv(people));
    writeFileSync(at('calls.csv'), csv(calls));
    const database = server.url;
    const prepare = async (out: string, edges: object | string, nodeTable: object | string) => {
      await preprocess({ edges, nodeTable, ...nodeOptions, outputDir: at(out), overwrite: true } as never);
      return filesOf(at(out));
    };
    const wanted = await prepare('files', at('calls.csv'), at('people.csv'));
    const read = await prepare(
      `${name}-tables`,
      { database, query: callQuery },
      { database, query: 'SELECT * FROM people ORDER BY length(id), id' },
    );
    for (const [file, bytes] of Object.entries(wanted))
      if (file !== '/dataset.yaml') expect(read[file], file).toBe(bytes);
    for (const bytes of Object.values(read)) expect(bytes).not.toContain(password);
    const events = await readTemporal({ database, query: callQuery });
    expect(events.events).toEqual((await readTemporal(at('calls.csv'))).events);
  });

  test.skipIf(!has)(`the command takes the password from the environment${skipped}`, () => {
    const url = new URL(server.url);
    url.password = '';
    const args = [
      '--database',
      url.href,
      '--query',
      callQuery,
      '--node-query',
      'SELECT * FROM people',
      '--label-column',
      'segment',
      '--ignore-columns',
      'note',
    ];
    const command = (env: NodeJS.ProcessEnv) =>
      spawnSync(
        process.execPath,
        [
          ...skein,
          'preprocess',
          ...args,
          '--output-directory',
          at(`${name}-command`),
          '--overwrite',
          '--json',
        ],
        {
          ...{ encoding: 'utf8', env: { ...process.env, ...env } },
        },
      );
    const { status, stdout, stderr } = command({ [variable]: password });
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) as string)).toMatchObject({
      num_nodes: 500,
      num_classes: 2,
    });
    const wrong = command({ [variable]: 'other secret' });
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toMatch(/expected a connection, got .*ana/);
    expect(`${stdout}${stderr}${wrong.stdout}${wrong.stderr}`).not.toMatch(/pässword|other secret/);
  });

  test.skipIf(!has)(`wrong queries are errors, and nothing is written${skipped}`, async () => {
    const database = server.url;
    const read = (query: string): Promise<unknown> => readTemporal({ database, query });
    await expect(read('SELECT * FROM absent')).rejects.toThrow(
      /expected a query that the database runs, got .*absent/,
    );
    await expect(read(write)).rejects.toThrow(
      /a query that the database runs, got .*(read.?only|READ ONLY|COPY)/i,
    );
    await expect(read('SELECT source, target FROM calls')).rejects.toThrow(/expected a column for time/);
    const { events } = (await read(callQuery)) as Awaited<ReturnType<typeof readTemporal>>;
    expect(events.src.length).toBe(calls.length);
  });

  test.skipIf(!has)(`a model of events from a query${skipped}`, async () => {
    const model = await fitEvents({ database: server.url, query: `${callQuery} LIMIT 2000` }, { epochs: 1 });
    expect((await model.rank({ head: 'p7' }, { k: 3 })).length).toBe(3);
    await model.close();
  });

  test.skipIf(!has)(
    `a server that ends is an error${skipped}`,
    async () => {
      const reading = preprocess({
        edges: { database: server.url, query: slow },
        outputDir: at(`${name}-killed`),
        inProcess: true,
      });
      const failed = expect(reading).rejects.toThrow(
        /expected a (connection|query that the database runs), got/,
      );
      setTimeout(() => server.kill(), 1500);
      await failed;
    },
    60_000,
  );
});
