/** Random nodes that a true end is compared with, none of which is known to be true itself. */
import type { Random } from '../../util/philox.js';
import type { EdgeIndex } from '../views/edge-index.js';
import { atOnce, type Pace } from './pace.js';

/** Returns distinct nodes that are not excluded, all of them if there are no more than `count`. */
export function otherNodes(
  random: Random,
  count: number,
  numNodes: number,
  excluded: ReadonlySet<number>,
): Int32Array {
  const left = Int32Array.from(excluded).sort();
  const numAllowed = numNodes - left.length;
  const ranks = new Set<number>();
  if (numAllowed <= count) for (let rank = 0; rank < numAllowed; rank++) ranks.add(rank);
  else while (ranks.size < count) ranks.add(random.nextInt(numAllowed));
  return Int32Array.from(ranks, (rank) => rank + numBefore(left, rank));
}

/** Returns how many excluded nodes come before the node that has a rank among the others. */
function numBefore(excluded: Int32Array, rank: number): number {
  let [low, high] = [0, excluded.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (excluded[middle] - middle <= rank) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the other ends of a node's edges of any split on one side, by relation; 0 if edges have none. */
export async function knownEnds(
  index: EdgeIndex,
  node: number,
  at: 'head' | 'tail',
  pace: Pace,
): Promise<ReadonlyMap<number, ReadonlySet<number>>> {
  const { src, dst, relations } = index.columns;
  const [own, other] = at === 'head' ? [src, dst] : [dst, src];
  const ends = new Map<number, Set<number>>();
  for (const [i, edge] of index.edgesAt(node).entries()) {
    if (i % atOnce === 0) await pace.step();
    if (own[edge] !== node) continue;
    const relation = relations?.[edge] ?? 0;
    const known = ends.get(relation) ?? new Set();
    ends.set(relation, known.add(other[edge]));
  }
  return ends;
}
