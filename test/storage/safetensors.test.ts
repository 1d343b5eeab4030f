/** The safetensors codec: every malformed input is refused with its byte offset; all else survives the round trip. */

import fc from 'fast-check';
import {
  cast,
  decodeSafetensors,
  encodeSafetensors,
  fromArray,
  fromTypedArray,
  type Tensor,
  zeros,
} from 'skein/tensor';
import { FormatError } from 'skein/util';
import { describe, expect, test } from 'vitest';

/** A file from a header (an object, or text as it is) and data. */
function file(header: unknown, data: Uint8Array = new Uint8Array(0), length?: number): Uint8Array {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const out = new Uint8Array(8 + text.length + data.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(length ?? text.length), true);
  out.set(text, 8);
  out.set(data, 8 + text.length);
  return out;
}

const entry = (dtype: string, shape: unknown, data_offsets: unknown): object => ({
  dtype,
  shape,
  data_offsets,
});

/** A file with this text as header and no data. */
function raw(text: string): Uint8Array {
  const header = new TextEncoder().encode(text);
  const bytes = new Uint8Array(8 + header.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(header.length), true);
  bytes.set(header, 8);
  return bytes;
}

function refused(bytes: Uint8Array): FormatError {
  try {
    decodeSafetensors(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    expect((error as FormatError).details.byteOffset).toBeTypeOf('number');
    return error as FormatError;
  }
  return expect.fail('the bytes were accepted');
}

describe('wrong input', () => {
  const eight = new Uint8Array(8);
  test.each([
    ['nothing', new Uint8Array(0), 'at least 8 bytes (the length of the header), got 0', 0],
    ['less than a length', new Uint8Array(5), 'got 5. The file is truncated', 0],
    [
      'header beyond the file',
      file('{}', eight, 100),
      'a header of 100 bytes, got a file that ends after 18',
      0,
    ],
    [
      'absurd length',
      file('{}', eight, 2 ** 50),
      'at most 100000000 bytes, got a length of 1125899906842624',
      0,
    ],
    ['not UTF-8', file('', Uint8Array.of(0xff, 0xfe), 2), 'UTF-8 text', 8],
    ['broken JSON', file('{"a": nope}'), 'a JSON header', 8],
    ['a list', file('[]'), 'a JSON object as header', 8],
    ['metadata of numbers', file({ __metadata__: { n: 1 } }), 'a string for __metadata__.n, got 1', 8],
    ['metadata of another kind', file({ __metadata__: [] }), 'an object for __metadata__', 8],
    ['entry of another kind', file({ a: 3 }), 'dtype, shape and data_offsets for a, got 3', 9],
    [
      'unknown dtype',
      file({ a: entry('C64', [1], [0, 8]) }, eight),
      'got "C64". Convert it before saving',
      9,
    ],
    ['dtype from the prototype', file({ a: entry('toString', [1], [0, 8]) }, eight), 'got "toString"', 9],
    ['negative size', file({ a: entry('F32', [-2], [0, 8]) }, eight), 'a shape with at most', 9],
    ['fractional size', file({ a: entry('F32', [1.5], [0, 8]) }, eight), 'a shape with at most', 9],
    ['huge shape', file({ a: entry('F32', [2 ** 30, 2 ** 30], [0, 8]) }, eight), 'a shape with at most', 9],
    [
      'offsets reversed',
      file({ a: entry('F32', [2], [8, 0]) }, eight),
      'data_offsets [begin, end] for a, got [8,0]',
      9,
    ],
    [
      'offsets missing',
      file({ a: { dtype: 'F32', shape: [2] } }, eight),
      'data_offsets [begin, end] for a, got undefined',
      9,
    ],
    [
      'size against shape',
      file({ a: entry('F32', [3], [0, 8]) }, eight),
      '12 bytes for a (F32 [3]), got 8',
      9,
    ],
    [
      'overlap',
      file({ a: entry('F32', [1], [0, 4]), b: entry('F32', [1], [2, 6]) }, eight),
      'overlaps the tensor before it',
      62,
    ],
    [
      'hole',
      file({ a: entry('F32', [1], [0, 4]), b: entry('F32', [1], [8, 12]) }, new Uint8Array(12)),
      'leaves a gap before it',
      62,
    ],
    ['gap at the start', file({ a: entry('F32', [1], [4, 8]) }, eight), 'leaves a gap before it', 9],
    [
      'data cut off',
      file({ a: entry('F32', [4], [0, 16]) }, eight),
      '16 bytes of data (a ends there), got 8. The file is truncated',
      71,
    ],
    [
      'more data',
      file({ a: entry('F32', [1], [0, 4]) }, eight),
      'the end of the file after the last tensor, got 4 more bytes',
      66,
    ],
    [
      'a name twice',
      file(
        '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
      ),
      'each name once',
      61,
    ],
  ])('%s', (_name, bytes, message, byteOffset) => {
    const error = refused(bytes as Uint8Array);
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/^safetensors: /);
    expect(error.details.byteOffset).toBe(byteOffset);
  });

  test('a flipped bit of data fails the checksum', () => {
    const bytes = encodeSafetensors({ a: fromArray([1, 2, 3]) });
    bytes[bytes.length - 2] ^= 16;
    const error = refused(bytes);
    expect(error.message).toContain('expected header and data with checksum');
  });

  test('a flipped bit anywhere is noticed', () => {
    const bytes = encodeSafetensors({ a: fromArray([1, 2, 3]) }, { options: '{"lr":0.001}' });
    for (let at = 0; at < bytes.length; at++) {
      const copy = bytes.slice();
      copy[at] ^= 1;
      expect(() => decodeSafetensors(copy), `byte ${at}`).toThrow();
    }
  });

  test('names that occur twice, far from their colon or inside an entry, and long strings', () => {
    const twice = `{"a"${' '.repeat(100)}:${JSON.stringify(entry('F32', [0], [0, 0]))},"a":${JSON.stringify(entry('F32', [0], [0, 0]))}}`;
    expect(refused(raw(twice)).message).toContain('each name once, got "a" again');
    const inner = '{"a":{"dtype":"F32","dtype":"F64","shape":[0],"data_offsets":[0,0]}}';
    expect(refused(raw(inner)).message).toContain('each name once, got "dtype" again');
    const long = { note: `${'x'.repeat(5_000_000)}\\"` };
    expect(decodeSafetensors(encodeSafetensors({ a: fromArray([1]) }, long)).metadata).toEqual(long);
  });

  test('an integer that needs 64 bits', () => {
    const data = new Uint8Array(BigInt64Array.of(5n, 2n ** 31n).buffer);
    const error = refused(file({ n: entry('I64', [2], [0, 16]) }, data));
    expect(error.message).toContain('expected integers of 32 bits for n, got 2147483648');
  });

  test('what cannot be written', () => {
    expect(() => encodeSafetensors({ a: 3 as never })).toThrow(
      'encodeSafetensors: expected a tensor for a, got 3.',
    );
    expect(() => encodeSafetensors({ __metadata__: zeros([1]) })).toThrow(
      'expected another name for a tensor',
    );
    expect(() => encodeSafetensors({}, { epoch: 3 as never })).toThrow(
      'expected a string for metadata epoch, got 3.',
    );
    expect(() => encodeSafetensors({}, { 'skein.crc32': '0' })).toThrow('This one holds the checksum.');
    expect(() => decodeSafetensors('{}' as never)).toThrow(
      'decodeSafetensors: expected a Uint8Array for bytes, got "{}".',
    );
  });

  test('no cut and no flipped byte gets through unnoticed', () => {
    const bytes = encodeSafetensors(
      {
        a: fromArray([
          [1, 2],
          [3, 4],
        ]),
        b: fromTypedArray(Int32Array.of(7)),
      },
      { note: 'x' },
    );
    const header = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    for (let end = 0; end < bytes.length; end++) refused(bytes.subarray(0, end));
    for (let at = header; at < bytes.length; at++) {
      const broken = bytes.slice();
      broken[at] ^= 1;
      refused(broken);
    }
    // Noise in the header is an error by name or still a valid header, never a crash of another kind.
    fc.assert(
      fc.property(fc.nat(header - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const broken = bytes.slice();
        broken[at] ^= flip;
        try {
          decodeSafetensors(broken);
        } catch (error) {
          expect(error).toBeInstanceOf(FormatError);
        }
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});

describe('round trip', () => {
  test('every dtype, scalars, empty and strided tensors, unusual names', () => {
    const tensors: Record<string, Tensor> = {
      f32: fromArray([
        [1.5, -2],
        [Infinity, Number.NaN],
      ]),
      f64: fromArray([Math.PI], { dtype: 'f64' }),
      i32: fromTypedArray(Int32Array.of(-(2 ** 31), 2 ** 31 - 1)),
      u8: fromTypedArray(Uint8Array.of(1, 2, 3), [3, 1]),
      f16: cast(fromArray([1, 0.5]), 'f16'),
      bf16: cast(fromArray([1, 0.5, 2]), 'bf16'),
      scalar: fromArray(7),
      empty: zeros([0, 4]),
      strided: fromArray([
        [1, 2, 3],
        [4, 5, 6],
      ]).T,
      'übung "{}[]" \\': fromArray([1]),
      '0': fromArray([2]),
    };
    const { tensors: read, metadata } = decodeSafetensors(encodeSafetensors(tensors, { note: 'hällo' }));
    expect(metadata).toEqual({ note: 'hällo' });
    expect(Object.keys(read).sort()).toEqual(Object.keys(tensors).sort());
    for (const [name, t] of Object.entries(tensors)) {
      expect(read[name].dtype, name).toBe(t.dtype);
      expect(read[name].shape, name).toEqual(t.shape);
      expect(read[name].dataSync(), name).toEqual(t.dataSync());
    }
  });

  test('a name that is special to objects', () => {
    const bytes = file('{"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', Uint8Array.of(9));
    const { tensors } = decodeSafetensors(bytes);
    expect(Object.keys(tensors)).toEqual(['__proto__']);
    const [[, t]] = Object.entries(tensors);
    expect(t.toArray()).toEqual([9]);
    expect(decodeSafetensors(encodeSafetensors(tensors)).tensors).toHaveProperty('__proto__');
  });

  test('files of other programs: no checksum, BOOL and I64, data that is not aligned', () => {
    const data = new Uint8Array(1 + 8 + 16);
    data[0] = 1;
    data.set(new Uint8Array(Float64Array.of(0.1).buffer), 1);
    data.set(new Uint8Array(BigInt64Array.of(-3n, 4n).buffer), 9);
    const header = {
      flag: entry('BOOL', [], [0, 1]),
      x: entry('F64', [1], [1, 9]),
      n: entry('I64', [2], [9, 25]),
    };
    const { tensors, metadata } = decodeSafetensors(file(header, data));
    expect(tensors.flag.dtype).toBe('u8');
    expect(tensors.flag.item()).toBe(1);
    expect(tensors.x.toArray()).toEqual([0.1]);
    expect(tensors.n.dtype).toBe('i32');
    expect(tensors.n.toArray()).toEqual([-3, 4]);
    expect(metadata).toEqual({});
    expect(decodeSafetensors(file({}))).toEqual({ tensors: {}, metadata: {} });
  });

  test('bytes are a snapshot, aligned to the elements, and equal for equal content', () => {
    const a = fromArray([1, 2]);
    const bytes = encodeSafetensors({
      b: fromArray([3], { dtype: 'f64' }),
      a,
      c: fromTypedArray(Uint8Array.of(1)),
    });
    expect(Number(new DataView(bytes.buffer).getBigUint64(0, true)) % 8).toBe(0);
    expect(
      encodeSafetensors({ c: fromTypedArray(Uint8Array.of(1)), a, b: fromArray([3], { dtype: 'f64' }) }),
    ).toEqual(bytes);
    a.dataSync()[0] = 9;
    expect(decodeSafetensors(bytes).tensors.a.toArray()).toEqual([1, 2]);
    expect(decodeSafetensors(bytes).tensors.a.dataSync().buffer).toBe(bytes.buffer);
  });
});
