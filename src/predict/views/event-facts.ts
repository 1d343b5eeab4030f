/** Describes the events of a stream: sizes, rate over time, repeats, degrees. */
import { type DegreeCurve, degreeCurve } from './graph-facts.js';

export interface EventFacts {
  readonly nodes: number;
  readonly events: number;
  readonly first: number;
  readonly last: number;
  /** Events in equal spans of time, from the first event to the last. */
  readonly histogram: readonly number[];
  /** Share of events whose pair of nodes has met before. */
  readonly repeated: number;
  readonly sources: number;
  readonly destinations: number;
  readonly degrees: readonly DegreeCurve[];
  readonly hubs: readonly { readonly name: string; readonly edges: number }[];
}

const spans = 60;
const mostHubs = 10;

interface EventColumns {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
}

export function eventFacts(
  { src, dst, time }: EventColumns,
  nodes: { readonly size: number; nameOf(id: number): string },
): EventFacts {
  const count = src.length;
  const [first, last] = count === 0 ? [0, 0] : [time[0], time[count - 1]];
  const histogram = new Array<number>(spans).fill(0);
  const degree = new Int32Array(nodes.size);
  const pairs = new Set<number>();
  let repeated = 0;
  for (let e = 0; e < count; e++) {
    histogram[Math.min(spans - 1, Math.floor(((time[e] - first) / (last - first || 1)) * spans))]++;
    degree[src[e]]++;
    degree[dst[e]]++;
    const pair = src[e] * nodes.size + dst[e];
    if (pairs.has(pair)) repeated++;
    pairs.add(pair);
  }
  const hubs = Array.from({ length: nodes.size }, (_, node) => node)
    .sort((a, b) => degree[b] - degree[a] || a - b)
    .slice(0, mostHubs);
  return {
    ...{ nodes: nodes.size, events: count, first, last, histogram },
    repeated: repeated / Math.max(1, count),
    ...{ sources: new Set(src).size, destinations: new Set(dst).size },
    degrees: [degreeCurve('as source', src, nodes.size), degreeCurve('as destination', dst, nodes.size)],
    hubs: hubs.map((node) => ({ name: nodes.nameOf(node), edges: degree[node] })),
  };
}
