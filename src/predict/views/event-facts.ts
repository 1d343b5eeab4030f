/** Describes the events of a stream: sizes, rate over time, repeats, degrees. */
import { eventNotes } from './event-notes.js';
import { type DegreeCurve, degreeCurve } from './graph-facts.js';
import { countNodes, countRepeats, sortedAtNodes } from './sorted-at-nodes.js';

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
  /** Sentences about what stands out. */
  readonly notes: readonly string[];
}

const spans = 60;
const mostHubs = 10;

interface EventColumns {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
}

interface Names {
  readonly size: number;
  nameOf(id: number): string;
}

const known = new WeakMap<EventColumns, EventFacts>();

/** Describes the events so far. They are counted again only after new ones have arrived. */
export function eventFacts(events: EventColumns, nodes: Names): EventFacts {
  const before = known.get(events);
  const { src, time } = events;
  const isSame =
    before?.events === src.length && before.nodes === nodes.size && before.last === (time.at(-1) ?? 0);
  if (isSame) return before;
  const facts = describe(events, nodes);
  known.set(events, facts);
  return facts;
}

function describe({ src, dst, time }: EventColumns, nodes: Names): EventFacts {
  const count = src.length;
  const [first, last] = count === 0 ? [0, 0] : [time[0], time[count - 1]];
  const histogram = new Array<number>(spans).fill(0);
  const degree = new Int32Array(nodes.size);
  for (let e = 0; e < count; e++) {
    histogram[Math.min(spans - 1, Math.floor(((time[e] - first) / (last - first || 1)) * spans))]++;
    degree[src[e]]++;
    degree[dst[e]]++;
  }
  const hubs = Array.from({ length: nodes.size }, (_, node) => node)
    .sort((a, b) => degree[b] - degree[a] || a - b)
    .slice(0, mostHubs)
    .filter((node) => degree[node] > 0);
  const share = countRepeats(sortedAtNodes(src, nodes.size, (e) => dst[e])) / Math.max(1, count);
  const named = hubs.map((id) => ({ id, name: nodes.nameOf(id) }));
  return {
    ...{ nodes: nodes.size, events: count, first, last, histogram },
    repeated: share,
    ...{ sources: countNodes(src, nodes.size), destinations: countNodes(dst, nodes.size) },
    degrees: [degreeCurve('as source', src, nodes.size), degreeCurve('as destination', dst, nodes.size)],
    hubs: named.map(({ id, name }) => ({ name, edges: degree[id] })),
    notes: eventNotes({ src, dst, time }, { repeated: share, hubs: named }),
  };
}
