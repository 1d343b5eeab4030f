/** `preprocess`: from files and SQL to a prepared directory. Bad input: preprocess-errors.test.ts. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { PreparedDataset, type PreprocessOptions, preprocess } from 'skein/data';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PreparedSplit } from '#internal/data/prepare/prepared-dataset.js';

let folder = '';
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-preprocess-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, `${count++}-${name}`);
  await writeFile(path, content);
  return path;
}

type Options = Omit<PreprocessOptions, 'outputDir'>;

async function prepare(options: Options): Promise<PreparedDataset> {
  const outputDir = join(folder, `out${count++}`);
  await preprocess({ inProcess: true, ...options, outputDir });
  return PreparedDataset.open(outputDir, { verify: true });
}

/** The edges of a split in raw ids, in the order of the file. */
async function rawEdges(data: PreparedDataset, split: PreparedSplit = 'train'): Promise<string[][]> {
  const [nodes, relations] = [await data.nodeNames(), await data.relationNames()];
  const values = await data.readEdges(split);
  const columns = data.numColumns;
  return Array.from({ length: values.length / columns }, (_, i) =>
    Array.from(values.subarray(i * columns, (i + 1) * columns), (id, c) =>
      columns === 3 && c === 1 ? relations.nameOf(id) : nodes.nameOf(id),
    ),
  );
}

/** Triples of a made-up graph: 100 nodes, 10 relations. */
function triples(edges = 1000, seed = 1): string[][] {
  let state = seed;
  const draw = (n: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  return Array.from({ length: edges }, () => [`n${draw(100)}`, `r${draw(10)}`, `n${draw(100)}`]);
}

const text = (rows: readonly (readonly string[])[], delimiter = '\t'): string =>
  rows.map((row) => `${row.join(delimiter)}\n`).join('');
const sorted = (rows: string[][]): string[] => rows.map((row) => row.join(' ')).sort();

describe('edges', () => {
  test('one file, no split: all edges in order, ids a permutation', async () => {
    const rows = triples();
    const data = await prepare({ edges: await put('a.tsv', text(rows)) });
    expect(await rawEdges(data)).toEqual(rows);
    const used = new Set(rows.flatMap(([s, , d]) => [s, d]));
    expect(data.stats).toMatchObject({ num_edges: 1000, num_train: 1000, num_valid: 0, num_test: 0 });
    expect(data.stats).toMatchObject({ num_nodes: used.size, num_relations: 10, num_partitions: 1 });
    expect(existsSync(join(data.directory, 'edges/validation_edges.bin'))).toBe(false);
    const first = (await data.nodeNames()).idOf(rows[0][0]);
    const identity = rows[0][0] === rows[0][2] ? [0] : [0, 1];
    expect([first, (await data.nodeNames()).idOf(rows[0][2])]).not.toEqual(identity);
  });

  test('three files keep their splits and share one numbering', async () => {
    const parts = [triples(500, 1), triples(50, 2), triples(40, 3)];
    const edges = await Promise.all(parts.map((rows, i) => put(`part${i}.tsv`, text(rows))));
    const data = await prepare({ edges });
    for (const [i, split] of (['train', 'validation', 'test'] as const).entries())
      expect(await rawEdges(data, split)).toEqual(parts[i]);
    expect(data.stats).toMatchObject({ num_train: 500, num_valid: 50, num_test: 40, num_edges: 500 });
  });

  test('shares have exact sizes, lose nothing and keep the order; two are training and test', async () => {
    const rows = triples(999);
    const path = await put('a.tsv', text(rows));
    const data = await prepare({ edges: path, split: [0.9, 0.05, 0.05] });
    const parts: string[][][] = [];
    for (const split of ['train', 'validation', 'test'] as const) parts.push(await rawEdges(data, split));
    expect(parts.map((part) => part.length)).toEqual([899, 49, 51]);
    expect(sorted(parts.flat())).toEqual(sorted(rows));
    // A split is a subsequence of the input.
    let at = 0;
    for (const row of rows) if (at < parts[2].length && row.join() === parts[2][at].join()) at++;
    expect(at).toBe(parts[2].length);
    const two = await prepare({ edges: path, split: [0.5, 0.5] });
    expect(two.stats).toMatchObject({ num_train: 499, num_valid: 0, num_test: 500 });
  });

  test('columns by name and index, header, delimiter, without types', async () => {
    const rows = triples(200);
    const file = text(
      [['weight', 'to', 'kind', 'from'], ...rows.map(([s, r, d], i) => [String(i / 2), d, r, s])],
      ';',
    );
    const path = await put('a.csv', file);
    const typed = { source: 'from', target: 'to', edgeType: 'kind', edgeWeight: 'weight' } as const;
    const data = await prepare({ edges: path, ...typed, partitions: 3, split: [0.8, 0.2] });
    // Weights stay with their edges through split and sort.
    const byEdge = new Map(rows.map((row, i) => [`${i}`, row.join(' ')]));
    for (const split of ['train', 'test'] as const) {
      const weights = (await data.readWeights(split)) as Float32Array;
      (await rawEdges(data, split)).forEach((row, i) => {
        expect(byEdge.get(String(weights[i] * 2))).toBe(row.join(' '));
      });
    }
    const plain = await prepare({ edges: path, source: 3, target: 1, header: true, delimiter: ';' });
    expect(await rawEdges(plain)).toEqual(rows.map(([s, , d]) => [s, d]));
    expect([plain.hasRelations, plain.stats.num_relations, await plain.readWeights('train')]).toEqual([
      false,
      1,
      null,
    ]);
    expect(existsSync(join(plain.directory, 'edges/relation_mapping.txt'))).toBe(false);
  });

  test('raw ids with commas, quotes, blanks and other scripts survive', async () => {
    const odd = ['a,b', 'say "hi"', ' x ', 'Zoë', '日本', '0', '00', '#1', '"'];
    const rows = odd.map((name, i) => [name, odd[(i + 3) % odd.length]]);
    const quoted = rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`));
    const data = await prepare({ edges: await put('a.csv', text(quoted, ',')) });
    expect(await rawEdges(data)).toEqual(rows);
    const names = await data.nodeNames();
    for (const name of odd) expect(names.nameOf(names.idOf(name) as number)).toBe(name);
  });

  test('Parquet, JSON, JSON lines and SQL give what the text gives', async () => {
    const rows = triples(300);
    const csv = await put('a.csv', text([['s', 'r', 'd'], ...rows], ','));
    const columns = { source: 's', edgeType: 'r', target: 'd', partitions: 2, seed: 5 } as const;
    const query = `SELECT * FROM read_csv('${csv}') ORDER BY ALL`;
    const ordered = rows.toSorted((a, b) => (a.join('\0') < b.join('\0') ? -1 : 1));
    expect(sorted(await rawEdges(await prepare({ query, ...columns })))).toEqual(sorted(ordered));
    const wanted = await rawEdges(await prepare({ edges: csv, ...columns }));
    const objects = rows.map(([s, r, d]) => ({ s, r, d }));
    const json = await put('a.json', JSON.stringify(objects));
    const lines = await put('a.jsonl', objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
    const parquet = join(folder, 'a.parquet');
    await prepare({
      query: 'SELECT 1 AS s, 2 AS d',
      setup: `COPY (SELECT * FROM read_csv('${csv}')) TO '${parquet}'`,
    });
    for (const edges of [json, lines, parquet]) {
      const data = await prepare({ edges, ...columns });
      expect(await rawEdges(data), edges).toEqual(wanted);
    }
    const attached = join(folder, 'attached.duckdb');
    await prepare({
      query: 'SELECT 1 AS s, 2 AS d',
      setup: `ATTACH '${attached}' AS db; CREATE TABLE db.edges AS SELECT 1 AS a, 2 AS b UNION ALL SELECT 3, 1`,
    });
    const data = await prepare({
      setup: `ATTACH '${attached}' AS db`,
      query: 'SELECT a, b FROM db.edges ORDER BY a',
    });
    expect(await rawEdges(data)).toEqual([
      ['1', '2'],
      ['3', '1'],
    ]);
    const wrong = prepare({ query: 'SELECT 1 AS s, 2 AS d', setup: 'ATTACK x' });
    await expect(wrong).rejects.toThrow(
      /expected SQL that DuckDB runs for setup, got "ATTACK x"\. Parser Error/,
    );
  });

  test('ids that stay: whole numbers, gaps, no mapping files', async () => {
    const path = await put('a.tsv', '5\t0\t2\n1\t1\t5\n');
    const data = await prepare({ edges: path, noRemapIds: true });
    expect(await data.readEdges('train')).toEqual(Int32Array.of(5, 0, 2, 1, 1, 5));
    expect(data.stats).toMatchObject({ num_nodes: 6, num_relations: 2 });
    expect(await readdir(join(data.directory, 'nodes'))).toEqual([]);
    expect(existsSync(join(data.directory, 'edges/relation_mapping.txt'))).toBe(false);
    const more = await prepare({
      edges: path,
      noRemapIds: true,
      numNodes: 9,
      numRelations: 4,
      partitions: 3,
    });
    expect(more.stats).toMatchObject({ num_nodes: 9, num_relations: 4 });
    expect(more.bucketSizes('train')).toEqual(Float64Array.of(0, 1, 0, 1, 0, 0, 0, 0, 0));
  });

  test('training nodes first', async () => {
    const parts = [triples(60, 1), triples(200, 2)];
    const edges = [await put('a.tsv', text(parts[0])), await put('b.tsv', text(parts[1]))];
    const data = await prepare({ edges, sequentialTrainNodes: true });
    const names = await data.nodeNames();
    const training = new Set(parts[0].flatMap(([s, , d]) => [s, d]));
    for (let id = 0; id < names.size; id++) expect(training.has(names.nameOf(id))).toBe(id < training.size);
  });

  test('buckets: bounds of every row, sizes, the order within; evaluation splits only on request', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 400 }),
        fc.boolean(),
        async (p, edges, both) => {
          const rows = triples(edges, p);
          const path = await put('a.tsv', text(rows));
          const options = { edges: path, split: [0.5, 0.25, 0.25], seed: 2 };
          const nodes = new Set(rows.flatMap(([s, , d]) => [s, d])).size;
          fc.pre(p <= nodes);
          const data = await prepare({ ...options, partitions: p, partitionedEval: both });
          const plain = await prepare(options);
          const size = Math.ceil(nodes / p);
          for (const split of ['train', 'validation', 'test'] as const) {
            const values = await plain.readEdges(split);
            const list = Array.from({ length: values.length / 3 }, (_, i) =>
              Array.from(values.subarray(3 * i, 3 * i + 3)),
            );
            const bucket = ([s, , d]: number[]): number => Math.floor(s / size) * p + Math.floor(d / size);
            const sizes = data.bucketSizes(split);
            if (p === 1 || (split !== 'train' && !both)) expect(sizes).toBeNull();
            else if (list.length > 0) {
              list.sort((a, b) => bucket(a) - bucket(b));
              expect(sizes?.length).toBe(p * p);
              for (const [b, n] of sizes?.entries() ?? [])
                expect(list.filter((row) => bucket(row) === b).length).toBe(n);
            }
            expect(Array.from(await data.readEdges(split))).toEqual(list.flat());
          }
        },
      ),
      { numRuns: 12, seed: 7 },
    );
  });

  test('the bytes depend on input and seed only', async () => {
    const rows = triples(5000);
    const path = await put('a.tsv', text(rows));
    const bytes = async (options: Options): Promise<Buffer[]> => {
      const data = await prepare({ edges: path, split: [0.8, 0.1, 0.1], partitions: 4, ...options });
      return Promise.all(
        ['edges/train_edges.bin', 'nodes/node_mapping.txt'].map((name) =>
          readFile(join(data.directory, name)),
        ),
      );
    };
    const wanted = await bytes({ threads: 1 });
    expect(await bytes({ threads: 4 })).toEqual(wanted);
    expect(await bytes({ inProcess: false, memoryLimit: 2 ** 28 })).toEqual(wanted);
    expect(await bytes({ seed: 2 })).not.toEqual(wanted);
  });
});

describe('nodes', () => {
  const edges = 'a,b\nb,c\nc,a\n';

  test('isolated nodes, features, classes as text and splits from text files', async () => {
    const data = await prepare({
      edges: await put('edges.csv', edges),
      nodes: await put('nodes.txt', 'a\nlonely\n'),
      nodeFeatures: await put('features.csv', 'id,x,y\nlonely,7,8\nc,5,6\nb,3,4\na,1,2.5\n'),
      nodeLabels: await put('labels.csv', 'b,cat\na,dog\nlonely,cat\n'),
      trainNodes: await put('train.txt', 'a\nb\n'),
      testNodes: await put('test.txt', 'lonely\n'),
    });
    const names = await data.nodeNames();
    const id = (name: string): number => names.idOf(name) as number;
    expect(data.stats).toMatchObject({ num_nodes: 4, num_edges: 3, num_train: 2, num_valid: 0, num_test: 1 });
    expect(data.stats).toMatchObject({ node_feature_dim: 2, num_classes: 2 });
    const bytes = await readFile(data.featuresFile()?.path as string);
    const features = new Float32Array(bytes.buffer, bytes.byteOffset, 8);
    for (const [name, x, y] of [
      ['a', 1, 2.5],
      ['b', 3, 4],
      ['c', 5, 6],
      ['lonely', 7, 8],
    ] as const)
      expect([...features.subarray(2 * id(name), 2 * id(name) + 2)]).toEqual([x, y]);
    const labels = (await data.readLabels()) as Int32Array;
    expect(['a', 'b', 'c', 'lonely'].map((name) => labels[id(name)])).toEqual([1, 0, -1, 0]);
    expect(await readFile(join(data.directory, 'nodes/label_mapping.txt'), 'utf8')).toBe('cat,0\ndog,1\n');
    expect(await data.readNodes('train')).toEqual(Int32Array.of(id('a'), id('b')).sort());
    expect(await data.readNodes('test')).toEqual(Int32Array.of(id('lonely')));
  });

  test('matrices of NumPy: row i is node i, or line i of the list of nodes', async () => {
    const matrix = npy('<f8', [3, 2], new Float64Array([10, 11, 20, 21, 30, 31]));
    const labels = npy('<i8', [3], new BigInt64Array([2n, 0n, -1n]));
    const files = { nodeFeatures: await put('f.npy', matrix), nodeLabels: await put('l.npy', labels) };
    const counted = await prepare({ edges: await put('e.csv', '2,0\n'), ...files, nodeSplit: [0.5, 0.5] });
    const listed = await prepare({
      ...{ edges: await put('e.csv', edges), ...files },
      nodes: await put('nodes.txt', 'c\na\nb\n'),
    });
    for (const [data, order] of [
      [counted, ['0', '1', '2']],
      [listed, ['c', 'a', 'b']],
    ] as const) {
      const names = await data.nodeNames();
      const bytes = await readFile(data.featuresFile()?.path as string);
      const values = new Float32Array(bytes.buffer, bytes.byteOffset, 6);
      const classes = (await data.readLabels()) as Int32Array;
      order.forEach((name, row) => {
        const at = names.idOf(name) as number;
        expect([...values.subarray(2 * at, 2 * at + 2)]).toEqual([10 * row + 10, 10 * row + 11]);
        expect(classes[at]).toBe([2, 0, -1][row]);
      });
      expect(data.stats.num_classes).toBe(3);
    }
    expect(counted.stats).toMatchObject({ num_train: 1, num_valid: 0, num_test: 1 });
  });
});

/** An .npy file. */
function npy(type: string, shape: number[], data: Float64Array | BigInt64Array): Uint8Array {
  const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }\n`;
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\x00', 'latin1');
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([head, Buffer.from(header), Buffer.from(data.buffer)]);
}
