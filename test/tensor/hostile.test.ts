/**
 * Misuse that once reached the kernels with arrays of another size, or silently changed results.
 */
import {
  add,
  arange,
  checkpoint,
  div,
  eye,
  fromArray,
  fromTypedArray,
  gatherRows,
  grad,
  keep,
  norm,
  ones,
  pow,
  reshape,
  scope,
  type Tensor,
  tensor,
  zeros,
} from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { batchNorm } from '#internal/tensor/ops/norm.js';

const leaf = (values: number[] | number[][]): Tensor => fromArray(values, { requiresGrad: true });

describe('memory', () => {
  it('a strided gradient is taken as a copy', () => {
    const x = leaf([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    x.grad = fromArray([
      [0, 1],
      [2, 3],
      [4, 5],
    ]).T;
    x.mul(
      fromArray([
        [1, 2, 3],
        [4, 5, 6],
      ]),
    )
      .sum()
      .backward();
    expect(x.grad?.toArray()).toEqual([
      [1, 4, 7],
      [5, 8, 11],
    ]);
  });
  it('a gradient of another kind is refused', () => {
    const x = leaf([1, 2]);
    expect(() => {
      x.grad = { shape: [2] } as unknown as Tensor;
    }).toThrow(/grad: expected f32 of shape \[2\]/);
  });
  it('a buffer that was transferred away is noticed, and not recycled', () => {
    const t = zeros([1000]);
    structuredClone(t.dataSync().buffer, { transfer: [t.dataSync().buffer as ArrayBuffer] });
    expect(() => t.add(1)).toThrow(/transferred or resized/);
    t.dispose();
    expect(zeros([1000]).sum().item()).toBe(0);
  });
  it('a buffer that can be resized is refused', () => {
    const buffer = new (ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer)(64, {
      maxByteLength: 64,
    });
    expect(() => fromTypedArray(new Float32Array(buffer, 0, 16))).toThrow(/fixed size/);
  });
  it('a shape belongs to the tensor, not to the caller', () => {
    const shape = [2, 2];
    const t = reshape(ones([4]), shape);
    const z = zeros(shape);
    shape[0] = 4_000_000;
    expect([t.shape, z.shape]).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });
  it('statistics of batchNorm may be strided and must fit', () => {
    const x = fromArray([
      [1, 2],
      [3, 4],
    ]);
    const wide = { mean: zeros([1]).expand([2]), variance: ones([1]).expand([2]) };
    expect(batchNorm(x, wide, null, null, 0).toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(() => batchNorm(x, { mean: zeros([2]), variance: ones([1]) })).toThrow(/stats.variance/);
  });
  it('an array that contains itself, and results that are too large, throw', () => {
    const cyclic: unknown[] = [];
    cyclic[0] = cyclic;
    expect(() => tensor(cyclic as never)).toThrow(/fewer than 32 axes/);
    const tall = zeros([1, 1]).expand([70_000, 1]);
    expect(() => tall.add(tall.reshape([1, 70_000]))).toThrow(/at most 2147483647 elements/);
    expect(() => zeros(2 as never)).toThrow(/an array of sizes/);
  });
});

describe('silent changes', () => {
  it('ids do not wrap around', () => {
    expect(() => gatherRows(tensor([10, 11, 12]), [2 ** 32 + 1])).toThrow(/position 0/);
  });
  it('16-bit types are not filled with raw bits', () => {
    expect(() => arange(0, 3, 1, { dtype: 'f16' })).toThrow(/cast/);
    expect(() => eye(2, { dtype: 'bf16' })).toThrow(/cast/);
  });
  it('what a hook keeps or returns stays what it was', () => {
    const x = leaf([1, 2, 3]);
    const constant = fromArray([5, 5, 5]);
    const seen: Tensor[] = [];
    x.registerHook((g) => {
      seen.push(g);
      return constant;
    });
    for (let i = 0; i < 3; i++) x.mul(2).sum().backward();
    expect(seen.map((g) => g.toArray())).toEqual([
      [2, 2, 2],
      [2, 2, 2],
      [2, 2, 2],
    ]);
    expect(constant.toArray()).toEqual([5, 5, 5]);
    expect(x.grad?.toArray()).toEqual([15, 15, 15]);
  });
  it('a hook may remove itself without hiding the next', () => {
    const x = leaf([1]);
    let calls = 0;
    const off = x.registerHook(() => off());
    x.registerHook(() => {
      calls++;
    });
    x.mul(2).sum().backward();
    expect(calls).toBe(1);
  });
  it('gradients from grad() do not share memory', () => {
    const [a, b] = [leaf([1, 2]), leaf([3, 4])];
    const h = a.mul(1);
    const [ga, gb, gh] = grad(add(h, b).mul(3).sum(), [a, b, h]);
    ga?.dataSync().fill(99);
    expect([gb?.toArray(), gh?.toArray()]).toEqual([
      [3, 3],
      [3, 3],
    ]);
  });
  it('retainGrad survives a scope with its kept tensor', () => {
    const x = leaf([1, 2]);
    const h = scope(() => {
      const kept = keep(x.mul(2)).retainGrad();
      kept.square().sum().backward();
      return kept;
    });
    expect(h.grad?.toArray()).toEqual([4, 8]);
  });
  it('checkpoint passes sparse gradients on', () => {
    const x = leaf([[1], [2], [3]]);
    checkpoint((t) => gatherRows(t, [1, 1], { sparse: true }).sum(), x.mul(1)).backward();
    expect(x.grad?.toArray()).toEqual([[0], [2], [0]]);
  });
});

describe('gradients at the edges', () => {
  it('the length of a zero vector, powers of zero, quotients of tiny and huge numbers', () => {
    expect(grad(norm(leaf([0, 0])), [leaf([0, 0])])).toEqual([null]);
    const x = leaf([0, 0]);
    expect(grad(norm(x), [x])[0]?.toArray()).toEqual([0, 0]);
    expect(grad(pow(x, 0).sum(), [x])[0]?.toArray()).toEqual([0, 0]);
    const b = leaf([1e20]);
    expect(grad(div(fromArray([1e30]), b).sum(), [b])[0]?.item()).toBeCloseTo(-1e-10, 15);
  });
});
