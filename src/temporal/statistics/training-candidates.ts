/**
 * Candidates that the destination of a training event competes with: destinations that the source met before, nodes that met
 * it, and random others, which stand for all that are left. The logit of a random one is raised by log(others / drawn), so that the sum over
 * the drawn estimates the sum over all.
 */
import type { Random } from '../../util/philox.js';
import type { EventSlice } from '../steps.js';
import type { EventStatistics, PairQueries } from './event-statistics.js';

export interface CandidateAmounts {
  /** Earlier destinations of the source. */
  readonly historical: number;
  /** Others, from the pool. */
  readonly random: number;
}

/** The destination of each event first, then its competitors. */
export interface TrainingQueries extends PairQueries {
  /** Added to the logit of every candidate. */
  readonly corrections: Float32Array;
}

export class TrainingCandidates {
  readonly #pool: Int32Array;
  readonly #inPool: Uint8Array;
  readonly #amounts: CandidateAmounts;
  readonly #random: Random;
  /** Nodes that are candidates of the current event have its stamp. */
  readonly #stamps: Float64Array;
  #stamp = 0;

  /** @param pool destinations of training events, each once. */
  constructor(pool: Int32Array, numNodes: number, amounts: CandidateAmounts, random: Random) {
    this.#pool = pool;
    this.#amounts = amounts;
    this.#random = random;
    this.#stamps = new Float64Array(numNodes);
    this.#inPool = new Uint8Array(numNodes);
    for (const node of pool) this.#inPool[node] = 1;
  }

  /** Draws for events that `statistics` has not observed, or for those that are picked. */
  draw(
    statistics: EventStatistics,
    events: EventSlice,
    label: number,
    picks: (event: number) => boolean = () => true,
  ): TrainingQueries {
    const { src, dst, times } = events;
    const random = this.#random.split(label);
    const recent = new RecentPartners(statistics.waiting);
    const offsets = [0];
    const ids: number[] = [];
    const corrections: number[] = [];
    const picked: number[] = [];
    for (let i = 0; i < src.length; i++) {
      recent.add(events, i);
      if (!picks(i)) continue;
      picked.push(i);
      this.#stamp++;
      const first = ids.length;
      this.#take(dst[i], ids);
      const most = first + 1 + this.#amounts.historical;
      for (const node of recent.before(src[i], times[i])) if (ids.length < most) this.#take(node, ids);
      const known = ids.length < most ? statistics.partners(src[i], this.#amounts.historical) : [];
      for (const node of known) if (ids.length < most) this.#take(node, ids);
      // Those who wrote to the source are too few among all destinations to be drawn by chance.
      for (const node of statistics.senders(src[i])) if (this.#inPool[node] === 1) this.#take(node, ids);
      const raised = this.#drawOthers(random, ids, first);
      for (let k = corrections.length; k < ids.length; k++) corrections.push(k < raised.from ? 0 : raised.by);
      offsets.push(ids.length);
    }
    return {
      src: Int32Array.from(picked, (i) => src[i]),
      times: Float64Array.from(picked, (i) => times[i]),
      offsets: Int32Array.from(offsets),
      candidates: Int32Array.from(ids),
      corrections: Float32Array.from(corrections),
    };
  }

  /** Adds a node unless it is a candidate already. */
  #take(node: number, ids: number[]): void {
    if (this.#stamps[node] === this.#stamp) return;
    this.#stamps[node] = this.#stamp;
    ids.push(node);
  }

  #drawOthers(random: Random, ids: number[], first: number): { readonly from: number; readonly by: number } {
    const pool = this.#pool;
    const from = ids.length;
    let others = pool.length;
    for (let k = first; k < from; k++) others -= this.#inPool[ids[k]];
    const { random: count } = this.#amounts;
    if (others <= count) {
      for (const node of pool) this.#take(node, ids);
      return { from, by: 0 };
    }
    for (let k = 0; k < count; k++) {
      let node = pool[random.nextInt(pool.length)];
      while (this.#stamps[node] === this.#stamp) node = pool[random.nextInt(pool.length)];
      ids.push(node);
    }
    return { from, by: Math.log(others / count) };
  }
}

/** Destinations by source among events that the statistics have not observed, the latest first. */
class RecentPartners {
  readonly #bySource = new Map<number, { readonly dst: number; readonly time: number }[]>();

  constructor(waiting: EventSlice) {
    for (let i = 0; i < waiting.src.length; i++) this.add(waiting, i);
  }

  add({ src, dst, times }: EventSlice, i: number): void {
    const list = this.#bySource.get(src[i]) ?? [];
    list.push({ dst: dst[i], time: times[i] });
    this.#bySource.set(src[i], list);
  }

  *before(src: number, time: number): Generator<number> {
    const list = this.#bySource.get(src) ?? [];
    for (let k = list.length - 1; k >= 0; k--) if (list[k].time < time) yield list[k].dst;
  }
}
