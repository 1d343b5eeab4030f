import { expect, test } from 'vitest';
import { backward, tensor } from '../../tensor/index.js';
import { Random } from '../../util/philox.js';
import { candidateSoftmax } from './candidate-softmax.js';
import { EventStatistics } from './event-statistics.js';
import { TrainingCandidates } from './training-candidates.js';

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

test('random candidates stand for all that are left', () => {
  const statistics = new EventStatistics({ numNodes: 40, halfLives: [1, 2, 3, 4, 5], timeUnit: 1 });
  const times = Float64Array.of(1, 2, 3, 3, 4);
  const events = { src: Int32Array.of(0, 0, 0, 0, 0), dst: Int32Array.of(10, 11, 10, 12, 13), times };
  const pool = Int32Array.from({ length: 30 }, (_, i) => 10 + i);
  const make = (random: number) =>
    new TrainingCandidates(pool, 40, { historical: 2, random }, new Random(1)).draw(statistics, events, 0);
  const { offsets: at, candidates, corrections: raised } = make(8);
  expect(Array.from(at)).toEqual([0, 9, 19, 29, 40, 51]);
  // The event's own destination, those before its time, the latest first, then others.
  expect(Array.from(candidates.subarray(29, 32))).toEqual([12, 11, 10]);
  expect(Array.from(candidates.subarray(40, 43))).toEqual([13, 12, 10]);
  expect(Array.from(raised.subarray(40, 43))).toEqual([0, 0, 0]);
  for (let k = 43; k < 51; k++) {
    expect(raised[k]).toBeCloseTo(Math.log(27 / 8), 6);
    expect([13, 12, 10]).not.toContain(candidates[k]);
    expect(pool).toContain(candidates[k]);
  }
  expect(make(8)).toEqual({ ...make(8), candidates });
  // All of them, where no more are left.
  const few = make(64);
  expect(new Set(few.candidates.subarray(few.offsets[4])).size).toBe(30);
  expect(few.corrections.every((by) => by === 0)).toBe(true);
});
