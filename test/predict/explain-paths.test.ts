/** The confidence of paths against a count of all simple paths, and work in slices. */

import { Random } from 'skein';
import { describe, expect, it } from 'vitest';
import { Pace } from '#internal/predict/explain/pace.js';
import { supportingPaths } from '#internal/predict/explain/paths.js';
import { buildEdgeIndex, EdgeIndex } from '#internal/predict/views/edge-index.js';

const [numUsers, numItems, numLiked] = [60, 200, 8];
const noTurns = () => new Pace(async () => {});

/** Users and items that each likes, without any structure. */
function randomLikes(): { readonly likes: Set<number>[]; readonly index: EdgeIndex } {
  const random = new Random(7);
  const likes = Array.from({ length: numUsers }, () => {
    const items = new Set<number>();
    while (items.size < numLiked) items.add(numUsers + random.nextInt(numItems));
    return items;
  });
  const src = likes.flatMap((items, user) => Array.from(items, () => user));
  return {
    likes,
    index: indexOf(
      src,
      likes.flatMap((items) => [...items]),
    ),
  };
}

function indexOf(src: readonly number[], dst: readonly number[], numNodes = numUsers + numItems): EdgeIndex {
  const columns = {
    ...{ src: Int32Array.from(src), dst: Int32Array.from(dst) },
    ...{ relations: new Int32Array(src.length), splits: null, times: null },
  };
  return new EdgeIndex(columns, numNodes);
}

/** Counts the pairs that user → item ← other user → other item connects, without an edge, and those that are likes. */
function count(likes: readonly Set<number>[], [askedUser, askedItem]: readonly [number, number]) {
  let [support, pairs] = [0, 0];
  const has = (user: number, item: number) =>
    likes[user].has(item) && !(user === askedUser && item === askedItem);
  for (const user of likes.keys()) {
    const ends = new Set<number>();
    for (const other of likes.keys())
      for (const shared of likes[user])
        if (other !== user && has(user, shared) && has(other, shared))
          for (const item of likes[other]) if (item !== shared && has(other, item)) ends.add(item);
    if (user === askedUser) ends.delete(askedItem);
    pairs += ends.size;
    for (const item of ends) if (has(user, item)) support++;
  }
  return { support, pairs, confidence: support / (pairs + 5) };
}

describe('the confidence of paths of three edges', () => {
  const { likes, index } = randomLikes();
  const three = async (src: number, dst: number) => {
    const found = await supportingPaths(
      index,
      { src, dst, relation: 0 },
      { length: 3, limit: 5, pace: noTurns() },
    );
    return found.find(({ steps }) => steps.length === 3);
  };

  it('counts simple paths alone: without structure it is near the base rate', async () => {
    let checked = 0;
    for (let item = numUsers; item < numUsers + numItems && checked < 5; item++) {
      const path = likes[0].has(item) ? undefined : await three(0, item);
      if (path === undefined) continue;
      expect(path).toMatchObject(count(likes, [0, item]));
      // A pair of this graph is an edge with probability 0.04; walks that went back counted every edge.
      expect(path.confidence).toBeLessThan(0.1);
      checked++;
    }
    expect(checked).toBe(5);
  });

  it('does not follow the edge in question from other nodes', async () => {
    let checked = 0;
    for (const item of likes[0]) {
      const path = await three(0, item);
      if (path === undefined) continue;
      expect(path).toMatchObject(count(likes, [0, item]));
      checked++;
    }
    expect(checked).toBeGreaterThan(1);
  });
});

describe('work in slices', () => {
  /** A pace that counts how often it is asked. */
  class CountingPace extends Pace {
    asked = 0;
    override async step(): Promise<void> {
      this.asked++;
    }
  }

  it('searches for paths and counts pairs with a look at the clock now and then', async () => {
    // Two hubs with 20,000 common neighbours: many edges, one kind of path.
    const middle = Array.from({ length: 20_000 }, (_, i) => i + 2);
    const index = indexOf([...middle.map(() => 0), ...middle], [...middle, ...middle.map(() => 1)], 20_002);
    const pace = new CountingPace(async () => {});
    const found = await supportingPaths(
      index,
      { src: 0, dst: 1, relation: 0 },
      { length: 2, limit: 3, pace },
    );
    expect(found.map(({ steps }) => steps.map(({ edge }) => edge))).toEqual([
      [0, 20_000],
      [1, 20_001],
      [2, 20_002],
    ]);
    expect(pace.asked).toBeGreaterThan(500);
  });

  it('sorts edges by node as in one go', async () => {
    const { index } = randomLikes();
    const pace = new CountingPace(async () => {});
    const built = await buildEdgeIndex(index.columns, index.numNodes, pace);
    for (let node = 0; node < index.numNodes; node++)
      expect(built.edgesAt(node)).toEqual(index.edgesAt(node));
    expect(pace.asked).toBeGreaterThan(2);
  });
});
