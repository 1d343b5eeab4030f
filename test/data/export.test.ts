/** Tables for other programs, and new edges from them. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { exportTable, readNpy, readRawEdges } from 'skein/data';
import { loadTensors } from 'skein/storage';
import { FormatError, ShapeError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RowProvider } from '#internal/data/prepare/export-table.js';
import { IdentityNames, MappedNames } from '#internal/data/prepare/name-table.js';
import { program } from '../programs.js';

let folder = '';
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-export-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const raw = ['plain', 'a,b', 'say "hi"', 'two\nlines', 'Zoë'];
const names = MappedNames.parse(
  new Uint8Array(Buffer.from(raw.map((name, id) => `"${name.replaceAll('"', '""')}",${id}\n`).join(''))),
  'names',
  raw.length,
);
const width = 3;
const values = Float32Array.from({ length: raw.length * width }, (_, i) =>
  i === 4 ? 1e-30 : Math.fround(i / 7 - 1),
);
const table: RowProvider = {
  rows: raw.length,
  width,
  read: (start, end) => values.subarray(start * width, end * width),
};
const path = (ending: string): string => join(folder, 'deep', `${count++}.${ending}`);

async function query(sql: string): Promise<unknown[][]> {
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  const rows = (await connection.runAndReadAll(sql)).getRowsJS();
  connection.closeSync();
  database.closeSync();
  return rows as unknown[][];
}

describe('exportTable', () => {
  test('csv: raw id first, one column per number, digits that give the same f32 back', async () => {
    const out = path('csv');
    expect(await exportTable({ rows: table, names, format: 'csv', path: out })).toEqual([out]);
    expect(await readFile(out, 'utf8')).toMatch(/^id,d0,d1,d2\nplain,-1,-0.85714287,-0.71428573\n"a,b",/);
    const rows = await query(
      `SELECT * FROM read_csv('${out}', header = true, all_varchar = true, quote = '"', escape = '"')`,
    );
    expect(rows.map((row) => row[0])).toEqual(raw);
    expect(rows.flatMap((row) => row.slice(1).map((x) => Math.fround(Number(x))))).toEqual([...values]);
    const tabs = path('tsv');
    await exportTable({ rows: table, names, format: 'csv', path: tabs, delimiter: '\t' });
    expect(await readFile(tabs, 'utf8')).toContain('\na,b\t');
  });

  test('npy and safetensors with the ids in a separate file', async () => {
    const out = path('npy');
    const [, ids] = await exportTable({ rows: table, names, format: 'npy', path: out });
    const array = await readNpy(out);
    expect(array).toMatchObject({ shape: [raw.length, width], dtype: 'f4' });
    expect(array.data).toEqual(values);
    const read = await MappedNames.read(ids, raw.length);
    expect(raw.map((_, id) => read.nameOf(id))).toEqual(raw);
    const tensors = path('safetensors');
    await exportTable({ rows: table, names, format: 'safetensors', path: tensors, tensor: 'nodes' });
    const loaded = (await loadTensors(tensors)).tensors['nodes'];
    expect(loaded.shape).toEqual([raw.length, width]);
    expect(loaded.toArray()).toEqual(raw.map((_, r) => [...values.subarray(r * width, (r + 1) * width)]));
  });

  test('Parquet: id and a list', async () => {
    const out = path('parquet');
    await exportTable({ rows: table, names, format: 'parquet', path: out });
    const rows = await query(`SELECT id, embedding FROM read_parquet('${out}')`);
    expect(rows.map((row) => row[0])).toEqual(raw);
    expect(rows.flatMap((row) => (row[1] as number[]).map(Math.fround))).toEqual([...values]);
    expect(await query(`SELECT typeof(embedding) FROM read_parquet('${out}') LIMIT 1`)).toEqual([
      ['FLOAT[]'],
    ]);
  });

  test('many rows come in blocks', async () => {
    const reads: number[] = [];
    const rows = 10_000;
    const provider: RowProvider = {
      ...{ rows, width: 64 },
      read: (start, end) => {
        reads.push(end - start);
        return Promise.resolve(new Float32Array((end - start) * 64).fill(start));
      },
    };
    const out = path('npy');
    const done: number[] = [];
    await exportTable({
      ...{ rows: provider, names: new IdentityNames(rows), format: 'npy', path: out },
      progress: (now) => done.push(now),
    });
    expect(reads.length).toBeGreaterThan(1);
    expect(done.at(-1)).toBe(rows);
    expect((await readNpy(out)).data.length).toBe(rows * 64);
  });

  test('failed exports leave nothing behind', async () => {
    const out = path('csv');
    await exportTable({ rows: table, names, format: 'csv', path: out });
    await expect(exportTable({ rows: table, names, format: 'csv', path: out })).rejects.toThrow(StorageError);
    await exportTable({ rows: table, names, format: 'csv', path: out, overwrite: true });
    const fresh = path('csv');
    const base = { rows: table, names, format: 'csv', path: fresh } as const;
    await expect(exportTable({ ...base, names: new IdentityNames(4) })).rejects.toThrow(ShapeError);
    await expect(exportTable({ ...base, format: 'xml' as 'csv' })).rejects.toThrow(ValueError);
    await expect(exportTable({ ...base, delimiter: '::' })).rejects.toThrow(ValueError);
    const short: RowProvider = { ...table, read: () => new Float32Array(1) };
    await expect(exportTable({ ...base, rows: short })).rejects.toThrow(ShapeError);
    expect(existsSync(fresh)).toBe(false);
  });

  test.skipIf(process.platform === 'win32').each(['csv', 'npy', 'parquet'] as const)(
    'what a killed export to %s left goes with the next one to the same file',
    async (format) => {
      const at = join(folder, `killed ${format}`);
      const out = join(at, `table.${format}`);
      const rows = `{ rows: 100_000, width: 3, read: (start, end) =>
        start === 0 ? new Float32Array(end * 3) : process.kill(process.pid, 'SIGKILL') }`;
      const script = `import { exportTable } from ${JSON.stringify(program('src/data/prepare/export-table.ts'))};
        import { IdentityNames } from ${JSON.stringify(program('src/data/prepare/name-table.ts'))};
        await exportTable({ rows: ${rows}, names: new IdentityNames(100_000), format: '${format}', path: '${out}' });`;
      const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
      expect(signal).toBe('SIGKILL');
      expect(readdirSync(at).length).toBe(1);
      const written = await exportTable({ rows: table, names, format, path: out });
      expect(
        readdirSync(at)
          .map((name) => join(at, name))
          .sort(),
      ).toEqual(written.sort());
    },
  );
});

describe('readRawEdges', () => {
  const relations = MappedNames.parse(new Uint8Array(Buffer.from('likes,1\nknows,0\n')), 'relations', 2);
  const put = async (text: string, name = 'e.tsv'): Promise<string> => {
    const file = join(folder, `${count++}-${name}`);
    await writeFile(file, text);
    return file;
  };

  test('text, columns by name, JSON', async () => {
    const both = { nodes: names, relations };
    expect(await readRawEdges(await put('plain\tlikes\ta,b\nZoë\tknows\tplain\n'), {}, both)).toEqual(
      Int32Array.of(0, 1, 1, 4, 0, 0),
    );
    const columns = { source: 'from', target: 'to', edgeType: 'how' } as const;
    const csv = await put('to,from,how\n"a,b",plain,knows\n', 'e.csv');
    expect(await readRawEdges(csv, columns, both)).toEqual(Int32Array.of(0, 0, 1));
    const json = await put(JSON.stringify([{ to: 'Zoë', from: 'plain', how: 'likes' }]), 'e.json');
    expect(await readRawEdges(json, columns, both)).toEqual(Int32Array.of(0, 1, 4));
    const plain = { nodes: new IdentityNames(5), relations: null };
    expect(await readRawEdges(await put('3 4\n# no comment here'.slice(0, 4)), {}, plain)).toEqual(
      Int32Array.of(3, 4),
    );
  });

  test.each([
    ['plain\tlikes\tmissing\n', /:1: expected an entity of the graph for the destination, got "missing"/],
    ['plain\tlikes\tZoë\nZoë\thates\tplain\n', /:2: expected a relation of the graph, got "hates"/],
    ['plain\tlikes\tZoë\nZoë\tplain\n', /:2: expected 3 columns, got 2/],
    [
      'plain\tZoë\n',
      /expected a column of edge types, .*The file has 2 columns without a header\. .*--edge-type-column/,
    ],
    ['', /at least one edge/],
  ])('rejects %j', async (text, message) => {
    const error = await readRawEdges(await put(text), {}, { nodes: names, relations }).catch(
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toMatch(message);
  });
});
