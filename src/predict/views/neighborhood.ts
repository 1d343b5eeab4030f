/** The part of a graph around a node, small enough to be drawn. */
import { type EdgeIndex, type EdgeSplit, edgeSplits } from './edge-index.js';

export interface NeighborhoodOptions {
  /** Steps from the node. */
  readonly hops: number;
  /** Maximum number of edges. */
  readonly limit: number;
}

export interface NeighborhoodEdge {
  /** Node ids. */
  readonly src: number;
  readonly dst: number;
  readonly relation: number | null;
  readonly split: EdgeSplit;
  /** Steps of its farther end from the node. */
  readonly distance: number;
  readonly time: number | null;
}

export interface Neighborhood {
  /** Ids of the nodes, the one in question first, with their distances. */
  readonly nodes: ReadonlyMap<number, number>;
  readonly edges: readonly NeighborhoodEdge[];
  /** Edges of the same nodes that the limit left out. */
  readonly hidden: number;
}

/**
 * Collects edges around a node, nearer nodes first. Each node of a step gets its share of the limit in turn, so that a hub
 * does not hide its neighbours' other edges; of its edges it gives those of different relations first. Of events, the latest.
 */
export function neighborhood(
  index: EdgeIndex,
  node: number,
  { hops, limit }: NeighborhoodOptions,
): Neighborhood {
  const { src, dst } = index.columns;
  const nodes = new Map([[node, 0]]);
  const taken = new Set<number>();
  const edges: NeighborhoodEdge[] = [];
  const hidden = new Uint8Array(src.length);
  for (let distance = 1; distance <= hops; distance++) {
    const queues = [...nodes]
      .filter(([, at]) => at === distance - 1)
      .map(([id]) => inOrder(index, id).filter((e) => !taken.has(e)));
    for (let turn = 0; queues.some((queue) => queue.length > turn); turn++)
      for (const queue of queues) {
        if (queue.length <= turn || taken.has(queue[turn])) continue;
        if (edges.length >= limit) {
          hidden[queue[turn]] = 1;
          continue;
        }
        const e = queue[turn];
        taken.add(e);
        const ends = [src[e], dst[e]];
        for (const end of ends) if (!nodes.has(end)) nodes.set(end, distance);
        edges.push(edgeOf(index, e, Math.max(...ends.map((end) => nodes.get(end) as number))));
      }
  }
  return { nodes, edges, hidden: hidden.reduce((count, isHidden) => count + isHidden, 0) };
}

function edgeOf({ columns }: EdgeIndex, e: number, distance: number): NeighborhoodEdge {
  const { src, dst, relations, splits, times } = columns;
  return {
    ...{ src: src[e], dst: dst[e], distance },
    relation: relations?.[e] ?? null,
    split: edgeSplits[splits?.[e] ?? 0],
    time: times?.[e] ?? null,
  };
}

/** Returns a node's edges so that every relation comes before a second edge of another. */
function inOrder(index: EdgeIndex, node: number): number[] {
  const { relations, times } = index.columns;
  const own = Array.from(index.edgesAt(node));
  if (times !== null) return own.sort((a, b) => times[b] - times[a] || b - a);
  if (relations === null) return own;
  const seen = new Map<number, number>();
  const turns = own.map((e) => {
    const turn = seen.get(relations[e]) ?? 0;
    seen.set(relations[e], turn + 1);
    return turn;
  });
  return Array.from(own.keys())
    .sort((a, b) => turns[a] - turns[b] || a - b)
    .map((i) => own[i]);
}
