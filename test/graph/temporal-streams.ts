/** Streams of events for tests: one small enough to know by heart, and random ones with many equal times. */
import type { TemporalEvents } from 'skein/graph';
import { Random } from 'skein/util';

/** 13 events between 6 nodes; many share a time. Directed, neighbours are the sources. */
export const f1 = {
  src: [0, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 5],
  dst: [1, 0, 2, 0, 4, 1, 3, 0, 3, 3, 5, 0, 2],
  time: [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4],
} as const satisfies TemporalEvents;

export interface Stream {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
}

/** Events in time order; `ties` 1: all times differ, larger: about that many events share one. */
export function randomStream(numEvents: number, numNodes: number, seed = 1, ties = 3): Stream {
  const random = new Random(seed);
  const src = new Int32Array(numEvents);
  const dst = new Int32Array(numEvents);
  const time = new Float64Array(numEvents);
  let now = 0;
  for (let i = 0; i < numEvents; i++) {
    // The square makes some nodes busy.
    src[i] = Math.floor(random.nextFloat() ** 2 * numNodes);
    dst[i] = random.nextInt(numNodes);
    if (random.nextInt(ties) === 0) now += 0.5 + random.nextFloat();
    time[i] = now;
  }
  return { src, dst, time };
}

export function part({ src, dst, time }: Stream, from: number, to: number): Stream {
  return { src: src.slice(from, to), dst: dst.slice(from, to), time: time.slice(from, to) };
}

/** Events of `node` strictly before `t` as [neighbour, row], oldest first. */
export function bruteForcePast(
  { src, dst, time }: Stream,
  node: number,
  t: number,
  { directed = false, from = -Infinity } = {},
): [neighbor: number, row: number][] {
  const past: [number, number][] = [];
  for (let row = 0; row < time.length; row++) {
    if (time[row] >= t || time[row] < from) continue;
    if (dst[row] === node) past.push([src[row], row]);
    else if (!directed && src[row] === node) past.push([dst[row], row]);
  }
  return past;
}
