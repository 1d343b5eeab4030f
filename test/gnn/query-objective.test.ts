/**
 * The objective of queries against all entities: every form against plain formulas, gradients in f64, dropout, relation
 * prediction, penalties.
 */
import {
  ComplEx,
  CosineCompare,
  DistMult,
  DotDecoder,
  type EdgeDecoder,
  lossFunction,
  NormRegularizer,
  SquaredL2Compare,
  TransE,
} from 'skein/gnn';
import {
  dropout,
  fromTypedArray,
  gatherRows,
  manualSeed,
  matmul,
  mul,
  randn,
  type Tensor,
  transpose,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { EmbeddingPenalty } from '#internal/gnn/decoders/embedding-penalty.js';
import { type QueryObjective, queryLossOf } from '#internal/gnn/decoders/query-objective.js';
import type { QueryRows } from '#internal/gnn/decoders/query-rows.js';
import { philoxWords } from '#internal/util/philox.js';
import { expectGradients } from './gradients.js';

const dim = 4;
const entities = 6;
const numRelations = 2;

type Query = readonly [entity: number, relation: number, answers: readonly number[]];
const tails: readonly Query[] = [
  [0, 0, [1, 3, 5]],
  [2, 1, [0]],
  [4, 0, [2, 5]],
];
const heads: readonly Query[] = [
  [1, 0, [0, 4]],
  [5, 1, [3, 2, 1]],
];

function rowsOf(queries: readonly Query[], direction: 'rhs' | 'lhs', known = false): QueryRows {
  const lists = (more: (answers: readonly number[]) => readonly number[]) => {
    const all = queries.map(([, , answers]) => more(answers));
    const offsets = new Int32Array(all.length + 1);
    for (const [i, { length }] of all.entries()) offsets[i + 1] = offsets[i] + length;
    return { offsets, ids: Int32Array.from(all.flat()) };
  };
  return {
    entities: Int32Array.from(queries, ([entity]) => entity),
    relations: Int32Array.from(queries, ([, relation]) => relation),
    direction,
    answers: lists((answers) => answers),
    known: known ? lists((answers) => [...new Set([...answers, 3])].sort((a, b) => a - b)) : null,
  };
}

const batch = (known = false): QueryRows[] => [rowsOf(tails, 'rhs', known), rowsOf(heads, 'lhs', known)];
/** Each answer as a query of its own. */
const single = (queries: readonly Query[]): Query[] =>
  queries.flatMap(([entity, relation, answers]) => answers.map((o): Query => [entity, relation, [o]]));
const examples = single(tails).length + single(heads).length;
const queryCount = tails.length + heads.length;

function makeTable(): Tensor {
  manualSeed(11);
  return randn([entities, dim], { dtype: 'f64' }).setRequiresGrad();
}

function make(
  Decoder: new (options: { dim: number; numRelations: number; dtype: 'f64' }) => EdgeDecoder,
  more: object = {},
): EdgeDecoder {
  const decoder = new Decoder({ dim, numRelations, dtype: 'f64', ...more });
  for (const [k, p] of decoder.parameters().entries())
    for (let i = 0; i < p.size; i++) p.floats[i] = Math.sin(3 * i + p.size + 2 * k) * 0.8;
  return decoder;
}

/** Scores of queries with all entities. */
function scoresOf(
  decoder: EdgeDecoder,
  table: Tensor,
  { entities: ids, relations, direction }: QueryRows,
): number[][] {
  const query = decoder.query(gatherRows(table, ids), relations, direction);
  return rows(matmul(query, transpose(table)));
}

function rows(t: Tensor): number[][] {
  const [n, width] = t.shape;
  return Array.from({ length: n }, (_, i) => [...t.dataSync().slice(i * width, (i + 1) * width)]);
}

const total = (values: readonly number[]): number => values.reduce((sum, v) => sum + v, 0);
const logSum = (values: readonly number[]): number => Math.log(total(values.map((s) => Math.exp(s))));

/** Adds up a function of each query's scores and answers, in both directions. */
function sumOverQueries(
  decoder: EdgeDecoder,
  table: Tensor,
  of: (scores: number[], answers: readonly number[], query: Query) => number,
): number {
  return total(
    (
      [
        ['rhs', tails],
        ['lhs', heads],
      ] as const
    ).flatMap(([direction, queries]) =>
      scoresOf(decoder, table, rowsOf(queries, direction)).map((scores, i) =>
        of(scores, queries[i][2], queries[i]),
      ),
    ),
  );
}

const lossOf = (decoder: EdgeDecoder, table: Tensor, objective: QueryObjective, known = false): number =>
  queryLossOf(decoder, table, batch(known), objective).item();

describe.each([true, false])('values, inverse edges %s', (inverseEdges) => {
  const decoder = make(ComplEx, { inverseEdges });
  const table = makeTable();

  it.each([0, 0.2])('ONE_VS_ALL softmax, label smoothing %d', (smoothing) => {
    const want = sumOverQueries(decoder, table, (s, answers) =>
      total(answers.map((o) => logSum(s) - (1 - smoothing) * s[o] - (smoothing * total(s)) / entities)),
    );
    const loss = lossFunction('SOFTMAX_CE', { label_smoothing: smoothing });
    expect(lossOf(decoder, table, { loss })).toBeCloseTo(want, 10);
    const mean = lossFunction('CROSS_ENTROPY', { reduction: 'MEAN', label_smoothing: smoothing });
    expect(lossOf(decoder, table, { loss: mean })).toBeCloseTo(want / examples, 10);
    // A row of scores for each answer: the same loss.
    const alone = [rowsOf(single(tails), 'rhs'), rowsOf(single(heads), 'lhs')];
    expect(queryLossOf(decoder, table, alone, { loss: mean }).item()).toBeCloseTo(want / examples, 12);
  });

  it('ONE_VS_ALL where known answers do not compete', () => {
    const want = sumOverQueries(decoder, table, (s, answers) =>
      total(
        answers.map((o) => {
          const others = s.filter((_, j) => j === o || !(answers.includes(j) || j === 3));
          return logSum(others) - s[o];
        }),
      ),
    );
    const loss = lossFunction('SOFTMAX_CE', { reduction: 'MEAN' });
    expect(lossOf(decoder, table, { loss }, true)).toBeCloseTo(want / examples, 10);
  });

  it.each([0, 0.2])('K_VS_ALL softmax, label smoothing %d', (smoothing) => {
    const want = sumOverQueries(decoder, table, (s, answers) => {
      const labels = s.map(
        (_, j) => (1 - smoothing) * Number(answers.includes(j)) + (smoothing > 0 ? 1 / entities : 0),
      );
      return -total(s.map((score, j) => ((score - logSum(s)) * labels[j]) / total(labels)));
    });
    const loss = lossFunction('SOFTMAX_CE', { reduction: 'MEAN', label_smoothing: smoothing });
    expect(lossOf(decoder, table, { loss, wholeQueries: true })).toBeCloseTo(want / queryCount, 10);
    const sum = lossFunction('SOFTMAX_CE', { label_smoothing: smoothing });
    expect(lossOf(decoder, table, { loss: sum, wholeQueries: true })).toBeCloseTo(want, 10);
  });

  it.each([0, 0.2])('K_VS_ALL with BCE and squares, label smoothing %d', (smoothing) => {
    const label = (answers: readonly number[], j: number): number =>
      (1 - smoothing) * Number(answers.includes(j)) + (smoothing > 0 ? 1 / entities : 0);
    const options = { reduction: 'MEAN', label_smoothing: smoothing } as const;
    const bce = sumOverQueries(decoder, table, (s, answers) =>
      total(s.map((score, j) => Math.log1p(Math.exp(score + 0.5)) - label(answers, j) * (score + 0.5))),
    );
    const logistic = lossFunction('BCE_WITH_LOGITS', { ...options, offset: 0.5 });
    expect(lossOf(decoder, table, { loss: logistic, wholeQueries: true })).toBeCloseTo(bce / queryCount, 10);
    const squares = sumOverQueries(decoder, table, (s, answers) =>
      total(s.map((score, j) => (score - label(answers, j)) ** 2)),
    );
    const loss = lossFunction('MSE', options);
    expect(lossOf(decoder, table, { loss, wholeQueries: true })).toBeCloseTo(squares / queryCount, 10);
  });

  it('relation prediction among all relations', () => {
    const weight = 0.7;
    const loss = lossFunction('SOFTMAX_CE', { reduction: 'MEAN' });
    const tables = [decoder.relations, decoder.inverseRelations].flatMap((t) =>
      t === null ? [] : rows(t as Tensor),
    );
    const e = rows(table);
    /** Re(h · r · conj(t)) */
    const score = ([a, b, c, d]: number[], [w, x, y, z]: number[], [p, q, r, s]: number[]): number =>
      p * (a * w - c * y) + q * (b * x - d * z) + r * (a * y + c * w) + s * (b * z + d * x);
    const want = total(
      [
        ...tails.flatMap(([h, r, answers]) => answers.map((t) => [h, r, t])),
        ...heads.flatMap(([t, r, answers]) =>
          answers.map((h) => (inverseEdges ? [t, numRelations + r, h] : [h, r, t])),
        ),
      ].map(([from, r, to]) => {
        const all = tables.map((w) => score(e[from], w, e[to]));
        return logSum(all) - all[r];
      }),
    );
    const plain = lossOf(decoder, table, { loss });
    const both = lossOf(decoder, table, { loss, relationPrediction: weight });
    expect(both - plain).toBeCloseTo((weight * want) / examples, 10);
  });

  it('a penalty that keeps its ratio to the mean loss under SUM', () => {
    const penalty: EmbeddingPenalty = { type: 'N3', coef: 0.1, relationCoef: 0.2, norm: 3, weighted: true };
    for (const wholeQueries of [false, true]) {
      const of = (reduction: 'SUM' | 'MEAN', p: EmbeddingPenalty | null): number =>
        lossOf(decoder, table, { loss: lossFunction('SOFTMAX_CE', { reduction }), penalty: p, wholeQueries });
      const mean = of('MEAN', penalty) - of('MEAN', null);
      expect(of('SUM', penalty) - of('SUM', null)).toBeCloseTo(
        mean * (wholeQueries ? queryCount : examples),
        10,
      );
      const moduli = rows(table).map(([a, b, c, d]) => Math.hypot(a, c) ** 3 + Math.hypot(b, d) ** 3);
      const ends = sumOverQueries(decoder, table, (_s, answers, [entity]) =>
        total(answers.map((o) => moduli[entity] + moduli[o])),
      );
      const rest = of('MEAN', { ...penalty, relationCoef: 0 }) - of('MEAN', null);
      expect(rest).toBeCloseTo((0.1 * ends) / examples, 10);
    }
  });
});

describe('dropout', () => {
  const random = (): Random => new Random(3).split(1);
  const loss = lossFunction('SOFTMAX_CE', { reduction: 'MEAN' });

  it('drops the given rows, relations and candidates of each direction; nothing without a generator', () => {
    const table = makeTable();
    const drops = { entityDropout: 0.3, relationDropout: 0.4 };
    const [decoder, plain] = [make(DistMult, drops), make(DistMult)];
    expect(lossOf(decoder, table, { loss })).toBe(lossOf(plain, table, { loss }));
    const want = (['rhs', 'lhs'] as const).map((direction, side) => {
      const { entities: ids, relations, answers } = batch()[side];
      const mask = (x: Tensor, p: number, use: number): Tensor => {
        const key = random().split(side).split(use);
        // The generator's key itself is that of the table's mask.
        return use === 2 ? dropTable(x, p, key) : dropout(x, p, { random: key });
      };
      const given = mask(gatherRows(table, ids), 0.3, 0);
      const query = plain.query(given, relations, direction, (r) => mask(r, 0.4, 1));
      const scores = rows(matmul(query, transpose(mask(table, 0.3, 2))));
      return total(
        scores.flatMap((s, i) =>
          [...answers.ids.slice(answers.offsets[i], answers.offsets[i + 1])].map((o) => logSum(s) - s[o]),
        ),
      );
    });
    const got = lossOf(decoder, table, { loss, random: random() });
    expect(got).toBeCloseTo(total(want) / examples, 10);
    expect(lossOf(decoder, table, { loss, random: random() })).toBe(got);
    expect(lossOf(decoder, table, { loss, random: random().split(1) })).not.toBe(got);
  });
});

/** Drops elements of a table by the half-words of a key, as the loss of queries does. */
function dropTable(x: Tensor, p: number, random: Random): Tensor {
  const threshold = Math.round(p * 65536);
  const words = new Uint32Array(Math.ceil(x.size / 2));
  philoxWords(random.key, 0, words.length, words);
  const factors = Float64Array.from({ length: x.size }, (_, i) =>
    ((words[i >> 1] >>> (16 * (i & 1))) & 0xffff) < threshold ? 0 : 65536 / (65536 - threshold),
  );
  return mul(x, fromTypedArray(factors, x.shape));
}

describe('gradients', () => {
  const n3: EmbeddingPenalty = { type: 'N3', coef: 0.1, relationCoef: 0.2, norm: 3, weighted: true };
  const whole: EmbeddingPenalty = { ...n3, type: 'LP', norm: 2, weighted: false };
  const drops = { entityDropout: 0.3, relationDropout: 0.4 };
  const softmax = lossFunction('SOFTMAX_CE', { reduction: 'MEAN', label_smoothing: 0.1 });
  const bce = lossFunction('BCE_WITH_LOGITS', { offset: 0.3, label_smoothing: 0.1 });
  const squares = lossFunction('MSE', { reduction: 'MEAN' });
  const random = new Random(5);
  const cases: [string, () => EdgeDecoder, QueryObjective][] = [
    ['ComplEx, softmax', () => make(ComplEx), { loss: softmax }],
    [
      'ComplEx, softmax, N3, relations, dropout',
      () => make(ComplEx, drops),
      { loss: softmax, penalty: n3, relationPrediction: 0.5, random },
    ],
    [
      'ComplEx with adjoint, softmax, LP of all rows, relations, dropout',
      () => make(ComplEx, { ...drops, inverseEdges: false }),
      { loss: softmax, penalty: whole, relationPrediction: 0.5, random },
    ],
    [
      'DistMult with adjoint, BCE, N3',
      () => make(DistMult, { inverseEdges: false }),
      { loss: bce, penalty: n3 },
    ],
    ['DistMult, squares, dropout', () => make(DistMult, drops), { loss: squares, random }],
    [
      'ComplEx, K_VS_ALL, N3, dropout',
      () => make(ComplEx, drops),
      { loss: softmax, wholeQueries: true, penalty: n3, random },
    ],
    [
      'DistMult, K_VS_ALL, BCE, relations',
      () => make(DistMult),
      { loss: bce, wholeQueries: true, relationPrediction: 2 },
    ],
    [
      'ComplEx with adjoint, K_VS_ALL, squares',
      () => make(ComplEx, { inverseEdges: false }),
      { loss: squares, wholeQueries: true },
    ],
    [
      'DistMult, the regulariser of edges',
      () => make(DistMult),
      { loss: softmax, regularizer: new NormRegularizer(3, 0.2) },
    ],
  ];
  it.each(cases)('%s', (_name, newDecoder, objective) => {
    const decoder = newDecoder();
    const table = makeTable();
    expectGradients(() => queryLossOf(decoder, table, batch(), objective), [table, ...decoder.parameters()]);
  });

  it.each([softmax, bce])('squared distances, both directions by translations', (loss) => {
    const table = makeTable();
    const decoder = make(TransE, { ...drops, inverseEdges: false, comparator: new SquaredL2Compare() });
    const objective = { loss, random };
    expectGradients(() => queryLossOf(decoder, table, batch(), objective), [table, ...decoder.parameters()]);
    const scores = (['rhs', 'lhs'] as const).flatMap((direction, side) => {
      const { entities: ids, relations, answers } = batch()[side];
      const query = decoder.query(gatherRows(table, ids), relations, direction);
      return rows(
        decoder.comparator.chunks(
          query,
          table,
          Int32Array.from({ length: entities }, (_, i) => i),
          1,
        ),
      ).map((s, i) => [s, answers.ids.slice(answers.offsets[i], answers.offsets[i + 1])] as const);
    });
    const plain = lossFunction('BCE_WITH_LOGITS', { offset: 2 });
    const want = total(
      scores.map(
        ([s, answers]) =>
          total(s.map((v) => answers.length * Math.log1p(Math.exp(v + 2)))) -
          total([...answers].map((o) => s[o] + 2)),
      ),
    );
    expect(lossOf(decoder, table, { loss: plain })).toBeCloseTo(want, 9);
  });

  it('known answers, cosines, and no relations', () => {
    const table = makeTable();
    const decoder = make(ComplEx);
    expectGradients(() => queryLossOf(decoder, table, batch(true), { loss: softmax }), [table]);
    const angles = new DotDecoder({ dim, dtype: 'f64', comparator: new CosineCompare() });
    const plain = batch().map((list) => ({ ...list, relations: null }));
    expectGradients(() => queryLossOf(angles, table, plain, { loss: softmax }), [table]);
  });
});

it('rejects losses and comparators without a form, naming both', () => {
  const table = makeTable();
  const ranking = lossFunction('RANKING');
  expect(() => lossOf(make(DistMult), table, { loss: ranking })).toThrow(
    /ONE_VS_ALL: expected SOFTMAX_CE.*RankingLoss/,
  );
  const averaged = lossFunction('BCE_WITH_LOGITS', { negatives: 'MEAN' });
  expect(() => lossOf(make(DistMult), table, { loss: averaged, wholeQueries: true })).toThrow(
    /K_VS_ALL: expected SUM/,
  );
  const loss = lossFunction('SOFTMAX_CE');
  expect(() => lossOf(make(TransE), table, { loss })).toThrow(/products, as DOT.*L2Compare/);
  expect(() =>
    lossOf(make(DistMult), table, { loss: lossFunction('SOFTMAX_CE', { label_smoothing: 1 }) }),
  ).toThrow(/labelSmoothing/);
});

it('is 0 for a batch without queries', () => {
  const loss = lossFunction('SOFTMAX_CE', { reduction: 'MEAN' });
  expect(queryLossOf(make(DistMult), makeTable(), [rowsOf([], 'rhs')], { loss }).item()).toBe(0);
});
