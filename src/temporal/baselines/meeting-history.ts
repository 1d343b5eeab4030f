/** What is remembered of events for the baselines: of pairs, of sources and of destinations, with fading popularity. */

/** A pair's past. */
export interface PairPast {
  count: number;
  last: number;
}

/** A node's past on one side. */
export interface NodePast {
  count: number;
  last: number;
  /** Whom it met last. */
  partner: number;
  /** Meetings of the past, each weighing half after every half-life; as of `last`. */
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

  source(node: number): NodePast | undefined {
    return this.#sources.get(node);
  }

  destination(node: number): NodePast | undefined {
    return this.#destinations.get(node);
  }

  /** The fading count of a node at a time, by the half-life of that number. */
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
