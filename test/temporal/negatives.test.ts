/** Negatives: what each strategy may draw, and that draws depend on seed, part, epoch, event row and k alone. */
import { type EventStream, type NegativeStrategy, TemporalNegatives } from 'skein/temporal';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';

/** A bipartite stream with many ties: sources 0 … 19, destinations 20 … 59. */
function makeStream(numEvents = 600, seed = 3): EventStream {
  const random = new Random(seed);
  const src = Int32Array.from({ length: numEvents }, () => random.nextInt(20));
  const dst = Int32Array.from({ length: numEvents }, () => 20 + random.nextInt(1 + random.nextInt(40)));
  const time = Float64Array.from({ length: numEvents }, (_, i) => 1.6e9 + Math.floor(i / 7) / 4);
  return { numNodes: 60, src, dst, time };
}

const stream = makeStream();
const trainEnd = 420;
const numEvents = stream.src.length;

/** Destinations of the events that pass, for the source of `row`. */
function met(row: number, pass: (other: number) => boolean): Set<number> {
  const rows = Array.from(stream.src, (_, i) => i);
  return new Set(rows.filter((i) => stream.src[i] === stream.src[row] && pass(i)).map((i) => stream.dst[i]));
}

const without = (from: Set<number>, ...gone: Set<number>[]): Set<number> =>
  new Set([...from].filter((id) => !gone.some((set) => set.has(id))));

const positives = (row: number): Set<number> => met(row, (i) => stream.time[i] === stream.time[row]);

function draw(strategy: NegativeStrategy, amount: number, begin = 0): number[][] {
  const negatives = new TemporalNegatives(stream, { strategy, amount, trainEnd, seed: 9 });
  const flat = negatives.draw(begin, numEvents, { split: 'test' });
  return Array.from({ length: numEvents - begin }, (_, i) =>
    Array.from(flat.subarray(i * amount, (i + 1) * amount)),
  );
}

describe('TemporalNegatives', () => {
  test.each(['random', 'historical', 'inductive', 'tgb'] as const)(
    '%s: the same draws in batches of any size',
    (strategy) => {
      const options = { strategy, amount: 3, trainEnd, seed: 1 };
      const whole = new TemporalNegatives(stream, options).draw(0, numEvents, { split: 'test', epoch: 2 });
      const other = new TemporalNegatives(stream, options);
      const pieces: number[] = [];
      // Backwards and with other draws between, in batches of 37.
      for (let end = numEvents; end > 0; end -= 37) {
        other.draw(0, 5, { split: 'train', epoch: end });
        pieces.unshift(...other.draw(Math.max(0, end - 37), end, { split: 'test', epoch: 2 }));
      }
      expect(pieces).toEqual(Array.from(whole));
    },
  );

  test('seed, part and epoch each give other draws', () => {
    const base = { split: 'test', epoch: 0 } as const;
    const negatives = new TemporalNegatives(stream, { seed: 1 });
    const draws = [
      negatives.draw(0, numEvents, base),
      negatives.draw(0, numEvents, { ...base, epoch: 1 }),
      negatives.draw(0, numEvents, { ...base, split: 'validation' }),
      new TemporalNegatives(stream, { seed: 2 }).draw(0, numEvents, base),
    ];
    for (let a = 0; a < 4; a++) {
      for (let b = 0; b < a; b++) {
        const same = draws[a].filter((id, i) => id === draws[b][i]).length;
        expect(same).toBeLessThan(numEvents / 10); // 15 of 600 are expected with 40 destinations
      }
    }
  });

  test('random: even over the pool, and training draws only what training knows', () => {
    const negatives = new TemporalNegatives(stream, { amount: 100, trainEnd: 30, seed: 4 });
    const pool = [...new Set(stream.dst)].sort((a, b) => a - b);
    expect(Array.from(negatives.pool)).toEqual(pool);
    const counts = new Map<number, number>();
    for (const id of negatives.draw(0, numEvents, { split: 'test' }))
      counts.set(id, (counts.get(id) ?? 0) + 1);
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual(pool);
    const each = (numEvents * 100) / pool.length;
    const chi = [...counts.values()].reduce((sum, n) => sum + (n - each) ** 2 / each, 0);
    expect(chi).toBeLessThan(80); // 39 degrees of freedom: above 80 in one of 10,000 tries
    const known = new Set(stream.dst.subarray(0, 30));
    expect(negatives.draw(0, 30, { split: 'train' }).every((id) => known.has(id))).toBe(true);
    const own = new TemporalNegatives(stream, { pool: [5, 7, 5], amount: 4 });
    expect(new Set(own.draw(0, 50))).toEqual(new Set([5, 7]));
  });

  test('random with avoidPositives: never a destination of the same source and time', () => {
    const options = { amount: 20, avoidPositives: true };
    const one = new TemporalNegatives(stream, { ...options, pool: [...positives(100), 59] });
    expect(new Set(one.draw(100, 101))).toEqual(new Set([59]));
    const none = new TemporalNegatives(stream, { ...options, pool: [...positives(100)] });
    expect(() => none.draw(100, 101)).toThrow('only those it meets, at event row 100');
  });

  test('historical: destinations met strictly before, each once, then the pool', () => {
    for (const [row, ids] of draw('historical', 4).entries()) {
      const past = without(
        met(row, (i) => stream.time[i] < stream.time[row]),
        positives(row),
      );
      const first = Math.min(4, past.size);
      expect(new Set(ids.slice(0, first)).size).toBe(first);
      expect(ids.slice(0, first).every((id) => past.has(id))).toBe(true);
      expect(ids.some((id) => positives(row).has(id))).toBe(false);
    }
  });

  test('inductive: pairs of the past that training never saw', () => {
    let found = 0;
    for (const [i, ids] of draw('inductive', 2, trainEnd).entries()) {
      const row = trainEnd + i;
      const before = met(row, (other) => stream.time[other] < stream.time[row]);
      const past = without(
        before,
        met(row, (other) => other < trainEnd),
        positives(row),
      );
      const first = Math.min(2, past.size);
      found += first;
      expect(ids.slice(0, first).every((id) => past.has(id))).toBe(true);
    }
    expect(found).toBeGreaterThan(10);
  });

  test('check 12: tgb negatives are distinct, never positive, and half of them from training', () => {
    for (const amount of [10, 31]) {
      for (const [i, ids] of draw('tgb', amount, trainEnd).entries()) {
        const row = trainEnd + i;
        expect(new Set(ids).size).toBe(amount);
        expect(ids.some((id) => positives(row).has(id))).toBe(false);
        const seen = without(
          met(row, (other) => other < trainEnd),
          positives(row),
        );
        const historical = Math.min(Math.floor(amount / 2), seen.size);
        expect(ids.slice(0, historical).every((id) => seen.has(id))).toBe(true);
      }
    }
    const many = new TemporalNegatives(stream, { strategy: 'tgb', amount: 40, trainEnd });
    expect(() => many.draw(trainEnd, numEvents, { split: 'test' })).toThrow('at least 40 free destinations');
  });

  test('all: every other destination', () => {
    const negatives = new TemporalNegatives(stream, { strategy: 'all' });
    expect(negatives.amount).toBe(negatives.pool.length - 1);
    const ids = Array.from(negatives.draw(3, 4));
    expect([...ids, stream.dst[3]].sort((a, b) => a - b)).toEqual(Array.from(negatives.pool));
    const wrong = new TemporalNegatives(stream, { strategy: 'all', pool: [0, 1, 2] });
    expect(() => wrong.draw(3, 4)).toThrow(`destination ${stream.dst[3]} of event row 3`);
  });

  test('a stream that grows is indexed again', () => {
    const growing = { ...makeStream(100) };
    const negatives = new TemporalNegatives(growing, { strategy: 'historical', amount: 2 });
    negatives.draw(0, 100);
    Object.assign(growing, makeStream(200));
    expect(negatives.draw(150, 200).length).toBe(100);
  });

  test('wrong arguments are named', () => {
    const make = (options: object, other: EventStream = stream) => new TemporalNegatives(other, options);
    expect(() => make({ strategy: 'hard' })).toThrow('expected one of random, historical');
    expect(() => make({ strategy: 'tgb' })).toThrow('for trainEnd, got undefined');
    expect(() => make({ amount: 0 })).toThrow('for amount, got 0');
    expect(() => make({ pool: [60] })).toThrow('got "60 at position 0"');
    expect(() => make({ strategy: 'all', amount: 3 })).toThrow('the nodes of the pool but one');
    expect(() => make({}).draw(0, numEvents + 1)).toThrow('for rowEnd');
    expect(() => make({}).draw(0, 1, { split: 'valid' as 'train' })).toThrow('for split, got "valid"');
    expect(() => make({ trainEnd: 0 }).draw(0, 1)).toThrow('at least one node');
    const unsorted = { ...stream, time: stream.time.toReversed() };
    expect(() => make({}, unsorted)).toThrow('expected ascending times for event row');
    expect(() => make({}, { ...stream, numNodes: 30 })).toThrow('expected nodes from 0 to 29');
  });
});
