/** Scores of edges as tensor functions: gradients, twins, threads; backward twice; wrong input. */

import { randn, scope, type Tensor, tensor, zeros } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { chunkedSoftmaxLoss, negativeMask } from '#internal/gnn/ops/chunked-softmax-loss.js';
import { edgeSoftmaxLoss } from '#internal/gnn/ops/edge-softmax-loss.js';
import { chunkedScores, pairScores } from '#internal/gnn/ops/scores.js';
import { scoringCases } from '../ops/cases/scoring.js';
import { runOpCases } from '../ops/run-cases.js';

runOpCases(scoringCases);

describe('chunkedSoftmaxLoss', () => {
  const negatives = Int32Array.of(0, 1, 2, 3);
  const make = (): Tensor[] => [randn([5, 4]), randn([5, 4]), randn([6, 4])].map((t) => t.setRequiresGrad());

  it('gives the same gradients in a second backward pass, and when its scope has ended', () => {
    const leaves = make();
    const loss = scope(() => chunkedSoftmaxLoss(leaves[0], leaves[1], leaves[2], negatives, 2));
    loss.backward(undefined, { retainGraph: true });
    const once = leaves.map((t) => [...(t.grad as Tensor).dataSync()]);
    loss.backward();
    const twice = leaves.map((t) => [...(t.grad as Tensor).dataSync()]);
    expect(twice).toEqual(once.map((g) => g.map((v) => 2 * v)));
  });

  it('skips inputs that need no gradient', () => {
    const [query, target] = make();
    const rows = randn([6, 4]);
    chunkedSoftmaxLoss(query, target, rows, negatives, 2).backward();
    expect(rows.grad).toBeNull();
    expect(query.grad).not.toBeNull();
  });

  it('rejects mismatched arguments', () => {
    const [query, target, rows] = make();
    const call =
      (...args: Parameters<typeof chunkedSoftmaxLoss>) =>
      () =>
        chunkedSoftmaxLoss(...args);
    expect(call(query, zeros([4, 4]), rows, negatives, 2)).toThrow(/target/);
    expect(call(query, target, zeros([6, 3]), negatives, 2)).toThrow(/rows of 4 numbers/);
    expect(call(query, target, rows, Int32Array.of(0, 6), 1)).toThrow(/ids from 0 to 5 for negatives/);
    expect(call(query, target, rows, negatives, 3)).toThrow(/4 for 3 chunks/);
    expect(call(query, target, rows, negatives, 0)).toThrow(/chunks/);
    expect(call(query, target, rows, new Int32Array(0), 1)).toThrow(/at least one/);
    expect(call(query, target, rows, negatives, 2, { mask: negativeMask(Int32Array.of(0, 2), 5) })).toThrow(
      /mask.positions/,
    );
    expect(call(query, target, rows, negatives, 2, { mask: negativeMask(Int32Array.of(0, 1), 4) })).toThrow(
      /mask.offsets/,
    );
    expect(() => negativeMask(Int32Array.of(5, 0), 5)).toThrow(/pairs/);
    expect(() => chunkedScores(query, rows, negatives, 2, 'angle' as 'dot')).toThrow(
      /dot, l2, l1, squaredL2, modulus, .*cosine/,
    );
    expect(() => pairScores(zeros([2, 3]), zeros([2, 3]), 'modulus')).toThrow(/even width/);
    expect(() => chunkedScores(zeros([2, 3]), zeros([4, 3]), negatives, 2, 'modulus')).toThrow(/even width/);
    expect(() => pairScores(zeros([2, 0]), zeros([2, 0]))).toThrow(/at least one number/);
  });
});

describe('edgeSoftmaxLoss', () => {
  const sources = Int32Array.of(0, 1, 2);
  const targets = Int32Array.of(3, 4, 5);
  const negatives = Int32Array.of(0, 1, 2, 3);
  const relations = Int32Array.of(1, 0, 1);
  const make = (): Tensor[] => [randn([6, 4]), randn([2, 4])].map((t) => t.setRequiresGrad());
  const side = (table: Tensor | null) => ({ sources, targets, table, negatives });

  it('gives the same gradients in a second backward pass, and when its scope has ended', () => {
    const [rows, table] = make();
    const loss = scope(() => edgeSoftmaxLoss(rows, 'hadamard', relations, 2, [side(table)]));
    loss.backward(undefined, { retainGraph: true });
    const grads = () => [...(rows.grad as Tensor).dataSync(), ...(table.sparseGrad?.coalesce().rows ?? [])];
    const once = grads();
    loss.backward();
    expect(grads()).toEqual(once.map((v) => 2 * v));
    expect(table.sparseGrad?.coalesce().ids).toEqual(Int32Array.of(0, 1));
  });

  it('skips inputs that need no gradient', () => {
    const [rows, table] = make();
    rows.setRequiresGrad(false);
    edgeSoftmaxLoss(rows, 'complex', relations, 2, [side(table)]).backward();
    expect(rows.grad).toBeNull();
    expect(table.sparseGrad).not.toBeNull();
  });

  it('rejects mismatched arguments', () => {
    const [rows, table] = make();
    const call =
      (...args: Parameters<typeof edgeSoftmaxLoss>) =>
      () =>
        edgeSoftmaxLoss(...args);
    expect(call(rows, 'hadamard', null, 2, [side(table)])).toThrow(/relations/);
    expect(call(rows, 'hadamard', Int32Array.of(0, 1, 2), 2, [side(table)])).toThrow(/ids from 0 to 1/);
    expect(call(rows, 'hadamard', relations, 2, [side(null)])).toThrow(/table/);
    expect(call(rows, 'hadamard', relations, 2, [side(zeros([2, 3]))])).toThrow(/table/);
    expect(call(rows, 'none', null, 3, [side(null)])).toThrow(/4 for 3 chunks/);
    expect(call(zeros([6, 3]), 'complex', relations, 2, [side(zeros([2, 3]))])).toThrow(/even width/);
    const short = { ...side(null), targets: Int32Array.of(0) };
    expect(call(rows, 'none', null, 2, [short])).toThrow(/3 numbers .* for targets/);
  });
});

it('has the values of the formulas', () => {
  const [a, b] = [tensor([[3, 1, 4, -2]]), tensor([[0, 1, 0, 1]])];
  // (3 + 4i) − 0 and (1 − 2i) − (1 + i)
  expect(pairScores(a, b, 'modulus').item()).toBeCloseTo(-8, 6);
  expect(pairScores(a, b, 'squaredL2').item()).toBe(-34);
  expect(pairScores(a, b, 'biasedSquaredL2').item()).toBe(-25 - 2 + 1);
});

it('gives no gradient to equal complex numbers', () => {
  const [a, b] = [tensor([[1, 2, 3, 4]]).setRequiresGrad(), tensor([[1, 5, 3, 8]])];
  pairScores(a, b, 'modulus').backward();
  for (const [i, g] of [...(a.grad as Tensor).dataSync()].entries())
    expect(g).toBeCloseTo([0, 0.6, 0, 0.8][i], 6);
  const rows = tensor([[1, 2, 3, 4]]).setRequiresGrad();
  chunkedScores(tensor([[1, 2, 3, 4]]), rows, Int32Array.of(0), 1, 'modulus').backward(tensor([[1]]));
  expect([...(rows.grad as Tensor).dataSync()].map(Math.abs)).toEqual([0, 0, 0, 0]);
});

it('gives 0 for the cosine of a row of zeros', () => {
  expect([...pairScores(zeros([1, 3]), randn([1, 3]), 'cosine').dataSync()]).toEqual([0]);
});
