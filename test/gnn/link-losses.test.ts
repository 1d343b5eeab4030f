/** Losses on scores: the values of Marius's test vectors, divisors, classes, shapes; regularisers. */
import { type LossName, lossFunction, N3Regularizer, NormRegularizer } from 'skein/gnn';
import { fromTypedArray, randn, type Tensor, tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { input, makeCases } from '../ops/case.js';
import { runOpCases } from '../ops/run-cases.js';

const positive = tensor([0.5, 2.5, 5, 7.5, 100, 250]);
const negative = tensor([
  [0.5, 10],
  [2.5, -1],
  [5, 1],
  [7.5, -5],
  [100, 20],
  [250, 10],
]);
const names: LossName[] = [
  'SOFTMAX_CE',
  'RANKING',
  'CROSS_ENTROPY',
  'BCE_AFTER_SIGMOID',
  'BCE_WITH_LOGITS',
  'MSE',
  'SOFTPLUS',
];

describe('values of known scores', () => {
  it.each([
    ['SOFTMAX_CE', 12.98999],
    ['CROSS_ENTROPY', 12.98999],
    ['BCE_WITH_LOGITS', 408.2538],
    ['SOFTPLUS', 408.2538],
    ['MSE', 145077.5],
  ] as const)('%s', (name, want) => {
    expect(lossFunction(name).forward(positive, negative).item() / want).toBeCloseTo(1, 6);
  });

  it.each([
    [-10, 0],
    [0, 9.5],
    [0.1, 10.2],
    [5, 47],
    [10, 92],
  ])('RANKING with margin %s', (margin, want) => {
    expect(lossFunction('RANKING', { margin }).forward(positive, negative).item()).toBeCloseTo(want, 4);
  });

  it('BCE_AFTER_SIGMOID is BCE_WITH_LOGITS where the sigmoid has not yet saturated', () => {
    const scores = [randn([5]), randn([5, 3])] as const;
    const [a, b] = (['BCE_AFTER_SIGMOID', 'BCE_WITH_LOGITS'] as const).map((name) =>
      lossFunction(name)
        .forward(...scores)
        .item(),
    );
    expect(a).toBeCloseTo(b, 4);
  });
});

describe.each(names)('%s', (name) => {
  it('divides the sum for MEAN', () => {
    const divisor = name === 'RANKING' ? 12 : name.endsWith('CE') || name === 'CROSS_ENTROPY' ? 6 : 18;
    const [total, mean] = (['SUM', 'MEAN'] as const).map((reduction) =>
      lossFunction(name, { reduction }).forward(positive, negative).item(),
    );
    expect(total / mean / divisor).toBeCloseTo(1, 5);
  });

  it('is finite for extreme scores', () => {
    for (const at of [500, -500]) {
      const value = lossFunction(name)
        .forward(
          tensor([at, -at]),
          tensor([
            [at, -at],
            [-at, -at],
          ]),
        )
        .item();
      expect(Number.isFinite(value)).toBe(true);
    }
  });

  it('rejects wrong shapes', () => {
    const loss = lossFunction(name);
    expect(() => loss.forward(undefined as unknown as Tensor, negative)).toThrow(/positive/);
    expect(() => loss.forward(negative, negative)).toThrow(/shape \[B\]/);
    expect(() => loss.forward(tensor([1, 2]), negative)).toThrow(/shape \[2, n\]/);
    expect(() => loss.forward(positive, positive)).toThrow(/negative/);
  });

  it('takes classes, or throws', () => {
    const call = () =>
      lossFunction(name).classes(
        tensor([
          [0.2, 0.7, 0.1],
          [1, -1, 0],
        ]),
        [1, 0],
      );
    if (name === 'SOFTMAX_CE' || name === 'RANKING') expect(call).toThrow(/CROSS_ENTROPY/);
    else expect(call().item()).toBeGreaterThan(0);
  });
});

it('compares classes with one-hot rows', () => {
  expect(
    lossFunction('MSE')
      .classes(
        tensor([
          [0, 1],
          [1, 0],
        ]),
        [1, 0],
      )
      .item(),
  ).toBe(0);
  expect(
    lossFunction('MSE')
      .classes(
        tensor([
          [0, 1],
          [1, 0],
        ]),
        [0, 0],
      )
      .item(),
  ).toBe(2);
});

it('rejects unknown names and reductions', () => {
  expect(() => lossFunction('HINGE' as 'MSE')).toThrow(/RANKING/);
  expect(() => lossFunction('MSE', { reduction: 'none' as 'SUM' })).toThrow(/SUM or MEAN/);
});

describe('regularisers', () => {
  const src = tensor([
    [3, 4],
    [0, 0],
  ]);
  const dst = tensor([
    [1, 0],
    [0, 2],
  ]);
  it('add norms of rows', () => {
    expect(new NormRegularizer(2, 0.5).forward(src, dst).item()).toBeCloseTo(2, 6);
    expect(new NormRegularizer(1, 1).forward(src, dst).item()).toBeCloseTo(5, 6);
    expect(new NormRegularizer(3, 2).forward(src, dst).item()).toBeCloseTo(91 ** (1 / 3) + 3, 5);
  });
  it('add cubes, of moduli for complex rows', () => {
    expect(new N3Regularizer(0.1).forward(src, dst).item()).toBeCloseTo(10, 5);
    expect(new N3Regularizer(0.1, { complex: true }).forward(src, dst, dst).item()).toBeCloseTo(14.3, 5);
    expect(new N3Regularizer(0.1, { mean: true }).forward(src, dst).item()).toBeCloseTo(5, 5);
  });
  it('give no gradient to rows of zeros', () => {
    for (const regularizer of [new NormRegularizer(3, 1), new N3Regularizer(1, { complex: true })]) {
      const x = fromTypedArray(new Float32Array(4), [1, 4]).setRequiresGrad();
      regularizer.forward(x, x).backward();
      expect([...(x.grad as Tensor).dataSync()].map(Math.abs)).toEqual([0, 0, 0, 0]);
    }
  });
});

runOpCases([
  ...names.flatMap((name) =>
    makeCases(name, (p, n) => lossFunction(name, { margin: 0.3 }).forward(p, n), {
      scores: [input([5]), input([5, 4])],
    }),
  ),
  ...[1, 2, 3].flatMap((p) =>
    makeCases('NormRegularizer', (a, b) => new NormRegularizer(p, 0.7).forward(a, b), {
      [`norm ${p}`]: [input([4, 5], { away: 0.01 }), input([4, 5], { away: 0.01 })],
    }),
  ),
  ...[false, true].flatMap((complex) =>
    makeCases('N3Regularizer', (a, b, r) => new N3Regularizer(0.7, { complex }).forward(a, b, r), {
      [`complex ${complex}`]: [input([4, 6]), input([4, 6]), input([4, 6])],
    }),
  ),
]);
