/** Prepared directories: what catalogue datasets become, reading them back, and every way in which one may be damaged. */
import { existsSync } from 'node:fs';
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { karateClub, PreparedDataset, prepareDataset } from 'skein/data';
import { FormatError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MappedNames } from '#internal/data/prepare/name-table.js';

let folder = '';
let count = 0;
let facts = '';
const next = (): string => join(folder, String(count++));
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-prepared-'));
  facts = next();
  const club = { outputDir: facts, partitions: 4, seed: 3, download: false };
  await prepareDataset('KARATE_CLUB', club);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A copy to damage. */
async function copy(): Promise<string> {
  const path = next();
  await cp(facts, path, { recursive: true });
  return path;
}

const open = (path: string) => PreparedDataset.open(path, { verify: true });

describe('karate club', () => {
  test('every edge survives renumbering, buckets are contiguous and in order', async () => {
    const data = await open(facts);
    const names = await data.nodeNames();
    expect(data.stats).toMatchObject({ num_edges: 156, num_nodes: 34, num_relations: 1, num_partitions: 4 });
    expect(data.stats).toMatchObject({ node_feature_dim: 34, num_classes: 2, dataset_dir: facts });
    const edges = await data.readEdges('train');
    const raw = new Set<string>();
    const buckets: number[] = [];
    for (let i = 0; i < edges.length; i += 2) {
      raw.add(`${names.nameOf(edges[i])}-${names.nameOf(edges[i + 1])}`);
      buckets.push(Math.floor(edges[i] / 9) * 4 + Math.floor(edges[i + 1] / 9));
    }
    const wanted = karateClub().edges.flatMap(([a, b]) => [`${a}-${b}`, `${b}-${a}`]);
    expect([...raw].sort()).toEqual([...new Set(wanted)].sort());
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
    const sizes = data.bucketSizes('train') as Float64Array;
    expect(sizes.length).toBe(16);
    sizes.forEach((size, bucket) => {
      expect(buckets.filter((other) => other === bucket).length).toBe(size);
    });
    expect([data.hasRelations, data.numColumns, data.edgeFile('test')]).toEqual([false, 2, null]);
    expect((await data.readEdges('test')).length).toBe(0);
  });

  test('labels, features and splits of nodes follow the new numbers', async () => {
    const data = await open(facts);
    const names = await data.nodeNames();
    const labels = (await data.readLabels()) as Int32Array;
    const file = data.featuresFile();
    expect(file).toMatchObject({ rows: 34, width: 34 });
    const features = new Float32Array((await readFile(file?.path ?? '')).buffer.slice(0, 34 * 34 * 4));
    for (let id = 0; id < 34; id++) {
      const raw = Number(names.nameOf(id));
      expect(labels[id]).toBe(karateClub().labels[raw]);
      // Without features the club has one column per member.
      expect(features.subarray(id * 34, (id + 1) * 34).indexOf(1)).toBe(raw);
    }
    const parts: (Int32Array | null)[] = [];
    for (const split of ['train', 'validation', 'test'] as const) parts.push(await data.readNodes(split));
    expect(parts.map((part) => part?.length)).toEqual([17, 9, 8]);
    expect(parts.flatMap((part) => [...(part ?? [])]).sort((a, b) => a - b)).toEqual([...Array(34).keys()]);
  });

  test('the seed decides: same bytes for the same, other numbers for another', async () => {
    const [same, other] = [next(), next()];
    await prepareDataset('karate-club', { outputDir: same, partitions: 4, seed: 3 });
    await prepareDataset('karate-club', { outputDir: other, partitions: 4, seed: 4 });
    const bytes = (path: string) => readFile(join(path, 'edges/train_edges.bin'));
    expect(await bytes(same)).toEqual(await bytes(facts));
    expect(await bytes(other)).not.toEqual(await bytes(facts));
  });

  test('training nodes first, and numbers as they are', async () => {
    const [first, plain] = [next(), next()];
    await prepareDataset('karate-club', { outputDir: first, sequentialTrainNodes: true });
    expect(await (await open(first)).readNodes('train')).toEqual(Int32Array.from(Array(17).keys()));
    await prepareDataset('karate-club', { outputDir: plain, noRemapIds: true });
    const data = await open(plain);
    expect(existsSync(join(plain, 'nodes/node_mapping.txt'))).toBe(false);
    expect(await data.readLabels()).toEqual(karateClub().labels);
    const names = await data.nodeNames();
    expect([names.nameOf(7), names.idOf('7'), names.idOf('34'), names.idOf('07'), names.idOf('x')]).toEqual([
      ...['7', 7],
      ...[undefined, undefined, undefined],
    ]);
  });

  test('a target with data is replaced only on request; models in it are kept', async () => {
    const path = await copy();
    await mkdir(join(path, 'model_0'));
    await expect(prepareDataset('karate-club', { outputDir: path })).rejects.toThrow(StorageError);
    await prepareDataset('karate-club', { outputDir: path, seed: 9, overwrite: true });
    expect((await open(path)).details?.seed).toBe(9);
    expect(existsSync(join(path, 'model_0'))).toBe(true);
    await unlink(join(path, 'dataset.yaml'));
    await expect(prepareDataset('karate-club', { outputDir: path, overwrite: true })).rejects.toThrow(
      /no dataset.yaml/,
    );
  });

  test('unknown names and more partitions than nodes are rejected', async () => {
    await expect(prepareDataset('FB16K', { outputDir: next() })).rejects.toThrow(/one of .*fb15k-237/);
    await expect(prepareDataset('karate-club', { outputDir: next(), partitions: 35 })).rejects.toThrow(
      ValueError,
    );
  });
});

describe('damage', () => {
  const edges = 'edges/train_edges.bin';
  const cases: [string, RegExp, (path: string) => Promise<unknown>][] = [
    ['no dataset.yaml', /expected dataset.yaml/, (path) => unlink(join(path, 'dataset.yaml'))],
    ['no edges', /train_edges.bin: expected a file/, (path) => unlink(join(path, edges))],
    [
      'longer edges',
      /train_edges.bin: expected 1248 bytes, got 1249/,
      (path) => appendFile(join(path, edges), 'x'),
    ],
    ['a flipped byte', /train_edges.bin: expected the checksum/, (path) => flip(join(path, edges))],
    [
      'a flipped byte in features',
      /features.bin: expected the checksum/,
      (path) => flip(join(path, 'nodes/features.bin')),
    ],
    ['no names', /node_mapping.txt: expected a file/, (path) => unlink(join(path, 'nodes/node_mapping.txt'))],
    [
      'another version',
      /skein.format_version/,
      (path) => edit(path, 'format_version: 1', 'format_version: 9'),
    ],
    ['an invalid count', /num_nodes, got "many"/, (path) => edit(path, 'num_nodes: 34', 'num_nodes: many')],
    ['no YAML', /expected YAML/, (path) => writeFile(join(path, 'dataset.yaml'), 'a: [')],
    [
      'a path out of the directory',
      /a path in the directory/,
      (path) => edit(path, 'edges/train_edges.bin:', '../x:'),
    ],
  ];
  test.each(cases)('%s', async (_, message, harm) => {
    const path = await copy();
    await harm(path);
    const error = await open(path).catch((caught: unknown) => caught);
    expect(error instanceof FormatError || error instanceof StorageError).toBe(true);
    expect((error as Error).message).toMatch(message);
  });

  test('dataset.yaml is named itself, whichever of its bytes is damaged or lost', async () => {
    const path = await copy();
    const file = join(path, 'dataset.yaml');
    const good = await readFile(file);
    const sealed = good.indexOf(10) + 1;
    for (let at = sealed; at < good.length; at += 7) {
      const bad = Buffer.from(good);
      bad[at] ^= 1;
      await writeFile(file, bad);
      await expect(open(path)).rejects.toThrow(`${file}: expected the contents that preprocessing wrote`);
      await writeFile(file, good.subarray(0, at));
      await expect(open(path)).rejects.toThrow(`${file}: expected`);
    }
  });

  test('readEdges compares the checksum by itself', async () => {
    const path = await copy();
    await flip(join(path, edges));
    await expect((await PreparedDataset.open(path)).readEdges('train')).rejects.toThrow(/checksum/);
  });
});

describe('directories of Marius', () => {
  async function marius(files: Record<string, string | Uint8Array>, yaml: string): Promise<string> {
    const path = next();
    for (const part of ['edges', 'nodes']) await mkdir(join(path, part), { recursive: true });
    await writeFile(join(path, 'dataset.yaml'), yaml);
    for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
    return path;
  }
  const yaml = 'num_edges: 2\nnum_nodes: 3\nnum_relations: 2\nnum_train: 2\nnum_valid: -1\nnum_test: -1\n';
  const wide = new Uint8Array(BigInt64Array.of(0n, 1n, 2n, 2n, 0n, 1n).buffer);

  test('int64 edges, offsets and mappings without our section', async () => {
    const path = await marius(
      {
        'edges/train_edges.bin': wide,
        'edges/train_partition_offsets.txt': '1\n0\n1\n0\n',
        'nodes/node_mapping.txt': 'x,2\n"a, ""b""",0\nc,d,1\n',
      },
      yaml,
    );
    const data = await open(path);
    expect(data.edgeFile('train')).toMatchObject({ rows: 2, columns: 3, dtype: 'int64' });
    expect(await data.readEdges('train')).toEqual(Int32Array.of(0, 1, 2, 2, 0, 1));
    expect([data.stats.num_partitions, data.stats.num_classes]).toEqual([2, -1]);
    const names = await data.nodeNames();
    expect([0, 1, 2].map((id) => names.nameOf(id))).toEqual(['a, "b"', 'c,d', 'x']);
    expect([names.idOf('a, "b"'), names.idOf('x'), names.idOf('y')]).toEqual([0, 2, undefined]);
  });

  test.each([
    [{ 'edges/train_edges.bin': wide.subarray(1) }, /2 edges of 2 or 3 numbers/],
    [{ 'edges/train_edges.bin': wide, 'edges/train_partition_offsets.txt': '1\n1\n0\n' }, /p² lines, got 3/],
    [
      { 'edges/train_edges.bin': wide, 'edges/train_partition_offsets.txt': '1\n' },
      /add up to 2 edges, got 1/,
    ],
    [{ 'edges/train_edges.bin': wide, 'edges/train_partition_offsets.txt': 'x\n' }, /whole number in line 1/],
    [{ 'edges/train_edges.bin': wide, 'nodes/node_mapping.txt': 'a,0\nb,1\n' }, /expected 3 names, got 2/],
    [{ 'edges/train_edges.bin': wide, 'nodes/node_mapping.txt': 'a,0\nb,1\nb,2\n' }, /"b" for both 1 and 2/],
    [
      { 'edges/train_edges.bin': wide, 'nodes/node_mapping.txt': 'a,0\nb,1\nc,1\n' },
      /:3: expected each number once/,
    ],
    [
      { 'edges/train_edges.bin': wide, 'nodes/node_mapping.txt': 'a,0\nb\n' },
      /:2: expected a line "raw,mapped"/,
    ],
    [
      { 'edges/train_edges.bin': wide, 'nodes/labels.bin': new Uint8Array(4) },
      /labels.bin: expected 12 bytes/,
    ],
  ])('damage %#', async (files, message) => {
    const error = await marius(files as unknown as Record<string, Uint8Array>, yaml)
      .then(open)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toMatch(message);
  });

  test('ids out of range are named with their row', async () => {
    const path = await marius(
      { 'edges/train_edges.bin': new Uint8Array(Int32Array.of(0, 1, 2, 3, 0, 1).buffer) },
      yaml,
    );
    await expect((await open(path)).readEdges('train')).rejects.toThrow(/from 0 to 2, got 3 in row 1/);
  });
});

test('a table of many names finds each', () => {
  const size = 20_000;
  const lines = Array.from({ length: size }, (_, i) => `näme ${(i * 7919) % size},${i}\n`).join('');
  const names = MappedNames.parse(new Uint8Array(Buffer.from(lines)), 'names', size);
  for (let id = 0; id < size; id++) {
    expect(names.idOf(names.nameOf(id))).toBe(id);
  }
  expect(names.idOf('näme')).toBeUndefined();
});

async function flip(path: string): Promise<void> {
  const bytes = await readFile(path);
  bytes[bytes.length >> 1] ^= 1;
  await writeFile(path, bytes);
}

async function edit(path: string, from: string, to: string): Promise<void> {
  const file = join(path, 'dataset.yaml');
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  // The first line is a checksum, which would reject any change before it is looked at.
  await writeFile(file, text.replace(/^#.*\n/, '').replace(from, to));
}
