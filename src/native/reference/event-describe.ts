/** The numbers that describe a source and a candidate at a time: the twin of `describe_pair.cpp`. */
import { type EventStatisticsArguments, eventLayout, pairNumbers } from '../event-kernels.js';
import * as the from './event-store.js';

type Store = EventStatisticsArguments;
const { node, pairInt, relation, value } = the;
const { pairInts: pairWidth, pairValues: pairValueWidth, relations } = eventLayout;
const mostDeviations = 6;

/** Sums over nodes that are related to the partners of the source, or to the source itself (the first three). */
const sum = {
  plain: 0,
  weighted: 1,
  faded: 2,
  hits: 3,
  afterLast: 4,
  beforeLast: 5,
  afterSecond: 6,
} as const;
const sums = 7;
/** Sums of nodes on the side of the source, after the relations: events of recent contacts with them, in either direction. */
const toContact = relations;
const fromContact = relations + 1;

/** A source at a time, with what all candidates share; `close` makes the slots zeros again. */
export class PairQuery {
  readonly #store: Store;
  readonly #src: number;
  readonly #time: number;
  readonly #found: number[] = [];
  readonly #touched: number[] = [];
  readonly #source: readonly number[];
  /** Nodes that the source met in either direction, the latest first, each once. */
  #contacts: readonly number[] = [];
  readonly #numbers = new Float64Array(pairNumbers.all);

  constructor(store: Store, src: number, time: number) {
    this.#store = store;
    this.#src = src;
    this.#time = time;
    this.#findRelated();
    if (store.width > pairNumbers.reverse) {
      this.#contacts = this.#findContacts();
      this.#findConversations();
    }
    this.#source = this.#describeSource();
  }

  close(): void {
    for (const slot of this.#touched) this.#store.slots[slot] = 0;
  }

  describe(dst: number, at: number): void {
    const { shift, scale, out, width } = this.#store;
    const x = this.#numbers.fill(0);
    const pair = the.findPair(this.#store, this.#src, dst);
    if (pair >= 0) x.set(this.#describePair(dst, pair), pairNumbers.pair);
    x.set(this.#describeDestination(dst), pairNumbers.destination);
    x.set(this.#describeRelated(dst), pairNumbers.related);
    x.set(this.#source, pairNumbers.source);
    const [fresh, apart] = [x[pairNumbers.source], 1 - x[pairNumbers.pair]];
    const [soon, later] = [x[pairNumbers.destination + 4], x[pairNumbers.destination + 6]];
    const near = x[pairNumbers.related + 1];
    x.set(
      [fresh * soon, fresh * later, apart * soon, apart * near, apart * x[pairNumbers.source + 7]],
      pairNumbers.product,
    );
    if (width > pairNumbers.reverse) x.set(this.#describeReverse(dst, pair), pairNumbers.reverse);
    for (let f = 0; f < width; f++) {
      const deviation = (x[f] - shift[f]) * scale[f];
      out[at * width + f] = Math.min(Math.max(deviation, -mostDeviations), mostDeviations);
    }
  }

  #age(then: number): number {
    return the.logOf((this.#time - then) * this.#store.clock[0]);
  }

  #faded(count: number, then: number, half: number): number {
    return count * the.decay(this.#time - then, this.#store.clock[1 + half]);
  }

  #take(id: number, side: number): number {
    const { slots } = this.#store;
    const slot = 2 * id + side;
    if (slots[slot] === 0) {
      slots[slot] = this.#touched.push(slot);
      for (let s = 0; s < sums; s++) this.#found.push(0);
    }
    return (slots[slot] - 1) * sums;
  }

  /** Returns where the sums of a node begin, or −1. */
  #find(id: number, side: number): number {
    return (this.#store.slots[2 * id + side] - 1) * sums;
  }

  #findRelated(): void {
    const { nodeInts, relatedIds, relatedCounts, pairTimes } = this.#store;
    const found = this.#found;
    const recent = the.intsOf(this.#src, the.source) + node.recent;
    for (let k = 0; k < the.numRecent && nodeInts[recent + k] > 0; k++) {
      const partner = nodeInts[recent + k] - 1;
      const pair = the.findPair(this.#store, this.#src, partner);
      const fresh = pair < 0 ? 0 : this.#faded(1, pairTimes[pair], 3);
      const own = the.intsOf(partner, the.destination);
      const share = 1 / Math.sqrt(Math.max(1, nodeInts[own + node.distinct]));
      const start = nodeInts[own + node.relatedStart];
      for (let i = start; i < start + nodeInts[own + node.relatedSize]; i++) {
        const at = this.#take(relatedIds[i], the.destination);
        const cosine = relatedCounts[i * relations + relation.common] * share;
        found[at + sum.plain] += cosine;
        found[at + sum.weighted] += cosine / (1 + k);
        found[at + sum.faded] += cosine * fresh;
        if (cosine > 0) found[at + sum.hits]++;
        if (k === 0) {
          found[at + sum.afterLast] += relatedCounts[i * relations + relation.next];
          found[at + sum.beforeLast] += relatedCounts[i * relations + relation.previous];
        } else if (k === 1) found[at + sum.afterSecond] += relatedCounts[i * relations + relation.next];
      }
    }
    const own = the.intsOf(this.#src, the.source);
    const start = nodeInts[own + node.relatedStart];
    for (let i = start; i < start + nodeInts[own + node.relatedSize]; i++) {
      const at = this.#take(relatedIds[i], the.source);
      for (let r = 0; r < relations; r++) found[at + r] += relatedCounts[i * relations + r];
    }
  }

  #findContacts(): number[] {
    const { pairTimes } = this.#store;
    const latest = new Map<number, number>();
    for (const side of [the.source, the.destination]) {
      for (const other of this.#recent(this.#src, side)) {
        const pair =
          side === the.source
            ? the.findPair(this.#store, this.#src, other)
            : the.findPair(this.#store, other, this.#src);
        const known = latest.get(other);
        if (pair < 0 || (known !== undefined && known >= pairTimes[pair])) continue;
        // Contacts of one time are in order of their insertion.
        latest.delete(other);
        latest.set(other, pairTimes[pair]);
      }
    }
    return [...latest].sort(([, a], [, b]) => b - a).map(([other]) => other);
  }

  #findConversations(): void {
    const { nodeTimes } = this.#store;
    for (const [k, contact] of this.#contacts.slice(0, the.numRecent).entries()) {
      if (contact === this.#src) continue;
      for (const side of [the.destination, the.source]) {
        const fresh = this.#faded(1, nodeTimes[2 * contact + side], 1);
        const which = side === the.destination ? toContact : fromContact;
        for (const [j, other] of this.#recent(contact, side).entries())
          if (other !== this.#src) this.#found[this.#take(other, the.source) + which] += fresh / (1 + k + j);
      }
    }
  }

  /** Returns the last distinct partners of a node on one side, the latest first. */
  #recent(id: number, side: number): number[] {
    const at = the.intsOf(id, side) + node.recent;
    const marks = this.#store.nodeInts.subarray(at, at + the.numRecent);
    return Array.from(marks, (mark) => mark - 1).filter((other) => other >= 0);
  }

  #describeSource(): number[] {
    const { nodeInts, nodeTimes, nodeValues } = this.#store;
    const own = the.intsOf(this.#src, the.source);
    const values = the.valuesOf(this.#src, the.source);
    const events = nodeInts[own + node.events];
    if (events === 0) return [1];
    const then = nodeTimes[2 * this.#src];
    return [
      0,
      the.logOf(events),
      this.#age(then),
      the.logOf(nodeInts[own + node.distinct]),
      nodeInts[own + node.repeats] / events,
      nodeInts[own + node.distinct] / events,
      nodeValues[values + value.novelty],
      nodeValues[values + value.newPairs],
      the.logOf(nodeInts[own + node.run]),
      ...the.pairHalfLives.map((h) => the.logOf(this.#faded(nodeValues[values + h], then, h))),
      this.#age(then) - nodeValues[values + value.gap],
    ];
  }

  #rank(recent: number, id: number): number {
    let rank = 0;
    while (rank < the.numRecent && this.#store.nodeInts[recent + rank] !== id + 1) rank++;
    return rank;
  }

  #describePair(dst: number, pair: number): number[] {
    const { nodeInts, nodeTimes, nodeValues, pairInts, pairTimes, pairValues } = this.#store;
    const [own, target] = [the.intsOf(this.#src, the.source), the.intsOf(dst, the.destination)];
    const record = (which: number): number => pairInts[pair * pairWidth + which];
    const values = pair * pairValueWidth;
    const then = pairTimes[pair];
    const count = record(pairInt.count);
    const age = this.#age(then);
    const rank = this.#rank(own + node.recent, dst);
    const gap = pairValues[values + the.pairGap];
    const last = nodeInts.subarray(own + node.last, own + node.last + the.numLast);
    const long = the.pairHalfLives[2];
    const all = this.#faded(
      nodeValues[the.valuesOf(this.#src, the.source) + long],
      nodeTimes[2 * this.#src],
      long,
    );
    return [
      ...[1, age, the.logOf(count), count / nodeInts[own + node.events]],
      ...[Number(rank === 0), Number(rank === 1), Number(rank === 2), the.logOf(rank), 1 / (1 + rank)],
      ...the.pairHalfLives.map((h, i) => the.logOf(this.#faded(pairValues[values + i], then, h))),
      the.logOf(nodeInts[own + node.events] - record(pairInt.srcEvents)),
      the.logOf(nodeInts[target + node.events] - record(pairInt.dstEvents)),
      Number(nodeInts[target + node.recent] === this.#src + 1),
      gap,
      count > 1 ? age - gap : 0,
      the.logOf(record(pairInt.visits)),
      the.logOf(count / Math.max(1, record(pairInt.visits))),
      count / nodeInts[target + node.events],
      rank === 0 ? the.logOf(nodeInts[own + node.run]) : 0,
      last.filter((mark) => mark === dst + 1).length / the.numLast,
      this.#faded(pairValues[values + 2], then, long) / Math.max(all, 1e-6),
    ];
  }

  #describeDestination(dst: number): number[] {
    const { nodeInts, nodeTimes, nodeValues, totals } = this.#store;
    const own = the.intsOf(dst, the.destination);
    const values = the.valuesOf(dst, the.destination);
    const events = nodeInts[own + node.events];
    if (events === 0) return [1];
    const then = nodeTimes[2 * dst + 1];
    const last = nodeInts[own + node.recent] - 1;
    const at = last === this.#src ? -1 : this.#find(last, the.source);
    const age = this.#age(then);
    return [
      ...[0, the.logOf(events), age],
      ...Array.from({ length: eventLayout.halfLives }, (_, h) =>
        the.logOf(this.#faded(nodeValues[values + h], then, h)),
      ),
      the.logOf(nodeInts[own + node.distinct]),
      nodeValues[values + value.novelty],
      nodeValues[values + value.newPairs],
      nodeInts[own + node.repeats] / events,
      the.logOf(totals[0] - nodeInts[own + node.lastEvent]),
      1 / nodeInts[the.intsOf(last, the.source) + node.events],
      at < 0 ? 0 : the.logOf(this.#found[at + relation.previous]),
      at < 0 ? 0 : the.logOf(this.#found[at + relation.next]),
      events > 1 ? age - nodeValues[values + value.gap] : 0,
    ];
  }

  #describeRelated(dst: number): number[] {
    const { nodeInts } = this.#store;
    const own = the.intsOf(dst, the.destination);
    let shared = 0;
    for (let k = 0; k < 5; k++) {
      const other = nodeInts[own + node.recent + k] - 1;
      const at = other < 0 || other === this.#src ? -1 : this.#find(other, the.source);
      if (at >= 0) shared += this.#found[at + relation.common];
    }
    const at = this.#find(dst, the.destination);
    if (at < 0) return [0, 0, 0, 0, 0, 0, 0, 0, the.logOf(shared)];
    const share = 1 / Math.sqrt(Math.max(1, nodeInts[own + node.distinct]));
    const last = nodeInts[the.intsOf(this.#src, the.source) + node.recent] - 1;
    const out = last < 0 ? 1 : nodeInts[the.intsOf(last, the.destination) + node.events];
    const of = (which: number): number => this.#found[at + which];
    return [
      ...[of(sum.plain) * share, of(sum.weighted) * share, of(sum.faded) * share, the.logOf(of(sum.hits))],
      ...[the.logOf(of(sum.afterLast)), of(sum.afterLast) / Math.max(1, out)],
      ...[the.logOf(of(sum.beforeLast)), the.logOf(of(sum.afterSecond)), the.logOf(shared)],
    ];
  }

  #describeReverse(dst: number, pair: number): Float64Array {
    const { nodeInts, nodeTimes, nodeValues, pairInts, pairTimes, pairValues } = this.#store;
    const x = new Float64Array(pairNumbers.all - pairNumbers.reverse);
    const received = the.intsOf(this.#src, the.destination);
    const sender = the.intsOf(dst, the.source);
    const events = nodeInts[sender + node.events];
    const back = the.findPair(this.#store, dst, this.#src);
    if (back >= 0) {
      const then = pairTimes[back];
      const rank = this.#rank(received + node.recent, dst);
      const count = pairInts[back * pairWidth + pairInt.count];
      const [, half] = the.pairHalfLives;
      const fading = this.#faded(pairValues[back * pairValueWidth + 1], then, half);
      const open = pair < 0 || pairTimes[pair] < then;
      const isLast = nodeInts[sender + node.recent] === this.#src + 1;
      x.set([1, this.#age(then), the.logOf(count), the.logOf(fading), Number(rank === 0), 1 / (1 + rank)]);
      x.set([Number(open), count / events, Number(isLast)], 6);
    }
    if (events === 0) x[9] = 1;
    else {
      const values = the.valuesOf(dst, the.source);
      const then = nodeTimes[2 * dst];
      x.set([the.logOf(events), this.#age(then)], 10);
      x.set(
        the.pairHalfLives.map((h) => the.logOf(this.#faded(nodeValues[values + h], then, h))),
        12,
      );
      x[15] = the.logOf(nodeInts[sender + node.distinct]);
    }
    if (nodeInts[received + node.events] > 0) x[16] = this.#age(nodeTimes[2 * this.#src + 1]);
    x.set(this.#describeContact(dst, pair, back), 17);
    return x;
  }
  #describeContact(dst: number, pair: number, back: number): number[] {
    const { pairTimes } = this.#store;
    const rank = this.#contacts.indexOf(dst);
    const times = [pair, back].filter((at) => at >= 0).map((at) => pairTimes[at]);
    const at = dst === this.#src ? -1 : this.#find(dst, the.source);
    const of = (which: number): number => (at < 0 ? 0 : this.#found[at + which]);
    return [
      Number(dst === this.#src),
      ...(rank < 0 ? [0, 0] : [Number(rank === 0), 1 / (1 + rank)]),
      times.length === 0 ? 0 : this.#age(Math.max(...times)),
      ...[relation.common, relation.next, relation.previous].map((which) => the.logOf(of(which))),
      ...[of(toContact), of(fromContact)],
    ];
  }
}
