/** Pairs of linear maps with more rows than the case table has: gradients that are cut among threads, with relu and without. */
import { add, linear, rand, relu, type Tensor } from 'skein/tensor';
import { expect, it } from 'vitest';
import { linearPair } from '#internal/tensor/ops/matmul.js';

const rows = 4200;

function leaves(): Tensor[] {
  const shapes = [[rows, 5], [7, 5], [rows, 3], [7, 3], [7]];
  return shapes.map((shape) => rand(shape, { lo: -1, hi: 1, dtype: 'f64' }).setRequiresGrad());
}

function gradients(tensors: readonly Tensor[], y: Tensor, upstream: Tensor): (number[] | null)[] {
  for (const t of tensors) t.zeroGrad();
  y.backward(upstream);
  return tensors.map((t) => (t.grad === null ? null : Array.from(t.grad.dataSync())));
}

it.each([
  ['all inputs', [0, 1, 2, 3, 4]],
  ['weights alone', [1, 3, 4]],
  ['weights without the bias', [1, 3]],
  ['one weight', [1]],
  ['one input', [2]],
] as const)('gradients of %s are those of the separate operations', (_name, wanted) => {
  for (const positive of [false, true]) {
    const all = leaves();
    for (const [i, t] of all.entries()) t.setRequiresGrad((wanted as readonly number[]).includes(i));
    const [x1, w1, x2, w2, bias] = all;
    const upstream = rand([rows, 7], { lo: -1, hi: 1, dtype: 'f64' });
    const sum = add(linear(x1, w1, bias), linear(x2, w2));
    const apart = positive ? relu(sum) : sum;
    const together = linearPair(x1, w1, x2, w2, bias, { relu: positive });
    expect(together.sub(apart).abs().max().item()).toBeLessThan(1e-14);
    const want = gradients(all, apart, upstream);
    const got = gradients(all, together, upstream);
    for (const [i, each] of want.entries()) {
      if (each === null) expect(got[i]).toBeNull();
      else for (const [j, value] of each.entries()) expect(got[i]?.[j]).toBeCloseTo(value, 10);
    }
  }
});
