/** Losses against PyTorch for every reduction, f64 and f32; masks, extremes and the regulariser. */
import { bceLoss, bceWithLogits, crossEntropy, l1Loss, marginRankingLoss, mseLoss } from 'skein/nn';
import { type FloatDType, fromArray, noGrad, scope, type Tensor, tensor, zeros } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { softmaxCrossEntropyNegatives } from '#internal/nn/losses/cross-entropy.js';
import { normPenalty, softplusLoss } from '#internal/nn/losses/elementwise.js';
import {
  type Cases,
  dtypes,
  expectClose,
  expectFiniteDifferences,
  expectRecorded,
  golden,
  leaf,
  pattern,
  type Recorded,
  tolerance,
} from './golden.js';

const cases: Cases<Record<FloatDType, Recorded>> = golden('losses');
const labels = [2, 0, 1, 1, 3];

describe('wrong input', () => {
  const logits = zeros([3, 2]);

  test('cross entropy', () => {
    expect(() => crossEntropy(logits, [0, 1])).toThrow(
      'crossEntropy: expected 3 labels (one per row of logits) for labels, got 2.',
    );
    expect(() => crossEntropy(logits, [0, 1, 2])).toThrow(
      'expected ids from -1 to 1 for labels, got "2 at position 2".',
    );
    expect(() => crossEntropy(logits, [0, 0.5, 1])).toThrow(
      'expected whole numbers for labels, got "0.5 at position 1".',
    );
    expect(() => crossEntropy(logits, [0, 1, 1], { weight: [1] })).toThrow(
      'expected 2 values (one per class) for weight, got 1.',
    );
    expect(() => crossEntropy(logits, [0, 1, 1], { weight: [1, -1] })).toThrow(
      'expected finite weights of at least 0 for weight, got "-1 for class 1".',
    );
    expect(() => crossEntropy(logits, [0, 1, 1], { mask: [true] })).toThrow(
      'expected 3 flags (one per label) for mask, got 1.',
    );
    expect(() => crossEntropy(logits, [0, 1, 1], { mask: zeros([3]) })).toThrow(
      'expected u8 for the dtype of mask, got "f32".',
    );
    expect(() => crossEntropy(logits, [0, 1, 1], { reduction: 'avg' as never })).toThrow(
      "expected 'mean', 'sum' or 'none' for reduction, got \"avg\".",
    );
    expect(() => crossEntropy(logits, [-1, -1, -1])).toThrow(
      'expected at least one row with a label and a weight above 0',
    );
  });

  test('other losses', () => {
    expect(() => mseLoss(zeros([2]), zeros([3]))).toThrow('mseLoss: expected shape [2] for target');
    expect(() => mseLoss(zeros([2]), zeros([2], { dtype: 'f64' }))).toThrow(
      'mseLoss: expected f32 (as prediction)',
    );
    expect(() => mseLoss(zeros([0]), zeros([0]))).toThrow(
      'mseLoss: expected at least one element to average, got none.',
    );
    expect(() => bceLoss(fromArray([0.5, 1.5]), zeros([2]))).toThrow(
      'bceLoss: expected values from 0 to 1 for probabilities, got "0.5 to 1.5".',
    );
    expect(() => bceLoss(fromArray([0.5, Number.NaN]), zeros([2]))).toThrow(
      'bceLoss: expected values from 0 to 1 for probabilities',
    );
    expect(() => bceLoss(zeros([2]), fromArray([0, 2]))).toThrow('for target, got "0 to 2".');
    expect(() => marginRankingLoss(zeros([2]), zeros([2]), { margin: Number.NaN })).toThrow(
      'for margin, got NaN.',
    );
    expect(() => softmaxCrossEntropyNegatives(zeros([2, 1]), zeros([2, 3]))).toThrow(
      'expected shape [B] for positive, got "[2, 1]".',
    );
    expect(() => softmaxCrossEntropyNegatives(zeros([2]), zeros([3, 3]))).toThrow(
      'expected shape [2, K] for negatives, got "[3, 3]".',
    );
    expect(() => normPenalty([])).toThrow('normPenalty: expected at least one tensor for tensors');
    expect(() => normPenalty([zeros([1])], { p: 0.5 })).toThrow(
      'normPenalty: expected a finite number of at least 1 for p, got 0.5.',
    );
  });
});

describe.each(dtypes)('PyTorch, %s', (dtype) => {
  const weight = fromArray([0.5, 1, 2, 0.25], { dtype });
  const target = fromArray([1, 0, 1, 0, 1], { dtype });
  const signs = fromArray([1, -1, 1, 1, -1], { dtype });
  const holes = [2, -100, 1, -100, 3];

  describe.each(['mean', 'sum', 'none'] as const)('%s', (reduction) => {
    const r = { reduction };
    const one = (name: string, x: Tensor, compute: (x: Tensor) => Tensor): void => {
      expectRecorded(cases[`${name}:${reduction}`][dtype], compute(x), { x });
    };
    const two = (name: string, y: Tensor, compute: (x: Tensor, y: Tensor) => Tensor): void => {
      const x = leaf([5], 1, dtype, 2);
      expectRecorded(cases[`${name}:${reduction}`][dtype], compute(x, y), { x, y });
    };
    const logits = (): Tensor => leaf([5, 4], 1, dtype, 3);
    const scores = (): Tensor => leaf([5], 1, dtype, 2);

    test('cross entropy', () => {
      one('crossEntropy', logits(), (x) => crossEntropy(x, labels, r));
      one('crossEntropy', logits(), (x) => crossEntropy(x, tensor(Int32Array.from(labels)), r));
      one('crossEntropyWeight', logits(), (x) => crossEntropy(x, labels, { ...r, weight }));
      one('crossEntropyIgnore', logits(), (x) =>
        crossEntropy(x, holes, { ...r, weight: [0.5, 1, 2, 0.25], ignoreIndex: -100 }),
      );
      const mask = Uint8Array.of(1, 0, 1, 0, 1);
      one('crossEntropyIgnore', logits(), (x) => crossEntropy(x, [2, 99, 1, -7, 3], { ...r, weight, mask }));
      one('crossEntropyIgnore', logits(), (x) =>
        crossEntropy(x, labels, { ...r, weight, mask: tensor(mask) }),
      );
      one('crossEntropyIgnore', logits(), (x) =>
        crossEntropy(x, labels, { ...r, weight, mask: Array.from(mask, Boolean) }),
      );
    });

    test('others', () => {
      two('softmaxNegatives', leaf([5, 3], 2, dtype, 2), (x, y) => softmaxCrossEntropyNegatives(x, y, r));
      one('bce', fromArray([0.1, 0.9, 0.5, 0, 1], { dtype, requiresGrad: true }), (x) =>
        bceLoss(x, target, r),
      );
      one('bceWithLogits', scores(), (x) => bceWithLogits(x, target, r));
      two('mse', leaf([5], 2, dtype, 2), (x, y) => mseLoss(x, y, r));
      two('l1', leaf([5], 2, dtype, 2), (x, y) => l1Loss(x, y, r));
      two('margin', leaf([5], 2, dtype, 2), (x, y) =>
        marginRankingLoss(x, y, { ...r, margin: 0.3, target: signs }),
      );
      one('softplus', scores(), (x) => softplusLoss(x, target, r));
    });
  });
});

describe('beyond PyTorch', () => {
  test('finite differences: weighted cross entropy, ranking with broadcasting, penalty', () => {
    const x = leaf([5, 4], 1, 'f64', 3);
    expectFiniteDifferences(() => crossEntropy(x, labels, { weight: [0.5, 1, 2, 0.25] }), { x });
    const positive = leaf([4, 1], 2, 'f64');
    const negative = leaf([4, 3], 5, 'f64');
    expectFiniteDifferences(() => marginRankingLoss(positive, negative, { margin: 0.5, reduction: 'sum' }), {
      positive,
      negative,
    });
    for (const p of [1, 2, 3])
      expectFiniteDifferences(() => normPenalty([positive, negative], { p, coefficient: 0.1 }), {
        positive,
        negative,
      });
  });

  test('cross entropy gives its gradient away only once', () => {
    const gradient = (x: Tensor): number[] => Array.from((x.grad as Tensor).dataSync());
    const once = leaf([5, 4], 1, 'f64', 3);
    crossEntropy(once, labels).backward();
    const twice = leaf([5, 4], 1, 'f64', 3);
    const loss = crossEntropy(twice, labels);
    loss.backward(undefined, { retainGraph: true });
    expect(gradient(twice)).toEqual(gradient(once));
    (twice.grad as Tensor).dataSync().fill(9);
    twice.zeroGrad();
    // Another root over the same node: its gradient arrives scaled.
    loss.mul(2).backward(undefined, { retainGraph: true });
    expect(gradient(twice)).toEqual(gradient(once).map((g) => 2 * g));
    twice.zeroGrad();
    loss.backward();
    expect(gradient(twice)).toEqual(gradient(once));
    expect(() => loss.backward()).toThrow('already freed');
    // The scope of forward ends before backward.
    const later = leaf([5, 4], 1, 'f64', 3);
    scope(() => crossEntropy(later, labels)).backward();
    expect(gradient(later)).toEqual(gradient(once));
    // Read twice in one pass, and without a gradient at all.
    const both = leaf([5, 4], 1, 'f64', 3);
    const value = crossEntropy(both, labels);
    value.add(value).backward();
    expect(gradient(both)).toEqual(gradient(once).map((g) => 2 * g));
    expect(noGrad(() => crossEntropy(both, labels)).item()).toBe(value.item());
  });

  test('extreme scores stay finite', () => {
    const scores = fromArray([1000, -1000, 0], { requiresGrad: true });
    const target = fromArray([0, 1, 1]);
    for (const loss of [bceWithLogits, softplusLoss]) {
      expectClose(
        loss(scores, target, { reduction: 'none' }),
        [1000, 1000, Math.log(2)],
        tolerance.f32,
        'loss',
      );
    }
    const logits = fromArray(
      [
        [1000, -1000],
        [-1000, 1000],
      ],
      { requiresGrad: true },
    );
    const value = crossEntropy(logits, [0, 0]);
    expect(value.item()).toBe(1000);
    value.backward();
    expect(Array.from((logits.grad as Tensor).dataSync()).every(Number.isFinite)).toBe(true);
  });

  test('the sum over no rows is 0', () => {
    expect(crossEntropy(pattern([2, 3], 1, 'f32'), [-1, -1], { reduction: 'sum' }).item()).toBe(0);
    expect(mseLoss(zeros([0]), zeros([0]), { reduction: 'sum' }).item()).toBe(0);
  });

  test('known values of a link-prediction batch', () => {
    const positive = fromArray([0.5, 2.5, 5, 7.5, 100, 250]);
    const negative = fromArray([
      [0.5, 10],
      [2.5, -1],
      [5, 1],
      [7.5, -5],
      [100, 20],
      [250, 10],
    ]);
    expect(softmaxCrossEntropyNegatives(positive, negative, { reduction: 'sum' }).item()).toBeCloseTo(
      12.98999,
      4,
    );
    const ranking = [-10, 0, 0.1, 5, 10].map((margin) =>
      marginRankingLoss(positive.unsqueeze(1), negative, { margin, reduction: 'sum' }).item(),
    );
    for (const [i, wanted] of [0, 9.5, 10.2, 47, 92].entries()) expect(ranking[i]).toBeCloseTo(wanted, 4);
  });
});
