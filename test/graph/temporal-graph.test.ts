import fc from 'fast-check';
import { TemporalGraph, type TemporalGraphOptions } from 'skein/graph';
import { type Tensor, tensor } from 'skein/tensor';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { bruteForcePast, f1, part, randomStream } from './temporal-streams.js';

const empty = { src: [], dst: [], time: [] };

/** Everything that a graph tells. */
function contents(graph: TemporalGraph): unknown {
  const { numNodes, numEvents, featureWidth, lastTime, src, dst, time, eventIds, types, features } = graph;
  return {
    ...{ numNodes, numEvents, featureWidth, lastTime, src, dst, time, eventIds, types, features },
    tcsr: graph.toTCSR(),
  };
}

describe('TemporalGraph', () => {
  it('check 1: gives the T-CSR of the small stream, both ends', () => {
    const { indptr, indices, ts, eid } = new TemporalGraph(f1).toTCSR();
    expect([...indptr]).toEqual([0, 5, 11, 17, 20, 24, 26]);
    const eids = [0, 1, 3, 7, 11, 0, 1, 2, 3, 4, 5, 2, 5, 6, 7, 8, 12, 6, 8, 9, 4, 9, 10, 11, 10, 12];
    expect([...eid]).toEqual(eids);
    expect([...ts]).toEqual(eids.map((row) => f1.time[row]));
    expect([...indices.subarray(0, 5)]).toEqual([1, 1, 1, 2, 4]);
  });

  it('sees a directed event from its destination, a self loop once', () => {
    const directed = new TemporalGraph(f1, { directed: true }).toTCSR();
    expect([...directed.indptr]).toEqual([0, 4, 6, 8, 11, 12, 13]);
    expect([...directed.eid]).toEqual([1, 3, 7, 11, 0, 5, 2, 12, 6, 8, 9, 4, 10]);
    const loop = new TemporalGraph({ src: [1], dst: [1], time: [0] }).toTCSR();
    expect([...loop.eid]).toEqual([0]);
  });

  it('counts the events strictly before a time', () => {
    const graph = new TemporalGraph(f1);
    const cutoffs = [0, 1, 1.5, 2, 3, 4, 5, Infinity, -Infinity].map((t) => graph.cutoff(t));
    expect(cutoffs).toEqual([0, 0, 3, 3, 7, 11, 13, 13, 0]);
    expect(() => graph.cutoff(Number.NaN)).toThrow('TemporalGraph.cutoff: expected a number for t, got NaN.');
  });

  it('check 19: keeps the order of fractions of a second in Unix time', () => {
    const base = 1.6e9;
    const time = [base, base + 1e-6, base + 0.25, base + 60];
    const graph = new TemporalGraph({ src: [0, 1, 2, 3], dst: [1, 2, 3, 0], time });
    expect(time.map((t) => graph.cutoff(t))).toEqual([0, 1, 2, 3]);
    expect(Math.fround(base)).toBe(Math.fround(base + 60));
  });

  it('sorts when asked, stably, and keeps ids, types and features with their event', () => {
    const graph = new TemporalGraph(
      {
        ...{ src: [0, 1, 2, 3], dst: [1, 2, 3, 0], time: [5, 1, 5, 0], types: [7, 8, 9, 6] },
        features: Float32Array.of(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5),
      },
      { sort: true },
    );
    expect([...graph.eventIds]).toEqual([3, 1, 0, 2]);
    expect([...graph.src]).toEqual([3, 1, 0, 2]);
    expect([...(graph.types as Int32Array)]).toEqual([6, 8, 7, 9]);
    expect([...(graph.features as Float32Array)]).toEqual([3, 3.5, 1, 1.5, 0, 0.5, 2, 2.5]);
    expect([...graph.time]).toEqual([0, 1, 5, 5]);
    graph.append({ src: [1, 1], dst: [0, 2], time: [9, 8], types: [0, 1], features: new Float32Array(4) });
    expect([...graph.eventIds.subarray(4)]).toEqual([5, 4]);
    expect(() =>
      graph.append({ src: [1, 1], dst: [0, 2], time: [9, 7], types: [0, 1], features: new Float32Array(4) }),
    ).toThrow(/times from 9 on for time, got "7 at position 1/);
  });

  it('several calls of append give the graph of one call', () => {
    const stream = randomStream(400, 23, 5);
    const features = Float32Array.from({ length: 800 }, (_, i) => i);
    const types = Int32Array.from({ length: 400 }, (_, i) => i % 3);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 30 }),
        fc.boolean(),
        (cuts, directed) => {
          const options: TemporalGraphOptions = { numNodes: 23, directed };
          const whole = new TemporalGraph({ ...stream, features, types }, options);
          const grown = new TemporalGraph(empty, options);
          const ends = [0, ...cuts.sort((a, b) => a - b), 400];
          for (let i = 1; i < ends.length; i++) {
            const [from, to] = [ends[i - 1], ends[i]];
            const added = grown.append({
              ...part(stream, from, to),
              features: features.slice(2 * from, 2 * to),
              types: types.slice(from, to),
            });
            expect(added).toEqual({ firstRow: from, count: to - from });
          }
          expect(contents(grown)).toEqual(contents(whole));
        },
      ),
    );
  });

  it('copies what is appended: callers may reuse their arrays', () => {
    const features = Float32Array.of(1, 2);
    const time = Float64Array.of(1);
    const graph = new TemporalGraph(empty, { growNodes: true });
    graph.append({ src: [0], dst: [1], time, features });
    features.fill(9);
    time.fill(9);
    expect([...(graph.features as Float32Array), ...graph.time]).toEqual([1, 2, 1]);
  });

  it('shows a moment that later events do not change', () => {
    const stream = randomStream(600, 11, 8);
    const graph = new TemporalGraph(part(stream, 0, 200), { growNodes: true });
    const moments = [graph.moment()];
    for (let i = 200; i < 600; i++) {
      graph.append(part(stream, i, i + 1));
      if (i % 50 === 0) moments.push(graph.moment());
    }
    for (const { starts, neighbors, rows, numEvents, numNodes } of moments) {
      const past = part(stream, 0, numEvents);
      for (let v = 0; v < numNodes; v++) {
        const found: [number, number][] = [];
        for (let i = starts[v]; i < starts[v] + rows[starts[v] - 1] && rows[i] < numEvents; i++)
          found.push([neighbors[i], rows[i]]);
        expect(found).toEqual(bruteForcePast(past, v, Infinity));
      }
    }
  });

  it('adds nodes only with growNodes, with features of zeros', () => {
    const nodeFeatures = tensor([
      [1, 2],
      [3, 4],
    ]);
    const fixed = new TemporalGraph({ src: [0], dst: [1], time: [0] }, { numNodes: 2 });
    expect(() => fixed.append({ src: [0], dst: [2], time: [1] })).toThrow(
      'TemporalGraph.append: expected whole numbers from 0 to 1 for dst, got "2 at position 0". Pass a larger numNodes, or growNodes: true.',
    );
    const graph = new TemporalGraph({ src: [0], dst: [1], time: [0] }, { growNodes: true, nodeFeatures });
    graph.append({ src: [0, 9], dst: [3, 0], time: [1, 1] });
    expect(graph.numNodes).toBe(10);
    expect(graph.nodeFeatures?.shape).toEqual([10, 2]);
    expect([...(graph.nodeFeatures as Tensor).dataSync()].slice(0, 6)).toEqual([1, 2, 3, 4, 0, 0]);
    expect(() => new TemporalGraph(f1, { nodeFeatures })).toThrow(/tensor \[6, width\] for nodeFeatures/);
  });

  it('cuts the stream at a row', () => {
    const stream = randomStream(100, 9, 3);
    const features = Float32Array.from({ length: 100 }, (_, i) => i);
    const types = new Int32Array(100);
    const graph = new TemporalGraph({ ...stream, features, types }, { numNodes: 12 });
    const cut = graph.before(60);
    const same = new TemporalGraph(
      { ...part(stream, 0, 60), features: features.slice(0, 60), types: types.slice(0, 60) },
      { numNodes: 12 },
    );
    expect(contents(cut)).toEqual(contents(same));
    cut.append({ src: [0], dst: [1], time: [1e9], types: [1], features: Float32Array.of(-1) });
    expect(graph.features?.[60]).toBe(60);
    expect(graph.before(0).numEvents).toBe(0);
    expect(() => graph.before(101)).toThrow(/row/);
  });
});

describe("TemporalGraph, outOfOrder 'buffer'", () => {
  it('releases events in time order once later ones by `lateness` have come', () => {
    const graph = new TemporalGraph(empty, { numNodes: 4, outOfOrder: 'buffer', lateness: 10 });
    const add = (...times: number[]) =>
      graph.append({ src: times.map(() => 0), dst: times.map(() => 1), time: times });
    expect(add(5, 3, 8)).toEqual({ firstRow: 0, count: 0 });
    expect(graph.numPending).toBe(3);
    expect(add(14)).toEqual({ firstRow: 0, count: 1 });
    expect(add(4)).toEqual({ firstRow: 1, count: 1 });
    expect(() => add(20, 3.5)).toThrow(/times from 4 on for time, got "3.5 at position 1/);
    expect(graph.numPending).toBe(3);
    expect(graph.flush()).toEqual({ firstRow: 2, count: 3 });
    expect([...graph.time]).toEqual([3, 4, 5, 8, 14]);
    expect([...graph.eventIds]).toEqual([1, 4, 0, 2, 3]);
    expect(graph.flush()).toEqual({ firstRow: 5, count: 0 });
  });

  it('events in any order within the lateness give the sorted graph', () => {
    const stream = randomStream(200, 9, 4, 1);
    const features = Float32Array.from({ length: 400 }, (_, i) => i);
    const ids = Int32Array.from({ length: 200 }, (_, i) => i);
    const whole = new TemporalGraph({ ...stream, features, ids }, { numNodes: 9 });
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 8, noNaN: true }), { minLength: 200, maxLength: 200 }),
        (delays) => {
          const order = [...ids].sort((a, b) => stream.time[a] + delays[a] - (stream.time[b] + delays[b]));
          const graph = new TemporalGraph(empty, { numNodes: 9, outOfOrder: 'buffer', lateness: 8 });
          for (let i = 0; i < 200; i += 7) {
            const some = order.slice(i, i + 7);
            graph.append({
              src: some.map((e) => stream.src[e]),
              dst: some.map((e) => stream.dst[e]),
              time: some.map((e) => stream.time[e]),
              ids: some,
              features: Float32Array.from(some.flatMap((e) => [2 * e, 2 * e + 1])),
            });
          }
          graph.flush();
          expect(contents(graph)).toEqual(contents(whole));
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('TemporalGraph rejects', () => {
  const good = { src: [0, 1], dst: [1, 0], time: [1, 2] };
  const f32 = (n: number) => new Float32Array(n);
  const wrong: [string, object, RegExp][] = [
    ['a falling time', { time: [2, 1] }, /ascending times for time, got "1 at position 1, after 2". Sort/],
    ['NaN', { time: [1, Number.NaN] }, /finite numbers for time, got "NaN at position 1/],
    ['an infinite time', { time: [1, Infinity] }, /finite numbers for time, got "Infinity at position 1/],
    ['32-bit times', { time: f32(2) }, /a Float64Array or an array of numbers for time.*need 64 bits/],
    [
      'a node beyond 32 bits',
      { dst: [1, 2 ** 32] },
      /whole numbers from 0 to .* for dst, got "4294967296 at pos/,
    ],
    ['a negative node', { src: [0, -1] }, /for src, got "-1 at position 1/],
    ['half a node', { src: [0.5, 1] }, /for src, got "0.5 at position 0/],
    [
      'check 16: an id that 64-bit floats cannot tell apart',
      { ids: [1, 2 ** 54] },
      /2147483647 for ids, got "18014398509481984 at position 1". Event ids are/,
    ],
    [
      'big integers',
      { ids: BigInt64Array.of(1n, 2n) },
      /an i32 tensor, an Int32Array or an array of numbers for ids/,
    ],
    ['too few destinations', { dst: [1] }, /2 entries, one per entry of src, for dst, got 1/],
    ['too few times', { time: [1] }, /2 entries, one per entry of src, for time, got 1/],
    [
      'features that do not divide',
      { features: f32(3) },
      /a multiple of 2 numbers for features, got Float32Array\(3\)/,
    ],
    ['features of another kind', { features: [1, 2] }, /a Float32Array for features/],
    ['types of another length', { types: [1] }, /2 entries, one per entry of src, for types/],
  ];

  it.each(wrong)('%s', (_, change, message) => {
    expect(() => new TemporalGraph({ ...good, ...change })).toThrow(message);
  });

  it.each(wrong)('to append %s, and takes nothing', (_, change, message) => {
    if ('features' in change && (change.features as Float32Array).length === 3) return;
    const graph = new TemporalGraph(good, { growNodes: true });
    const before = contents(graph);
    const events = { src: [5, 6], dst: [6, 5], time: [3, 4], ...change };
    if (!('types' in change)) expect(() => graph.append(events)).toThrow(message);
    else expect(() => graph.append(events)).toThrow(/no types, as for the events before, for types/);
    expect(contents(graph)).toEqual(before);
  });

  it('an event before the last one', () => {
    const graph = new TemporalGraph(good);
    expect(() => graph.append({ src: [0], dst: [1], time: [1.5] })).toThrow(
      /got "1.5 at position 0, after 2/,
    );
    expect(graph.append({ src: [0], dst: [1], time: [2] })).toEqual({ firstRow: 2, count: 1 });
  });

  it('features of another width than before', () => {
    const graph = new TemporalGraph({ ...good, features: f32(6) });
    expect(graph.featureWidth).toBe(3);
    const next = { src: [0], dst: [1], time: [3] };
    expect(() => graph.append({ ...next, features: f32(2) })).toThrow(ShapeError);
    expect(() => graph.append(next)).toThrow(/1 × 3 numbers for features, got undefined/);
    expect(() => new TemporalGraph(good, { featureWidth: 2 })).toThrow(/2 × 2 numbers for features/);
    const plain = new TemporalGraph(good);
    expect(() => plain.append({ ...next, features: f32(2) })).toThrow(/1 × 0 numbers for features/);
  });

  it('wrong options', () => {
    const make = (options: object) => () => new TemporalGraph(good, options);
    expect(make({ numNodes: 1 })).toThrow(/whole numbers from 0 to 0 for src, got "1 at position 1/);
    expect(make({ outOfOrder: 'drop' })).toThrow(/refuse or buffer for outOfOrder/);
    expect(make({ lateness: 3 })).toThrow(/outOfOrder 'buffer' with a lateness/);
    expect(make({ outOfOrder: 'buffer', lateness: -1 })).toThrow(/lateness/);
    expect(make({ directed: 1 })).toThrow(/true or false for directed/);
    expect(() => new TemporalGraph(null as never)).toThrow(ValueError);
  });
});

describe('where', () => {
  it('keeps stream and rows, and leaves events without a flag out of neighbour lists', () => {
    const graph = new TemporalGraph({ src: [0, 1, 0], dst: [1, 2, 2], time: [1, 2, 3] });
    const kept = graph.where(Uint8Array.of(1, 0, 1));
    expect(kept.numEvents).toBe(3);
    expect([...kept.toTCSR().eid]).toEqual([0, 2, 0, 2]);
    expect([...kept.toTCSR().indptr]).toEqual([0, 2, 3, 4]);
    expect([...kept.before(2).toTCSR().eid]).toEqual([0, 0]);
    expect(() => graph.where(Uint8Array.of(1))).toThrow('expected a Uint8Array of 3 flags for neighborMask');
  });
});

describe('withEvents', () => {
  it('shows events to a function, and leaves the graph as it was', () => {
    const graph = new TemporalGraph({ src: [0, 1], dst: [1, 2], time: [1, 2] }, { numNodes: 4 });
    const before = graph.toTCSR();
    // A self loop, and more events of a node than its list has room for.
    const more = { src: [3, 1, 1, 1, 1, 2], dst: [3, 2, 0, 2, 3, 2], time: [2, 3, 3, 4, 5, 5] };
    const whole = new TemporalGraph(
      { src: [0, 1, ...more.src], dst: [1, 2, ...more.dst], time: [1, 2, ...more.time] },
      { numNodes: 4 },
    );
    const seen = graph.withEvents(more, () => [graph.toTCSR(), graph.numEvents, graph.lastTime]);
    expect(seen).toEqual([whole.toTCSR(), 8, 5]);
    const fail = (): never => {
      throw new Error('failed');
    };
    expect(() => graph.withEvents(more, fail)).toThrow('failed');
    expect(() => graph.withEvents({ src: [0], dst: [4], time: [3] }, fail)).toThrow('numNodes');
    expect(graph.toTCSR()).toEqual(before);
    expect([graph.numEvents, graph.lastTime, [...graph.src]]).toEqual([2, 2, [0, 1]]);
    graph.append(more);
    expect(graph.toTCSR()).toEqual(whole.toTCSR());
    expect([...graph.eventIds]).toEqual([...whole.eventIds]);
  });
});
