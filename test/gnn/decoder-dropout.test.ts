/** Dropout of entities and relations in training with negatives: rows as used, masks by edge, node and direction. */
import { ComplEx, DistMult, type EdgeDecoder, type EdgeScores, lossFunction } from 'skein/gnn';
import { add, dropout, gatherRows, manualSeed, randn, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { expect, it } from 'vitest';
import type { DecoderInput, InputDropout } from '#internal/gnn/decoders/edge-decoder.js';
import { edgeInput } from '#internal/gnn/decoders/edge-input.js';
import { linkLoss } from '#internal/gnn/decoders/link-loss.js';
import { expectGradients } from './gradients.js';

const dim = 6;
const src = Int32Array.of(0, 3, 4, 1);
const dst = Int32Array.of(1, 2, 5, 0);
const relations = Int32Array.of(0, 2, 1, 1);
const negatives = { srcNegatives: Int32Array.of(2, 6, 4), dstNegatives: Int32Array.of(3, 5, 0) };
/** Nodes of the rows: not the rows' numbers. */
const nodes = Int32Array.of(40, 41, 42, 43, 44, 45, 46);
const generator = (): Random => new Random(7).split(1).split(2);

function makeRows(): Tensor {
  manualSeed(3);
  return randn([7, dim], { dtype: 'f64' }).setRequiresGrad();
}

function fill(decoder: EdgeDecoder): EdgeDecoder {
  for (const p of decoder.parameters())
    for (let i = 0; i < p.size; i++) p.floats[i] = Math.sin(3 * i + p.size) * 0.8;
  return decoder;
}

const options = { dim, numRelations: 3, dtype: 'f64', entityDropout: 0.4, relationDropout: 0.3 } as const;

/** Returns the input of edges from … to − 1 of the batch. */
function inputOf(rows: Tensor, from = 0, to = src.length, drop = true): DecoderInput {
  const ends = { src: src.slice(from, to), dst: dst.slice(from, to) };
  const masks: InputDropout = {
    random: generator(),
    edgeIds: Int32Array.from(ends.src, (_, i) => from + i),
    srcIds: ends.src.map((row) => nodes[row]),
    dstIds: ends.dst.map((row) => nodes[row]),
    rowIds: nodes,
  };
  return edgeInput(rows, ends, {
    relations: relations.slice(from, to),
    ...negatives,
    dropout: drop ? masks : null,
  });
}

const valuesOf = ({ rhsPos, rhsNeg, lhsPos, lhsNeg }: EdgeScores): number[] =>
  [rhsPos, rhsNeg, lhsPos, lhsNeg].flatMap((t) => [...(t as Tensor).dataSync()]);

it('compares dropped rows: one mask per edge and relation, one per node and direction', () => {
  const rows = makeRows();
  const decoder = fill(new DistMult(options));
  const scores = decoder.forward(inputOf(rows));
  const mask = (x: Tensor, p: number, side: number, use: number, rowIds: Int32Array): Tensor =>
    dropout(x, p, { random: generator().split(side).split(use), rowIds });
  const edges = Int32Array.of(0, 1, 2, 3);
  const given = mask(gatherRows(rows, src), 0.4, 0, 0, edges);
  const related = mask(gatherRows(decoder.relations as Tensor, relations), 0.3, 0, 1, edges);
  const candidates = mask(rows, 0.4, 0, 2, nodes);
  const query = decoder.operator.apply(given, related);
  const want = decoder.comparator.pairs(query, gatherRows(candidates, dst));
  expect([...scores.rhsPos.dataSync()]).toEqual([...want.dataSync()]);
  const others = decoder.comparator.chunks(query, candidates, negatives.dstNegatives, 1);
  expect([...(scores.rhsNeg as Tensor).dataSync()]).toEqual([...others.dataSync()]);
});

it('does not drop without masks, as in evaluation', () => {
  const rows = makeRows();
  const scores = fill(new DistMult(options)).forward(inputOf(rows, 0, 4, false));
  const plain = fill(new DistMult({ ...options, entityDropout: 0, relationDropout: 0 }));
  expect(valuesOf(scores)).toEqual(valuesOf(plain.forward(inputOf(rows, 0, 4, false))));
});

it.each([true, false])('has the gradient of the dropped loss, inverse edges %s', (inverseEdges) => {
  for (const type of ['SOFTMAX_CE', 'BCE_WITH_LOGITS'] as const) {
    const rows = makeRows();
    const decoder = fill(new ComplEx({ ...options, inverseEdges }));
    const loss = lossFunction(type, { reduction: 'MEAN' });
    expectGradients(() => linkLoss(decoder, inputOf(rows), loss), [rows, ...decoder.parameters()]);
  }
});

it('gives segments of a batch the masks of the whole', () => {
  const rows = makeRows();
  const decoder = fill(new ComplEx(options));
  const loss = lossFunction('SOFTMAX_CE');
  const whole = linkLoss(decoder, inputOf(rows), loss).item();
  const parts = add(
    linkLoss(decoder, inputOf(rows, 0, 3), loss),
    linkLoss(decoder, inputOf(rows, 3, 4), loss),
  );
  expect(parts.item()).toBeCloseTo(whole, 12);
});

it('rejects a probability of 1', () => {
  expect(() => new DistMult({ ...options, entityDropout: 1 })).toThrow(/DistMult: expected a number from 0/);
});
