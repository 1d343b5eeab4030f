/** Candidates of training: which nodes they are, and that draws stand for all others. */
import { describe, expect, test } from 'vitest';
import { Random } from '../../util/philox.js';
import { EventStatistics, sliceEvents } from './event-statistics.js';
import { LatestDestinations } from './latest-destinations.js';
import { TrainingCandidates } from './training-candidates.js';

const numNodes = 400;
const count = 6000;
const random = new Random(3);
const events = {
  src: Int32Array.from({ length: count }, () => random.nextInt(numNodes)),
  // Some destinations are much likelier than others.
  dst: Int32Array.from({ length: count }, () => Math.floor(random.nextFloat() ** 3 * numNodes)),
  times: Float64Array.from({ length: count }, (_, i) => i),
};
const rows = Int32Array.from({ length: count }, (_, i) => 2 * i);
const pool = Int32Array.from(new Set(events.dst)).sort();
const statisticsOptions = { numNodes, halfLives: [1, 4, 16, 64, 256], timeUnit: 0.01, reverse: true };

function candidatesOf(amounts: { historical: number; random: number; recent: number }): TrainingCandidates {
  const latest = new LatestDestinations(rows, events.dst, numNodes);
  return new TrainingCandidates(pool, latest, numNodes, amounts, new Random(7));
}

describe('LatestDestinations', () => {
  test('counts the latest events before a row, wherever the window was', () => {
    const latest = new LatestDestinations(rows, events.dst, numNodes);
    for (const row of [0, 10, 9000, 9200, 100, 5001, 11_998, 4000]) {
      latest.moveTo(row);
      const before = Math.ceil(row / 2);
      const window = Array.from(events.dst.subarray(Math.max(0, before - 2048), before));
      expect(latest.total).toBe(window.length);
      for (const node of [0, 1, 50, 399])
        expect(latest.count(node)).toBe(window.filter((dst) => dst === node).length);
      if (window.length > 0) expect(window).toContain(latest.draw(new Random(1)));
    }
  });
});

describe('TrainingCandidates', () => {
  test.each([
    { historical: 5, random: 12, recent: 0 },
    { historical: 5, random: 6, recent: 6 },
  ])('weights of draws sum up to the number of others: %o', (amounts) => {
    const statistics = new EventStatistics(statisticsOptions);
    statistics.observe(sliceEvents(events, 0, 4000));
    const batch = sliceEvents(events, 4000, count);
    const { offsets, candidates, corrections } = candidatesOf(amounts).draw(statistics, batch, rows[4000], 1);
    const isDestination = new Set(pool);
    let [weights, others] = [0, 0];
    for (let i = 0; i < batch.src.length; i++) {
      const drawn = offsets[i + 1] - 12;
      // Those that are known have no weight, and are not drawn.
      const known = new Set(candidates.subarray(offsets[i], drawn));
      const isSound =
        candidates[offsets[i]] === batch.dst[i] &&
        known.size === drawn - offsets[i] &&
        corrections.subarray(offsets[i], drawn).every((by) => by === 0) &&
        !candidates.subarray(drawn, offsets[i + 1]).some((node) => known.has(node));
      expect(isSound).toBe(true);
      for (const by of corrections.subarray(drawn, offsets[i + 1])) weights += Math.exp(by);
      others += pool.length - [...known].filter((node) => isDestination.has(node)).length;
    }
    // The mean of 2,000 events; the deviation of one is below a third of it.
    expect(weights / others).toBeGreaterThan(0.97);
    expect(weights / others).toBeLessThan(1.03);
  });

  test('have the last partners of the source, itself, and the last that wrote to it', () => {
    const past = {
      src: Int32Array.of(1, 1, 1, 2, 3, 1),
      dst: Int32Array.of(10, 11, 12, 1, 1, 10),
      times: Float64Array.of(1, 2, 3, 4, 5, 6),
    };
    const statistics = new EventStatistics(statisticsOptions);
    statistics.observe(past);
    const next = { src: Int32Array.of(1), dst: Int32Array.of(13), times: Float64Array.of(7) };
    const all = Int32Array.from({ length: numNodes }, (_, node) => node);
    const latest = new LatestDestinations(rows, events.dst, numNodes);
    const amounts = { historical: 2, random: 1, recent: 0 };
    const candidates = new TrainingCandidates(all, latest, numNodes, amounts, new Random(7));
    const drawn = candidates.draw(statistics, next, 0, 1).candidates;
    // The latest event waits for a later one, and is known from there.
    expect([...drawn].slice(0, -1)).toEqual([13, 10, 12, 1, 3, 2]);
  });

  test('random candidates stand for all that are left', () => {
    const statistics = new EventStatistics({ numNodes: 40, halfLives: [1, 2, 3, 4, 5], timeUnit: 1 });
    const times = Float64Array.of(1, 2, 3, 3, 4);
    const few = { src: Int32Array.of(0, 0, 0, 0, 0), dst: Int32Array.of(10, 11, 10, 12, 13), times };
    const own = Int32Array.from({ length: 30 }, (_, i) => 10 + i);
    const make = (random: number) => {
      const latest = new LatestDestinations(new Int32Array(0), new Int32Array(0), 40);
      const amounts = { historical: 2, random, recent: 0 };
      return new TrainingCandidates(own, latest, 40, amounts, new Random(1)).draw(statistics, few, 0, 0);
    };
    const { offsets: at, candidates, corrections: raised } = make(8);
    expect(Array.from(at)).toEqual([0, 9, 19, 29, 40, 51]);
    // The event's own destination, those before its time, the latest first, then others.
    expect(Array.from(candidates.subarray(29, 32))).toEqual([12, 11, 10]);
    expect(Array.from(candidates.subarray(40, 43))).toEqual([13, 12, 10]);
    expect(Array.from(raised.subarray(40, 43))).toEqual([0, 0, 0]);
    for (let k = 43; k < 51; k++) {
      expect(raised[k]).toBeCloseTo(Math.log(27 / 8), 6);
      expect([13, 12, 10]).not.toContain(candidates[k]);
      expect(own).toContain(candidates[k]);
    }
    expect(make(8)).toEqual({ ...make(8), candidates });
    // All of them, where no more are left.
    const whole = make(64);
    expect(new Set(whole.candidates.subarray(whole.offsets[4])).size).toBe(30);
    expect(whole.corrections.every((by) => by === 0)).toBe(true);
  });
});
