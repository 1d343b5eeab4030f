/** Packed models: they answer as their runs, from the file and from its folder; wrong archives are rejected. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { fitEvents, fitLinks, fitNodes, openModel, packModel } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { exportCommand } from '#internal/cli/export.js';
import { writeArchive } from '#internal/storage/write-archive.js';
import { appendChecksum } from '#internal/train/run/run-directory.js';

const root = mkdtempSync(join(tmpdir(), 'packed-'));
const at = (...names: string[]): string => join(root, ...names);
mkdirSync(at('tmp'));
process.env['TMPDIR'] = at('tmp');
afterAll(() => rmSync(root, { recursive: true, force: true }));

const facts: [string, string, string][] = [];
for (let i = 0; i < 40; i++) {
  facts.push([`p${i}`, 'works in', `team ${i % 4}`]);
  facts.push([`p${i}`, 'knows', `p${(i + 4) % 40}`]);
}
const question = { head: 'p1', relation: 'works in' };
const buffer = { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } };

/** Returns the folders of opened archives. */
const unpacked = (): string[] => readdirSync(at('tmp'));

async function answersOf(path: string) {
  const model = await openModel(path);
  try {
    return {
      rank: await model.rank([question, { tail: 'team 2', relation: 'works in' }], { k: 5 }),
      score: await model.score([{ ...question, tail: 'team 1' }]),
      neighbors: await model.neighbors(['p3'], { k: 3 }),
      metrics: model.metrics,
    };
  } finally {
    await model.close();
  }
}

describe('a model of links', () => {
  beforeAll(async () => {
    for (const [name, config] of [
      ['plain', { 'model.sparse_optimizer.type': 'ADAM' }],
      ['buffered', { 'storage.embeddings': buffer }],
    ] as const)
      await (await fitLinks(facts, { epochs: 3, directory: at(name), config })).close();
  });

  it('a damaged outcome is named, in the run and as it is packed', async () => {
    const files = readdirSync(at('plain'), { recursive: true }) as string[];
    const path = at('plain', files.find((name) => name.endsWith('done.json')) ?? '');
    const outcome = readFileSync(path);
    for (const [text, got] of [
      ...[['', 'an empty file'] as const, ['{"test"', 'a damaged file'] as const, ['null', 'null'] as const],
    ]) {
      writeFileSync(path, text);
      const error = { code: 'SKEIN_FORMAT', message: expect.stringContaining(`object, got ${got}. Restore`) };
      await expect(openModel(at('plain'))).rejects.toMatchObject({ ...error, details: { path } });
      await expect(packModel(at('plain'), at('damaged.tgz'))).rejects.toMatchObject(error);
      expect(existsSync(at('damaged.tgz'))).toBe(false);
    }
    // The advice of the message holds.
    rmSync(path);
    expect(Object.keys((await answersOf(at('plain'))).metrics)).toEqual(['validation']);
    writeFileSync(path, outcome);
  });

  it.each(['plain', 'buffered'])('%s: answers from the file and from its folder, anywhere', async (name) => {
    const before = await answersOf(at(name));
    const { kind, bytes } = await packModel(at(name), at(`${name}.tgz`));
    expect(kind).toBe('links');
    expect(bytes).toBe(statSync(at(`${name}.tgz`)).size);
    rmSync(at(name), { recursive: true });
    const others = unpacked();
    expect(await answersOf(at(`${name}.tgz`))).toEqual(before);
    expect(unpacked()).toEqual(others);
    mkdirSync(at(`${name}-folder`));
    execFileSync('tar', ['xzf', at(`${name}.tgz`), '-C', at(`${name}-folder`)]);
    expect(await answersOf(at(`${name}-folder`, 'model'))).toEqual(before);
    // A packed model can be packed again, to the same bytes, and has no path of the machine that packed it.
    await packModel(at(`${name}-folder`, 'model'), at('again.tgz'));
    expect(readFileSync(at('again.tgz'))).toEqual(readFileSync(at(`${name}.tgz`)));
    for (const file of ['full_config.yaml', 'done.json', 'pack.json'])
      expect(readFileSync(at(`${name}-folder`, 'model', file), 'utf8')).not.toContain(root);
  });

  it('has rows without the state of their optimiser', () => {
    const { size } = statSync(at('plain-folder', 'model', 'table', 'writable-00000.v1.bin'));
    // 44 nodes of 50 numbers; with Adam's two moments it would be three times as many, in whole pages.
    expect(size).toBeLessThanOrEqual(Math.ceil((44 * 50 * 4) / 4096) * 4096 * 2);
  });
});

describe('other models', () => {
  it('packs features and edges of a graph network', async () => {
    const nodes = Array.from({ length: 40 }, (_, i) => ({
      id: `n${i}`,
      x: (i % 2) + i / 100,
      kind: i % 2 ? 'a' : 'b',
    }));
    const edges = nodes.map(({ id }, i): [string, string] => [id, `n${(i + 2) % 40}`]);
    const model = await fitNodes({ nodes, edges }, { label: 'kind', epochs: 3, directory: at('nodes') });
    const classes = await model.classify(['n3', 'n4']);
    await model.close();
    await packModel(at('nodes'), at('nodes.tgz'));
    rmSync(at('nodes'), { recursive: true });
    const packed = await openModel(at('nodes.tgz'));
    expect(await packed.classify(['n3', 'n4'])).toEqual(classes);
    expect(packed.metrics).toEqual(model.metrics);
    await packed.close();
  });

  it('packs the stream of events, which continues at its end', async () => {
    const events = Array.from({ length: 200 }, (_, i) => ({
      head: `u${i % 7}`,
      tail: `v${(3 * i) % 5}`,
      time: i,
    }));
    const model = await fitEvents(events, { epochs: 1, directory: at('stream') });
    await model.close();
    await packModel(at('stream'), at('stream.tgz'));
    const more = [{ head: 'u3', tail: 'v4', time: 500 }];
    const answers: unknown[] = [];
    for (const path of [at('stream'), at('stream.tgz')]) {
      const opened = await openModel(path);
      const first = await opened.rank([{ head: 'u3' }], { k: 5 });
      await opened.append(more);
      answers.push([first, await opened.rank([{ head: 'u3' }], { k: 5 }), opened.metrics]);
      await opened.close();
    }
    expect(answers[1]).toEqual(answers[0]);
  });
});

describe('wrong archives', () => {
  const messageOf = async (path: string): Promise<string> => {
    const others = unpacked();
    const error = await openModel(path).then(
      (model) => model.close(),
      (reason: Error) => reason,
    );
    expect(unpacked()).toEqual(others);
    return error?.message ?? 'no error';
  };
  const open = async (name: string, change: (tar: Buffer) => Buffer): Promise<string> => {
    const tar = gunzipSync(readFileSync(at('plain.tgz')));
    const path = at(`${name}.tgz`);
    writeFileSync(path, gzipSync(change(tar)));
    return messageOf(path);
  };
  const flip = (tar: Buffer, at: number): Buffer => {
    tar[at] ^= 1;
    return tar;
  };
  /** Writes a name into the first header after pack.json, with its checksum. */
  const renamed = (tar: Buffer, name: string, type = '0'): Buffer => {
    const size = Number.parseInt(tar.toString('latin1', 124, 135), 8);
    const start = 512 + Math.ceil(size / 512) * 512;
    const header = tar.subarray(start, start + 512);
    header.fill(0, 0, 100);
    header.write(name, 0, 'latin1');
    header.write(type, 156, 'latin1');
    header.write('        ', 148, 'latin1');
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
    return tar;
  };

  it.each([
    ['a path that leaves the folder', (tar: Buffer) => renamed(tar, 'model/../../evil')],
    ['an absolute path', (tar: Buffer) => renamed(tar, '/tmp/evil')],
    ['a symbolic link', (tar: Buffer) => renamed(tar, 'model/full_config.yaml', '2')],
    ['a hard link', (tar: Buffer) => renamed(tar, 'model/full_config.yaml', '1')],
    ['a file that the manifest does not list', (tar: Buffer) => renamed(tar, 'model/other.yaml')],
    ['a damaged header', (tar: Buffer) => flip(tar, 20)],
    ['a damaged file', (tar: Buffer) => flip(tar, tar.length - 3000)],
    ['an end before its time', (tar: Buffer) => tar.subarray(0, tar.length - 4096)],
    ['no manifest', () => Buffer.alloc(1024)],
    ['no tar', () => Buffer.from('hello '.repeat(200))],
  ])('%s', async (name, change) => {
    expect(await open(name.replaceAll(' ', '-'), change)).toMatch(
      /: expected the archive of a packed model with .*, got .*pack the run again\./,
    );
    expect(existsSync('/tmp/evil')).toBe(false);
  });

  /** Packs an unpacked model with other values of its configuration, as a stranger could. */
  const forged = async (name: string, values: Readonly<Record<string, unknown>>): Promise<string> => {
    const folder = at(`${name}-forged`);
    if (!existsSync(folder)) {
      mkdirSync(folder);
      execFileSync('tar', ['xzf', at(`${name}.tgz`), '-C', folder]);
    }
    const names = readdirSync(join(folder, 'model'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'pack.json')
      .map((entry) => join(entry.parentPath, entry.name));
    const config = parse(readFileSync(join(folder, 'model', 'full_config.yaml'), 'utf8'));
    for (const [key, value] of Object.entries(values)) {
      const path = key.split('.');
      const last = path.pop() as string;
      // biome-ignore lint/suspicious/noExplicitAny: sections of a parsed file
      path.reduce((section: any, part) => (section[part] ??= {}), config)[last] = value;
    }
    const text = new TextEncoder().encode(appendChecksum(stringify(config)));
    const sources = names.map((file) => ({
      name: file.slice(join(folder, 'model').length + 1),
      from: file.endsWith('full_config.yaml') ? text : file,
    }));
    await writeArchive(at('forged.tgz'), sources, {});
    return at('forged.tgz');
  };
  const written = at('written.csv');
  const copy = `SELECT 1 AS src, 2 AS dst, 3 AS time; COPY (SELECT 1) TO '${written}'; SELECT 1`;

  it.each<[string, string, Readonly<Record<string, unknown>>]>([
    ['an empty dataset.query', 'stream', { 'dataset.query': copy, 'dataset.path': '' }],
    ['an empty dataset.query', 'stream', { 'dataset.query': 'SELECT 1', 'dataset.path': '' }],
    [
      'an empty dataset.query',
      'stream',
      { 'dataset.query': 'SELECT 1', 'dataset.path': '', 'dataset.database': 'postgres://db.example.org/x' },
    ],
    ['an empty dataset.name', 'stream', { 'dataset.name': 'wikipedia', 'dataset.path': '' }],
    ['a path in its folder for dataset.path', 'stream', { 'dataset.path': '/etc/passwd' }],
    ['a path in its folder for dataset.path', 'stream', { 'dataset.path': '../../stream.csv' }],
    ['the data of dataset.path', 'stream', { 'dataset.path': 'dataset/none.csv' }],
    [
      'an empty evaluation.negatives_path',
      'stream',
      { 'evaluation.negatives': 'file', 'evaluation.negatives_path': '/etc' },
    ],
    ['the folder "." for storage.model_dir', 'stream', { 'storage.model_dir': '/etc' }],
    [
      'a path in its folder for storage.dataset.dataset_dir',
      'nodes',
      { 'storage.dataset.dataset_dir': '/etc' },
    ],
    [
      'a path in its folder for storage.dataset.dataset_dir',
      'nodes',
      { 'storage.dataset.dataset_dir': 'dataset/../..' },
    ],
    ['the data of storage.dataset.dataset_dir', 'nodes', { 'storage.dataset.dataset_dir': 'fb15k_237' }],
    ['an empty storage.dataset.name', 'nodes', { 'storage.dataset.name': 'fb15k_237' }],
    ['the folder "." for storage.model_dir', 'nodes', { 'storage.model_dir': '..' }],
    ['an empty training.resume_from_checkpoint', 'nodes', { 'training.resume_from_checkpoint': '/etc' }],
    ['an empty evaluation.checkpoint_dir', 'nodes', { 'evaluation.checkpoint_dir': '/etc' }],
    ['an empty distributed.partition_dir', 'nodes', { 'distributed.partition_dir': '/etc' }],
    [
      'the name of a file for each plugin',
      'nodes',
      { plugins: [{ path: '/etc/evil.mjs', sha256: '00', words: [] }] },
    ],
  ])('a configuration without %s', async (what, name, values) => {
    expect(await messageOf(await forged(name, values))).toMatch(
      new RegExp(
        `forged\\.tgz: expected the archive of a packed model with ${what.replaceAll('.', '\\.')}, got ".*pack the run again\\.$`,
      ),
    );
    expect(existsSync(written)).toBe(false);
  });

  it('a query does not run when an archive is exported', async () => {
    const path = await forged('stream', { 'dataset.query': copy, 'dataset.path': '' });
    const options = { format: 'csv', delim: ',', overwrite: false, json: true, plugin: [] };
    await expect(exportCommand(path, { ...options, outputDir: root })).rejects.toThrow(
      /with an empty dataset\.query, got "SELECT 1 AS src/,
    );
    expect(existsSync(written)).toBe(false);
  });

  it('an archive without a configuration does not take that of a folder above', async () => {
    await forged('stream', {});
    const folder = join(at('stream-forged'), 'model');
    const from = join(folder, 'model.safetensors');
    await writeArchive(at('bare.tgz'), [{ name: 'model.safetensors', from }], {});
    expect(await messageOf(at('bare.tgz'))).toMatch(/packed model with full_config\.yaml, got none/);
  });

  it('an archive that was only packed again opens', async () => {
    for (const name of ['stream', 'nodes']) expect(await messageOf(await forged(name, {}))).toBe('no error');
  });

  it('says what it expects of a file that is not compressed, of a missing one and of a name', async () => {
    writeFileSync(at('text.tgz'), 'hello');
    await expect(openModel(at('text.tgz'))).rejects.toThrow(/with data of gzip, got incorrect header check/);
    await expect(openModel(at('missing.tgz'))).rejects.toThrow(/which does not exist/);
    await expect(packModel(at('plain-folder', 'model'), at('model.zip'))).rejects.toThrow(
      /ends in \.tgz or \.tar\.gz/,
    );
  });
});
