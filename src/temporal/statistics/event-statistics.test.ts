/** Running statistics against a plain count of the past, and the contract of a state. */
import { describe, expect, test } from 'vitest';
import { pairNumbers } from '../../native/event-kernels.js';
import { StateError, ValueError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import type { EventSlice } from '../steps.js';
import { EventStatistics, type PairQueries, sliceEvents } from './event-statistics.js';

const numNodes = 30;
const options = { numNodes, halfLives: [1, 4, 16, 64, 256], timeUnit: 0.01, reverse: true };

/** Events with many equal times and repeats. */
function stream(count: number, seed = 1): EventSlice {
  const random = new Random(seed);
  let now = 0;
  const all = { src: new Int32Array(count), dst: new Int32Array(count), times: new Float64Array(count) };
  for (let i = 0; i < count; i++) {
    if (random.nextInt(3) > 0) now += random.nextFloat();
    all.src[i] = Math.floor(random.nextFloat() ** 2 * numNodes);
    all.dst[i] = (all.src[i] + random.nextInt(6)) % numNodes;
    all.times[i] = now;
  }
  return all;
}

const events = stream(800);

/** Whether numbers have the same bits; `toEqual` is slow on so many. */
const areSame = (a: Float32Array, b: Float32Array): boolean =>
  a.length === b.length && a.every((x, i) => Object.is(x, b[i]));
const { width } = new EventStatistics(options);
const raw = { shift: new Float32Array(width), scale: new Float32Array(width).fill(1 / 64) };

/** Every event's source with all nodes. */
function queriesOf({ src, times }: EventSlice): PairQueries {
  const candidates = Int32Array.from({ length: src.length * numNodes }, (_, i) => i % numNodes);
  const offsets = Int32Array.from({ length: src.length + 1 }, (_, i) => i * numNodes);
  return { src, times, offsets, candidates };
}

/** The numbers of every event's source with all nodes, observed in slices of a size. */
function numbersOf(all: EventSlice, size: number, cadence: 'moment' | 'batch' = 'moment'): Float32Array {
  const statistics = new EventStatistics(options);
  const out = new Float32Array(all.src.length * numNodes * width);
  for (let begin = 0; begin < all.src.length; begin += size) {
    const part = sliceEvents(all, begin, Math.min(all.src.length, begin + size));
    const room = out.subarray(begin * numNodes * width, (begin + part.src.length) * numNodes * width);
    statistics.observe(part, queriesOf(part), cadence, { scaling: raw, out: room });
  }
  return out;
}

const whole = numbersOf(events, 800);
const number = (event: number, node: number, f: number): number =>
  64 * whole[(event * numNodes + node) * width + f];

describe('numbers of pairs', () => {
  test('are those of a plain count of strictly earlier events', () => {
    const { src, dst, times } = events;
    for (let i = 0; i < 800; i += 37) {
      const past = Array.from(src.keys()).filter((k) => times[k] < times[i]);
      const own = past.filter((k) => src[k] === src[i]);
      for (let node = 0; node < numNodes; node++) {
        const met = own.filter((k) => dst[k] === node);
        const visits = past.filter((k) => dst[k] === node);
        expect(number(i, node, 0)).toBeCloseTo(met.length > 0 ? 1 : 0, 4);
        expect(number(i, node, 2)).toBeCloseTo(Math.log1p(met.length), 4);
        const age = met.length === 0 ? 0 : Math.log1p((times[i] - times[met[met.length - 1]]) / 0.01);
        expect(number(i, node, 1)).toBeCloseTo(age, 4);
        const recent = [...new Set(own.map((k) => dst[k]).reverse())];
        expect(number(i, node, 8)).toBeCloseTo(
          met.length === 0 ? 0 : 1 / (1 + Math.min(10, recent.indexOf(node))),
          4,
        );
        const fading = visits.reduce((sum, k) => sum + 2 ** ((times[k] - times[i]) / 4), 0);
        expect(number(i, node, pairNumbers.destination + 4)).toBeCloseTo(Math.log1p(fading), 4);
        const sources = new Set(visits.map((k) => src[k])).size;
        expect(number(i, node, pairNumbers.destination + 8)).toBeCloseTo(Math.log1p(sources), 4);
        const back = past.filter((k) => src[k] === node && dst[k] === src[i]).length;
        expect(number(i, node, pairNumbers.reverse + 2)).toBeCloseTo(Math.log1p(back), 4);
        expect(number(i, node, pairNumbers.reverse + 17)).toBeCloseTo(Number(node === src[i]), 4);
        const either = past.filter(
          (k) => (src[k] === node && dst[k] === src[i]) || (src[k] === src[i] && dst[k] === node),
        );
        const contact = either.length === 0 ? 0 : Math.log1p((times[i] - times[either.at(-1) ?? 0]) / 0.01);
        expect(number(i, node, pairNumbers.reverse + 20)).toBeCloseTo(contact, 4);
      }
      const share = new Set(own.map((k) => dst[k])).size / own.length;
      if (own.length > 0) expect(number(i, 0, pairNumbers.source + 5)).toBeCloseTo(share, 4);
    }
  });

  test('count the partners that destinations have in common', () => {
    // Two sources meet 20 and 21; a third has met 20 only: 21 shares two of its two sources with 20.
    const all = { src: Int32Array.of(0, 0, 1, 1, 2), dst: Int32Array.of(20, 21, 20, 21, 20) };
    const statistics = new EventStatistics(options);
    statistics.commit(statistics.prepare({ ...all, times: Float64Array.of(1, 2, 3, 4, 5) }));
    const out = new Float32Array(numNodes * width);
    const query = queriesOf({ src: Int32Array.of(2), dst: Int32Array.of(0), times: Float64Array.of(6) });
    statistics.describe(query, 'moment', { scaling: raw, out });
    expect(64 * out[21 * width + pairNumbers.related]).toBeCloseTo(2 / Math.sqrt(2 * 3), 4);
    expect(64 * out[21 * width + pairNumbers.related + 4]).toBeCloseTo(Math.log1p(2), 4);
    expect(out[22 * width + pairNumbers.related]).toBe(0);
  });

  test('rank contacts of either direction, and count what these exchange with others', () => {
    // 0 writes to 1, 2 writes to 0, 3 writes to 1, 2 writes to 4.
    const all = { src: Int32Array.of(0, 2, 3, 2), dst: Int32Array.of(1, 0, 1, 4) };
    const statistics = new EventStatistics(options);
    statistics.commit(statistics.prepare({ ...all, times: Float64Array.of(1, 2, 3, 4) }));
    const out = new Float32Array(numNodes * width);
    const query = queriesOf({ src: Int32Array.of(0), dst: Int32Array.of(0), times: Float64Array.of(5) });
    statistics.describe(query, 'moment', { scaling: raw, out });
    const of = (node: number, f: number): number => 64 * out[node * width + pairNumbers.reverse + f];
    expect([1, 2, 3].map((node) => of(node, 18))).toEqual([0, 1, 0]);
    expect([1, 2, 3].map((node) => of(node, 19))).toEqual([0.5, 1, 0]);
    // Counts halve within the second half-life. 3 wrote to the second contact last; the first contact wrote to 4 last.
    expect([1, 3, 4].map((node) => of(node, 24))).toEqual([0, expect.closeTo(2 ** (-2 / 4) / 2, 4), 0]);
    expect([1, 3, 4].map((node) => of(node, 25))).toEqual([0, 0, expect.closeTo(2 ** (-1 / 4), 4)]);
    // 0 and 3 wrote to one node, 3 after 0.
    expect([21, 22, 23].map((f) => of(3, f))).toEqual([
      expect.closeTo(Math.LN2, 4),
      expect.closeTo(Math.LN2, 4),
      0,
    ]);
  });

  test('have the same bits however the stream is split', () => {
    for (const size of [1, 7, 100]) expect(areSame(numbersOf(events, size), whole)).toBe(true);
  });

  test('do not depend on events of the same time or a later one', () => {
    const from = 500;
    const first = events.times.indexOf(events.times[from]);
    const other = stream(800, 9);
    const changed = { src: events.src.slice(), dst: events.dst.slice(), times: events.times };
    changed.dst.set(other.dst.subarray(from), from);
    const known = (numbers: Float32Array) => numbers.subarray(0, (first + 1) * numNodes * width);
    expect(areSame(known(numbersOf(changed, 800)), known(whole))).toBe(true);
    const equal = events.times.lastIndexOf(events.times[from]);
    const at = (numbers: Float32Array) =>
      numbers.subarray(first * numNodes * width, (from + 1) * numNodes * width);
    expect(equal).toBeGreaterThanOrEqual(from);
    expect(areSame(at(numbersOf(changed, 800)), at(whole))).toBe(true);
    expect(areSame(numbersOf(changed, 800), whole)).toBe(false);
  });

  test('of a frozen batch are those at its beginning', () => {
    const frozen = numbersOf(events, 200, 'batch');
    const size = numNodes * width;
    expect(frozen.subarray(0, 200 * size).some((x, i) => x !== whole[i])).toBe(true);
    const statistics = new EventStatistics(options);
    statistics.observe(sliceEvents(events, 0, 200), undefined, 'batch');
    const out = new Float32Array(200 * size);
    const next = sliceEvents(events, 200, 400);
    statistics.observe(next, queriesOf(next), 'batch', { scaling: raw, out });
    expect(areSame(frozen.subarray(200 * size, 400 * size), out)).toBe(true);
  });
});

describe('the state', () => {
  test('continues from a snapshot with the same bits', () => {
    const one = new EventStatistics(options);
    one.observe(sliceEvents(events, 0, 431));
    const saved = one.snapshot();
    const other = new EventStatistics(options);
    other.observe(sliceEvents(events, 0, 100));
    other.restore(saved);
    expect(other.snapshot()).toEqual(saved);
    const rest = sliceEvents(events, 431, 800);
    one.observe(rest);
    other.observe(rest);
    expect(other.snapshot()).toEqual(one.snapshot());
    expect(other.numEvents).toBe(800);
    other.reset();
    expect(other.snapshot()).toEqual(new EventStatistics(options).snapshot());
  });

  test('rejects a snapshot that does not fit, and keeps its own', () => {
    const one = new EventStatistics(options);
    one.observe(events);
    const saved = one.snapshot();
    const pairInts = saved.arrays['pairInts'].slice() as Int32Array;
    pairInts[0] = numNodes;
    for (const arrays of [
      { ...saved.arrays, pairInts },
      { ...saved.arrays, pairTimes: new Float64Array(1) },
      { ...saved.arrays, totals: new Int32Array(2) },
    ])
      expect(() => one.restore({ arrays })).toThrow(/restore: expected/);
    expect(one.snapshot()).toEqual(saved);
  });

  test('has room for new nodes', () => {
    const [small, large] = [new EventStatistics({ ...options, numNodes: 10 }), new EventStatistics(options)];
    for (let begin = 0; begin < 800; begin += 50) {
      const part = sliceEvents(events, begin, begin + 50);
      small.grow(Math.max(...part.src, ...part.dst) + 1);
      small.observe(part);
      large.observe(part);
    }
    small.grow(numNodes);
    expect(small.snapshot()).toEqual(large.snapshot());
  });

  test('rejects events before its time and unknown nodes, and changes nothing', () => {
    const one = new EventStatistics(options);
    one.observe(sliceEvents(events, 0, 400));
    const saved = one.snapshot();
    expect(() => one.observe(sliceEvents(events, 0, 1))).toThrow(StateError);
    const unknown = { ...sliceEvents(events, 400, 401), src: Int32Array.of(numNodes) };
    expect(() => one.observe(unknown)).toThrow(ValueError);
    expect(() => one.prepare({ ...unknown, src: Int32Array.of() })).toThrow(/destinations and times/);
    expect(one.snapshot()).toEqual(saved);
  });

  test('returns earlier destinations, the latest first, and contacts', () => {
    const one = new EventStatistics(options);
    const times = Float64Array.of(1, 2, 3, 4, 5);
    one.observe({ src: new Int32Array(5), dst: Int32Array.of(7, 8, 7, 9, 6), times });
    expect(one.partners(0, 9)).toEqual([9, 7, 8]);
    expect(one.partners(0, 2)).toEqual([9, 7]);
    expect(one.partners(3, 2)).toEqual([]);
    // More destinations than the list of the last ones holds.
    const later = Int32Array.from({ length: 13 }, (_, i) => (i === 12 ? 7 : 10 + i));
    one.observe({ src: new Int32Array(13), dst: later, times: Float64Array.from(later, (_, i) => 6 + i) });
    one.observe({ src: Int32Array.of(1), dst: Int32Array.of(1), times: Float64Array.of(20) });
    expect(one.partners(0, 40)).toEqual([7, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 6, 9, 8]);
    expect(one.contacts(7)).toEqual([7, 0]);
    expect(one.contacts(0)).toEqual([0]);
    expect(new EventStatistics({ ...options, reverse: false }).contacts(7)).toEqual([]);
  });
});
