/** The part of a graph that is drawn: what the limit leaves out is counted once, and distances are those of the farther end. */
import { describe, expect, it } from 'vitest';
import { EdgeIndex } from './edge-index.js';
import { neighborhood } from './neighborhood.js';

const none = { relations: null, splits: null, times: null };
const triangle = new EdgeIndex({ src: Int32Array.of(0, 0, 1), dst: Int32Array.of(1, 2, 2), ...none }, 3);

describe('neighborhood', () => {
  it.each([
    [2, 2, 1],
    [4, 1, 2],
    [2, 3, 0],
    // Edges between neighbours are two steps away.
    [1, 2, 0],
  ])('of %i hops with at most %i edges hides %i', (hops, limit, hidden) => {
    expect(neighborhood(triangle, 0, { hops, limit }).hidden).toBe(hidden);
  });

  it('gives an edge the distance of its farther end', () => {
    const { edges } = neighborhood(triangle, 0, { hops: 2, limit: 9 });
    expect(edges.map(({ src, dst, distance }) => [src, dst, distance])).toEqual([
      [0, 1, 1],
      [0, 2, 1],
      [1, 2, 1],
    ]);
    const path = new EdgeIndex({ src: Int32Array.of(0, 2), dst: Int32Array.of(1, 1), ...none }, 3);
    const far = neighborhood(path, 0, { hops: 2, limit: 9 });
    expect(far.edges.map(({ distance }) => distance)).toEqual([1, 2]);
  });

  it('gives edges of different relations first', () => {
    const star = new EdgeIndex(
      {
        ...none,
        ...{ src: new Int32Array(5), dst: Int32Array.of(1, 2, 3, 4, 5) },
        relations: Int32Array.of(0, 0, 1, 0, 1),
      },
      6,
    );
    const { edges } = neighborhood(star, 0, { hops: 1, limit: 5 });
    expect(edges.map(({ dst }) => dst)).toEqual([1, 3, 2, 5, 4]);
  });
});
