/**
 * A generated stream of the size of common interaction datasets: users interact with items, both popular by Zipf's law,
 * and users return to recent items. The peer reads the same stream from files (`peers/temporal.py`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mix } from './inputs.js';

const users = 9000;
const items = 1000;
export const numNodes = users + items;
export const numEvents = 150_000;
export const featureWidth = 172;
const exponent = 0.8;
const repeats = 0.7;
/** In thousands of seconds: short spans avoid differences by rounding, and by the peer's cosines, in the comparison. */
const meanGap = 0.017;

export interface EventLists {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  /** One per event. */
  readonly negatives: Int32Array;
}

const unit = (index: number, seed: number): number => mix(index, seed) / 2 ** 32;

/** Returns cumulative probabilities of ranks 1 … n. */
function zipf(n: number): Float64Array {
  const sums = new Float64Array(n);
  let total = 0;
  for (let i = 0; i < n; i++) {
    total += (i + 1) ** -exponent;
    sums[i] = total;
  }
  return sums.map((sum) => sum / total);
}

function pick(shares: Float64Array, u: number): number {
  let [low, high] = [0, shares.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shares[middle] > u) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function makeEvents(): EventLists {
  const [ofUsers, ofItems] = [zipf(users), zipf(items)];
  const met = new Int32Array(users).fill(-1);
  const src = new Int32Array(numEvents);
  const dst = new Int32Array(numEvents);
  const negatives = new Int32Array(numEvents);
  const time = new Float64Array(numEvents);
  let now = 0;
  for (let i = 0; i < numEvents; i++) {
    const user = pick(ofUsers, unit(i, 1));
    const again = met[user] >= 0 && unit(i, 2) < repeats;
    const item = again ? met[user] : pick(ofItems, unit(i, 3));
    met[user] = item;
    now += -Math.log(1 - unit(i, 4)) * meanGap;
    src[i] = user;
    dst[i] = users + item;
    time[i] = now;
    negatives[i] = users + Math.floor(unit(i, 5) * items);
  }
  return { src, dst, time, negatives };
}

/** Writes one file of raw numbers per list. */
export function writeEvents(folder: string): void {
  for (const [name, list] of Object.entries(makeEvents())) writeFileSync(join(folder, `${name}.bin`), list);
}
