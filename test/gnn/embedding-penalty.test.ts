/** Penalties on embeddings by use: N3 and LP against their formulas, written out for three edges. */
import { ComplEx, DistMult, type EdgeDecoder, RotatE } from 'skein/gnn';
import { manualSeed, randn, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { expect, it } from 'vitest';
import { type EmbeddingPenalty, embeddingPenalty } from '#internal/gnn/decoders/embedding-penalty.js';

const dim = 4;
// Node 0 is in all three edges; relation 1 in two.
const src = Int32Array.of(0, 0, 2);
const dst = Int32Array.of(1, 2, 0);
const relations = Int32Array.of(0, 1, 1);
const edges = { given: src, predicted: dst, relations, offsets: null };
const both = (['rhs', 'lhs'] as const).map((direction) => ({ direction, ...edges }));

function random(decoder: EdgeDecoder): EdgeDecoder {
  for (const p of decoder.parameters())
    for (let i = 0; i < p.size; i++) p.floats[i] = Math.sin(3 * i + p.size) * 0.8;
  if (decoder.inverseRelations !== null)
    for (let i = 0; i < decoder.inverseRelations.size; i++) decoder.inverseRelations.floats[i] *= -1.3;
  return decoder;
}

function table(): Tensor {
  manualSeed(5);
  return randn([4, dim], { dtype: 'f64' }).setRequiresGrad();
}

const rowOf = (t: Tensor, row: number): number[] => [...t.dataSync()].slice(row * dim, (row + 1) * dim);
const powers = (x: readonly number[], p: number): number => x.reduce((sum, v) => sum + Math.abs(v) ** p, 0);
const cubesOfModuli = ([a, b, c, d]: readonly number[]): number =>
  Math.hypot(a, c) ** 3 + Math.hypot(b, d) ** 3;

const n3: EmbeddingPenalty = { type: 'N3', coef: 0.3, relationCoef: 0.2, norm: 3, weighted: true };
const lp: EmbeddingPenalty = { type: 'LP', coef: 0.3, relationCoef: 0.2, norm: 3, weighted: true };
const mean = { perExample: 1 / 6, perStep: 1 };

it.each([true, false])('N3 counts both directions of three edges, inverse relations %s', (inverseEdges) => {
  const decoder = random(new ComplEx({ dim, numRelations: 2, inverseEdges, dtype: 'f64' }));
  const rows = table();
  const back = (inverseEdges ? decoder.inverseRelations : decoder.relations) as Tensor;
  let want = 0;
  for (let i = 0; i < 3; i++) {
    const ends = cubesOfModuli(rowOf(rows, src[i])) + cubesOfModuli(rowOf(rows, dst[i]));
    want += 2 * 0.3 * ends;
    want += 0.2 * cubesOfModuli(rowOf(decoder.relations as Tensor, relations[i]));
    want += 0.2 * cubesOfModuli(rowOf(back, relations[i]));
  }
  const got = embeddingPenalty(decoder, rows, both, n3, mean);
  expect(got.item()).toBeCloseTo(want / 6, 12);
  got.backward();
  // Row 1 is used once in each direction: λ/n · 2 · 3|x|x.
  const [a, b, c, d] = rowOf(rows, 1);
  const grad = [...(rows.sparseGrad?.coalesce().rows ?? [])].slice(dim, 2 * dim);
  const [first, second] = [Math.hypot(a, c), Math.hypot(b, d)];
  for (const [i, v] of [first * a, second * b, first * c, second * d].entries())
    expect(grad[i]).toBeCloseTo((0.3 / 6) * 2 * 3 * v, 12);
  expect(rows.sparseGrad?.coalesce().ids).toEqual(Int32Array.of(0, 1, 2));
});

it('counts the answers of grouped queries as single examples', () => {
  const decoder = random(new ComplEx({ dim, numRelations: 2, dtype: 'f64' }));
  const rows = table();
  const grouped = {
    direction: 'rhs' as const,
    given: Int32Array.of(3, 1),
    relations: Int32Array.of(0, 1),
    offsets: Int32Array.of(0, 3, 4),
    predicted: Int32Array.of(0, 1, 1, 2),
  };
  const single = {
    ...grouped,
    given: Int32Array.of(3, 3, 3, 1),
    relations: Int32Array.of(0, 0, 0, 1),
    offsets: null,
  };
  const [a, b] = [grouped, single].map((list) => embeddingPenalty(decoder, rows, [list], n3, mean).item());
  expect(a).toBe(b);
});

it.each([true, false])('LP counts an edge once, inverse relations %s', (inverseEdges) => {
  const decoder = random(new DistMult({ dim, numRelations: 2, inverseEdges, dtype: 'f64' }));
  const rows = table();
  let want = 0;
  for (let i = 0; i < 3; i++) {
    want += (0.3 / 3) * (powers(rowOf(rows, src[i]), 3) + powers(rowOf(rows, dst[i]), 3));
    want += (0.2 / 3) * powers(rowOf(decoder.relations as Tensor, relations[i]), 3);
    if (inverseEdges) want += (0.2 / 3) * powers(rowOf(decoder.inverseRelations as Tensor, relations[i]), 3);
  }
  // n = 6 directed examples: half of LibKGE's penalty, which divides by 3 edges, as the loss is.
  expect(embeddingPenalty(decoder, rows, both, lp, mean).item()).toBeCloseTo(want / 6, 12);
});

it('LP of all rows does not depend on the batch', () => {
  const decoder = random(new DistMult({ dim, numRelations: 2, inverseEdges: false, dtype: 'f64' }));
  const rows = table();
  const whole: EmbeddingPenalty = { ...lp, norm: 2, weighted: false };
  const want =
    (0.3 / 2) * powers([...rows.dataSync()], 2) +
    (0.2 / 4) * powers([...(decoder.relations as Tensor).dataSync()], 2);
  for (const examples of [both, []])
    expect(embeddingPenalty(decoder, rows, examples, whole, mean).item()).toBeCloseTo(want, 12);
});

it('angles have no penalty', () => {
  const decoder = new RotatE({ dim, numRelations: 2, dtype: 'f64', random: new Random(1) });
  const rows = table();
  embeddingPenalty(decoder, rows, both, n3, mean).backward();
  for (const p of decoder.parameters()) expect(p.sparseGrad).toBeNull();
});
