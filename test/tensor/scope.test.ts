import {
  fromTypedArray,
  keep,
  noGrad,
  ones,
  poolStats,
  rand,
  scope,
  type Tensor,
  tensor,
  zeros,
} from 'skein/tensor';
import { describe, expect, it } from 'vitest';

describe('scope', () => {
  it('rejects async bodies and disposes what they made', () => {
    expect(() => scope(async () => 1)).toThrow(/Await first/);
  });
  it('a tensor that left its scope throws when used and says what to do', () => {
    let escaped: Tensor | null = null;
    scope(() => {
      escaped = ones([2]);
    });
    expect(() => (escaped as unknown as Tensor).sum()).toThrow(
      /disposed.*return it from the scope or pass it to keep/s,
    );
    expect(String(escaped)).toContain('disposed');
  });
  it('returns tensors alive, also inside arrays, maps and objects', () => {
    const result = scope(() => ({ a: ones([1]), list: [ones([1])], map: new Map([['k', ones([1])]]) }));
    expect([result.a, result.list[0], result.map.get('k')].every((t) => t?.isDisposed === false)).toBe(true);
  });
  it('passes survivors of an inner scope to the outer one', () => {
    let inner: Tensor | null = null;
    scope(() => {
      inner = scope(() => ones([3]));
      expect(inner.isDisposed).toBe(false);
    });
    expect((inner as unknown as Tensor).isDisposed).toBe(true);
  });
  it('spares what is kept, parameters and their gradients', () => {
    const w = ones([3]).setRequiresGrad();
    let kept: Tensor | null = null;
    scope(() => {
      kept = keep(ones([2]));
      w.mul(2).sum().backward();
    });
    expect((kept as unknown as Tensor).toArray()).toEqual([1, 1]);
    expect(w.grad?.toArray()).toEqual([2, 2, 2]);
  });
  it('cleans up when the body throws', () => {
    let made: Tensor | null = null;
    expect(() =>
      scope(() => {
        made = ones([2]);
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect((made as unknown as Tensor).isDisposed).toBe(true);
  });
  it('reuses the same memory step after step', () => {
    const w = ones([64, 64]).setRequiresGrad();
    const step = (): void =>
      scope(() => {
        w.zeroGrad();
        w.matmul(w).relu().sum().backward();
      });
    for (let i = 0; i < 3; i++) step();
    const { allocations } = poolStats();
    for (let i = 0; i < 50; i++) step();
    expect(poolStats().allocations).toBe(allocations);
  });
  it('gives memory back that backward needed after an inner scope had ended', () => {
    const w = rand([200, 200]).setRequiresGrad();
    const step = (): void =>
      scope(() => {
        w.zeroGrad();
        const h = scope(() => w.matmul(w).relu().slice(0, 100).matmul(w));
        h.add(scope(() => h.mul(h)))
          .sum()
          .backward();
      });
    for (let i = 0; i < 3; i++) step();
    const { allocations } = poolStats();
    for (let i = 0; i < 50; i++) step();
    expect(poolStats().allocations).toBe(allocations);
  });
});

describe('dispose', () => {
  it('happens with using, once, and views keep the memory', () => {
    const base = tensor([1, 2, 3, 4]);
    const view = base.reshape([2, 2]);
    base.dispose();
    base.dispose();
    for (let i = 0; i < 4; i++) zeros([4]).dispose();
    expect(view.toArray()).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });
  it('never recycles memory that belongs to the caller', () => {
    const mine = Float32Array.of(1, 2, 3);
    fromTypedArray(mine).dispose();
    noGrad(() => zeros([3]));
    expect([...mine]).toEqual([1, 2, 3]);
  });
});
