/** Statistics of events for the baselines: of pairs, sources and destinations, with decaying popularity. */

import type { TypedArray } from '../../native/index.js';

/** A pair's past. */
export interface PairPast {
  count: number;
  last: number;
}

/** A node's past on one side. */
export interface NodePast {
  count: number;
  last: number;
  /** The node that it met last. */
  partner: number;
  /** Past meetings, each of which halves after every half-life; as of `last`. */
  readonly fading: Float64Array;
}

export class MeetingHistory {
  readonly #halfLives: readonly number[];
  readonly #pairs = new Map<number, Map<number, PairPast>>();
  readonly #sources = new Map<number, NodePast>();
  readonly #destinations = new Map<number, NodePast>();

  constructor(halfLives: readonly number[]) {
    this.#halfLives = halfLives;
  }

  clear(): void {
    this.#pairs.clear();
    this.#sources.clear();
    this.#destinations.clear();
  }

  observe(src: number, dst: number, time: number): void {
    let met = this.#pairs.get(src);
    if (met === undefined) {
      met = new Map();
      this.#pairs.set(src, met);
    }
    const pair = met.get(dst);
    if (pair === undefined) met.set(dst, { count: 1, last: time });
    else {
      pair.count++;
      pair.last = time;
    }
    this.#note(this.#sources, src, dst, time);
    this.#note(this.#destinations, dst, src, time);
  }

  pair(src: number, dst: number): PairPast | undefined {
    return this.#pairs.get(src)?.get(dst);
  }

  /** Returns the destinations that a source met. */
  metBy(src: number): Iterable<number> {
    return this.#pairs.get(src)?.keys() ?? [];
  }

  source(node: number): NodePast | undefined {
    return this.#sources.get(node);
  }

  destination(node: number): NodePast | undefined {
    return this.#destinations.get(node);
  }

  get bytes(): number {
    let pairs = 0;
    for (const met of this.#pairs.values()) pairs += met.size;
    return 24 * pairs + (24 + 8 * this.#halfLives.length) * (this.#sources.size + this.#destinations.size);
  }

  /** Returns all statistics as arrays, in the order of first appearance. */
  save(): Record<string, TypedArray> {
    const pairs = [...this.#pairs].flatMap(([src, met]) =>
      [...met].map(([dst, past]) => ({ src, dst, ...past })),
    );
    return {
      'pairs.src': Int32Array.from(pairs, ({ src }) => src),
      'pairs.dst': Int32Array.from(pairs, ({ dst }) => dst),
      'pairs.count': Float64Array.from(pairs, ({ count }) => count),
      'pairs.last': Float64Array.from(pairs, ({ last }) => last),
      ...savedSide('sources', this.#sources),
      ...savedSide('destinations', this.#destinations),
    };
  }

  load(arrays: Readonly<Record<string, TypedArray>>): void {
    this.clear();
    const [src, dst] = [arrays['pairs.src'], arrays['pairs.dst']];
    const [count, last] = [arrays['pairs.count'], arrays['pairs.last']];
    for (let i = 0; i < src.length; i++) {
      const met = this.#pairs.get(Number(src[i])) ?? new Map<number, PairPast>();
      this.#pairs.set(Number(src[i]), met);
      met.set(Number(dst[i]), { count: Number(count[i]), last: Number(last[i]) });
    }
    loadSide('sources', this.#sources, arrays, this.#halfLives.length);
    loadSide('destinations', this.#destinations, arrays, this.#halfLives.length);
  }

  /** Returns the decayed count of a node at a time, by the index of the half-life. */
  faded(past: NodePast | undefined, time: number, h: number): number {
    return past === undefined ? 0 : past.fading[h] * 2 ** ((past.last - time) / this.#halfLives[h]);
  }

  #note(side: Map<number, NodePast>, node: number, partner: number, time: number): void {
    let past = side.get(node);
    if (past === undefined) {
      past = { count: 0, last: time, partner, fading: new Float64Array(this.#halfLives.length) };
      side.set(node, past);
    }
    for (let h = 0; h < past.fading.length; h++) past.fading[h] = this.faded(past, time, h) + 1;
    past.count++;
    past.last = time;
    past.partner = partner;
  }
}

function savedSide(name: string, side: ReadonlyMap<number, NodePast>): Record<string, TypedArray> {
  const all = [...side];
  return {
    [`${name}.node`]: Int32Array.from(all, ([node]) => node),
    [`${name}.partner`]: Int32Array.from(all, ([, { partner }]) => partner),
    [`${name}.count`]: Float64Array.from(all, ([, { count }]) => count),
    [`${name}.last`]: Float64Array.from(all, ([, { last }]) => last),
    [`${name}.fading`]: Float64Array.from(all.flatMap(([, { fading }]) => [...fading])),
  };
}

function loadSide(
  name: string,
  side: Map<number, NodePast>,
  arrays: Readonly<Record<string, TypedArray>>,
  halfLives: number,
): void {
  const of = (key: string): TypedArray => arrays[`${name}.${key}`];
  const fading = of('fading') as Float64Array;
  for (let i = 0; i < of('node').length; i++)
    side.set(Number(of('node')[i]), {
      count: Number(of('count')[i]),
      last: Number(of('last')[i]),
      partner: Number(of('partner')[i]),
      fading: fading.slice(i * halfLives, (i + 1) * halfLives),
    });
}
