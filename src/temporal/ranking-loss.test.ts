import { expect, test } from 'vitest';
import { backward, tensor } from '../tensor/index.js';
import { candidateBce, candidateSoftmax, rankingLoss } from './ranking-loss.js';

const offsets = Int32Array.of(0, 3, 4, 8);
const values = [0.3, -1, 2, 0.5, 1, 1, -2, 0.1];
const corrections = Float32Array.of(0, 0, 1.5, 0, 0, 0.5, 0.5, 0.5);

test('the loss is the mean cross-entropy of the first candidates', () => {
  const loss = candidateSoftmax(tensor(values, { dtype: 'f64' }), corrections, offsets).item();
  const rows = [0, 1, 2].map((i) => {
    const logits = values.slice(offsets[i], offsets[i + 1]).map((x, k) => x + corrections[offsets[i] + k]);
    return Math.log(logits.reduce((sum, x) => sum + Math.exp(x), 0)) - logits[0];
  });
  expect(loss).toBeCloseTo((rows[0] + rows[1] + rows[2]) / 3, 12);
});

test('its gradient is that of central differences', () => {
  const lossOf = (at: number[]) =>
    candidateSoftmax(tensor(at, { dtype: 'f64' }), corrections, offsets).item();
  const x = tensor(values, { dtype: 'f64', requiresGrad: true });
  backward(candidateSoftmax(x, corrections, offsets));
  const gradient = x.grad?.dataSync() as Float64Array;
  const step = 1e-5;
  for (const i of values.keys()) {
    const moved = (by: number) => values.map((value, k) => (k === i ? value + by : value));
    // An error of the order of the step squared.
    expect(gradient[i]).toBeCloseTo((lossOf(moved(step)) - lossOf(moved(-step))) / (2 * step), 8);
  }
});

test('the binary loss is the mean over first candidates plus that over others', () => {
  const loss = candidateBce(tensor(values, { dtype: 'f64' }), offsets).item();
  const first = [0, 3, 4].map((k) => Math.log1p(Math.exp(-values[k])));
  const others = [1, 2, 5, 6, 7].map((k) => Math.log1p(Math.exp(values[k])));
  const mean = (of: number[]): number => of.reduce((sum, x) => sum + x, 0) / of.length;
  expect(loss).toBeCloseTo(mean(first) + mean(others), 12);
});

test('with as many negatives per event it is the same loss', () => {
  const [positive, negative] = [
    [0.3, -1],
    [2, 0.5, 1, 1, -2, 0.1],
  ];
  const make = (data: number[]) => tensor(data, { dtype: 'f64', requiresGrad: true });
  const [x, y] = [make(positive), make(negative)];
  const loss = rankingLoss({ positive: x, negative: y }, [1.5, 1.5, 0]);
  const z = make([0.3, 2, 0.5, 1, -1, 1, -2, 0.1]);
  const same = candidateSoftmax(z, [0, 1.5, 1.5, 0, 0, 1.5, 1.5, 0], Int32Array.of(0, 4, 8));
  expect(loss.item()).toBeCloseTo(same.item(), 14);
  backward(loss);
  backward(same);
  const [dx, dy, dz] = [x, y, z].map((t) => Array.from(t.grad?.dataSync() as Float64Array));
  for (const [i, gradient] of [dx[0], ...dy.slice(0, 3), dx[1], ...dy.slice(3)].entries())
    expect(dz[i]).toBeCloseTo(gradient, 14);
});
