import {
  arange,
  eye,
  fromArray,
  fromTypedArray,
  full,
  ones,
  rand,
  randint,
  randn,
  randperm,
  tensor,
  zeros,
} from 'skein/tensor';
import { describe, expect, it } from 'vitest';

describe('making', () => {
  it('rejects ragged, non-numeric and ill-shaped values', () => {
    expect(() => fromArray([[1, 2], [3]])).toThrow(/fromArray: expected 2 items at depth 1/);
    expect(() => fromArray(['a'] as unknown as number[])).toThrow(/expected a number for element 0, got "a"/);
    expect(() => zeros([2, -1])).toThrow(/whole sizes/);
    expect(() => zeros([2 ** 20, 2 ** 20])).toThrow(/at most 2147483647 elements/);
    expect(() => zeros([2], { dtype: 'f8' as 'f32' })).toThrow(/one of f32, f64, i32, u8, f16, bf16/);
    expect(() => fromTypedArray(new Float32Array(3), [2, 2])).toThrow(/4 elements for shape \[2, 2\]/);
    expect(() => fromTypedArray(new Float32Array(3), [3], { dtype: 'f64' })).toThrow(
      /Float64Array for dtype f64/,
    );
    expect(() => tensor(new Uint16Array(2))).toThrow(/Name the dtype/);
    expect(() => arange(0, 3, 0)).toThrow(/other than 0/);
    expect(() => randn([2], { std: -1 })).toThrow(/std/);
    expect(() => randint(3, 3, [1])).toThrow(/hi/);
  });
  it('wraps a typed array without a copy, both ways', () => {
    const data = Float32Array.of(1, 2, 3, 4);
    const t = fromTypedArray(data, [2, 2]);
    data[3] = 9;
    expect(t.toArray()).toEqual([
      [1, 2],
      [3, 9],
    ]);
    expect(t.dataSync()).toBe(data);
  });
  it('fills, counts and makes identities', () => {
    expect(full([2], 3).toArray()).toEqual([3, 3]);
    expect(() => full([2], 10n as never)).toThrow('full: expected a number for value, got 10.');
    expect(eye(2).toArray()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(arange(1, 7, 2).toArray()).toEqual([1, 3, 5]);
    expect(ones([0, 3]).toArray()).toEqual([]);
    expect(tensor(5).item()).toBe(5);
  });
  it('starts memory on 64-byte lines and clean', () => {
    for (let i = 0; i < 3; i++) {
      const t = zeros([33]);
      t.dataSync().fill(7);
      t.dispose();
      expect(Math.max(...(zeros([33]).dataSync() as Float32Array))).toBe(0);
    }
  });
  it('draws in range', () => {
    const u = rand([1000], { lo: -1, hi: 2 }).dataSync() as Float32Array;
    expect(Math.min(...u)).toBeGreaterThanOrEqual(-1);
    expect(Math.max(...u)).toBeLessThan(2);
    expect([...(randperm(50).dataSync() as Int32Array)].sort((a, b) => a - b)).toEqual([...Array(50).keys()]);
  });
});

describe('reading', () => {
  it('reads views in row-major order', () => {
    expect(
      tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]).T.toArray(),
    ).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    expect([
      ...tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]).T.dataSync(),
    ]).toEqual([1, 4, 2, 5, 3, 6]);
  });
  it('item wants one element', () => {
    expect(() => ones([2]).item()).toThrow(/one element.*\[2\]/);
  });
  it('stored types must be cast before they are read', () => {
    expect(() => ones([2]).to('f16').toArray()).toThrow(/cast/);
    expect(ones([2]).to('f16').to('f32').toArray()).toEqual([1, 1]);
  });
  it('data() gives the same as dataSync()', async () => {
    const t = ones([3]);
    expect(await t.data()).toBe(t.dataSync());
  });
});

describe('assign', () => {
  it('overwrites in place, and rejects another shape, dtype or a strided view', () => {
    const t = zeros([2, 2]);
    expect(() => t.assign(zeros([2]))).toThrow(/assign: expected shape \[2, 2\]/);
    expect(() => t.assign(zeros([2, 2], { dtype: 'f64' }))).toThrow(/assign/);
    expect(() => t.T.assign(zeros([2, 2]))).toThrow(/strided/);
    t.assign(
      tensor([
        [1, 2],
        [3, 4],
      ]).T,
    );
    expect(t.toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });
});

describe('printing', () => {
  it('aligns columns and shortens long axes', () => {
    expect(
      String(
        tensor([
          [1, -2.5],
          [100, 0],
        ]),
      ),
    ).toBe('Tensor([2, 2], f32)\n[[  1.0000,  -2.5000],\n [100.0000,   0.0000]]');
    expect(String(zeros([2000]))).toContain('…');
    expect(String(tensor(2))).toBe('Tensor([], f32) 2.0000');
    expect(String(zeros([0, 2]))).toBe('Tensor([0, 2], f32) []');
    expect(String(arange(0, 3))).toBe('Tensor([3], i32)\n[0, 1, 2]');
  });
});
