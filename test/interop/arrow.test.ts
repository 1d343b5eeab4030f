/** Arrow tables as views and graphs: sharing, joining, and errors that name the column. */
import * as arrow from 'apache-arrow';
import {
  fromArrow,
  graphFromArrow,
  parseArrow,
  TensorView,
  tensorsFromArrow,
  toArrow,
  writeArrow,
} from 'skein/interop';
import { describe, expect, it } from 'vitest';

const numbers = (view: TensorView): (number | bigint)[] => Array.from(view.toTyped() as ArrayLike<number>);

/** Rows of fixed-size lists of f32. */
function matrix(rows: readonly (readonly number[])[], width: number): arrow.Vector {
  const child = arrow.makeData({ type: new arrow.Float32(), data: Float32Array.from(rows.flat()) });
  const type = new arrow.FixedSizeList(width, new arrow.Field('item', new arrow.Float32(), false));
  return new arrow.Vector([arrow.makeData({ type, length: rows.length, nullCount: 0, child })]);
}

describe('columns', () => {
  it('numbers in one chunk are views of the same memory', () => {
    const arrays = [
      [Float32Array.of(1, 2), 'f32'],
      [Float64Array.of(1, 2), 'f64'],
      [Int32Array.of(1, 2), 'i32'],
      [Uint8Array.of(1, 2), 'u8'],
      [Uint32Array.of(1, 2), 'u32'],
      [BigInt64Array.of(1n, 2n), 'i64'],
    ] as const;
    for (const [data, dtype] of arrays) {
      const view = fromArrow(arrow.makeVector(data as Int32Array));
      expect(view).toMatchObject({ dtype, shape: [2] });
      expect((view.data as Int32Array).buffer).toBe(data.buffer);
    }
    const half = arrow.makeData({ type: new arrow.Float16(), data: Uint16Array.of(0x3c00) });
    expect(fromArrow(new arrow.Vector([half]))).toMatchObject({ dtype: 'f16', shape: [1] });
  });

  it('fixed-size lists are matrices over the same memory', () => {
    const column = matrix(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      3,
    );
    const view = fromArrow(column);
    expect(view).toMatchObject({ dtype: 'f32', shape: [2, 3] });
    expect((view.data as Float32Array).buffer).toBe(column.data[0].children[0].values.buffer);
    const part = fromArrow(column.slice(1, 2));
    expect(part.shape).toEqual([1, 3]);
    expect(numbers(part)).toEqual([4, 5, 6]);
  });

  it('several chunks are joined; slices, small integers and bits are read', () => {
    const chunks = arrow.makeVector(Float32Array.of(1, 2)).concat(arrow.makeVector(Float32Array.of(3)));
    expect(numbers(fromArrow(chunks))).toEqual([1, 2, 3]);
    expect(
      numbers(
        fromArrow(
          matrix([[1, 2]], 2).concat(
            matrix(
              [
                [3, 4],
                [5, 6],
              ],
              2,
            ),
          ),
        ),
      ),
    ).toEqual([1, 2, 3, 4, 5, 6]);
    expect(numbers(fromArrow(chunks.slice(1, 3)))).toEqual([2, 3]);
    expect(numbers(fromArrow(arrow.makeVector(Int8Array.of(-3, 4))))).toEqual([-3, 4]);
    expect(numbers(fromArrow(arrow.makeVector(Uint16Array.of(65535))))).toEqual([65535]);
    const flags = arrow.vectorFromArray(
      [true, false, true, true, false, false, false, true, true, false],
      new arrow.Bool(),
    );
    expect(fromArrow(flags).dtype).toBe('bool');
    expect(numbers(fromArrow(flags.slice(3)))).toEqual([1, 0, 0, 0, 1, 1, 0]);
  });

  it('what cannot be a tensor throws an error that names it', () => {
    const cases: [arrow.Vector, RegExp][] = [
      [arrow.vectorFromArray([1, null, 3], new arrow.Float32()), /no nulls for x, got 1 among 3 rows/],
      [
        arrow.vectorFromArray(['a', 'b'], new arrow.Utf8()),
        /numbers or of fixed-size lists of numbers for x, got "Utf8"/,
      ],
      [arrow.vectorFromArray(['a', 'b']), /for x, got "Dictionary/],
      [arrow.vectorFromArray([1n], new arrow.Uint64()), /for x, got "Uint64"/],
      [
        arrow.vectorFromArray([[1], [2, 3]], new arrow.List(new arrow.Field('item', new arrow.Int32()))),
        /got "List/,
      ],
      [
        arrow.vectorFromArray(
          [[1, null]],
          new arrow.FixedSizeList(2, new arrow.Field('item', new arrow.Int32())),
        ),
        /no nulls for x/,
      ],
    ];
    for (const [column, message] of cases) expect(() => fromArrow(column, 'x')).toThrow(message);
    expect(() => fromArrow(null, 'x')).toThrow(/a column of an Arrow table for x, got null/);
  });
});

describe('tables', () => {
  const table = arrow.tableFromArrays({
    src: Int32Array.of(0, 1, 1, 3),
    dst: BigInt64Array.of(1n, 2n, 2n, 3n),
    weight: Float64Array.of(0.5, 1, 2, 4),
  });

  it('give their columns by name, all or some', () => {
    expect(Object.keys(tensorsFromArrow(table))).toEqual(['src', 'dst', 'weight']);
    expect(Object.keys(tensorsFromArrow(table, { columns: ['weight'] }))).toEqual(['weight']);
    expect(() => tensorsFromArrow(table, { columns: ['w'] })).toThrow(
      /expected a column w, got src, dst, weight/,
    );
    expect(() => tensorsFromArrow({} as typeof table)).toThrow(/expected an Arrow table/);
  });

  it('of edges are graphs: multi-edges, self loops and nodes without edges stay', () => {
    const graph = graphFromArrow(table, { numNodes: 6, weight: 'weight' });
    expect(graph.numNodes).toBe(6);
    expect(Array.from(graph.edges().src)).toEqual([0, 1, 1, 3]);
    expect(Array.from(graph.edges().dst)).toEqual([1, 2, 2, 3]);
    expect(Array.from(graph.toEdgeIds(graph.positionWeights('f32') as never).dataSync())).toEqual([
      0.5, 1, 2, 4,
    ]);
    expect(() => graphFromArrow(table, { numNodes: 3 })).toThrow(/3/);
    expect(() => graphFromArrow(table, { numNodes: 6, src: 'from' })).toThrow(/expected a column from/);
    expect(() => graphFromArrow(table, { numNodes: 6, src: 'weight' })).toThrow(
      /i32, i64, u32 or u8 for weight/,
    );
    expect(() => graphFromArrow(table, {} as never)).toThrow(/numNodes/);
    const wide = arrow.tableFromArrays({ src: BigInt64Array.of(0n, 2n ** 40n), dst: Int32Array.of(0, 0) });
    expect(() => graphFromArrow(wide, { numNodes: 6 })).toThrow(/^src: .* for element 1, got 1099511627776/);
  });

  it('are made of views that share memory, and read as bytes', () => {
    const x = TensorView.fromTyped(Float32Array.of(1, 2, 3, 4), [2, 2]);
    const made = toArrow(arrow, { x, id: TensorView.fromTyped(Int32Array.of(7, 8)) });
    expect(made).toBeInstanceOf(arrow.Table);
    expect(made.get(1)?.toJSON()['id']).toBe(8);
    expect(Array.from(made.getChild('x')?.get(1) as arrow.Vector)).toEqual([3, 4]);
    expect((fromArrow(made.getChild('x')).data as Float32Array).buffer).toBe(x.toTyped().buffer);
    for (const type of ['stream', 'file'] as const) {
      const back = parseArrow(arrow, arrow.tableToIPC(made, type));
      expect(numbers(back['x'])).toEqual([1, 2, 3, 4]);
      expect(back['x'].shape).toEqual([2, 2]);
    }
    expect(writeArrow(arrow, { x }).length).toBeGreaterThan(0);
  });

  it('are not made of other shapes, or without the library', () => {
    const cube = TensorView.fromTyped(new Float32Array(8), [2, 2, 2]);
    expect(() => toArrow(arrow, { cube })).toThrow(/\[2\] or \[2, width\] for cube, got "shape \[2, 2, 2\]"/);
    const [a, b] = [TensorView.fromTyped(new Float32Array(2)), TensorView.fromTyped(new Float32Array(3))];
    expect(() => toArrow(arrow, { a, b })).toThrow(/\[2\] or \[2, width\] for b, got "shape \[3\]"/);
    expect(() => toArrow({} as typeof arrow, { a })).toThrow(
      /the module apache-arrow for arrow, got one without Table/,
    );
    expect(() => parseArrow(arrow, Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8))).toThrow(/parseArrow/);
    expect(() => parseArrow(arrow, new Uint8Array(0))).toThrow(/with columns, got none/);
    expect(() => parseArrow(arrow, new Uint8Array(16))).toThrow(/with columns, got none/);
  });
});

describe('damaged bytes', () => {
  const column = Float32Array.from({ length: 60 }, (_, i) => i);
  const table = new arrow.Table({
    a: arrow.vectorFromArray(column),
    b: arrow.vectorFromArray([true, ...Array(59).fill(false)]),
    name: arrow.vectorFromArray(Array.from(column, String)),
  });

  /** Words of the metadata: offsets, and lengths of vectors. */
  function* damage(bytes: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at + 4 <= bytes.length; at += 4) {
      for (const value of [0x7fffffff, 0x00ffffff, 64]) {
        const copy = Uint8Array.from(bytes);
        new DataView(copy.buffer).setUint32(at, value, true);
        yield copy;
      }
      const flipped = Uint8Array.from(bytes);
      flipped[at + (at % 3)] ^= 1 << (at % 7);
      yield flipped;
    }
  }

  // Without the check of lengths, one in twenty of these takes hours.
  it.each(['stream', 'file'] as const)('of a %s are read or rejected in no time', (type) => {
    const bytes = arrow.tableToIPC(table, type);
    let rejected = 0;
    for (const damaged of damage(bytes)) {
      const start = performance.now();
      try {
        parseArrow(arrow, damaged, { columns: ['a', 'b'] });
      } catch (error) {
        rejected++;
        expect((error as { code?: string }).code).toMatch(/^SKEIN_/);
      }
      expect(performance.now() - start).toBeLessThan(2000);
    }
    expect(rejected).toBeGreaterThan(100);
  });

  it('cut anywhere are read or rejected', () => {
    const bytes = arrow.tableToIPC(table, 'file');
    for (let end = 8; end < bytes.length; end += 24)
      expect(() => parseArrow(arrow, bytes.subarray(0, end), { columns: ['a'] })).toThrow(/parseArrow/);
  });

  it('dictionaries and several batches are still read', () => {
    const words = arrow.vectorFromArray(
      ['x', 'y', 'x'],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    );
    const several = new arrow.Table({ n: arrow.vectorFromArray(Int32Array.of(1, 2, 3)), words });
    for (const type of ['stream', 'file'] as const) {
      const back = parseArrow(arrow, arrow.tableToIPC(several.concat(several), type), { columns: ['n'] });
      expect(numbers(back['n'])).toEqual([1, 2, 3, 1, 2, 3]);
    }
  });
});
