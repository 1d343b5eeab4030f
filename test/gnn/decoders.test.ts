/** Decoders: scores against plain formulas, every method, the fused loss against the general one, custom classes. */
import {
  Comparator,
  ComplEx,
  CosineCompare,
  type DecoderMethod,
  DistMult,
  DotCompare,
  DotDecoder,
  EdgeDecoder,
  type EdgeScores,
  HadamardOperator,
  L1Compare,
  LossFunction,
  type LossName,
  lossFunction,
  NoOpNodeDecoder,
  RelationOperator,
  RotatE,
  TransE,
} from 'skein/gnn';
import {
  abs,
  add,
  gatherRows,
  manualSeed,
  mean,
  mul,
  neg,
  randn,
  sub,
  sum,
  type Tensor,
  tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { type EdgeDecoderName, edgeDecoder } from '#internal/gnn/decoders/decoders.js';
import type { DecoderInput } from '#internal/gnn/decoders/edge-decoder.js';
import { edgeInput } from '#internal/gnn/decoders/edge-input.js';
import { linkLoss } from '#internal/gnn/decoders/link-loss.js';
import { negativeMask } from '#internal/gnn/ops/chunked-softmax-loss.js';
import type { Comparison } from '#internal/gnn/ops/scores.js';

const dim = 6;
const edges = { src: [0, 3, 4, 1, 2], dst: [1, 2, 5, 0, 6], rel: Int32Array.of(0, 2, 1, 1, 0) };
const chunks = 2;
const dstNegatives = Int32Array.of(3, 6, 0, 5, 5, 1);
const srcNegatives = Int32Array.of(2, 2, 4, 0, 1, 6);

function batch(dtype: 'f32' | 'f64' = 'f64'): DecoderInput & { rows: Tensor } {
  manualSeed(3);
  const rows = randn([7, dim], { dtype }).setRequiresGrad();
  return {
    src: gatherRows(rows, edges.src),
    dst: gatherRows(rows, edges.dst),
    relations: edges.rel,
    rows,
    srcNegatives,
    dstNegatives,
    chunks,
  };
}

function make(
  type: EdgeDecoderName,
  method: DecoderMethod = 'CORRUPT_NODE',
  inverseEdges = true,
): EdgeDecoder {
  const decoder = edgeDecoder(type, { dim, numRelations: 3, dtype: 'f64', method, inverseEdges });
  // Not the initial values, where relations are the identity.
  for (const p of decoder.parameters())
    for (let i = 0; i < p.size; i++) p.floats[i] = Math.sin(3 * i + p.size) * 0.8;
  return decoder;
}

type Row = readonly number[];
const rowsOf = (t: Tensor): number[][] => {
  const [n, d] = t.shape;
  return Array.from({ length: n }, (_, i) => [...t.dataSync().slice(i * d, (i + 1) * d)]);
};
const dot = (a: Row, b: Row): number => a.reduce((s, v, i) => s + v * b[i], 0);
const far = (a: Row, b: Row): number => -Math.hypot(...a.map((v, i) => v - b[i]));
const turn = (a: Row, re: Row, im: Row): number[] => {
  const h = a.length / 2;
  const parts = re.map((c, i) => [a[i] * c - a[h + i] * im[i], a[i] * im[i] + a[h + i] * c]);
  return [...parts.map((p) => p[0]), ...parts.map((p) => p[1])];
};

const formulas: Record<string, (s: Row, r: Row, d: Row) => number> = {
  DISTMULT: (s, r, d) =>
    dot(
      s.map((v, i) => v * r[i]),
      d,
    ),
  TRANSE: (s, r, d) =>
    far(
      s.map((v, i) => v + r[i]),
      d,
    ),
  COMPLEX: (s, r, d) => dot(turn(s, r.slice(0, dim / 2), r.slice(dim / 2)), d),
  ROTATE: (s, r, d) => far(turn(s, r.map(Math.cos), r.map(Math.sin)), d),
};
const names = Object.keys(formulas) as EdgeDecoderName[];
const chunkOf = (edge: number): number => Math.floor(edge / 3);

function expectClose(actual: Tensor | null, want: number[]): void {
  const values = [...(actual as Tensor).dataSync()];
  expect(values.length).toBe(want.length);
  for (const [i, v] of values.entries()) expect(v).toBeCloseTo(want[i], 9);
}

describe.each(names)('%s', (name) => {
  const f = formulas[name];
  const input = batch();
  const nodes = rowsOf(input.rows);
  const count = edges.src.length;
  const all = <T>(g: (edge: number) => T): T[] => Array.from({ length: count }, (_, i) => g(i));

  it('scores edges, and edges with other ends, in both directions', () => {
    const decoder = make(name);
    const [r, inverse] = [decoder.relations, decoder.inverseRelations].map((t) => rowsOf(t as Tensor));
    const scores = decoder.forward(input);
    const one = (from: number, table: number[][], edge: number, to: number): number =>
      f(nodes[from], table[edges.rel[edge]], nodes[to]);
    expectClose(
      scores.rhsPos,
      all((e) => one(edges.src[e], r, e, edges.dst[e])),
    );
    expectClose(
      scores.lhsPos,
      all((e) => one(edges.dst[e], inverse, e, edges.src[e])),
    );
    const corrupted = (ids: Int32Array, score: (e: number, id: number) => number): number[] =>
      all((e) => [0, 1, 2].map((j) => score(e, ids[chunkOf(e) * 3 + j]))).flat();
    expectClose(
      scores.rhsNeg,
      corrupted(dstNegatives, (e, id) => one(edges.src[e], r, e, id)),
    );
    expectClose(
      scores.lhsNeg,
      corrupted(srcNegatives, (e, id) => one(edges.dst[e], inverse, e, id)),
    );
  });

  it('scores edges with other relations', () => {
    const decoder = make(name, 'CORRUPT_REL');
    const r = rowsOf(decoder.relations as Tensor);
    const inverse = rowsOf(decoder.inverseRelations as Tensor);
    const relationNegatives = Int32Array.of(2, 0, 1, 2);
    const scores = decoder.forward({ ...input, relationNegatives });
    const want = (table: number[][], from: number[], to: number[]): number[] =>
      all((e) =>
        [0, 1].map((j) => f(nodes[from[e]], table[relationNegatives[chunkOf(e) * 2 + j]], nodes[to[e]])),
      ).flat();
    expectClose(scores.rhsNeg, want(r, edges.src, edges.dst));
    expectClose(scores.lhsNeg, want(inverse, edges.dst, edges.src));
    expect(() => decoder.forward(input)).toThrow(/relationNegatives/);
  });

  it('scores given negative edges, or none', () => {
    const decoder = make(name, 'POS_AND_NEG');
    const r = rowsOf(decoder.relations as Tensor);
    const [src, dst, relations] = [1, 2, 3].map((k) =>
      Int32Array.from({ length: 10 }, (_, i) => (i * k + k) % 3),
    );
    const { rhsNeg, lhsNeg } = decoder.forward({ ...input, negativeEdges: { src, dst, relations } });
    expectClose(
      rhsNeg,
      [...src].map((s, i) => f(nodes[s], r[relations[i]], nodes[dst[i]])),
    );
    expect(rhsNeg?.shape).toEqual([5, 2]);
    expect(lhsNeg?.shape).toEqual([5, 2]);
    expect(() => decoder.forward(input)).toThrow(/negativeEdges/);
    const alone = make(name, 'ONLY_POS').forward(input);
    expect([alone.rhsNeg, alone.lhsNeg]).toEqual([null, null]);
  });

  it('predicts sources by the same relations without inverse edges', () => {
    const decoder = make(name, 'CORRUPT_NODE', false);
    const r = rowsOf(decoder.relations as Tensor);
    const scores = decoder.forward(input);
    expectClose(scores.lhsPos, [...scores.rhsPos.dataSync()]);
    expectClose(
      scores.lhsNeg,
      all((e) =>
        [0, 1, 2].map((j) =>
          f(nodes[srcNegatives[chunkOf(e) * 3 + j]], r[edges.rel[e]], nodes[edges.dst[e]]),
        ),
      ).flat(),
    );
    // Edges with other relations, or given ones, have the same score in both directions.
    const relationNegatives = Int32Array.of(2, 0, 1, 2);
    const others = make(name, 'CORRUPT_REL', false).forward({ ...input, relationNegatives });
    expect([others.lhsPos, others.lhsNeg]).toEqual([null, null]);
  });

  it('gives relations gradients as rows', () => {
    const decoder = make(name);
    linkLoss(decoder, batch(), lossFunction('SOFTMAX_CE')).backward();
    for (const p of decoder.parameters())
      expect(p.sparseGrad?.coalesce().ids).toEqual(Int32Array.of(0, 1, 2));
  });
});

describe('an operator without adjoint', () => {
  class Squared extends HadamardOperator {
    override apply(embs: Tensor, rels: Tensor | null): Tensor {
      return super.apply(embs, rels === null ? null : mul(rels, rels));
    }
  }
  class Custom extends EdgeDecoder {}

  it('predicts destinations only without inverse edges', () => {
    const options = { dim, numRelations: 3, dtype: 'f64', inverseEdges: false } as const;
    const custom = new Custom(new Squared(), new DotCompare(), options);
    // The Manhattan distance of components is not the same after a rotation.
    const turned = new RotatE({ ...options, comparator: new L1Compare() });
    for (const decoder of [custom, turned]) {
      const scores = decoder.forward(batch());
      expect([scores.lhsPos, scores.lhsNeg]).toEqual([null, null]);
    }
    expect(() => new Bare().adjoint(batch().src, batch().src)).toThrow(
      /Bare: expected an operator with adjoint/,
    );
  });

  class Bare extends RelationOperator {
    apply(embs: Tensor): Tensor {
      return embs;
    }
    initialize(): void {}
  }
});

describe('the initial values of relations', () => {
  it('are those of the operator or as given, for both tables', () => {
    const options = { dim, numRelations: 300, random: new Random(1) };
    expect(new DistMult(options).relations?.dataSync().every((v) => v === 1)).toBe(true);
    const relationInit = { type: 'NORMAL', options: { mean: 0, std: 1e-3 } } as const;
    const { relations, inverseRelations } = new DistMult({ ...options, relationInit });
    for (const table of [relations, inverseRelations]) {
      const squares = [...(table as Tensor).dataSync()].reduce((total, v) => total + v * v, 0);
      // 1,800 draws: the standard error of the deviation is below 2 %.
      expect(Math.sqrt(squares / (300 * dim)) / 1e-3).toBeCloseTo(1, 1);
    }
    expect(relations?.dataSync()[0]).not.toBe(inverseRelations?.dataSync()[0]);
  });
});

describe('the fused loss', () => {
  /** Another class of loss, so that it takes the general path. */
  class General extends LossFunction {
    readonly inner: LossFunction;
    constructor(inner: LossFunction) {
      super(inner);
      this.inner = inner;
    }
    forward(positive: Tensor, negative: Tensor): Tensor {
      return this.inner.forward(positive, negative);
    }
  }
  const masks = {
    dstMask: negativeMask(Int32Array.of(0, 1, 4, 2, 0, 2), 5),
    srcMask: negativeMask(Int32Array.of(3, 0), 5),
  };
  const cases = (['DISTMULT', 'COMPLEX', 'DOT'] as const).flatMap((type) =>
    [true, false].map((inverse) => [type, inverse] as const),
  );
  for (const [type, inverse] of cases) {
    for (const name of ['SOFTMAX_CE', 'CROSS_ENTROPY'] as const) {
      for (const reduction of ['SUM', 'MEAN'] as const) {
        it.each([false, true])(
          `equals the general one: ${type}, inverse edges ${inverse}, ${name}, ${reduction}, masked %s`,
          (masked) => {
            const results = (['general', 'gathered', 'by number'] as const).map((path) => {
              const general = path === 'general';
              const given = { ...batch(), ...(masked ? masks : {}) };
              const ends = { src: Int32Array.from(edges.src), dst: Int32Array.from(edges.dst) };
              const input = path === 'by number' ? edgeInput(given.rows, ends, given) : given;
              const decoder = make(type, 'CORRUPT_NODE', inverse);
              const loss = lossFunction(name, { reduction });
              const value = linkLoss(decoder, input, general ? new General(loss) : loss);
              value.backward();
              const grads = decoder.parameters().map((p) => [...(p.sparseGrad?.coalesce().rows ?? [])]);
              return [value.item(), ...(input.rows.grad as Tensor).dataSync(), ...grads.flat()];
            });
            for (const got of results.slice(1)) {
              for (const [i, v] of results[0].entries()) expect(got[i]).toBeCloseTo(v, 10);
            }
          },
        );
      }
    }
  }

  it('runs every loss with masks, to a finite value and a gradient', () => {
    for (const name of ['RANKING', 'BCE_AFTER_SIGMOID', 'BCE_WITH_LOGITS', 'MSE', 'SOFTPLUS'] as LossName[]) {
      const input = { ...batch(), ...masks };
      const value = linkLoss(make('TRANSE'), input, lossFunction(name));
      value.backward();
      expect(Math.abs(value.item())).toBeLessThan(1e4);
      expect((input.rows.grad as Tensor).dataSync().every(Number.isFinite)).toBe(true);
    }
  });
});

describe('custom classes', () => {
  class Manhattan extends Comparator {
    pairs(a: Tensor, b: Tensor): Tensor {
      return neg(sum(abs(sub(a, b)), 1));
    }
  }
  class Mine extends EdgeDecoder {
    constructor(comparator: Comparator) {
      super(new HadamardOperator(), comparator, { dim, numRelations: 3, dtype: 'f64' });
    }
  }

  it('a comparator with pairs() only', () => {
    const input = batch();
    const want = new Mine(new L1Compare()).forward(input);
    const got = new Mine(new Manhattan()).forward(input);
    expectClose(got.rhsNeg, [...(want.rhsNeg as Tensor).dataSync()]);
    expectClose(got.lhsPos, [...(want.lhsPos as Tensor).dataSync()]);
  });

  it('a decoder and a loss with a custom forward', () => {
    class Doubled extends EdgeDecoder {
      constructor() {
        super(new HadamardOperator(), new CosineCompare(), { dim, dtype: 'f64' });
      }
      override forward(input: DecoderInput): EdgeScores {
        const scores = super.forward(input);
        return { ...scores, rhsPos: mul(scores.rhsPos, 2) };
      }
    }
    class Gap extends LossFunction {
      forward(positive: Tensor, negative: Tensor): Tensor {
        return sub(mean(negative), mean(positive));
      }
    }
    const input = batch();
    const { rhsPos, rhsNeg, lhsPos, lhsNeg } = new Doubled().forward(input);
    const want = add(
      sub(mean(rhsNeg as Tensor), mean(rhsPos)),
      sub(mean(lhsNeg as Tensor), mean(lhsPos as Tensor)),
    );
    expect(linkLoss(new Doubled(), input, new Gap()).item()).toBeCloseTo(want.item(), 12);
  });
});

it('has the scores of known vectors', () => {
  const rows = tensor([
    [1.5, 2.5],
    [2.5, 3.5],
    [4.25, 1],
    [-1, 0.5],
  ]);
  const decoder = new DistMult({ dim: 2, numRelations: 2, method: 'ONLY_POS' });
  const input = {
    src: gatherRows(rows, [0, 2, 3]),
    dst: gatherRows(rows, [1, 3, 0]),
    relations: Int32Array.of(0, 0, 1),
    rows,
  };
  expect([...decoder.forward(input).rhsPos.dataSync()]).toEqual([12.5, -3.75, -0.25]);
});

it('starts with identity relations, and with uniformly distributed angles', () => {
  const options = { dim: 4, numRelations: 2 };
  expect([...(new DistMult(options).relations as Tensor).dataSync()]).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
  expect([...(new ComplEx(options).inverseRelations as Tensor).dataSync()]).toEqual([1, 1, 0, 0, 1, 1, 0, 0]);
  expect([...(new TransE(options).relations as Tensor).dataSync()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  const angles = new RotatE(options).relations as Tensor;
  expect(angles.shape).toEqual([2, 2]);
  expect(new Set(angles.dataSync()).size).toBe(4);
  expect(new NoOpNodeDecoder().forward(angles)).toBe(angles);
  expect(new DotDecoder({ dim: 4 }).parameters()).toEqual([]);
});

it('rejects mismatched arguments', () => {
  expect(() => new ComplEx({ dim: 3, numRelations: 1 })).toThrow(/even/);
  expect(() => new DistMult({ dim: 4, method: 'SOME' as 'ONLY_POS' })).toThrow(/CORRUPT_NODE/);
  expect(() => edgeDecoder('X' as 'DOT', { dim: 4 })).toThrow(/DISTMULT/);
  const input = batch('f32');
  expect(() => new DistMult({ dim: 5 }).forward(input)).toThrow(/\[B, 5\]/);
  expect(() => new DistMult({ dim, numRelations: 3 }).forward({ ...input, relations: null })).toThrow(
    /relation/,
  );
  const alone = new DistMult({ dim, method: 'ONLY_POS' });
  expect(() => linkLoss(alone, input, lossFunction('MSE'))).toThrow(/negatives/);
});

it('compares given rows of negatives, shared or by chunk', () => {
  const [src, dst, negs] = [randn([4, 3]), randn([4, 3]), randn([2, 5, 3])];
  const [pos, byChunk] = new CosineCompare().compare(src, dst, negs);
  expect([pos.shape, byChunk.shape]).toEqual([[4], [4, 5]]);
  const comparisons: Comparison[] = ['dot', 'l2', 'l1', 'cosine'];
  expect(comparisons).toContain(new CosineCompare().comparison);
  expect(new L1Compare().compare(src, dst, randn([5, 3]))[1].shape).toEqual([4, 5]);
});
