/** Edge predictor and JODIE's time layer against PyTorch and by differences. */

import { EdgePredictor, IdentityLayer, JodieTimeLayer } from 'skein/temporal';
import { concat, manualSeed, noGrad, slice, tensor } from 'skein/tensor';
import { describe, expect, test } from 'vitest';
import { dtypes, expectFiniteDifferences, expectRecorded, fill, leaf, pattern } from '../nn/golden.js';
import { temporalGolden } from './golden.js';

const golden = temporalGolden('layers');
const [n, width] = [6, 4];
const times = Float64Array.from({ length: n }, (_, i) => 100 + 7 * i);
const before = Float64Array.from({ length: n }, (_, i) => 90 - 3 * i);
const predictorNames = ['src.weight', 'src.bias', 'dst.weight', 'out.weight', 'out.bias'];
const roots = {
  srcRoots: Int32Array.of(0, 1, 2),
  dstRoots: Int32Array.of(3, 4, 5),
  negRoots: Int32Array.of(5, 1, 2),
};

function fillPredictor(pairWidth: number): EdgePredictor {
  manualSeed(2);
  return new EdgePredictor(width, {}, pairWidth);
}

describe('check 8: layers', () => {
  test.each(dtypes)("JODIE's time layer as PyTorch has it, %s", (dtype) => {
    const layer = new JodieTimeLayer(width, { dtype });
    const leaves = fill(layer, ['weight', 'bias']);
    const h = leaf([n, width], 3, dtype);
    expectRecorded(golden[`jodie time ${dtype}`], layer.forward(h, times, before), { ...leaves, h });
  });

  test.each(dtypes)('edge predictor as PyTorch has it, %s', (dtype) => {
    const predictor = new EdgePredictor(width, { dtype });
    const leaves = fill(predictor, predictorNames);
    const h = leaf([n, width], 3, dtype);
    const a = Int32Array.of(0, 1, 2, 0, 1, 1);
    const scores = predictor.pairs(h, a, Int32Array.of(3, 4, 5, 5, 1, 2));
    expectRecorded(golden[`edge predictor ${dtype}`], scores, { ...leaves, h });
  });

  test.each([1, 4])('edge predictor: gradients by differences, %i negatives', (amount) => {
    const predictor = new EdgePredictor(width, { dtype: 'f64' });
    const leaves = fill(predictor, predictorNames);
    const h = leaf([n, width], 3, 'f64');
    const negRoots = Int32Array.from({ length: 3 * amount }, (_, i) => (i * 5) % n);
    expectFiniteDifferences(
      () => {
        const { positive, negative } = predictor.forward(h, { ...roots, negRoots });
        return concat([positive, negative], 0);
      },
      { ...leaves, h },
    );
  });
});

test('evaluation scores many negatives in chunks, with the bits of single pairs', () => {
  const predictor = fillPredictor(5);
  const [events, amount, rows] = [7, 1200, 40];
  const h = tensor(
    Float32Array.from({ length: rows * width }, (_, i) => Math.sin(i)),
    { shape: [rows, width] },
  );
  const at = (count: number, step: number) => Int32Array.from({ length: count }, (_, i) => (i * step) % rows);
  const many = { srcRoots: at(events, 3), dstRoots: at(events, 5), negRoots: at(events * amount, 7) };
  const pairs = tensor(
    Float32Array.from({ length: events * (1 + amount) * 5 }, (_, i) => Math.cos(i)),
    { shape: [events * (1 + amount), 5] },
  );
  const found = noGrad(() => predictor.forward(h, many, pairs));
  const sources = Int32Array.from(
    { length: events * amount },
    (_, i) => many.srcRoots[Math.floor(i / amount)],
  );
  const alone = noGrad(() => predictor.pairs(h, sources, many.negRoots, slice(pairs, events)));
  expect(found.negative.dataSync()).toEqual(alone.dataSync());
  const own = noGrad(() => predictor.pairs(h, many.srcRoots, many.dstRoots, slice(pairs, 0, events)));
  expect(found.positive.dataSync()).toEqual(own.dataSync());
});

test('a layer without passed time only scales by its bias', () => {
  const layer = new JodieTimeLayer(width, { dtype: 'f64' });
  layer.bias.floats.fill(0);
  const h = pattern([n, width], 3, 'f64');
  expect(layer.forward(h, times, times).toArray()).toEqual(h.toArray());
});

test('identity normalises rows; no negatives and no events are fine, uneven numbers are not', () => {
  const h = pattern([n, width], 3, 'f64');
  const [row] = new IdentityLayer(width, { dtype: 'f64' }).forward(h).toArray() as number[][];
  expect(row.reduce((sum, v) => sum + v, 0)).toBeCloseTo(0, 10);
  const predictor = new EdgePredictor(width, { dtype: 'f64' });
  const none = new Int32Array(0);
  expect(predictor.forward(h, { ...roots, negRoots: none }).negative.shape).toEqual([0]);
  const empty = predictor.forward(h, { srcRoots: none, dstRoots: none, negRoots: none });
  expect(empty.positive.shape).toEqual([0]);
  expect(() => predictor.forward(h, { ...roots, negRoots: Int32Array.of(1) })).toThrow(
    /multiple of negatives/,
  );
});
