/**
 * One contract for every format that tensors are transferred in: what is written comes back, and nothing but a named error
 * comes from bytes that are not of the format. Formats differ in the types and shapes they hold.
 */
import * as arrow from 'apache-arrow';
import fc from 'fast-check';
import {
  parseArrow,
  parseNpy,
  parseNpz,
  parseSafetensors,
  TensorView,
  type ViewDType,
  writeArrow,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from 'skein/interop';
import { SkeinError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { ViewArray } from '#internal/interop/view-dtype.js';

type Views = Record<string, TensorView>;

interface Format {
  readonly name: string;
  write(views: Views): Uint8Array | Promise<Uint8Array>;
  parse(bytes: Uint8Array): Views | Promise<Views>;
  readonly dtypes: readonly ViewDType[];
  /** Fewest and most axes. */
  readonly ranks: readonly [number, number];
  readonly single?: boolean;
  /** The bytes are read by another library, which may not end on a damaged length; only cuts are tried then. */
  readonly isForeign?: boolean;
}

const all: readonly ViewDType[] = ['f32', 'f64', 'f16', 'i32', 'u32', 'i64', 'u8', 'bool'];
const formats: Format[] = [
  {
    name: 'npy',
    write: ({ a }) => writeNpy(a),
    parse: (bytes) => ({ a: parseNpy(bytes) }),
    dtypes: all,
    ranks: [0, 4],
    single: true,
  },
  {
    name: 'npz',
    write: (views) => writeNpz(views),
    parse: (bytes) => parseNpz(bytes),
    dtypes: all,
    ranks: [0, 4],
  },
  {
    name: 'npz, compressed',
    write: (views) => writeNpz(views, { compress: true }),
    parse: (bytes) => parseNpz(bytes),
    dtypes: all,
    ranks: [0, 4],
  },
  {
    name: 'safetensors',
    write: (views) => writeSafetensors(views),
    parse: (bytes) => parseSafetensors(bytes).views,
    dtypes: [...all, 'bf16'],
    ranks: [0, 4],
  },
  {
    name: 'Arrow',
    write: (views) => writeArrow(arrow, views),
    parse: (bytes) => parseArrow(arrow, bytes),
    dtypes: all,
    ranks: [1, 2],
    isForeign: true,
  },
];

const makers: Record<ViewDType, (n: number) => ViewArray> = {
  f32: (n) =>
    Float32Array.from({ length: n }, (_, i) => [0.1, -0, Infinity, Number.NaN, 1e-40][i % 5] * (i + 1)),
  f64: (n) => Float64Array.from({ length: n }, (_, i) => (i + 1) * 1e300 - 0.1),
  f16: (n) => Uint16Array.from({ length: n }, (_, i) => i * 977),
  bf16: (n) => Uint16Array.from({ length: n }, (_, i) => i * 1009),
  i32: (n) => Int32Array.from({ length: n }, (_, i) => (i % 2 === 0 ? -(2 ** 31) + i : 2 ** 31 - 1 - i)),
  u32: (n) => Uint32Array.from({ length: n }, (_, i) => 2 ** 32 - 1 - i),
  i64: (n) => BigInt64Array.from({ length: n }, (_, i) => (i % 2 === 0 ? -1n : 1n) * (2n ** 62n + BigInt(i))),
  u8: (n) => Uint8Array.from({ length: n }, (_, i) => 255 - i),
  bool: (n) => Uint8Array.from({ length: n }, (_, i) => Number(i % 3 === 0)),
};

function makeView(dtype: ViewDType, shape: readonly number[]): TensorView {
  return TensorView.fromTyped(makers[dtype](shape.reduce((product, side) => product * side, 1)), shape, {
    dtype,
  });
}

/** The bits of the elements: NaN and −0 count. */
function bitsOf(view: TensorView): Uint8Array {
  const data = view.toTyped();
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
}

function expectSame(got: TensorView, want: TensorView): void {
  expect(got.dtype).toBe(want.dtype);
  expect(got.shape).toEqual(want.shape);
  expect(bitsOf(got)).toEqual(bitsOf(want));
}

const shapes = [[], [0], [1], [7], [0, 3], [3, 0], [2, 5], [4, 1], [2, 3, 4], [1, 2, 0, 3]];

for (const { name, write, parse, dtypes, ranks, single = false, isForeign = false } of formats) {
  const fitting = shapes.filter(({ length }) => length >= ranks[0] && length <= ranks[1]);
  describe(name, () => {
    for (const dtype of dtypes) {
      it(`${dtype} comes back bit for bit: empty, scalar, every rank`, async () => {
        for (const shape of fitting) {
          const view = makeView(dtype, shape);
          const { a } = await parse(await write({ a: view }));
          expectSame(a, view);
        }
      });
    }

    it('a view with strides and an offset is written in row-major order', async () => {
      const data = Float32Array.from({ length: 20 }, (_, i) => i);
      const strided = TensorView.fromTyped(data, [3, 2], { strides: [1, 4], byteOffset: 8 });
      const { a } = await parse(await write({ a: strided }));
      expect(Array.from(a.toTyped() as Float32Array)).toEqual([2, 6, 3, 7, 4, 8]);
    });

    it('reads bytes at any memory offset', async () => {
      const view = makeView('f64', [5]);
      const bytes = await write({ a: view });
      for (let shift = 1; shift < 8; shift++) {
        const moved = new Uint8Array(bytes.length + shift);
        moved.set(bytes, shift);
        const { a } = await parse(moved.subarray(shift));
        expectSame(a, view);
      }
    });

    if (!single) {
      it('several tensors by name, in any language', async () => {
        const views = {
          weights: makeView('f32', [3, 2]),
          'имя 名前': makeView('i64', [3]),
          flags: makeView('bool', [3]),
        };
        const back = await parse(await write(views));
        expect(Object.keys(back).sort()).toEqual(Object.keys(views).sort());
        for (const [key, view] of Object.entries(views)) expectSame(back[key], view);
      });
    }

    it('rejects what is not a view, and a view that was released', async () => {
      await expect(async () => write({ a: {} as TensorView })).rejects.toThrow(/expected a TensorView/);
      const gone = makeView('f32', [2]);
      gone.release();
      await expect(async () => write({ a: gone })).rejects.toThrow(/released/);
    });

    it('bytes that were cut, changed or made up give a named error or tensors', async () => {
      const views = single
        ? { a: makeView('i32', [4, 3]) }
        : { a: makeView('i32', [4, 3]), b: makeView('f32', [4]) };
      const good = await write(views);
      const check = async (bytes: Uint8Array): Promise<void> => {
        try {
          for (const view of Object.values(await parse(bytes))) view.toTyped();
        } catch (error) {
          if (!(error instanceof SkeinError)) throw error;
        }
      };
      for (let cut = 0; cut < good.length; cut += Math.max(1, good.length >> 6))
        await check(good.slice(0, cut));
      if (isForeign) return;
      const byte = fc.record({ at: fc.nat(good.length - 1), value: fc.integer({ min: 0, max: 255 }) });
      await fc.assert(
        fc.asyncProperty(fc.array(byte, { minLength: 1, maxLength: 4 }), async (changes) => {
          const bytes = good.slice();
          for (const { at, value } of changes) bytes[at] = value;
          await check(bytes);
        }),
        { numRuns: 300, seed: 7 },
      );
      await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), check), { numRuns: 200, seed: 8 });
    });
  });
}

it.each(['npy', 'Arrow'])('%s has no bf16', async (name) => {
  const format = formats.find((each) => each.name === name) as Format;
  await expect(async () => format.write({ a: makeView('bf16', [3]) })).rejects.toThrow(/got "bf16"/);
});
