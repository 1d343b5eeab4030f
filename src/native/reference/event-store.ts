/** The arrays of running statistics as records; see `event-kernels.ts`. */
import { type EventStatisticsArguments, eventLayout } from '../event-kernels.js';

/** Integers of a node on one side. */
export const node = {
  ...{ events: 0, distinct: 1, run: 2, repeats: 3, lastEvent: 4, newestPair: eventLayout.newestPair },
  ...{ relatedStart: 6, relatedSize: 7, recent: eventLayout.recent, last: 18 },
} as const;
export const { numRecent } = eventLayout;
export const numLast = 8;
/** Floats of a node on one side, after its fading counts. */
export const value = { novelty: 5, newPairs: 6, gap: 7 } as const;
/** Integers of a pair. */
export const pairInt = {
  ...{ src: 0, dst: 1, count: 2, srcEvents: 3, dstEvents: 4, visits: 5, older: eventLayout.olderPair },
} as const;
export const pairGap = 3;
/** The half-lives that fading counts of pairs and the activity of sources use. */
export const pairHalfLives = [1, 3, 4] as const;
export const relation = { common: 0, next: 1, previous: 2 } as const;
export const source = 0;
export const destination = 1;

const { nodeInts: intWidth, nodeValues: valueWidth, pairInts: pairWidth } = eventLayout;

export const intsOf = (id: number, side: number): number => (2 * id + side) * intWidth;
export const valuesOf = (id: number, side: number): number => (2 * id + side) * valueWidth;

/** Returns the slot of a pair: that of its record, or a free one. */
export function slotOf(store: EventStatisticsArguments, src: number, dst: number): number {
  const { pairSlots, pairInts, totals, slotCount } = store;
  const mask = slotCount - 1;
  let hash = Math.imul(src, 0x9e3779b1) ^ Math.imul(dst, 0x85ebca77);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 13;
  let at = hash & mask;
  for (let tries = 0; tries < slotCount; tries++, at = (at + 1) & mask) {
    const pair = pairSlots[at] - 1;
    if (pair < 0 || pair >= totals[1]) break;
    if (pairInts[pair * pairWidth] === src && pairInts[pair * pairWidth + 1] === dst) break;
  }
  return at;
}

/** Returns the index of a pair, or −1. */
export function findPair(store: EventStatisticsArguments, src: number, dst: number): number {
  const pair = store.pairSlots[slotOf(store, src, dst)] - 1;
  return pair < store.totals[1] ? pair : -1;
}

export const logOf = (x: number): number => Math.log(1 + x);
export const decay = (age: number, rate: number): number => 2 ** (-age * rate);
