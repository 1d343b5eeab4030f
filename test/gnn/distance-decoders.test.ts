/** RESCAL, RotE, MuRE and distances with biases: scores against plain formulas, every method, gradients, ranks. */
import {
  type DecoderMethod,
  type EdgeDecoder,
  lossFunction,
  ModulusCompare,
  RotatE,
  SquaredL2Compare,
  TransE,
} from 'skein/gnn';
import { gatherRows, manualSeed, randn, sum, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { edgeDecoder } from '#internal/gnn/decoders/decoders.js';
import type { DecoderInput } from '#internal/gnn/decoders/edge-decoder.js';
import { edgeInput } from '#internal/gnn/decoders/edge-input.js';
import { linkLoss } from '#internal/gnn/decoders/link-loss.js';
import { queryLossOf } from '#internal/gnn/decoders/query-objective.js';
import type { QueryRows } from '#internal/gnn/decoders/query-rows.js';
import { RankCounter } from '#internal/gnn/rank-counter.js';

type Row = readonly number[];
const edges = { src: [0, 3, 4, 1, 2], dst: [1, 2, 5, 0, 6], rel: Int32Array.of(0, 2, 1, 1, 0) };
const negatives = { dst: Int32Array.of(3, 6, 0, 5, 5, 1), src: Int32Array.of(2, 2, 4, 0, 1, 6) };
const apart = (a: Row, b: Row): number => -a.reduce((s, v, i) => s + (v - b[i]) ** 2, 0);
const split = (row: Row): [Row, number] => [row.slice(0, -1), row[row.length - 1]];
/** −|f(s) − d|² + both biases, for rows whose last column is the bias. */
const biased =
  (f: (s: Row, r: Row) => number[]) =>
  (s: Row, r: Row, d: Row): number => {
    const [[from, b], [to, c]] = [split(s), split(d)];
    return apart(f(from, r), to) + b + c;
  };
const turned = (s: Row, cos: Row, sin: Row): number[] => {
  const h = s.length / 2;
  return [
    ...cos.map((c, i) => s[i] * c - s[h + i] * sin[i]),
    ...cos.map((c, i) => s[i] * sin[i] + s[h + i] * c),
  ];
};
const moduli = (a: Row, b: Row): number => {
  const h = a.length / 2;
  return -b.slice(0, h).reduce((s, _, i) => s + Math.hypot(a[i] - b[i], a[h + i] - b[h + i]), 0);
};

interface Model {
  readonly dim: number;
  readonly make: (method: DecoderMethod, inverseEdges: boolean) => EdgeDecoder;
  readonly score: (s: Row, r: Row, d: Row) => number;
  /** Whether sources are predicted without a second table. */
  readonly adjoint: boolean;
}
const common = (dim: number, method: DecoderMethod, inverseEdges: boolean) =>
  ({ dim, numRelations: 3, dtype: 'f64', method, inverseEdges }) as const;
const named = (type: 'RESCAL' | 'ROTE' | 'MURE', dim: number): Pick<Model, 'dim' | 'make'> => ({
  dim,
  make: (method, inverse) => edgeDecoder(type, common(dim, method, inverse)),
});

const models: Record<string, Model> = {
  RESCAL: {
    ...named('RESCAL', 4),
    score: (s, r, d) => s.reduce((sum, v, i) => sum + v * d.reduce((t, w, j) => t + r[4 * i + j] * w, 0), 0),
    adjoint: true,
  },
  ROTE: {
    ...named('ROTE', 7),
    score: biased((s, r) => {
      const [cos, sin] = [0, 3].map((at) => [0, 1, 2].map((i) => r[at + i] / Math.hypot(r[i], r[3 + i])));
      return turned(s, cos, sin).map((v, i) => v + r[6 + i]);
    }),
    adjoint: false,
  },
  MURE: {
    ...named('MURE', 6),
    score: biased((s, r) => s.map((v, i) => v * r[i] + r[5 + i])),
    adjoint: false,
  },
  'TransE with biases': {
    dim: 6,
    make: (method, inverse) =>
      new TransE({ ...common(6, method, inverse), comparator: new SquaredL2Compare(), bias: true }),
    score: biased((s, r) => s.map((v, i) => v + r[i])),
    adjoint: true,
  },
  'TransE by squared distances': {
    dim: 5,
    make: (method, inverse) =>
      new TransE({ ...common(5, method, inverse), comparator: new SquaredL2Compare() }),
    score: (s, r, d) =>
      apart(
        s.map((v, i) => v + r[i]),
        d,
      ),
    adjoint: true,
  },
  'RotatE by moduli': {
    dim: 6,
    make: (method, inverse) =>
      new RotatE({ ...common(6, method, inverse), comparator: new ModulusCompare() }),
    score: (s, r, d) => moduli(turned(s, r.map(Math.cos), r.map(Math.sin)), d),
    adjoint: true,
  },
};

function batch(dim: number): DecoderInput & { rows: Tensor } {
  manualSeed(3);
  const rows = randn([7, dim], { dtype: 'f64' }).setRequiresGrad();
  return {
    src: gatherRows(rows, edges.src),
    dst: gatherRows(rows, edges.dst),
    relations: edges.rel,
    rows,
    srcNegatives: negatives.src,
    dstNegatives: negatives.dst,
    chunks: 2,
  };
}

/** Other values than the initial ones, where relations may be the identity. */
function fill(decoder: EdgeDecoder): EdgeDecoder {
  for (const p of decoder.parameters())
    for (let i = 0; i < p.size; i++) p.floats[i] = Math.sin(3 * i + p.size) * 0.8;
  return decoder;
}

const rowsOf = (t: Tensor): number[][] => {
  const [n, d] = t.shape;
  return Array.from({ length: n }, (_, i) => [...t.dataSync().slice(i * d, (i + 1) * d)]);
};
const chunkOf = (edge: number): number => Math.floor(edge / 3);
function expectClose(actual: Tensor | null, want: number[]): void {
  const values = [...(actual as Tensor).dataSync()];
  expect(values.length).toBe(want.length);
  for (const [i, v] of values.entries()) expect(v).toBeCloseTo(want[i], 9);
}
const each = <T>(g: (edge: number) => T): T[] => edges.src.map((_, i) => g(i));

/** Compares a gradient with central differences of a sum of some 40 terms in f64. */
function expectGradient(t: Tensor, gradient: ArrayLike<number>, value: () => number): void {
  const step = 1e-6;
  for (let i = 0; i < t.size; i++) {
    const at = t.floats[i];
    t.floats[i] = at + step;
    const above = value();
    t.floats[i] = at - step;
    const below = value();
    t.floats[i] = at;
    expect(gradient[i]).toBeCloseTo((above - below) / (2 * step), 6);
  }
}

describe.each(Object.entries(models))('%s', (_name, { dim, make, score, adjoint }) => {
  const nodes = rowsOf(batch(dim).rows);

  it.each([true, false])('scores edges and edges with other ends (inverse edges: %s)', (inverseEdges) => {
    const decoder = fill(make('CORRUPT_NODE', inverseEdges));
    const r = rowsOf(decoder.relations as Tensor);
    const { rhsPos, rhsNeg, lhsPos, lhsNeg } = decoder.forward(batch(dim));
    const tail = (e: number, id: number): number => score(nodes[edges.src[e]], r[edges.rel[e]], nodes[id]);
    expectClose(
      rhsPos,
      each((e) => tail(e, edges.dst[e])),
    );
    expectClose(rhsNeg, each((e) => [0, 1, 2].map((j) => tail(e, negatives.dst[chunkOf(e) * 3 + j]))).flat());
    if (!inverseEdges && !adjoint) {
      expect([lhsPos, lhsNeg]).toEqual([null, null]);
      return;
    }
    const back = inverseEdges ? rowsOf(decoder.inverseRelations as Tensor) : r;
    const head = (e: number, id: number): number => {
      const [from, to] = inverseEdges ? [edges.dst[e], id] : [id, edges.dst[e]];
      return score(nodes[from], back[edges.rel[e]], nodes[to]);
    };
    expectClose(
      lhsPos,
      each((e) => head(e, edges.src[e])),
    );
    expectClose(lhsNeg, each((e) => [0, 1, 2].map((j) => head(e, negatives.src[chunkOf(e) * 3 + j]))).flat());
  });

  it('scores edges with other relations, and given edges', () => {
    const decoder = fill(make('CORRUPT_REL', true));
    const r = rowsOf(decoder.relations as Tensor);
    const relationNegatives = Int32Array.of(2, 0, 1, 2);
    expectClose(
      decoder.forward({ ...batch(dim), relationNegatives }).rhsNeg,
      each((e) =>
        [0, 1].map((j) =>
          score(nodes[edges.src[e]], r[relationNegatives[chunkOf(e) * 2 + j]], nodes[edges.dst[e]]),
        ),
      ).flat(),
    );
    const [src, dst, relations] = [1, 2, 3].map((k) =>
      Int32Array.from({ length: 10 }, (_, i) => (i * k + k) % 3),
    );
    const given = fill(make('POS_AND_NEG', true)).forward({
      ...batch(dim),
      negativeEdges: { src, dst, relations },
    });
    expectClose(
      given.rhsNeg,
      [...src].map((s, i) => score(nodes[s], r[relations[i]], nodes[dst[i]])),
    );
  });

  it.each([true, false])('has the gradients of finite differences (inverse edges: %s)', (inverseEdges) => {
    const decoder = fill(make('CORRUPT_NODE', inverseEdges));
    const loss = lossFunction('BCE_WITH_LOGITS', { offset: 2 });
    const given = batch(dim);
    const ends = { src: Int32Array.from(edges.src), dst: Int32Array.from(edges.dst) };
    const value = (): Tensor => linkLoss(decoder, edgeInput(given.rows, ends, given), loss);
    value().backward();
    const gradients: [Tensor, ArrayLike<number>][] = [[given.rows, (given.rows.grad as Tensor).dataSync()]];
    for (const table of decoder.parameters()) {
      const { ids, rows } = (table.sparseGrad as NonNullable<Tensor['sparseGrad']>).coalesce();
      expect([...ids]).toEqual([0, 1, 2]);
      gradients.push([table, rows]);
    }
    for (const [t, g] of gradients) expectGradient(t, g, () => value().item());
  });

  it.each(['SOFTMAX_CE', 'BCE_WITH_LOGITS'] as const)('trains against all rows with %s', (type) => {
    const decoder = fill(make('CORRUPT_NODE', true));
    const { rows: table } = batch(dim);
    const loss = lossFunction(type, type === 'SOFTMAX_CE' ? {} : { offset: 0.7 });
    const side = (direction: 'rhs' | 'lhs', from: number[], to: number[]): QueryRows => ({
      ...{ direction, entities: Int32Array.from(from), relations: edges.rel, known: null },
      answers: { offsets: Int32Array.of(0, 1, 2, 3, 4, 5), ids: Int32Array.from(to) },
    });
    const sides = [side('rhs', edges.src, edges.dst), side('lhs', edges.dst, edges.src)];
    const value = (): Tensor =>
      queryLossOf(decoder, table, sides, { loss, wholeQueries: type !== 'SOFTMAX_CE' });
    if (decoder.comparator.products(table, table) === null) {
      expect(value).toThrow(/SQUARED_L2/);
      return;
    }
    const lossOf = (scores: number[], answer: number): number =>
      type === 'SOFTMAX_CE'
        ? Math.log(scores.reduce((s, v) => s + Math.exp(v), 0)) - scores[answer]
        : scores.reduce((s, v) => s + Math.log1p(Math.exp(v + 0.7)), 0) - scores[answer] - 0.7;
    let want = 0;
    for (const { direction, entities, answers } of sides) {
      const r = rowsOf(decoder.relationRows(edges.rel, direction) as Tensor);
      for (const [e, id] of entities.entries())
        want += lossOf(
          nodes.map((to) => score(nodes[id], r[e], to)),
          answers.ids[e],
        );
    }
    expect(value().item()).toBeCloseTo(want, 9);
    value().backward();
    expectGradient(table, (table.grad as Tensor).dataSync(), () => value().item());
  });

  it('ranks with the bits of its scores', () => {
    const decoder = fill(make('ONLY_POS', true));
    const input = batch(dim);
    const [side] = decoder.sides(input);
    const counter = new RankCounter(decoder.comparator, side.query, {
      target: side.target,
      targetIds: Int32Array.from(edges.dst),
    });
    counter.add(input.rows, 0);
    const all = decoder.comparator.chunks(side.query, input.rows, Int32Array.of(0, 1, 2, 3, 4, 5, 6), 1);
    const scores = rowsOf(all);
    const own = edges.dst.map((id, e) => scores[e][id]);
    expect([...counter.counts().greater]).toEqual(
      scores.map((row, e) => row.filter((s) => s > own[e]).length),
    );
    expect([...counter.counts().equal]).toEqual([0, 0, 0, 0, 0]);
  });

  it('starts with finite scores and gradients', () => {
    const decoder = make('CORRUPT_NODE', true);
    const input = batch(dim);
    const { rhsNeg } = decoder.forward(input);
    sum(rhsNeg as Tensor).backward();
    expect((input.rows.grad as Tensor).dataSync().every(Number.isFinite)).toBe(true);
  });
});

it('rejects widths and comparators that do not fit', () => {
  expect(() => edgeDecoder('ROTE', { dim: 6, numRelations: 1 })).toThrow(/even/);
  expect(() => edgeDecoder('MURE', { dim: 1, numRelations: 1 })).toThrow(/bias/);
  expect(() => new TransE({ dim: 4, numRelations: 1, bias: true })).toThrow(/SquaredL2Compare/);
  expect(() => new TransE({ dim: 3, numRelations: 1, comparator: new ModulusCompare() })).toThrow(/even/);
});
