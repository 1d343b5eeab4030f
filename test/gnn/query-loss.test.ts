/** queryLoss as a tensor function: gradients, the losses that it replaces, golden values, backward twice, wrong input. */
import { crossEntropy } from 'skein/nn';
import {
  add,
  fromTypedArray,
  grad,
  logSoftmax,
  matmul,
  mul,
  noGrad,
  randn,
  scope,
  sum,
  type Tensor,
  transpose,
  zeros,
} from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import type { IdLists } from '#internal/gnn/ops/id-lists.js';
import { type QueryLossOptions, queryLoss } from '#internal/gnn/ops/query-loss.js';
import { queryLossCases, queryOptions } from '../ops/cases/query-loss.js';
import { runOpCases } from '../ops/run-cases.js';

runOpCases(queryLossCases);

const oneEach = (ids: readonly number[]): IdLists => ({
  offsets: Int32Array.from({ length: ids.length + 1 }, (_, i) => i),
  ids: Int32Array.from(ids),
});
const all = (value: number, n: number): Float64Array => new Float64Array(n).fill(value);
const leaves = (...shapes: number[][]): Tensor[] =>
  shapes.map((shape) => randn(shape, { dtype: 'f64' }).setRequiresGrad());

/** Value and gradients of two losses are equal to 1e-12. */
function expectSame(a: Tensor, b: Tensor, inputs: readonly Tensor[]): void {
  const [got, want] = [a, b].map((loss) =>
    [loss, ...grad(loss, inputs)].map((t) => [...(t as Tensor).dataSync()]),
  );
  for (const [i, values] of want.entries())
    for (const [j, value] of values.entries())
      expect(Math.abs(got[i][j] - value)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(value)));
}

describe('is the loss that it replaces', () => {
  const ids = [3, 0, 10, 3, 7];
  const plain = { answers: oneEach(ids), omega: all(0.2, 5), tau: all(0.2, 5), sigma: all(0, 5) };

  it('crossEntropy of all products for one answer each', () => {
    const [q, table] = leaves([5, 6], [11, 6]);
    const want = crossEntropy(matmul(q, transpose(table)), Int32Array.from(ids));
    expectSame(queryLoss(q, table, { kind: 'softmax', ...plain }), want, [q, table]);
  });

  it('with a bias and dropped elements', () => {
    const [q, table, bias] = leaves([5, 6], [11, 6], [11]);
    const key = Uint32Array.of(1, 2, 3, 4);
    // The mask of dropout is a function of the key alone: 1 / (1 − p) or 0.
    const ones = fromTypedArray(new Float64Array(66).fill(1), [11, 6]).setRequiresGrad();
    const probe = queryLoss(fromTypedArray(all(1, 6), [1, 6]), ones, {
      ...{
        kind: 'bce',
        answers: { offsets: Int32Array.of(0, 11), ids: Int32Array.from({ length: 11 }, (_, i) => i) },
      },
      ...{ omega: all(0, 1), tau: all(-1, 1), sigma: all(0, 1), dropout: { p: 0.5, key } },
    });
    const mask = grad(probe, [ones])[0] as Tensor;
    expect(new Set(mask.dataSync())).toEqual(new Set([0, 2]));
    const want = crossEntropy(add(matmul(q, transpose(mul(table, mask))), bias), Int32Array.from(ids));
    const got = queryLoss(q, table, { kind: 'softmax', ...plain, bias, dropout: { p: 0.5, key } });
    expectSame(got, want, [q, table, bias]);
  });

  it('the same for grouped queries as for a query per answer', () => {
    const [q, table] = leaves([3, 6], [11, 6]);
    const answers = { offsets: Int32Array.of(0, 4, 5, 7), ids: Int32Array.of(3, 0, 10, 3, 7, 1, 2) };
    const rows = [0, 0, 0, 0, 1, 2, 2];
    const [n, smooth] = [7, 0.1];
    const weights = (counts: readonly number[]): Pick<QueryLossOptions, 'omega' | 'tau' | 'sigma'> => ({
      omega: Float64Array.from(counts, (c) => c / n),
      tau: all((1 - smooth) / n, counts.length),
      sigma: Float64Array.from(counts, (c) => (smooth * c) / (n * 11)),
    });
    const grouped = queryLoss(q, table, { kind: 'softmax', answers, ...weights([4, 1, 2]) });
    const spread = fromTypedArray(
      Float64Array.from(rows.flatMap((r) => [0, 1, 2].map((i) => Number(i === r)))),
      [7, 3],
    );
    const single = queryLoss(matmul(spread, q), table, {
      ...{ kind: 'softmax', answers: oneEach([...answers.ids]), ...weights(rows.map(() => 1)) },
    });
    expectSame(grouped, single, [q, table]);
  });

  it('masked_softmax = the cross entropy of each answer against rows that are not known', () => {
    const [q, table] = leaves([2, 6], [9, 6]);
    const answers = { offsets: Int32Array.of(0, 2, 3), ids: Int32Array.of(4, 1, 8) };
    const known = { offsets: Int32Array.of(0, 4, 6), ids: Int32Array.of(1, 3, 4, 5, 0, 8) };
    const n = 3;
    const weights = { omega: Float64Array.of(2 / n, 1 / n), tau: all(1 / n, 2), sigma: all(0, 2) };
    const got = queryLoss(q, table, { kind: 'masked_softmax', answers, known, ...weights });
    // One row of scores per answer, where the other known rows are at −1e9.
    const hidden = [
      { row: 0, o: 4, out: [1, 3, 5] },
      { row: 0, o: 1, out: [3, 4, 5] },
      { row: 1, o: 8, out: [0] },
    ];
    const low = fromTypedArray(
      Float64Array.from(
        hidden.flatMap(({ out }) => [...all(0, 9)].map((_, j) => (out.includes(j) ? -1e9 : 0))),
      ),
      [3, 9],
    );
    const pick = fromTypedArray(Float64Array.from(hidden.flatMap(({ row }) => [1 - row, row])), [3, 2]);
    const scores = add(matmul(matmul(pick, q), transpose(table)), low);
    expectSame(
      got,
      crossEntropy(
        scores,
        Int32Array.from(hidden, ({ o }) => o),
      ),
      [q, table],
    );
  });

  it('KL divergence to smoothed labels, up to their entropy', () => {
    const [q, table] = leaves([2, 6], [9, 6]);
    const answers = { offsets: Int32Array.of(0, 2, 3), ids: Int32Array.of(4, 1, 8) };
    const smooth = 0.2;
    const [queries, count] = [2, 9];
    const total = Float64Array.of((1 - smooth) * 2 + 1, (1 - smooth) * 1 + 1);
    const labels = fromTypedArray(
      Float64Array.from({ length: 18 }, (_, at) => {
        const row = Math.floor(at / count);
        const own = answers.ids.subarray(answers.offsets[row], answers.offsets[row + 1]);
        return ((1 - smooth) * Number(own.includes(at % count)) + 1 / count) / total[row];
      }),
      [queries, count],
    );
    const want = mul(sum(mul(logSoftmax(matmul(q, transpose(table))), labels)), -1 / queries);
    const got = queryLoss(q, table, {
      ...{ kind: 'softmax', answers, omega: all(1 / queries, queries) },
      tau: total.map((z) => (1 - smooth) / (queries * z)),
      sigma: total.map((z) => 1 / (queries * count * z)),
    });
    expectSame(got, want, [q, table]);
  });
});

describe('values computed by hand', () => {
  // The scores are [2, 0, 1] and [0, −1, 1]; the answers rows 0 and 2, and row 1.
  const q = fromTypedArray(Float64Array.of(1, 0, 0, 1), [2, 2]);
  const table = fromTypedArray(Float64Array.of(2, 0, 0, -1, 1, 1), [3, 2]);
  const answers = { offsets: Int32Array.of(0, 2, 3), ids: Int32Array.of(0, 2, 1) };
  const value = (kind: 'softmax' | 'bce' | 'squares', tau: number[], sigma: number[], offset = 0): number => {
    const weights = { omega: all(0.5, 2), tau: Float64Array.from(tau), sigma: Float64Array.from(sigma) };
    return queryLoss(q, table, { kind, answers, ...weights, offset }).item();
  };

  it('cross entropy with all answers, and with labels smoothed by 0.3', () => {
    expect(value('softmax', [1 / 4, 1 / 2], [0, 0])).toBeCloseTo(1.6576059644443804, 14);
    const [a, b] = [2.4, 1.7]; // sums of the labels before they are divided by them
    const got = value('softmax', [0.7 / (2 * a), 0.7 / (2 * b)], [1 / (6 * a), 1 / (6 * b)]);
    expect(got).toBeCloseTo(1.4676549840522237, 14);
  });

  it('binary cross entropy and squares with labels smoothed by 0 and 0.3', () => {
    expect(value('bce', [0.5, 0.5], [0, 0], 0.5)).toBeCloseTo(2.451973621399187, 14);
    expect(value('bce', [0.35, 0.35], [1 / 6, 1 / 6], 0.5)).toBeCloseTo(1.9769736213991875, 14);
    expect(value('squares', [0.5, 0.5], [0, 0])).toBeCloseTo(3, 14);
    expect(value('squares', [0.35, 0.35], [1 / 6, 1 / 6])).toBeCloseTo(2.868333333333333, 14);
  });
});

describe('gradients', () => {
  const make = (): { q: Tensor; table: Tensor; bias: Tensor; options: QueryLossOptions } => {
    const [q, table, bias] = leaves([7, 9], [11, 9], [11]);
    return { q, table, bias, options: { ...queryOptions('softmax', 7, 11, true), bias } };
  };

  it('are the same in a second backward pass, and when the scope has ended', () => {
    const { q, table, bias, options } = make();
    const loss = scope(() => queryLoss(q, table, options));
    loss.backward(undefined, { retainGraph: true });
    const once = [q, table, bias].map((t) => [...(t.grad as Tensor).dataSync()]);
    loss.backward();
    const twice = [q, table, bias].map((t) => [...(t.grad as Tensor).dataSync()]);
    expect(twice).toEqual(once.map((g) => g.map((v) => 2 * v)));
  });

  it('do not depend on arrays that the caller changes later', () => {
    const { q, table, options } = make();
    const want = grad(queryLoss(q, table, options), [q])[0] as Tensor;
    const loss = scope(() => queryLoss(q, table, options));
    options.answers.ids.fill(1_000_000);
    options.omega.fill(Number.NaN);
    expect([...(grad(loss, [q])[0] as Tensor).dataSync()]).toEqual([...want.dataSync()]);
  });

  it('are left out where they are not needed', () => {
    const { q, table, options } = make();
    table.setRequiresGrad(false);
    queryLoss(q, table, options).backward();
    expect(table.grad).toBeNull();
    expect(q.grad).not.toBeNull();
    expect(noGrad(() => queryLoss(q, table, options)).requiresGrad).toBe(false);
  });
});

it('rejects mismatched arguments', () => {
  const [q, table] = [zeros([2, 4]), zeros([5, 4])];
  const good: QueryLossOptions = {
    ...{ kind: 'softmax', answers: oneEach([1, 4]), omega: all(1, 2), tau: all(1, 2), sigma: all(0, 2) },
  };
  const call = (changes: Partial<QueryLossOptions>, rows = table) => {
    return () => queryLoss(q, rows, { ...good, ...changes });
  };
  expect(call({})).not.toThrow();
  expect(call({}, zeros([5, 3]))).toThrow(/rows of 4 numbers/);
  expect(call({}, zeros([5, 4], { dtype: 'f64' }))).toThrow(/dtype of table/);
  expect(call({ kind: 'mse' as 'bce' })).toThrow(/softmax, masked_softmax, bce, squares/);
  expect(call({ answers: oneEach([1, 5]) })).toThrow(/ids from 0 to 4 for answers.ids/);
  expect(call({ answers: oneEach([1]) })).toThrow(/3 numbers from 0 to 1 for answers.offsets/);
  expect(call({ answers: { offsets: Int32Array.of(0, 3, 2), ids: Int32Array.of(1, 1) } })).toThrow(
    /ascending/,
  );
  expect(call({ kind: 'masked_softmax' })).toThrow(/known/);
  expect(call({ kind: 'masked_softmax', known: oneEach([0, -1]) })).toThrow(/known.ids/);
  expect(call({ omega: all(1, 3) })).toThrow(/2 numbers .* for omega/);
  expect(call({ bias: zeros([4]) })).toThrow(/bias/);
  expect(call({ offset: 2 })).toThrow(/Only bce/);
  expect(call({ offset: Number.NaN })).toThrow(/offset/);
  expect(call({ dropout: { p: 1.5, key: new Uint32Array(4) } })).toThrow(/dropout.p/);
});
