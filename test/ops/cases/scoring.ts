/** Scores of edges: every comparison, chunks that do not divide, masks. */

import { add, mul } from 'skein/tensor';
import {
  chunkedSoftmaxLoss,
  chunkedSoftmaxLossSides,
  negativeMask,
} from '#internal/gnn/ops/chunked-softmax-loss.js';
import { edgeSoftmaxLoss } from '#internal/gnn/ops/edge-softmax-loss.js';
import { rowPenalty } from '#internal/gnn/ops/row-penalty.js';
import { chunkedScores, complexProduct, pairScores } from '#internal/gnn/ops/scores.js';
import { input, makeCases, type OpCase } from '../case.js';

const ids = (n: number, bound: number): Int32Array =>
  Int32Array.from({ length: n }, (_, i) => (i * 7 + 3) % bound);
const small = { lo: -0.7, hi: 0.7 };
const comparisons = ['dot', 'l2', 'l1', 'squaredL2', 'biasedSquaredL2', 'modulus', 'cosine'] as const;
/** Moduli need an even number of columns. */
const even = (how: string, width: number): number => (how === 'modulus' ? 2 * Math.ceil(width / 2) : width);
const mask = negativeMask(Int32Array.of(4, 1, 0, 0, 4, 0, 2, 6, 0, 2), 7);

export const scoringCases: OpCase[] = [
  ...[false, true].flatMap((conjugate) =>
    makeCases('complexProduct', (a, b) => complexProduct(a, b, { conjugate }), {
      [`conjugate ${conjugate}`]: [input([9, 14]), input([9, 14])],
      [`conjugate ${conjugate}, many rows`]: [input([600, 34]), input([600, 34])],
      [`conjugate ${conjugate}, no rows`]: [input([0, 4]), input([0, 4])],
    }),
  ),
  ...comparisons.flatMap((how) => [
    ...makeCases('pairScores', (a, b) => pairScores(a, b, how), {
      [`${how} 5`]: [input([9, even(how, 5)]), input([9, even(how, 5)])],
      [`${how} 33`]: [input([3, even(how, 33)]), input([3, even(how, 33)])],
      [`${how} none`]: [input([0, 4]), input([0, 4])],
      [`${how} many`]: [input([900, 8]), input([900, 8])],
    }),
    ...makeCases('chunkedScores', (q, rows) => chunkedScores(q, rows, ids(3 * 5, 11), 3, how), {
      [`${how} 7 edges in 3 chunks`]: [input([7, even(how, 9)]), input([11, even(how, 9)])],
      [`${how} width 1`]: [
        input([3, even(how, 1)], { lo: 0.2, hi: 1 }),
        input([11, even(how, 1)], { lo: 1.2, hi: 2 }),
      ],
      [`${how} fewer edges than chunks`]: [input([2, even(how, 17)]), input([11, even(how, 17)])],
      [`${how} no edges`]: [input([0, 4]), input([11, 4])],
    }),
    ...makeCases(
      'chunkedScores',
      (q, rows) => chunkedScores(q, rows, ids(40, 30), 1, how),
      {
        [`${how} one chunk in parts`]: [input([400, 12]), input([30, 12])],
      },
      { loose: [10, 'the difference of sums of 16,000 scores'] },
    ),
  ]),
  ...(['sum', 'mean'] as const).flatMap((reduction) => [
    ...makeCases(
      'chunkedSoftmaxLoss',
      (q, t, rows) => chunkedSoftmaxLoss(q, t, rows, ids(3 * 7, 11), 3, { reduction }),
      {
        [`${reduction}, 7 edges in 3 chunks`]: [input([7, 9]), input([7, 9]), input([11, 9])],
        [`${reduction}, width 1`]: [input([7, 1]), input([7, 1]), input([11, 1])],
        [`${reduction}, 300 edges`]: [
          input([300, 20], small),
          input([300, 20], small),
          input([11, 20], small),
        ],
      },
      { loose: [10, 'a sum over hundreds of edges'] },
    ),
    ...makeCases(
      'chunkedSoftmaxLoss',
      (q, t, rows) => chunkedSoftmaxLoss(q, t, rows, ids(3 * 7, 11), 3, { reduction, mask }),
      { [`${reduction}, masked`]: [input([7, 9]), input([7, 9]), input([11, 9])] },
    ),
  ]),
  ...makeCases(
    'chunkedSoftmaxLoss',
    (q, t, rows) =>
      chunkedSoftmaxLossSides(rows, 3, [
        { query: q, target: t, negatives: ids(3 * 7, 11) },
        { query: t, target: q, negatives: ids(3 * 4, 11), mask: null },
      ]),
    { 'both directions': [input([7, 9]), input([7, 9]), input([11, 9])] },
  ),
  ...(['hadamard', 'complex', 'conjugate', 'none'] as const).flatMap((operator) =>
    makeCases(
      'edgeSoftmaxLoss',
      (rows, table, inverse) => {
        const [sources, targets] = [ids(7, 11), ids(7, 10)];
        // Not the leaf itself, which would get its gradient as sparse rows.
        const [there, back] = [mul(table, 1), mul(inverse, 1)];
        const sides = [
          { sources, targets, table: there, negatives: ids(3 * 7, 11), mask },
          { sources: targets, targets: sources, table: back, negatives: ids(3 * 4, 11) },
        ];
        return edgeSoftmaxLoss(rows, operator, ids(7, 3), 3, sides, { reduction: 'mean' });
      },
      {
        [operator]: [
          input([11, 10]),
          input([3, 10], { constant: operator === 'none' }),
          input([3, 10], { constant: operator === 'none' }),
        ],
      },
    ),
  ),
  ...[1, 2, 3, 5].flatMap((power) =>
    [false, true].flatMap((complex) =>
      makeCases(
        'rowPenalty',
        (x) =>
          add(
            rowPenalty(x, {
              ids: Int32Array.of(9, 0, 4),
              weights: Float64Array.of(0.5, 2, 1),
              ...{ power, complex },
            }),
            rowPenalty(mul(x, 1), { ids: Int32Array.of(3, 4), weights: 0.3, power, complex }),
          ),
        { [`power ${power}, complex ${complex}`]: [input([11, 10])] },
      ),
    ),
  ),
  ...makeCases('rowPenalty', (x) => rowPenalty(x, { ids: null, weights: 0.1, power: 2, complex: false }), {
    'all rows': [input([11, 10])],
  }),
];
