/** Counts among the edges of each node, also of more edges than a Set or a Map can hold. */
import { describe, expect, it } from 'vitest';
import { EdgeIndex } from './edge-index.js';
import { eventFacts } from './event-facts.js';
import { duplicates } from './graph-facts.js';
import { countNodes, countRepeats, mostFrequent, sortedAtNodes } from './sorted-at-nodes.js';

/** One more than a Set holds. */
const many = 2 ** 24 + 1;
const numNodes = 2 ** 13;

describe('counts at nodes', () => {
  it('counts repeats, and finds the most frequent value, among equal counts the lower', () => {
    const values = [7, 3, 7, 3, 9, 5, 5];
    const sorted = sortedAtNodes(Int32Array.of(0, 0, 0, 0, 0, 2, 3), 4, (e) => values[e]);
    expect(countRepeats(sorted)).toBe(2);
    expect(Array.from(mostFrequent(sorted))).toEqual([3, -1, 5, 5]);
    expect(countNodes(Int32Array.of(2, 0, 2), 4)).toBe(2);
  });

  it('counts edges as repeated only with both ends and the relation', () => {
    const index = (relations: Int32Array | null): EdgeIndex =>
      new EdgeIndex(
        {
          ...{ src: Int32Array.of(0, 0, 1, 0, 0), dst: Int32Array.of(1, 1, 0, 2, 1) },
          ...{ relations, splits: null, times: null },
        },
        3,
      );
    expect(duplicates(index(null))).toBe(2);
    expect(duplicates(index(Int32Array.of(0, 1, 0, 0, 1)))).toBe(1);
  });

  it('takes more different edges and pairs than a Set holds', () => {
    const src = Int32Array.from({ length: many }, (_, e) => e % numNodes);
    const dst = src.map((_, e) => Math.floor(e / numNodes));
    // The last edge repeats the first one.
    dst[many - 1] = 0;
    const repeats = duplicates(
      new EdgeIndex({ src, dst, relations: null, splits: null, times: null }, numNodes),
    );
    expect(repeats).toBe(1);
  }, 120_000);

  it('counts events again only when there are new ones', () => {
    const names = { size: 3, nameOf: String };
    const events = {
      src: Int32Array.of(0, 1, 0),
      dst: Int32Array.of(1, 2, 1),
      time: Float64Array.of(1, 2, 3),
    };
    const facts = eventFacts(events, names);
    expect(facts).toMatchObject({ events: 3, repeated: 1 / 3, sources: 2, destinations: 2 });
    expect(eventFacts(events, names)).toBe(facts);
    Object.assign(events, {
      ...{ src: Int32Array.of(0, 1, 0, 1), dst: Int32Array.of(1, 2, 1, 2) },
      time: Float64Array.of(1, 2, 3, 3),
    });
    expect(eventFacts(events, names).repeated).toBe(0.5);
  });
});
