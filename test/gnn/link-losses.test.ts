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
  'SELF_ADVERSARIAL',
  'BPR',
];
const logistic = ['BCE_AFTER_SIGMOID', 'BCE_WITH_LOGITS', 'SOFTPLUS'] as const;

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
    const perEdge = name.endsWith('CE') || ['CROSS_ENTROPY', 'SELF_ADVERSARIAL', 'BPR'].includes(name);
    const divisor = name === 'RANKING' ? 12 : perEdge ? 6 : 18;
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
    if (['SOFTMAX_CE', 'RANKING', 'SELF_ADVERSARIAL', 'BPR'].includes(name))
      expect(call).toThrow(/CROSS_ENTROPY/);
    else expect(call().item()).toBeGreaterThan(0);
  });
});

describe('an offset', () => {
  const [p, n] = [
    tensor([-2, -8]),
    tensor([
      [-3, -12],
      [-5, -7],
    ]),
  ];
  const softplus = (x: number): number => Math.log1p(Math.exp(x));

  it.each(logistic)('shifts the scores of %s', (name) => {
    const shifted = [
      tensor([4, -2]),
      tensor([
        [3, -6],
        [1, -1],
      ]),
    ] as const;
    for (const reduction of ['SUM', 'MEAN'] as const)
      expect(lossFunction(name, { offset: 6, reduction }).forward(p, n).item()).toBeCloseTo(
        lossFunction(name, { reduction })
          .forward(...shifted)
          .item(),
        6,
      );
  });

  it.each(logistic)('and the mean over negatives are the formula of RotatE for %s', (name) => {
    const want = softplus(-4) + softplus(2) + (softplus(3) + softplus(-6) + softplus(1) + softplus(-1)) / 2;
    const loss = (reduction: 'SUM' | 'MEAN') =>
      lossFunction(name, { offset: 6, negatives: 'MEAN', reduction }).forward(p, n).item();
    expect(loss('SUM')).toBeCloseTo(want, 5);
    expect(loss('MEAN')).toBeCloseTo(want / 2, 5);
  });

  it('lets a perfect model of distances have a loss near 0', () => {
    const far = tensor([[-40], [-40]]);
    expect(
      lossFunction('BCE_WITH_LOGITS')
        .forward(tensor([0, 0]), far)
        .item(),
    ).toBeCloseTo(2 * Math.LN2, 6);
    expect(
      lossFunction('BCE_WITH_LOGITS', { offset: 20 })
        .forward(tensor([0, 0]), far)
        .item(),
    ).toBeLessThan(1e-6);
  });

  it('rejects other reductions of negatives', () => {
    expect(() => lossFunction('BCE_WITH_LOGITS', { negatives: 'MAX' as 'SUM' })).toThrow(/negatives/);
    expect(() => lossFunction('MSE', { offset: 1 })).toThrow(/offset/);
  });
});

describe('SELF_ADVERSARIAL', () => {
  const softplus = (x: number): number => Math.log1p(Math.exp(x));
  const positives = [-2, -8];
  const negatives = [
    [-3, -12, -4],
    [-5, -7, -6],
  ];
  const [gamma, alpha] = [6, 0.5];
  const shares = negatives.map((row) => {
    const weights = row.map((x) => Math.exp(alpha * x));
    const total = weights.reduce((sum, w) => sum + w, 0);
    return weights.map((w) => w / total);
  });
  const losses = positives.map(
    (p, i) =>
      0.5 *
      (softplus(-gamma - p) +
        negatives[i].reduce((sum, x, j) => sum + shares[i][j] * softplus(gamma + x), 0)),
  );
  const loss = lossFunction('SELF_ADVERSARIAL', { offset: gamma, temperature: alpha });

  it('has the value and, with constant shares, the gradient of the formula', () => {
    const [p, n] = [
      fromTypedArray(Float64Array.from(positives)),
      fromTypedArray(Float64Array.from(negatives.flat()), [2, 3]),
    ];
    for (const t of [p, n]) t.setRequiresGrad();
    const value = loss.forward(p, n);
    expect(value.item()).toBeCloseTo(losses[0] + losses[1], 12);
    value.backward();
    const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
    for (const [i, g] of [...(p.grad as Tensor).dataSync()].entries())
      expect(g).toBeCloseTo(-0.5 * sigmoid(-gamma - positives[i]), 12);
    for (const [k, g] of [...(n.grad as Tensor).dataSync()].entries())
      expect(g).toBeCloseTo(0.5 * shares.flat()[k] * sigmoid(gamma + negatives.flat()[k]), 12);
  });

  it('weighs edges', () => {
    const weighted = loss.forward(tensor(positives), tensor(negatives), tensor([0.5, 1.5])).item();
    expect(weighted).toBeCloseTo(0.5 * losses[0] + 1.5 * losses[1], 5);
  });

  it('ignores masked negatives', () => {
    const { maskedScore } = loss;
    const masked = negatives.map((row) => [...row, maskedScore]);
    expect(loss.forward(tensor(positives), tensor(masked)).item()).toBeCloseTo(losses[0] + losses[1], 5);
  });
});

describe('BPR', () => {
  const [positives, negatives] = [
    [0.5, -2],
    [
      [0.2, 1.5, -3],
      [-2.5, -2, 4],
    ],
  ];
  const pair = (p: number, n: number): number => -Math.log(1 / (1 + Math.exp(-(p - n))));
  const losses = positives.map((p, i) => negatives[i].reduce((sum, n) => sum + pair(p, n), 0) / 3);

  it('is the mean over negatives of −log σ of the difference', () => {
    const [p, n] = [tensor(positives), tensor(negatives)];
    expect(lossFunction('BPR').forward(p, n).item()).toBeCloseTo(losses[0] + losses[1], 5);
    const mean = lossFunction('BPR', { reduction: 'MEAN' }).forward(p, n).item();
    expect(mean).toBeCloseTo((losses[0] + losses[1]) / 2, 5);
  });

  it('depends on differences of scores alone, and ignores masked negatives', () => {
    const loss = lossFunction('BPR');
    const shifted = [
      tensor(positives.map((p) => p + 7)),
      tensor(negatives.map((row) => row.map((n) => n + 7))),
    ];
    expect(loss.forward(shifted[0], shifted[1]).item()).toBeCloseTo(losses[0] + losses[1], 4);
    expect(loss.forward(tensor([0.3]), tensor([[loss.maskedScore]])).item()).toBe(0);
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
  // The weights of SELF_ADVERSARIAL are constants, which numerical differences would change; temperature 0 has equal ones.
  ...names.flatMap((name) => {
    const options = name === 'SELF_ADVERSARIAL' ? { offset: 0.4, temperature: 0 } : { margin: 0.3 };
    return makeCases(name, (p, n) => lossFunction(name, options).forward(p, n), {
      scores: [input([5]), input([5, 4])],
    });
  }),
  ...logistic.flatMap((name) =>
    makeCases(name, (p, n) => lossFunction(name, { offset: 0.7, negatives: 'MEAN' }).forward(p, n), {
      'offset and mean': [input([5]), input([5, 4])],
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
