import {
  checkpoint,
  defineMultiOp,
  defineOp,
  dropout,
  enableGrad,
  fromArray,
  gatherRows,
  grad,
  manualSeed,
  noGrad,
  rand,
  SparseRows,
  setCheckFinite,
  type Tensor,
  tensor,
} from 'skein/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { backwardAll } from '#internal/tensor/backward.js';

const leaf = (values: number[] | number): Tensor => fromArray(values, { dtype: 'f64', requiresGrad: true });

describe('wrong use', () => {
  it('rejects a root that is not a scalar', () => {
    expect(() => leaf([1, 2]).mul(2).backward()).toThrow(
      /backward: expected a gradient for a root that is not a scalar, got "\[2\]"/,
    );
  });
  it('rejects a root that depends on nothing', () => {
    expect(() => tensor([1]).sum().backward()).toThrow(/depends on a leaf with requiresGrad/);
  });
  it('rejects a second backward through a freed graph', () => {
    const y = leaf(3).square();
    y.backward();
    expect(() => y.backward()).toThrow(/already freed.*retainGraph/s);
  });
  it('rejects a saved value that was changed in place', () => {
    const x = leaf([1, 2]);
    const y = x.square().sum();
    x.storage.version++;
    expect(() => y.backward()).toThrow(/changed in place/);
  });
  it('rejects gradients for whole numbers', () => {
    expect(() => fromArray([1], { dtype: 'i32', requiresGrad: true })).toThrow(/f32 or f64/);
  });
  it('rejects async bodies', () => {
    expect(() => noGrad(async () => 1)).toThrow(/async/);
  });
  it('rejects a gradient of another shape or dtype', () => {
    const y = leaf([1, 2]).mul(1);
    expect(() => y.backward(fromArray([1, 2, 3], { dtype: 'f64' }))).toThrow(/shape \[2\]/);
    expect(() => y.backward(fromArray([1, 2]))).toThrow(/f64/);
  });
  it('says when a backward function returns the wrong number of gradients', () => {
    const bad = defineOp({ name: 'bad', forward: (_c, [x]) => x.mul(1), backward: () => [] });
    expect(() => bad([leaf(1)]).backward()).toThrow(
      /bad has 1 inputs but its backward returned 0 gradients. Return one gradient per input/,
    );
  });
});

describe('accumulation', () => {
  it('sums the uses of a value within and across passes', () => {
    const x = leaf(3);
    const y = x.mul(x).add(x);
    y.backward();
    expect(x.grad?.item()).toBe(7);
    x.mul(2).backward();
    expect(x.grad?.item()).toBe(9);
    x.zeroGrad();
    expect(x.grad).toBeNull();
  });
  it('keeps the graph when asked', () => {
    const x = leaf(2);
    const y = x.square();
    y.backward(undefined, { retainGraph: true });
    y.backward();
    expect(x.grad?.item()).toBe(8);
  });
  it('does not let two leaves share one gradient buffer', () => {
    const a = leaf([1, 2]);
    const b = leaf([3, 4]);
    a.add(b).sum().backward();
    a.grad?.dataSync().fill(9);
    expect(b.grad?.toArray()).toEqual([1, 1]);
  });
  it('runs from several roots in one pass', () => {
    const x = leaf(2);
    const h = x.square();
    backwardAll([h.mul(3), h.mul(5)], [undefined, undefined]);
    expect(x.grad?.item()).toBe(32);
  });
  it('grad() returns gradients and leaves .grad alone', () => {
    const x = leaf([1, 2]);
    const unused = leaf([1, 2]);
    const h = x.square();
    const [gx, gh, none] = grad(h.sum(), [x, h, unused]);
    expect(gx?.toArray()).toEqual([2, 4]);
    expect(gh?.toArray()).toEqual([1, 1]);
    expect(none).toBeNull();
    expect(x.grad).toBeNull();
  });
});

describe('lifetime', () => {
  it('values that user code holds stay valid after backward', () => {
    const x = leaf([1, -2]);
    const logits = x.mul(3);
    const loss = logits.relu().sum();
    loss.backward();
    expect(logits.toArray()).toEqual([3, -6]);
    expect(loss.item()).toBe(3);
  });
  it('a gradient that was read stays valid after zeroGrad', () => {
    const x = leaf([1, 2]);
    x.square().sum().backward();
    const held = x.grad as Tensor;
    x.zeroGrad();
    x.mul(5).sum().backward();
    expect(held.toArray()).toEqual([2, 4]);
  });
  it('disposing an intermediate before backward does no harm', () => {
    const x = leaf([1, 2]);
    const h = x.exp();
    const y = h.square().sum();
    h.dispose();
    for (let i = 0; i < 8; i++) rand([2], { dtype: 'f64' }).dispose();
    y.backward();
    expect(x.grad?.dataSync()[0]).toBeCloseTo(2 * Math.exp(2), 10);
  });
  it('detach cuts the tape and shares memory', () => {
    const x = leaf([1, 2]);
    const d = x.mul(2).detach();
    expect(d.requiresGrad).toBe(false);
    expect(d.isLeaf).toBe(true);
  });
  it('noGrad records nothing, enableGrad inside does', () => {
    const x = leaf([1]);
    expect(noGrad(() => x.mul(2)).requiresGrad).toBe(false);
    expect(noGrad(() => enableGrad(() => x.mul(2))).requiresGrad).toBe(true);
  });
});

describe('ids that backward reads again', () => {
  it('are not those the caller can change, nor memory that a scope recycles', () => {
    const table = fromArray(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    const ids = Int32Array.of(0, 1);
    const picked = gatherRows(table, ids);
    ids.fill(1_000_000);
    picked.sum().backward();
    expect(table.grad?.toArray()).toEqual([
      [1, 1],
      [1, 1],
    ]);
    const idTensor = fromArray([1, 1], { dtype: 'i32' });
    const again = gatherRows(table, idTensor);
    idTensor.dispose();
    rand([2]);
    table.zeroGrad();
    again.sum().backward();
    expect(table.grad?.toArray()).toEqual([
      [0, 0],
      [2, 2],
    ]);
  });
});

describe('hooks', () => {
  it('sees and replaces gradients of inner values and leaves', () => {
    const x = leaf([1, 2]);
    const h = x.mul(2);
    const seen: unknown[] = [];
    h.registerHook((g) => {
      seen.push(g.toArray());
      return g.mul(10);
    });
    x.registerHook((g) => {
      seen.push(g.toArray());
      return undefined;
    });
    h.sum().backward();
    expect(seen).toEqual([
      [1, 1],
      [20, 20],
    ]);
    expect(x.grad?.toArray()).toEqual([20, 20]);
  });
  it('rejects a replacement of another shape or dtype, on leaves and inner values', () => {
    const x = leaf([1, 2]);
    const wrong = (): Tensor => fromArray([1], { dtype: 'f64' });
    const remove = x.registerHook(wrong);
    expect(() => x.mul(2).sum().backward()).toThrow(
      /registerHook: expected nothing or a gradient of f64 and shape \[2\]/,
    );
    remove();
    const h = x.mul(2);
    h.registerHook(() => fromArray([1, 2]));
    expect(() => h.sum().backward()).toThrow(/registerHook/);
  });
  it('can be removed', () => {
    const x = leaf(1);
    const remove = x.registerHook((g) => g.mul(100));
    remove();
    x.mul(2).backward();
    expect(x.grad?.item()).toBe(2);
  });
  it('a leaf hook runs once, when the gradient is complete', () => {
    const x = leaf(3);
    const calls: number[] = [];
    x.registerLeafHook((t) => calls.push(t.grad?.item() as number));
    x.mul(x).add(x).backward();
    expect(calls).toEqual([7]);
  });
  it('retainGrad keeps the gradient of a result', () => {
    const x = leaf(3);
    const h = x.square().retainGrad();
    h.mul(2).backward();
    expect(h.grad?.item()).toBe(2);
  });
});

describe('custom functions', () => {
  const cube = defineOp({
    name: 'cube',
    forward(ctx, [x]) {
      ctx.save(x);
      return x.mul(x).mul(x);
    },
    backward: ({ saved: [x] }, gy) => [gy.mul(x).mul(x).mul(3)],
  });
  it('differentiates through defineOp', () => {
    const x = leaf([2, -1]);
    cube([x]).sum().backward();
    expect(x.grad?.toArray()).toEqual([12, 3]);
  });
  it('lets a user keep what backward received and returned', () => {
    const held: Tensor[] = [];
    const spy = defineOp({
      name: 'spy',
      forward: (_c, [x]) => x.mul(2),
      backward(_c, gy) {
        const g = gy.mul(2);
        held.push(gy, g);
        return [g];
      },
    });
    const x = leaf([1, 2]);
    spy([x.mul(1)])
      .sum()
      .backward();
    for (let i = 0; i < 8; i++) rand([2], { dtype: 'f64' });
    expect(held.map((t) => t.toArray())).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });
  it('blames the author, not Skein, for gradients of a wrong shape, dtype or kind', () => {
    const returning = (value: unknown): (() => void) => {
      const op = defineOp({
        name: 'mine',
        forward: (_c, [x]) => x.mul(1),
        backward: () => [value as Tensor],
      });
      return () =>
        op([leaf([1, 2]).mul(1)])
          .sum()
          .backward();
    };
    expect(returning(fromArray([1], { dtype: 'f64' }))).toThrow(
      /mine: backward returned f64 of shape \[1\] for input 0, which is f64 of shape \[2\]. Return one/,
    );
    expect(returning(fromArray([1, 2]))).toThrow(/f32 of shape \[2\]/);
    expect(returning('x')).toThrow(/mine: backward returned "x"/);
  });
  it('has several results', () => {
    const both = defineMultiOp({
      name: 'both',
      forward: (_c, [x]) => [x.mul(2), x.mul(3)],
      backward: (_c, [a, b]) => [
        (a?.mul(2) ?? null) && (b ? (a as Tensor).mul(2).add(b.mul(3)) : (a as Tensor).mul(2)),
      ],
    });
    const x = leaf(1);
    const [a, b] = both([x]);
    a.add(b.mul(10)).backward();
    expect(x.grad?.item()).toBe(32);
    x.zeroGrad();
    both([x])[0].backward();
    expect(x.grad?.item()).toBe(2);
  });
  it('may record and differentiate inside backward', () => {
    const rematerialized = defineOp({
      name: 'rematerialized',
      forward(ctx, [x]) {
        ctx.save(x);
        return x.exp().square();
      },
      backward({ saved: [x] }, gy) {
        const inner = x.detach().setRequiresGrad();
        enableGrad(() => inner.exp().square()).backward(gy);
        return [inner.grad];
      },
    });
    const x = leaf([0.5, 1]);
    rematerialized([x.mul(1)])
      .sum()
      .backward();
    expect(x.grad?.dataSync()[0]).toBeCloseTo(2 * Math.exp(1), 10);
  });
  it('an operation that returns its input keeps both places in the tape', () => {
    const identity = defineOp({
      name: 'identity',
      forward: (_c, [x]) => x,
      backward: (_c, gy) => [gy.mul(7)],
    });
    const x = leaf(1);
    identity([x]).backward();
    expect(x.grad?.item()).toBe(7);
    expect(x.isLeaf).toBe(true);
  });
});

describe('checkpoint', () => {
  it('gives the gradients of the plain computation, parameters and dropout included', () => {
    const run = (wrap: boolean): unknown[] => {
      manualSeed(3);
      const x = rand([4, 5], { dtype: 'f64' }).setRequiresGrad();
      const w = rand([5, 3], { dtype: 'f64' }).setRequiresGrad();
      const body = (t: Tensor): Tensor => dropout(t.matmul(w).tanh(), 0.5);
      const y = wrap ? checkpoint(body, x) : body(x);
      const after = dropout(y, 0.5);
      after.sum().backward();
      return [after.toArray(), x.grad?.toArray(), w.grad?.toArray()];
    };
    expect(run(true)).toEqual(run(false));
  });
  it('works when only parameters inside need a gradient', () => {
    const w = leaf([2]);
    checkpoint((t) => t.mul(w), fromArray([3], { dtype: 'f64' }))
      .sum()
      .backward();
    expect(w.grad?.toArray()).toEqual([3]);
  });
});

describe('sparse row gradients', () => {
  it('arrive as rows on a leaf and add up', () => {
    const table = fromArray(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      { requiresGrad: true },
    );
    gatherRows(table, [2, 0, 2], { sparse: true }).sum().backward();
    expect(table.grad).toBeNull();
    const rows = table.sparseGrad?.coalesce();
    expect([...(rows?.ids ?? [])]).toEqual([0, 2]);
    expect([...(rows?.rows ?? [])]).toEqual([1, 1, 2, 2]);
  });
  it('are checked: ids, sizes, and the leaf they are given to', () => {
    const rows = Float32Array.of(1, 2);
    expect(() => new SparseRows([4, 2], Int32Array.of(4), rows)).toThrow(
      /ids from 0 to 3 for ids, got "4 at position 0"/,
    );
    expect(() => new SparseRows([4, 3], Int32Array.of(0), rows)).toThrow(/3 values/);
    const ids = Int32Array.of(1);
    const fine = new SparseRows([4, 2], ids, rows);
    ids[0] = 1 << 28;
    expect(() => fine.coalesce()).toThrow(/ids from 0 to 3/);
    const table = fromArray([[1, 2]], { requiresGrad: true });
    expect(() => {
      table.sparseGrad = new SparseRows([4, 2], Int32Array.of(1), rows);
    }).toThrow(/sparseGrad: expected "f32 of shape \[1, 2\]"|sparseGrad: expected f32 of shape \[1, 2\]/);
  });
  it('become dense with a dense use, and below another operation', () => {
    const table = fromArray(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    gatherRows(table, [1], { sparse: true }).sum().add(table.sum()).backward();
    expect(table.grad?.toArray()).toEqual([
      [1, 1],
      [2, 2],
    ]);
    const other = fromArray(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    gatherRows(other.mul(2), [0, 0], { sparse: true }).sum().backward();
    expect(other.grad?.toArray()).toEqual([
      [4, 4],
      [0, 0],
    ]);
  });
});

describe('finite check', () => {
  afterEach(() => setCheckFinite(false));
  it('names the first operation whose result is not finite', () => {
    setCheckFinite(true);
    expect(() => tensor([1, 0]).log()).toThrow(/log: produced -Infinity at position 1/);
  });
  it('names the operation whose gradient is not finite', () => {
    setCheckFinite(true);
    const x = tensor([0, 1]).setRequiresGrad();
    expect(() => x.sqrt().sum().backward()).toThrow(/sqrt \(backward, input 0\): produced Infinity/);
  });
});
