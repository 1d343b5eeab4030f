/** Files and options made to mislead the readers: each is rejected soon, and without writing elsewhere. */
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import {
  type EdgeListOptions,
  loadDataset,
  MatFile,
  parsePickle,
  readEdgeList,
  readNTriples,
  readTripleFiles,
} from 'skein/data';
import { FormatError, StorageError, ValueError } from 'skein/util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseNpy } from '#internal/tensor/npy.js';

let folder = '';
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-hostile-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(content: string | Uint8Array, name = 'file.txt'): Promise<string> {
  const path = join(folder, `${count++}-${name}`);
  await writeFile(path, content);
  return path;
}

/** Asserts the error of a promise: class and message. */
async function expectFailure(work: Promise<unknown>, type: new (...args: never[]) => Error, message: RegExp) {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(type);
  expect((error as Error).message).toMatch(message);
}

describe('edge lists', () => {
  test('a truncated .gz is rejected wherever it ends', async () => {
    const rows = Array.from({ length: 20_000 }, (_, i) => `${(i * 7919) % 20_000},${i}`);
    const whole = gzipSync(rows.join('\n'));
    const path = await put(whole, 'edges.csv.gz');
    expect((await readEdgeList(path)).edges.src.length).toBe(20_000);
    const cuts = [0, 1, 9, 10, 18, whole.length - 9, whole.length - 8, whole.length - 4, whole.length - 1];
    for (let i = 1; i < 40; i++) cuts.push(Math.floor((whole.length * i) / 40));
    for (const cut of cuts) {
      await writeFile(path, whole.subarray(0, cut));
      await expectFailure(
        readEdgeList(path),
        FormatError,
        /edges\.csv\.gz: expected gzip data, .* truncated/,
      );
    }
    const wrong = Buffer.from(whole);
    wrong[whole.length - 6] ^= 1;
    await writeFile(path, wrong);
    await expectFailure(readEdgeList(path), FormatError, /edges\.csv\.gz: expected gzip data/);
  });

  test.each<[string, unknown, RegExp]>([
    ['a fraction of nodes', { numNodes: 1.5 }, /a whole number from 0 to 2147483647 for numNodes, got 1\.5/],
    ['too many nodes', { numNodes: 2 ** 31 }, /for numNodes, got 2147483648/],
    ['SQL as the number of nodes', { numNodes: '1; DROP TABLE edge' }, /for numNodes, got "1; DROP/],
    ['SQL as base', { idBase: '0) OR (1' }, /for idBase, got "0\) OR/],
    ['a fraction as base', { idBase: 0.5 }, /a whole number from 0 to 1 for idBase/],
    ['an unknown kind of ids', { ids: 'words' }, /"integers" or "names" for ids, got "words"/],
    ['an unknown option', { delimeter: ',' }, /for an option, got "delimeter"/],
    ['a long delimiter', { delimiter: 'a long one' }, /for delimiter/],
    ['an empty delimiter', { delimiter: '' }, /for delimiter/],
    ['a comment over two lines', { comment: '#\n' }, /for comment/],
    ['a comment that is the delimiter', { delimiter: '#' }, /not overlap the delimiter "#" for comment/],
    ['a header that is a word', { header: 'yes' }, /true or false for header, got "yes"/],
    ['a column that is a list', { weight: [2] }, /for weight, got \[2\]/],
    ['options that are null', null, /an object for options, got null/],
  ])('option: %s', async (_, options, message) => {
    for (const text of ['0,1\n', '']) {
      await expectFailure(readEdgeList(await put(text), options as EdgeListOptions), ValueError, message);
    }
  });

  test('signs of SQL in options are text', async () => {
    for (const [text, options] of [
      ["0'1\n1'2\n", { delimiter: "'" }],
      ["0,1\n'x\n1,2\n", { comment: "'" }],
    ] as const) {
      expect((await readEdgeList(await put(text), options)).edges.dst).toEqual(Int32Array.of(1, 2));
    }
  });

  test('a weight beyond f32 has file and line', async () => {
    const reading = (weight: string) =>
      put(`0,1,1\n0,2,${weight}\n`).then((p) => readEdgeList(p, { weight: 2 }));
    expect((await reading('-3.4028235e38')).weight?.[1]).toBe(Math.fround(-3.4028235e38));
    for (const weight of ['1e300', '-1e39', '3.4028235677973366e38'])
      await expectFailure(
        reading(weight),
        FormatError,
        /file\.txt:2: expected a number within the range of f32/,
      );
  });

  test.each([
    '0,1\n1,2\r\n2,3\n',
    '0,1\r\n1,2\n2,3\r\n',
    'a,b\n\r\n0,1\n1,2\n2,3',
    '# c\r\n0,1\n1,2\n2,3\r\n',
  ])('mixed line ends are line ends: %j', async (text) => {
    for (const ids of ['integers', 'names'] as const) {
      const { edges } = await readEdgeList(await put(text), { ids });
      expect([edges.src, edges.dst]).toEqual([Int32Array.of(0, 1, 2), Int32Array.of(1, 2, 3)]);
    }
  });
});

describe('text', () => {
  test('a line without end is rejected with its number, soon', async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from('a\tr\tb\n'), Buffer.alloc(80 << 20, 'x')]), {
      level: 1,
    });
    const path = await put(bomb, 'facts.txt.gz');
    await expectFailure(
      readTripleFiles({ all: path }),
      FormatError,
      /:2: expected a line of at most 67108864/,
    );
  });

  test('lines over many chunks stay whole', async () => {
    const name = 'é'.repeat(3 << 20);
    const { all } = await readTripleFiles({ all: await put(`a\tr\t${name}\r\n${name}\tr\tb`) });
    expect(all.entities.map((entity) => entity.length)).toEqual([1, name.length, 1]);
  });

  test('N-Triples: a literal of 16 MB is read, an IRI of that size read or rejected', async () => {
    const long = 'x'.repeat(16 << 20);
    const { entities } = await readNTriples(await put(`<u:a> <u:b> "${long}\\"\\u0041"@en .\n`));
    expect(entities[1].length).toBe(long.length + 7);
    for (const line of [
      `<u:${long}> <u:b> <u:c> .`,
      `_:${long} <u:b> <u:c> .`,
      `<u:a> <u:b> "c"@${long} .`,
    ]) {
      const error = await readNTriples(await put(`<u:a> <u:b> <u:c> .\n${line}`)).catch(
        (reason: unknown) => reason,
      );
      if (error instanceof Error) {
        expect(error).toBeInstanceOf(FormatError);
        expect(error.message).toMatch(/file\.txt:2: expected a shorter term at column/);
      }
    }
  });
});

describe('loading', () => {
  test('a link out of the root is rejected before anything is written', async () => {
    const [outside, root] = [join(folder, 'outside'), join(folder, 'root')];
    await mkdir(outside);
    await mkdir(root);
    const load = () => loadDataset('umls', { root, mirror: 'http://127.0.0.1:9' });
    for (const target of [outside, join(outside, 'absent')]) {
      await symlink(target, join(root, 'umls'));
      await expectFailure(load(), StorageError, /umls.*(which leads to|with ENOENT)/);
      await rm(join(root, 'umls'));
    }
    expect(await readdir(outside)).toEqual([]);
    await symlink(root, join(folder, 'alias'));
    const aliased = loadDataset('umls', { root: join(folder, 'alias'), mirror: 'http://127.0.0.1:9' });
    await expectFailure(aliased, StorageError, /download failed/);
  });

  test.each([{ root: 5 }, { download: 'no' }, { mirror: 5 }])('options %j', async (options) => {
    const name = Object.keys(options)[0];
    const message = new RegExp(`^loadDataset: expected .* for ${name}, got`);
    await expectFailure(loadDataset('cora', { root: folder, ...options } as never), ValueError, message);
  });
});

describe('npy', () => {
  const npy = (header: string): Uint8Array =>
    Buffer.concat([
      Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length, 0]),
      Buffer.from(header),
    ]);

  test.each(['<U0', '|S0'])('many elements of no size: %s', (type) => {
    const bytes = npy(`{'descr': '${type}', 'fortran_order': False, 'shape': (4000000000,)}`);
    expect(() => parseNpy(bytes, 'x.npy')).toThrow(FormatError);
    expect(() => parseNpy(bytes, 'x.npy')).toThrow(/x\.npy: expected elements of at least one byte/);
  });

  test('too many axes', () => {
    const bytes = npy(`{'descr': '<f4', 'fortran_order': True, 'shape': (${'0,'.repeat(70)})}`);
    expect(() => parseNpy(bytes, 'x.npy')).toThrow(/on at most 64 axes, got f4 with 0 elements on 70 axes/);
  });
});

describe('pickles', () => {
  const dtype = (name: string): string => `cnumpy\ndtype\n(S'${name}'\ntR`;
  const array = 'cnumpy.core.multiarray\n_reconstruct\n(tR';
  test.each([
    ['elements of no size', `${array}(I1\n(I99999999\nt${dtype('S0')}I00\nS''\ntb.`, /at least one byte/],
    [
      'a scalar that is cut off',
      `cnumpy.core.multiarray\nscalar\n(${dtype('f8')}S'abc'\ntR.`,
      /expected 8 bytes/,
    ],
    ['a tuple as field', `cscipy.sparse.csr\ncsr_matrix\n)\x81}(I1\nI2\ntI3\nsb.`, /names for the fields/],
    ['tuples in tuples', `)${'\x85'.repeat(100_000)}.`, /at most 100 levels/],
    ['lists in lists', `${']'.repeat(100_000)}${'a'.repeat(99_999)}.`, /at most 100 levels/],
    ['dictionaries in dictionaries', `${'}N'.repeat(5000)}N${'s'.repeat(5000)}.`, /at most 100 levels/],
    [
      'the same bytes again and again',
      `S'${'x'.repeat(100_000)}'\np0\n0c_codecs\nencode\np1\n0${"g1\n(g0\nS'latin1'\ntR0".repeat(2000)}N.`,
      /in proportion to the file/,
    ],
    ['a long number', `L${'9'.repeat(1_000_000)}L\n.`, /at most 309 digits/],
  ])('%s', (_, text, message) => {
    const parse = () => parsePickle(Buffer.from(text, 'latin1'), 'file.pickle');
    expect(parse).toThrow(FormatError);
    expect(parse).toThrow(message);
    expect(parse).toThrow(/^file\.pickle: .*at opcode .*, byte \d+/);
  });
});

describe('MATLAB files', () => {
  /** An element: type, bytes, filled up to a multiple of 8 unless it is compressed. */
  const element = (type: number, data: Uint8Array): Buffer => {
    const tag = Buffer.alloc(8);
    tag.writeUInt32LE(type, 0);
    tag.writeUInt32LE(data.length, 4);
    return Buffer.concat([tag, data, Buffer.alloc(type === 15 ? 0 : (8 - (data.length % 8)) % 8)]);
  };
  const i32 = (...values: number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);
  const f64 = (...values: number[]): Uint8Array => new Uint8Array(Float64Array.from(values).buffer);
  const matrix = (kind: number, size: Buffer, ...parts: Buffer[]): Buffer =>
    element(14, Buffer.concat([element(6, i32(kind, 0)), size, element(1, Buffer.from('v')), ...parts]));
  const file = (...elements: Buffer[]): MatFile => {
    const header = Buffer.alloc(128, ' ');
    header.write('\x00\x01IM', 124, 'latin1');
    return new MatFile(Buffer.concat([header, ...elements]), 'x.mat');
  };
  const sparse = (size: Buffer): MatFile =>
    file(matrix(5, size, element(5, i32(0)), element(5, i32(0, 1)), element(9, f64(1))));

  test('a small sparse matrix, as a check of the maker', () => {
    expect(sparse(element(5, i32(3, 1))).sparse('v').offsets).toEqual(Int32Array.of(0, 1, 1, 1));
    expect(
      file(element(15, deflateSync(matrix(4, element(5, i32(1, 0)), element(16, i32()))))).array('v').data,
    ).toEqual(['']);
  });

  test.each<[string, () => unknown, RegExp]>([
    ['a bomb', () => file(element(15, deflateSync(Buffer.alloc(300 << 20)))), /inflate too much/],
    [
      'compressed in compressed',
      () => file(element(15, deflateSync(element(15, deflateSync(matrix(6, element(5, i32(0, 0)))))))),
      /nested compressed data/,
    ],
    ['many rows', () => sparse(element(5, i32(2 ** 31 - 1, 1))).sparse('v'), /expected rows that fit/],
    ['too many rows', () => sparse(element(9, f64(2 ** 40, 1))).sparse('v'), /sizes from 0 to 2\^31 - 1/],
    ['a fraction of a row', () => sparse(element(9, f64(1.5, 1))).sparse('v'), /sizes from 0 to 2\^31 - 1/],
    ['many columns', () => sparse(element(5, i32(1, 2 ** 31 - 1))).sparse('v'), /x\.mat/],
    [
      'text of no width',
      () => file(matrix(4, element(5, i32(2 ** 31 - 1, 0)), element(16, i32()))).array('v'),
      /text of some width for variable v/,
    ],
  ])('%s', (_, read, message) => {
    let error: unknown = null;
    try {
      read();
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toMatch(/^x\.mat/);
  });
});
