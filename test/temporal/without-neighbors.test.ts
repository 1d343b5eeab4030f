/** Events that are left out: neighbours without them, and statistics counted again. */
import { TemporalGraph } from 'skein/graph';
import { describe, expect, test } from 'vitest';
import { EventStatistics } from '#internal/temporal/statistics/event-statistics.js';

const events = {
  src: Int32Array.of(0, 1, 0, 2, 3, 0, 0),
  dst: Int32Array.of(4, 4, 5, 5, 3, 4, 0),
  time: Float64Array.of(1, 2, 3, 4, 5, 6, 7),
};

describe.each([true, false])('TemporalGraph.withoutNeighbors, directed: %s', (directed) => {
  test('gives the lists of a graph in which the events make no neighbours, and restores them', () => {
    const graph = new TemporalGraph(events, { numNodes: 6, directed });
    const whole = graph.toTCSR();
    for (const hidden of [[], [0], [2, 4], [6], [0, 1, 2, 3, 4, 5, 6]]) {
      const keep = Uint8Array.from(events.src.keys(), (row) => (hidden.includes(row) ? 0 : 1));
      const wanted = graph.where(keep).toTCSR();
      expect(graph.withoutNeighbors(new Set(hidden), () => graph.toTCSR())).toEqual(wanted);
      expect(graph.toTCSR()).toEqual(whole);
    }
    expect(() =>
      graph.withoutNeighbors(new Set([2]), () => {
        throw new Error('work');
      }),
    ).toThrow('work');
    expect(graph.toTCSR()).toEqual(whole);
    graph.append({ src: [1], dst: [4], time: [8] });
    expect(graph.numEvents).toBe(8);
    expect(() => graph.withoutNeighbors(new Set([8]), () => 0)).toThrow(/a row/);
  });
});

test('statistics without events begin as those of the same options', () => {
  const options = { numNodes: 6, halfLives: [50, 30, 10, 5, 3], timeUnit: 0.3 };
  const slice = { src: events.src, dst: events.dst, times: events.time };
  const observed = new EventStatistics(options);
  observed.observe(slice);
  const again = observed.withoutEvents();
  expect(again.numEvents).toBe(0);
  again.observe(slice);
  expect(again.snapshot()).toEqual(observed.snapshot());
});
