/** Details of .npy and .npz as views: sharing, orders, types that views lack, and archives made to harm. */
import { readFile } from 'node:fs/promises';
import { deflateRawSync } from 'node:zlib';
import { readNpz } from 'skein/data';
import { parseNpy, parseNpz, TensorView, viewIds, writeNpy, writeNpz } from 'skein/interop';
import { FormatError } from 'skein/util';
import { describe, expect, it } from 'vitest';

function npy(descr: string, shape: string, data: ArrayBufferView, fortran = false): Uint8Array {
  const order = fortran ? 'True' : 'False';
  const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape}), }`.padEnd(117);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return new Uint8Array([0x93, ...Buffer.from('NUMPY'), 1, 0, 118, 0, ...Buffer.from(`${text}\n`), ...bytes]);
}

const numbers = (view: TensorView): (number | bigint)[] => Array.from(view.toTyped() as ArrayLike<number>);

describe('parseNpy', () => {
  it('shares memory where it can', () => {
    const bytes = writeNpy(TensorView.fromTyped(Float32Array.of(1, 2, 3)));
    const view = parseNpy(bytes);
    expect((view.data as Float32Array).buffer).toBe(bytes.buffer);
    expect(bytes.length % 64).toBe(12);
  });

  it('Fortran order becomes strides over the same memory, or a copy when swapped', () => {
    const data = Int32Array.of(1, 4, 2, 5, 3, 6);
    const bytes = npy('<i4', '2, 3', data, true);
    const view = parseNpy(bytes);
    expect(view.strides).toEqual([1, 2]);
    expect((view.data as Int32Array).buffer).toBe(bytes.buffer);
    expect(numbers(view)).toEqual([1, 2, 3, 4, 5, 6]);
    const swapped = Uint8Array.from(new Uint8Array(data.buffer)).map(
      (_, i, all) => all[i - (i % 4) + 3 - (i % 4)],
    );
    expect(numbers(parseNpy(npy('>i4', '2, 3', swapped, true)))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('types that views lack become wider ones', () => {
    expect(parseNpy(npy('|i1', '2,', Int8Array.of(-1, 5)))).toMatchObject({ dtype: 'i32' });
    expect(numbers(parseNpy(npy('<i2', '2,', Int16Array.of(-300, 5))))).toEqual([-300, 5]);
    expect(numbers(parseNpy(npy('<u2', '1,', Uint16Array.of(65535))))).toEqual([65535]);
    expect(numbers(parseNpy(npy('<u8', '1,', BigUint64Array.of(7n))))).toEqual([7n]);
    expect(() => parseNpy(npy('<u8', '2,', BigUint64Array.of(7n, 2n ** 63n)))).toThrow(
      /below 2\^63 for element 1, got 9223372036854775808/,
    );
    expect(numbers(parseNpy(npy('|b1', '3,', Uint8Array.of(0, 1, 7))))).toEqual([0, 1, 1]);
  });

  it.each([
    ['text', npy('<U2', '1,', new Uint8Array(8)), /expected numbers, got text \(type U2\)/],
    ['objects', npy('|O', '1,', new Uint8Array(8)), /got "\|O"; Python objects are pickles/],
    ['complex numbers', npy('<c8', '1,', new Uint8Array(8)), /got "<c8"/],
    ['too few bytes', npy('<f4', '3,', new Uint8Array(8)), /expected 12 bytes of elements, got 8/],
    ['a shape beyond all', npy('<f4', '9'.repeat(30), new Uint8Array(8)), /below 2\^53 for the shape/],
    ['many empty axes', npy('<f4', '0,'.repeat(20), new Uint8Array(0)), null],
    ['no header', Uint8Array.of(0x93, 78, 85, 77, 80, 89, 1, 0, 255, 255), /header of 65535 bytes/],
  ])('%s', (_, bytes, message) => {
    if (message === null) expect(parseNpy(bytes).size).toBe(0);
    else expect(() => parseNpy(bytes, { name: 'x.npy' })).toThrow(message);
    if (message !== null) expect(() => parseNpy(bytes, { name: 'x.npy' })).toThrow(/^x\.npy/);
  });

  it('a header of 4 GB is rejected before it is read', () => {
    const bytes = new Uint8Array(2 ** 21);
    bytes.set([0x93, ...Buffer.from('NUMPY'), 2, 0, 0, 0, 24, 0]);
    expect(() => parseNpy(bytes)).toThrow(/header of at most 1048576 bytes, got 1572864/);
  });
});

describe('ids', () => {
  it('narrow to i32, or are rejected with their position', () => {
    const i32 = Int32Array.of(3, 4);
    expect(viewIds(TensorView.fromTyped(i32))).toBe(i32);
    expect(viewIds(TensorView.fromTyped(BigInt64Array.of(5n, -1n)))).toEqual(Int32Array.of(5, -1));
    expect(viewIds(TensorView.fromTyped(Uint32Array.of(9)))).toEqual(Int32Array.of(9));
    const wide = [
      BigInt64Array.of(0n, 2n ** 31n),
      BigInt64Array.of(0n, 2n ** 60n + 1n),
      Uint32Array.of(0, 2 ** 31),
    ];
    for (const values of wide)
      expect(() => viewIds(TensorView.fromTyped(values), 'row')).toThrow(
        /^row: .* fits i32 for element 1, got/,
      );
    expect(() => viewIds(TensorView.fromTyped(Float32Array.of(1)))).toThrow(
      /i32, i64, u32 or u8 for ids, got "f32"/,
    );
  });
});

describe('npz', () => {
  it('reads what NumPy wrote, as the reader of files does', async () => {
    const path = 'test/fixtures/data/types.npz';
    const file = await readNpz(path);
    const wanted = file.names.filter((name) => typeof file.get(name).data[0] !== 'string');
    const views = await parseNpz(await readFile(path), { arrays: wanted });
    for (const name of wanted) {
      const { shape, data } = file.get(name);
      expect(views[name].shape).toEqual(shape);
      if (views[name].dtype !== 'f16')
        expect(numbers(views[name]).map(Number)).toEqual(Array.from(data as ArrayLike<number>));
    }
  });

  it('what it writes is read by the reader of files; the same views give the same bytes', async () => {
    const views = {
      x: TensorView.fromTyped(Float32Array.of(1, 2, 3, 4), [2, 2]),
      __proto__: TensorView.fromTyped(Int32Array.of(7)),
    };
    for (const compress of [false, true]) {
      const bytes = await writeNpz(views, { compress });
      expect(await writeNpz(views, { compress })).toEqual(bytes);
      const back = await parseNpz(bytes);
      expect(numbers(back['x'])).toEqual([1, 2, 3, 4]);
    }
  });

  /** An archive of one member, with what the directory says about it. */
  const archive = (data: Uint8Array, packed: Uint8Array, size: number, crcXor = 0): Promise<Uint8Array> =>
    writeNpz({ a: TensorView.fromTyped(data) }, {}).then((good) => {
      // Replaces the stored member by other packed bytes: local header, name, content, directory, end.
      const name = 5;
      const out = new Uint8Array(30 + name + packed.length + 46 + name + 22);
      const view = new DataView(out.buffer);
      out.set(good.subarray(0, 30 + name));
      out.set(packed, 30 + name);
      const central = 30 + name + packed.length;
      out.set(good.subarray(good.length - 22 - 46 - name), central);
      for (const [at, place] of [
        [0, 8],
        [central, 10],
      ])
        view.setUint16(at + place, 8, true);
      view.setUint32(central + 20, packed.length, true);
      view.setUint32(central + 24, size, true);
      view.setUint32(central + 16, view.getUint32(central + 16, true) ^ crcXor, true);
      view.setUint32(out.length - 6, central, true);
      return out;
    });

  const data = Uint8Array.of(1, 2, 3);
  const member = writeNpy(TensorView.fromTyped(data));
  const deflated = deflateRawSync(member);

  it('a deflated member is read when all it says is true', async () => {
    expect(numbers((await parseNpz(await archive(data, deflated, member.length)))['a'])).toEqual([1, 2, 3]);
  });

  it.each([
    ['a wrong checksum', () => archive(data, deflated, member.length, 1), /checksum of a\.npy to hold/],
    ['more than it says', () => archive(data, deflated, member.length - 1), /got more than 130 bytes/],
    [
      'less than it says',
      () => archive(data, deflated, member.length + 1),
      /expected 132 bytes in a\.npy, got 131/,
    ],
    [
      'damaged data',
      () => archive(data, Uint8Array.of(7, 7, 7), member.length),
      /expected deflated data for a\.npy/,
    ],
    [
      'a size that no such data has',
      () => archive(data, deflated, 2 ** 31),
      /that \d+ deflated bytes can have/,
    ],
    [
      'a bomb',
      () => archive(data, deflateRawSync(new Uint8Array(2 ** 24)), 2 ** 24),
      /at most 1048576 bytes of arrays, got 16777216/,
    ],
  ])('%s is rejected', async (_, make, message) => {
    const parsed = parseNpz(await make(), { maxBytes: 2 ** 20 * 1 });
    if (String(message).includes('deflated bytes can have')) {
      await expect(parseNpz(await make(), { maxBytes: 2 ** 33 })).rejects.toThrow(message);
      await expect(parsed).rejects.toThrow(FormatError);
      return;
    }
    await expect(parsed).rejects.toThrow(message);
  });

  it('names arrays that are not there, and rejects one twice', async () => {
    const bytes = await writeNpz({
      row: TensorView.fromTyped(Int32Array.of(1)),
      rox: TensorView.fromTyped(Int32Array.of(1)),
    });
    await expect(parseNpz(bytes, { arrays: ['col'] })).rejects.toThrow(/expected an array col, got row, rox/);
    const text = Buffer.from(bytes).toString('latin1').replaceAll('rox', 'row');
    await expect(parseNpz(Buffer.from(text, 'latin1'))).rejects.toThrow(/each array once, got row again/);
    await expect(parseNpz(Uint8Array.of(1, 2))).rejects.toThrow(/expected a zip archive/);
  });

  it('reads memory that threads share', async () => {
    const bytes = await writeNpz({ a: TensorView.fromTyped(Float64Array.of(1.5)) }, { compress: true });
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    expect(numbers((await parseNpz(shared))['a'])).toEqual([1.5]);
    expect(numbers(parseNpy(writeNpy(TensorView.fromTyped(Float64Array.of(2.5)))))).toEqual([2.5]);
  });
});
