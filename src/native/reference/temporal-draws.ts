/** Which events a (node, time) pair draws in one hop, as plain loops. Entries ascend, so the oldest comes first. */
import { mulHigh32, philox4x32, unitFloat64 } from '../../util/philox.js';
import type { RandomKey } from '../kernels.js';

export interface Stream {
  readonly starts: Int32Array;
  readonly rows: Int32Array;
  readonly time: Float64Array;
  readonly limit: number;
  readonly weights: Float32Array | null;
}

export interface TemporalRule {
  /** 0 recent, 1 uniform, 2 weighted. */
  readonly strategy: number;
  readonly fanout: number;
  readonly from: number;
  readonly to: number;
}

/** Entries begin … end − 1 of the neighbour lists. */
export interface EntryRange {
  readonly begin: number;
  readonly end: number;
}

/** The words of one (node, cutoff) pair in order. */
export class RowWords {
  readonly #block = new Uint32Array(4);
  readonly #key: RandomKey;
  readonly #tag: number;
  readonly #c3: number;
  #node = 0;
  #cutoff = 0;
  #drawn = 0;

  constructor(key: RandomKey, step: number, tag: number) {
    this.#key = key;
    this.#tag = tag;
    this.#c3 = step ^ key[3];
  }

  restart(node: number, cutoff: number): void {
    this.#node = node;
    this.#cutoff = cutoff;
    this.#drawn = 0;
  }

  next(): number {
    const lane = this.#drawn & 3;
    if (lane === 0) {
      const c2 = (this.#tag + ((this.#drawn >> 2) << 16)) ^ this.#key[2];
      philox4x32(this.#node, this.#cutoff, c2, this.#c3, this.#key[0], this.#key[1], this.#block);
    }
    this.#drawn++;
    return this.#block[lane];
  }
}

/** The first of values[low … high) that is not below `bound`. */
function lowerBound(values: ArrayLike<number>, low: number, high: number, bound: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the number of events strictly before t; `known` may hold it already, or an upper bound. */
export function cutoffOf({ time, limit }: Stream, known: number, t: number): number {
  return known >= 0 ? known : lowerBound(time, 0, known === -1 ? limit : -2 - known, t);
}

export function findCandidates(
  { starts, rows, time }: Stream,
  { from, to }: TemporalRule,
  node: number,
  t: number,
  cutoff: number,
): EntryRange {
  const start = starts[node];
  const last = to === 0 ? cutoff : lowerBound(time, 0, cutoff, t - to);
  const first = from === Infinity ? 0 : lowerBound(time, 0, last, t - from);
  const end = lowerBound(rows, start, start + rows[start - 1], last);
  return { begin: lowerBound(rows, start, end, first), end };
}

/** How many of the candidates are taken. */
export function takenOf({ rows, weights }: Stream, rule: TemporalRule, { begin, end }: EntryRange): number {
  let count = end - begin;
  if (rule.strategy === 2) {
    count = 0;
    for (let p = begin; p < end; p++) if ((weights as Float32Array)[rows[p]] > 0) count++;
  }
  return rule.fanout < 0 || count < rule.fanout ? count : rule.fanout;
}

/** Fills `out` with the entries that are taken. */
export function pickEntries(
  stream: Stream,
  { strategy }: TemporalRule,
  { begin, end }: EntryRange,
  words: RowWords,
  out: Int32Array,
): void {
  if (strategy === 2) {
    pickWeighted(stream, begin, end, words, out);
  } else if (strategy === 0 || out.length === end - begin) {
    for (let i = 0; i < out.length; i++) out[i] = end - out.length + i;
  } else {
    for (let i = 0; i < out.length; i++) out[i] = begin + mulHigh32(words.next(), end - begin);
    out.sort();
  }
}

function pickWeighted(stream: Stream, begin: number, end: number, words: RowWords, out: Int32Array): void {
  const weights = stream.weights as Float32Array;
  const positive: number[] = [];
  const sums: number[] = [];
  let total = 0;
  for (let p = begin; p < end; p++) {
    const weight = weights[stream.rows[p]];
    if (!(weight > 0)) continue;
    total += weight;
    positive.push(p);
    sums.push(total);
  }
  if (positive.length <= out.length) {
    out.set(positive);
    return;
  }
  for (let i = 0; i < out.length; i++) {
    const high = words.next();
    const u = unitFloat64(high, words.next()) * total;
    let low = 0;
    for (let top = sums.length; low < top; ) {
      const middle = (low + top) >>> 1;
      if (sums[middle] > u) top = middle;
      else low = middle + 1;
    }
    out[i] = positive[Math.min(low, positive.length - 1)];
  }
  out.sort();
}
