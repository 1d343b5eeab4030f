/** Tables that are not delimited text, wherever a table is read: Parquet, JSON, RDF, GraphML, SQL. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { ConfigError, ValueError } from 'skein';
import { PreparedDataset, type PreprocessOptions, preprocess, readTemporal } from 'skein/data';
import { fitEvents, fitLinks, fitNodes, openModel } from 'skein/predict';
import { Output, resolveTemporalConfig, trainRun } from 'skein/train';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'skein-tables-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const put = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return at(name);
};

let runs = 0;
async function prepare(options: Omit<PreprocessOptions, 'outputDir'>, notes: string[] = []): Promise<string> {
  const outputDir = at(`out${runs++}`);
  await preprocess({ inProcess: true, outputDir, ...options }, () => {}, {
    onNote: (note) => notes.push(note),
  });
  return outputDir;
}

/** The bytes of all prepared files but dataset.yaml, which has the directory. */
function bytesOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  return Object.fromEntries(
    files
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => !path.endsWith('dataset.yaml'))
      .map((path) => [path.slice(directory.length), readFileSync(path, 'hex')]),
  );
}

const people = Array.from({ length: 12 }, (_, i) => ({
  id: `p${i}`,
  age: 20 + i,
  note: i === 3 ? 'two\nlines, "quoted"' : 'x',
  segment: i % 2 === 0 ? 'a' : 'b',
}));
const links = people.map(({ id }, i) => ({ source: id, target: people[(i + 1) % 12].id }));
const csv = (rows: readonly object[]): string =>
  [Object.keys(rows[0]), ...rows.map(Object.values)]
    .map((row) => row.map((cell: unknown) => `"${String(cell).replaceAll('"', '""')}"`).join(','))
    .join('\n');

beforeAll(async () => {
  put('people.csv', csv(people));
  put('people.json', JSON.stringify(people));
  put('people.ndjson', people.map((row) => JSON.stringify(row)).join('\n'));
  put('links.csv', csv(links));
  put('links.json', JSON.stringify(links));
  const instance = await DuckDBInstance.create(at('shop.duckdb'));
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE people AS FROM read_json('${at('people.json')}')`);
  await connection.run(`CREATE TABLE links AS FROM read_json('${at('links.json')}')`);
  await connection.run(`COPY people TO '${at('people.parquet')}'`);
  await connection.run(`COPY links TO '${at('links.parquet')}'`);
  await connection.run(
    `COPY (SELECT 'u' || (i % 7) AS user, 'i' || (i % 5) AS item, TIMESTAMP '2026-01-01' + INTERVAL (i) MINUTE AS time, [i / 10, i % 3]::FLOAT[] AS x FROM range(200) t(i)) TO '${at('events.parquet')}'`,
  );
  connection.closeSync();
  instance.closeSync();
});

const nodeOptions = { labelColumn: 'segment', textColumns: ['note'], nodeTypes: ['node'] };

describe('preprocess', () => {
  test('node tables and edges of every format give the same bytes', async () => {
    const wanted = bytesOf(
      await prepare({ edges: at('links.csv'), nodeTable: at('people.csv'), ...nodeOptions }),
    );
    expect(Object.keys(wanted)).toContain('/nodes/features.bin');
    const database = at('shop.duckdb');
    for (const [edges, nodeTable] of [
      [at('links.json'), at('people.json')],
      [at('links.parquet'), at('people.parquet')],
      [at('links.csv'), at('people.ndjson')],
      [
        { database, query: 'SELECT * FROM links' },
        { database, query: 'FROM people -- all' },
      ],
      [at('links.csv'), { query: `FROM '${at('people.parquet')}'` }],
    ])
      expect(bytesOf(await prepare({ edges, nodeTable, ...nodeOptions }))).toEqual(wanted);
  });

  test('errors and notes name the table and the row', async () => {
    const wrong = put('wrong.jsonl', '{"source":"a","target":"b"}\n{"source":"a","target":null}\n');
    await expect(prepare({ edges: wrong })).rejects.toThrow(
      /^.*wrong\.jsonl, row 2: expected a name for the target id, got ""/,
    );
    const edges = at('links.csv');
    const query = "SELECT * FROM (VALUES ('p0', 'x' || chr(10) || 'y'), ('p0', 'z')) t(id, note)";
    await expect(prepare({ edges, nodeTable: { query }, textColumns: ['note'] })).rejects.toThrow(
      /^query of nodeTable, row 2: expected each node once, got "p0" twice/,
    );
    const notes: string[] = [];
    await prepare({ edges: { query: `SELECT *, 7 AS extra FROM '${at('links.parquet')}'` } }, notes);
    expect(notes).toEqual(['query 1: unused columns: extra']);
    await expect(prepare({ edges: { query: 'SELEC' } })).rejects.toThrow(
      /a query that DuckDB runs for query 1/,
    );
    const file = at('written.csv');
    for (const [query, got] of [
      [`SELECT 1 AS a; COPY (SELECT 1) TO '${file}'`, '2 statements'],
      [`SELECT 1 AS a, 2 AS b; COPY (SELECT 1) TO '${file}'; SELECT 1`, '3 statements'],
      [`COPY (SELECT 1) TO '${file}'`, 'a statement of type COPY'],
      ['SET threads = 1', 'a statement of type SET'],
    ])
      await expect(prepare({ edges: { query } })).rejects.toThrow(
        `preprocess: expected one SELECT statement for query 1, got ${got}. Leave other statements out`,
      );
    expect(existsSync(file)).toBe(false);
    await expect(prepare({ edges: at('absent.parquet') })).rejects.toThrow(
      /absent\.parquet, which does not exist/,
    );
  });

  test('wrong sources are rejected before anything is read, without their passwords', async () => {
    const url = 'postgres://ana:hush@db/shop';
    for (const edges of [
      url,
      { database: url },
      { database: 'x://ana:hush@db', query: 'q' },
      { query: 'q', url },
    ])
      for (const option of ['edges', 'nodeTable', 'nodes'] as const) {
        const failed = prepare({ edges: at('links.csv'), [option]: edges } as never);
        const error = (await failed.catch((reason: unknown) => reason)) as Error;
        expect(error).toBeInstanceOf(ValueError);
        expect(`${error.message}${error.stack}`).not.toContain('hush');
      }
  });

  test('RDF: statements are edges; literals can be left out', async () => {
    const turtle = put(
      'facts.ttl',
      `@prefix : <http://x/> .\n${links.map(({ source, target }) => `:${source} :knows :${target} ; :name "${source}" .`).join('\n')}`,
    );
    const all = await PreparedDataset.open(await prepare({ edges: turtle }));
    expect(all.stats).toMatchObject({ num_nodes: 24, num_relations: 2, num_train: 24 });
    const notes: string[] = [];
    const some = await PreparedDataset.open(await prepare({ edges: turtle, literals: false }, notes));
    expect(some.stats).toMatchObject({ num_nodes: 12, num_relations: 1, num_train: 12 });
    expect((await some.nodeNames()).idOf('http://x/p0')).toBeDefined();
    expect(notes).toEqual([]);
  });

  test('GraphML has edges and a node table in one file', async () => {
    const key = (id: string, type: string): string =>
      `<key id="${id}" for="node" attr.name="${id}" attr.type="${type}"/>`;
    const nodes = people.map(
      ({ id, age, note, segment }) =>
        `<node id="${id}"><data key="age">${age}</data><data key="note">${note.replaceAll('"', '&quot;')}</data><data key="segment">${segment}</data></node>`,
    );
    const edges = links.map(({ source, target }) => `<edge source="${source}" target="${target}"/>`);
    const file = put(
      'club.graphml',
      `<graphml>${key('age', 'int')}${key('note', 'string')}${key('segment', 'string')}<graph edgedefault="directed">${[...nodes, ...edges].join('\n')}</graph></graphml>`,
    );
    const wanted = await prepare({ edges: at('links.csv'), nodeTable: at('people.csv'), ...nodeOptions });
    const read = await prepare({ edges: file, nodeTable: file, ...nodeOptions });
    expect(bytesOf(read)).toEqual(bytesOf(wanted));
  });
});

describe('events', () => {
  const columns = `SELECT "user", item, epoch("time") AS time, x[1] AS x_0, x[2] AS x_1`;

  test('Parquet, JSON lines and queries are streams; lists of numbers are features', async () => {
    const parquet = await readTemporal(at('events.parquet'));
    expect(parquet).toMatchObject({ name: 'events', featureWidth: 2, featureNames: ['x_0', 'x_1'] });
    expect(parquet.events.src.length).toBe(200);
    expect(parquet.events.time[1] - parquet.events.time[0]).toBe(60);
    expect(parquet.bipartite).toBe(true);
    const query = await readTemporal({ query: `${columns} FROM '${at('events.parquet')}'` });
    expect(query.events).toEqual(parquet.events);
    expect(query.name).toBe('query');
    const rows = Array.from(parquet.events.time, (time, i) => ({
      ...{
        user: parquet.nodes.nameOf(parquet.events.src[i]),
        item: parquet.nodes.nameOf(parquet.events.dst[i]),
      },
      ...{ time, x: [i / 10, i % 3] },
    }));
    const lines = put('events.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    expect((await readTemporal(lines)).events).toEqual(parquet.events);
  });

  test('errors name the row', async () => {
    const query = "SELECT * FROM (VALUES ('a', 'b', 1), ('a', 'b', NULL)) t(src, dst, time)";
    await expect(readTemporal({ query })).rejects.toThrow(
      /^query, row 2: expected a number or an ISO 8601 date/,
    );
    await expect(readTemporal({ query: 'SELECT 1 AS a' })).rejects.toThrow(/^query: expected/);
  });

  test('a run reads a query; its configuration has no password', () => {
    const resolve = (dataset: object) =>
      resolveTemporalConfig({ dataset, model: { kind: 'pair_statistics' } }, []);
    const query = 'SELECT * FROM events';
    const { config } = resolve({ query, database: 'postgres://ana@db/shop' });
    expect(config.dataset).toMatchObject({ query, database: 'postgres://ana@db/shop', path: '' });
    const wrong = () => resolve({ query, database: 'postgres://ana:hush@db/shop' });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(/without a password .* PGPASSWORD/);
    expect(wrong).not.toThrow(/hush/);
    expect(() => resolve({ database: 'postgres://ana@db/shop', path: 'x.csv' })).toThrow(
      /expected a query with/,
    );
  });
});

test('a run over a query is trained, and opens again', async () => {
  const document = {
    dataset: { query: `FROM '${at('events.parquet')}'` },
    model: { kind: 'pair_statistics' },
    train: { epoch: 1 },
    storage: { model_dir: at('run') },
  };
  await trainRun({ config: resolveTemporalConfig(document, []).config, output: Output.silent() });
  const model = await openModel(at('run'));
  expect((await model.rank({ head: 'u1' }, { k: 2 })).length).toBe(2);
  await model.close();
});

describe('fit', () => {
  const options = { epochs: 1 };

  test('links, nodes and events of queries', async () => {
    const edges = Array.from({ length: 60 }, (_, i) => [`a${i % 12}`, `b${(i * 7) % 10}`]);
    const values = edges.map(([a, b]) => `('${a}', '${b}')`).join(', ');
    const query = `SELECT * FROM (VALUES ${values}) t(source, target)`;
    const linked = await fitLinks({ query }, options);
    expect(await linked.score({ head: 'a0', tail: 'b0' })).toEqual(expect.any(Number));
    await linked.close();
    const nodes = await fitNodes(
      { nodes: { query: 'FROM people', database: at('shop.duckdb') }, edges: at('links.parquet') },
      { ...options, label: 'segment', ignore: ['note'] },
    );
    expect((await nodes.classify('p0')).name).toBe('p0');
    await nodes.close();
    for (const source of [{ query: `FROM '${at('events.parquet')}'` }, at('events.parquet')]) {
      const events = await fitEvents(source, options);
      expect((await events.rank({ head: 'u1' }, { k: 2 })).length).toBe(2);
      await events.close();
    }
  });
});
