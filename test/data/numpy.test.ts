/** Arrays from .npy and .npz files and from pickles: every element type, byte order and version. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MatFile, type PickleArray, PickleCsr, parsePickle, readMat, readNpz } from 'skein/data';
import { FormatError, StorageError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { parseNpy } from '#internal/tensor/npy.js';
import { expectedContent, fixtures } from './fixtures.js';

describe('npy and npz', () => {
  test('every type, order and version', async () => {
    const file = await readNpz(join(fixtures, 'types.npz'));
    expect(file.names).toEqual(Object.keys(expectedContent.types));
    for (const [name, { shape, values }] of Object.entries(expectedContent.types)) {
      const array = file.get(name);
      expect(array.shape, name).toEqual(shape);
      expect(Array.from(array.data as ArrayLike<number | string>), name).toEqual(
        values.map((v) => (typeof v === 'boolean' ? Number(v) : v)),
      );
    }
  });

  test('a name that is not there lists those that are; text is rejected as numbers', async () => {
    const file = await readNpz(join(fixtures, 'shchur', 'tiny.npz'));
    expect(() => file.get('adj')).toThrow(/expected an array adj, got adj_data, adj_indices/);
    expect(() => file.numbers('class_names')).toThrow(/expected numbers for array class_names, got text/);
    await expect(readNpz(join(fixtures, 'none.npz'))).rejects.toThrow(StorageError);
  });

  const npy = (header: string, data: number[], version = 1): Uint8Array =>
    Uint8Array.from([
      ...Buffer.from('\x93NUMPY', 'latin1'),
      version,
      0,
      header.length & 255,
      header.length >> 8,
      ...Buffer.from(header),
      ...data,
    ]);

  test.each([
    ['other content', Uint8Array.of(1, 2, 3), 'expected a .npy file'],
    ['version 4', npy('{}', [], 4), 'expected npy version 1, 2 or 3, got 4'],
    [
      'no shape',
      npy("{'descr': '<f4', 'fortran_order': False}", []),
      'expected descr, fortran_order and shape',
    ],
    ['Python objects', npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", [0]), 'got "|O"'],
    [
      'too few elements',
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", [0, 0, 0, 0]),
      'expected 8 bytes',
    ],
    [
      'a large integer',
      npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", [0, 0, 0, 0, 0, 0, 0, 64]),
      'within ±2^53 for element 0',
    ],
  ])('broken: %s', (_, bytes, message) => {
    expect(() => parseNpy(bytes, 'x.npy')).toThrow(FormatError);
    expect(() => parseNpy(bytes, 'x.npy')).toThrow(message);
    expect(() => parseNpy(bytes, 'x.npy')).toThrow('x.npy');
  });
});

describe('MATLAB files', () => {
  test.each(['plain', 'packed'])('%s', async (name) => {
    const file = await readMat(join(fixtures, 'matlab', `${name}.mat`));
    expect(file.names).toEqual([
      ...['double', 'int', 'cube', 'flag', 'text', 'empty', 'cell', 'complex', 'sparse', 'hollow'],
    ]);
    const values = (variable: string): unknown[] =>
      Array.from(file.array(variable).data as ArrayLike<unknown>);
    expect(file.array('double').shape).toEqual([2, 3]);
    expect(values('double')).toEqual([1.5, -2, 3, 4, 5, 6]);
    expect(values('int')).toEqual([7, -8]);
    expect(file.array('cube').shape).toEqual([2, 3, 4]);
    expect(values('cube')).toEqual(Array.from({ length: 24 }, (_, i) => i));
    expect(values('flag')).toEqual([1, 0]);
    expect(values('text')).toEqual(['hello']);
    expect(file.array('empty').shape).toEqual([0, 3]);
    const sparse = file.sparse('sparse');
    expect(sparse.shape).toEqual([2, 3]);
    expect(sparse.offsets).toEqual(Int32Array.of(0, 1, 3));
    expect(sparse.indices).toEqual(Int32Array.of(1, 0, 2));
    expect(sparse.values).toEqual(Float32Array.of(2, 1, 3));
    expect(file.sparse('hollow').offsets).toEqual(Int32Array.of(0, 0, 0));
    expect(() => file.array('cell')).toThrow(/expected a full array for variable cell, got cell/);
    expect(() => file.array('sparse')).toThrow(/got sparse/);
    expect(() => file.sparse('double')).toThrow(
      /expected a sparse matrix for variable double, got a full array/,
    );
    expect(() => file.array('complex')).toThrow(/expected real numbers for variable complex/);
    expect(() => file.array('x')).toThrow(/expected a variable x, got double, int/);
  });

  test('other content, version 7.3 and damage are named', async () => {
    const good = await readFile(join(fixtures, 'matlab', 'plain.mat'));
    expect(() => new MatFile(Buffer.from('hello'), 'x.mat')).toThrow(
      /x\.mat: expected a MATLAB file of version 5/,
    );
    expect(() => new MatFile(Buffer.from('MATLAB 7.3 MAT-file'.padEnd(200)), 'x.mat')).toThrow(
      /Save it again with -v7/,
    );
    expect(() => new MatFile(good.subarray(0, 300), 'x.mat')).toThrow(/damaged or truncated/);
    for (const name of ['plain', 'packed']) {
      const whole = await readFile(join(fixtures, 'matlab', `${name}.mat`));
      for (let i = 124; i < whole.length; i++) {
        const bad = Buffer.from(whole);
        bad[i] ^= 0xff;
        try {
          const file = new MatFile(bad, 'x.mat');
          for (const variable of file.names)
            variable === 'sparse' ? file.sparse('sparse') : file.array(variable);
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }
    }
  });
});

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'latin1'));

describe('pickles', () => {
  test.each([0, 1, 2, 3, 4])('protocol %i', async (protocol) => {
    const path = join(fixtures, 'pickle', `protocol-${protocol}.pickle`);
    const value = parsePickle(await readFile(path), path) as Map<string, unknown>;
    expect(value.get('text')).toBe('naïve');
    expect(value.get('list')).toEqual([1, -2, 3.5, null, true]);
    expect(value.get('big')).toBe(2 ** 40);
    expect(value.get('tuple')).toEqual([1, [2, 3]]);
    expect(value.get('scalar')).toBe(1.5);
    const { value: array } = value.get('array') as PickleArray;
    expect(array?.shape).toEqual([2, 3]);
    expect(Array.from(array?.data as Int32Array)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('strings of Python 2 are latin1; quotes and escapes of protocol 0', () => {
    expect(parsePickle(bytes('\x80\x02U\x03a\xe9b.'), 'p')).toBe('aéb');
    expect(parsePickle(bytes("S'a\\x41\\n\\'\\\\'\n."), 'p')).toBe("aA\n'\\");
    expect(parsePickle(bytes('Vna\\u00efve\n.'), 'p')).toBe('naïve');
    expect(parsePickle(bytes('(lp0\nI01\naI00\naL-5L\naF1.5\na.'), 'p')).toEqual([true, false, -5, 1.5]);
  });

  test('numbers beyond 2^53 are kept exactly', () => {
    expect(parsePickle(bytes('\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.'), 'p')).toBe(2n ** 64n);
  });

  test('a sparse matrix without its fields is an empty shell, not a crash', () => {
    const matrix = parsePickle(bytes('\x80\x02cscipy.sparse.csr\ncsr_matrix\n)\x81.'), 'p');
    expect(matrix).toBeInstanceOf(PickleCsr);
    expect((matrix as PickleCsr).shape).toBeNull();
  });

  test.each([
    [
      'a command',
      "cposix\nsystem\n(S'x'\ntR.",
      "got the Python name posix.system, at opcode 0x63 'c', byte 0",
    ],
    [
      'a builtin',
      '\x80\x04\x8c\x08builtins\x8c\x04eval\x93.',
      'got the Python name builtins.eval, at opcode 0x93, byte 18',
    ],
    ['an instance', '(i__main__\nX\n.', "at opcode 0x69 'i', byte 1"],
    ['a persistent id', 'Px\n.', "at opcode 0x50 'P', byte 0"],
    ['an extension', '\x80\x02\x82\x01.', 'at opcode 0x82, byte 2'],
    ['protocol 6', '\x80\x06.', 'expected protocol 0 to 5, got 6'],
    ['a call of a class', 'cnumpy\nndarray\n(tR.', 'expected a known function to call'],
    ['an empty stack', '.', 'expected a value on the stack'],
    ['a mark that is not there', 't.', 'expected a mark on the stack'],
    ['a mark as value', '(.', 'expected a value on the stack'],
    ['an unknown memo', 'h\x07.', 'expected a remembered value 7'],
    ['a length beyond the end', 'T\xff\xff\xff\x7f', 'more bytes, got the end of the file'],
    ['no end', ']', 'got the end of the file'],
    ['not a list', 'NNa.', 'expected a list to append to'],
    ['not a dictionary', 'NNNs.', 'expected a dictionary'],
    ['not a number', 'Ix\n.', 'expected a whole number'],
    ['state of nothing', 'NNb.', 'expected the state of'],
    ['a huge number', '\x8b\x00\x00\x10\x00.', 'at most 128 bytes'],
  ])('rejected: %s', (_, text, message) => {
    expect(() => parsePickle(bytes(text), 'file.pickle')).toThrow(FormatError);
    expect(() => parsePickle(bytes(text), 'file.pickle')).toThrow(message);
    expect(() => parsePickle(bytes(text), 'file.pickle')).toThrow('file.pickle');
  });

  test('random damage never escapes as another error', async () => {
    const good = await readFile(join(fixtures, 'pickle', 'protocol-2.pickle'));
    for (let i = 0; i < good.length; i++) {
      for (const flip of [1, 0x10, 0x80, 0xff]) {
        const bad = Uint8Array.from(good);
        bad[i] ^= flip;
        try {
          parsePickle(bad, 'p');
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }
    }
  });
});
