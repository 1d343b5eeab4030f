import { splitByTime, TemporalGraph } from 'skein/graph';
import { describe, expect, it } from 'vitest';
import { randomStream } from './temporal-streams.js';

const stream = (time: number[]) =>
  new TemporalGraph({ src: time.map((_, i) => i % 3), dst: time.map((_, i) => 3 + (i % 5)), time });

describe('splitByTime', () => {
  it('cuts at quantiles of time, events of equal time on one side', () => {
    const even = splitByTime(stream(Array.from({ length: 100 }, (_, i) => i)));
    expect([even.trainEnd, even.validationEnd]).toEqual([70, 85]);
    // The 0.7 quantile of these ten is 6.3, then 6: equal times go together.
    expect(splitByTime(stream([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).trainEnd).toBe(7);
    const ties = splitByTime(stream([0, 1, 2, 3, 4, 5, 6, 6, 6, 9]));
    expect([ties.trainEnd, ties.validationEnd]).toEqual([9, 9]);
    const none = splitByTime(stream([]));
    expect([none.trainEnd, none.validationEnd, none.isNew.length]).toEqual([0, 0, 0]);
  });

  it('interpolates as NumPy does', () => {
    // np.quantile([1, 2, 4, 8], .7) = 4.4, .85 = 6.2; times at and just above it fall on both sides.
    const split = splitByTime(stream([1, 2, 4, 8]), { train: 0.7, validation: 0.15 });
    expect([split.trainEnd, split.validationEnd]).toEqual([3, 3]);
    expect(splitByTime(stream([1, 2, 4, 8]), { train: 1, validation: 0 }).trainEnd).toBe(4);
    expect(splitByTime(stream([1, 2, 4, 8]), { train: 0.1, validation: 0.2 }).validationEnd).toBe(1);
  });

  it('holds nodes back from training and marks events with ends unseen there', () => {
    const events = randomStream(2000, 100, 2);
    const graph = new TemporalGraph(events, { numNodes: 110 });
    const split = splitByTime(graph, { newNodeFraction: 0.1, seed: 4 });
    const { trainEnd, newNodes, trainMask, isNew } = split;
    const active = new Set([...events.src, ...events.dst]);
    const later = new Set([...events.src.subarray(trainEnd), ...events.dst.subarray(trainEnd)]);
    const held = [...newNodes.keys()].filter((v) => newNodes[v] === 1);
    expect(held.length).toBe(Math.floor(active.size * 0.1));
    expect(held.every((v) => later.has(v))).toBe(true);
    const seen = new Set<number>();
    for (let row = 0; row < trainEnd; row++) {
      const touches = newNodes[events.src[row]] === 1 || newNodes[events.dst[row]] === 1;
      expect(trainMask[row]).toBe(touches ? 0 : 1);
      if (!touches) seen.add(events.src[row]).add(events.dst[row]);
    }
    for (let row = 0; row < 2000; row++)
      expect(isNew[row] === 1).toBe(!seen.has(events.src[row]) || !seen.has(events.dst[row]));
    expect(splitByTime(graph, { newNodeFraction: 0.1, seed: 4 })).toEqual(split);
    expect(splitByTime(graph, { newNodeFraction: 0.1, seed: 5 })).not.toEqual(split);
  });

  it('rejects fractions that do not fit', () => {
    const graph = stream([1, 2]);
    expect(() => splitByTime(graph, { train: 0.9, validation: 0.2 })).toThrow(/sum of at most 1/);
    expect(() => splitByTime(graph, { train: -1 })).toThrow(/train/);
    expect(() => splitByTime(graph, { newNodeFraction: 2 })).toThrow(/newNodeFraction/);
  });
});

describe('a split that is given', () => {
  it('uses given ends, and rejects ends out of range', () => {
    const graph = new TemporalGraph({ src: [0, 1, 2, 0], dst: [1, 2, 0, 1], time: [1, 2, 3, 4] });
    const split = splitByTime(graph, { ends: { trainEnd: 1, validationEnd: 3 } });
    expect([split.trainEnd, split.validationEnd]).toEqual([1, 3]);
    expect([...split.isNew]).toEqual([0, 1, 1, 0]);
    expect(() => splitByTime(graph, { ends: { trainEnd: 3, validationEnd: 2 } })).toThrow('ends.trainEnd');
    expect(() => splitByTime(graph, { ends: { trainEnd: 1, validationEnd: 5 } })).toThrow(
      'ends.validationEnd',
    );
  });
});
