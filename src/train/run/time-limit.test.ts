/** The epochs that a time limit allows, by a clock of the test. */
import { expect, test } from 'vitest';
import { TimeLimit } from './time-limit.js';

const itemsPerEpoch = 100;

/** Trains batches of 10 items until the limit ends it, and returns the decisions; a batch of epoch e takes seconds(e). */
function decisions(seconds: number, perBatch: (epoch: number) => number, more: object = {}, from = 0) {
  let time = 0;
  const limit = new TimeLimit({
    ...{ seconds, elapsed: 0, itemsPerEpoch, isPlanned: false, now: () => time, ...more },
  });
  const found: { readonly at: string; readonly epochs: number }[] = [];
  let epochs = 1000;
  const call = (epoch: number, step: number): void => {
    const progress = { batches: step, items: 10 * step, loss: 0 };
    const decided = limit.epochs({ position: { epoch, step }, progress });
    if (decided === undefined) return;
    found.push({ at: `${epoch}.${step}`, epochs: decided });
    epochs = Math.min(epochs, Math.max(decided, epoch + (step > 0 ? 1 : 0)));
  };
  for (let epoch = from; epoch < epochs; epoch++) {
    for (let step = 1; step <= 10; step++) {
      time += perBatch(epoch);
      call(epoch, step);
    }
    call(epoch + 1, 0);
  }
  return { found, epochs, time };
}

test('the first batches decide once; the very first is ignored', () => {
  const slowStart = { calls: 0 };
  const { found, epochs, time } = decisions(1000, () => (slowStart.calls++ === 0 ? 50 : 1));
  // 945 s are left after 55, of which 90 % hold 850 batches, and 5 are done.
  expect(found).toEqual([{ at: '0.5', epochs: 85 }]);
  expect(epochs).toBe(85);
  expect(time).toBeLessThan(1000);
});

test('a limit shorter than an epoch allows one', () => {
  expect(decisions(5, () => 1).epochs).toBe(1);
});

test('training that gets slower ends before the epoch that would exceed the limit', () => {
  const { epochs, time, found } = decisions(1000, (epoch) => (epoch < 10 ? 1 : 5));
  expect(found).toHaveLength(2);
  expect(found[0].epochs).toBe(90);
  expect(epochs).toBe(found[1].epochs);
  expect(time).toBeLessThanOrEqual(1000);
  expect(epochs).toBeGreaterThan(20);
});

test('the time before a resume counts, and a plan is not made again', () => {
  expect(decisions(1000, () => 1, { elapsed: 500 }, 40).epochs).toBe(85);
  expect(decisions(1000, () => 1, { elapsed: 500, isPlanned: true }, 40).found).toEqual([
    { at: expect.stringMatching(/^\d+\.0$/), epochs: expect.any(Number) },
  ]);
});
