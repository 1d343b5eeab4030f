/**
 * Text goes through our own reader; Parquet, JSON and SQL through DuckDB. Both give the same bytes, which are those that
 * directories have always had.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PreparedDataset, type PreprocessOptions, preprocess } from 'skein/data';
import { afterAll, expect, test } from 'vitest';
import { textInputGolden as golden } from './text-input.golden.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-text-input-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let state = 7;
const draw = (n: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const odd = ['a,b', 'say "hi"', ' x ', 'Zoë', '日本', '0', '00', '#1'];
const name = (): string => {
  const i = draw(200);
  return i < odd.length ? odd[i] : `n${i}`;
};
const rows = Array.from({ length: 3000 }, () => [name(), `r${draw(7)}`, name(), String(draw(100) / 8)]);
const nodes = [...new Set(rows.flatMap((row) => [row[0], row[2]]))];
const numbers = Array.from({ length: 500 }, () => [draw(50), draw(50)]);

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csv = (table: readonly (readonly string[])[]): string =>
  table.map((row) => `${row.map(quoted).join(',')}\n`).join('');
function put(file: string, text: string): string {
  const path = join(folder, file);
  writeFileSync(path, file.endsWith('.gz') ? gzipSync(text) : text);
  return path;
}

const edges = put('e.csv', csv([['from', 'kind', 'to', 'w'], ...rows]));
const plain = put('e.tsv', rows.map((row) => `${row.slice(0, 3).join('\t')}\r\n`).join(''));
const features = put(
  'f.csv',
  csv([['id', 'x', 'y'], ...nodes.map((n, i) => [n, String(i / 4), String(-i)])]),
);
const labels = put('l.csv', csv(nodes.slice(0, 150).map((n, i) => [n, `c${i % 3}`])));
const ids = put('i.txt', `# c\n${numbers.map((row) => `${row.join(' ')}\n`).join('')}`);

let count = 0;
async function files(options: Omit<PreprocessOptions, 'outputDir'>): Promise<Record<string, string>> {
  const outputDir = join(folder, `out${count++}`);
  await preprocess({ inProcess: true, ...options, outputDir });
  const { details } = await PreparedDataset.open(outputDir, { verify: true });
  return Object.fromEntries(Object.entries(details?.files ?? {}).map(([file, { crc32 }]) => [file, crc32]));
}

const typed = { source: 'from', target: 'to', edgeType: 'kind', edgeWeight: 'w' } as const;
const cases: Readonly<Record<keyof typeof golden, Omit<PreprocessOptions, 'outputDir'>>> = {
  csv: { edges, ...typed, split: [0.8, 0.1, 0.1], partitions: 4, seed: 3, sequentialTrainNodes: true },
  tsv: { edges: plain, split: [0.9, 0.1], partitions: 2, partitionedEval: true },
  nodes: {
    ...{ edges, source: 'from', target: 'to', nodeFeatures: features, nodeLabels: labels },
    nodeSplit: [0.6, 0.2, 0.2],
  },
  kept: { edges: ids, noRemapIds: true, partitions: 3 },
  names: { edges: ids },
};

test.each(Object.entries(cases))('%s: the bytes are what they were', async (key, options) => {
  expect(await files(options)).toEqual(golden[key as keyof typeof golden]);
});

test('DuckDB reads the same file to the same bytes, as SQL and as Parquet', async () => {
  const { edges: _, ...options } = cases.csv;
  const table = `read_csv('${edges}', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"')`;
  expect(await files({ ...options, query: `SELECT * FROM ${table}` })).toEqual(golden.csv);
  const parquet = join(folder, 'e.parquet');
  await files({ query: 'SELECT 1 AS a, 2 AS b', setup: `COPY (SELECT * FROM ${table}) TO '${parquet}'` });
  expect(await files({ ...options, edges: parquet })).toEqual(golden.csv);
});

test('compressed, with other delimiters, quotes everywhere, a byte order mark: the same bytes', async () => {
  const { edges: _, ...options } = cases.csv;
  const all = [['from', 'kind', 'to', 'w'], ...rows];
  const text = (delimiter: string): string =>
    all.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(delimiter)).join('\r\n');
  for (const file of [
    put('gz.csv.gz', csv(all)),
    put('semicolon.csv', text(';')),
    put('bar.txt', text('|')),
    put('bom.csv', `\ufeff# made by hand\n${text(',')}`),
  ])
    expect(await files({ ...options, edges: file }), file).toEqual(golden.csv);
});

test('columns are found by their common names, wherever they are, and a note lists the unused ones', async () => {
  const wanted = await files({ edges: put('two.csv', 'a,b\nb,c\n') });
  const notes: string[] = [];
  const path = put('named.csv', 'rating,target,source,timestamp\n5,b,a,1\n3,c,b,2\n');
  const outputDir = join(folder, `out${count++}`);
  const stats = await preprocess({ edges: path, outputDir, inProcess: true }, undefined, {
    onNote: (note) => notes.push(note),
  });
  expect(stats).toMatchObject({ num_nodes: 3, num_edges: 2, num_relations: 1 });
  const { details } = await PreparedDataset.open(outputDir);
  expect(details?.files['edges/train_edges.bin']?.crc32).toBe(wanted['edges/train_edges.bin']);
  expect(notes.at(-1)).toBe(
    `${path}: unused columns: rating, timestamp (--edge-weight-column rating keeps weights)`,
  );
});
