/**
 * Candidates that the destination of a training event competes with: destinations that the source met before, nodes that met
 * it, and draws that stand for all others. Some of these are drawn among all destinations, some among those of the latest
 * events, which are the likelier ones. The logit of a draw is raised by −log(draws · its probability), so that the sum over the
 * draws estimates the sum over all others.
 */
import type { Random } from '../../util/philox.js';
import type { EventSlice } from '../steps.js';
import type { EventStatistics, PairQueries } from './event-statistics.js';
import type { LatestDestinations } from './latest-destinations.js';

export interface CandidateAmounts {
  /** Earlier destinations of the source. */
  readonly historical: number;
  /** Others, from all destinations. */
  readonly random: number;
  /** Others, from the destinations of the latest events. */
  readonly recent: number;
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
  readonly #latest: LatestDestinations;
  /** Nodes that are candidates of the current event have its stamp. */
  readonly #stamps: Float64Array;
  #stamp = 0;

  /** @param pool destinations of training events, each once. */
  constructor(
    pool: Int32Array,
    latest: LatestDestinations,
    numNodes: number,
    amounts: CandidateAmounts,
    random: Random,
  ) {
    this.#pool = pool;
    this.#latest = latest;
    this.#amounts = amounts;
    this.#random = random;
    this.#stamps = new Float64Array(numNodes);
    this.#inPool = new Uint8Array(numNodes);
    for (const node of pool) this.#inPool[node] = 1;
  }

  /**
   * Draws for events that `statistics` has not observed, or for those that are picked.
   *
   * @param row stream row of the first event.
   */
  draw(
    statistics: EventStatistics,
    events: EventSlice,
    row: number,
    label: number,
    picks: (event: number) => boolean = () => true,
  ): TrainingQueries {
    const { src, dst, times } = events;
    const random = this.#random.split(label);
    const recent = new RecentPartners(statistics.waiting);
    this.#latest.moveTo(row);
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
      // The source itself and those that wrote to it are too few among all destinations to be drawn by chance.
      for (const node of statistics.contacts(src[i])) if (this.#inPool[node] === 1) this.#take(node, ids);
      for (let k = corrections.length; k < ids.length; k++) corrections.push(0);
      this.#drawOthers(random, ids, first, corrections);
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

  #drawOthers(random: Random, ids: number[], first: number, corrections: number[]): void {
    const pool = this.#pool;
    const latest = this.#latest;
    let others = pool.length;
    let taken = 0;
    for (let k = first; k < ids.length; k++) {
      if (this.#inPool[ids[k]] === 0) continue;
      others--;
      taken += latest.count(ids[k]);
    }
    // Without other destinations among the latest events, all draws are from the pool.
    const fromLatest = taken < latest.total ? this.#amounts.recent : 0;
    const count = this.#amounts.random + this.#amounts.recent;
    if (others <= count) {
      for (const node of pool) this.#take(node, ids);
      while (corrections.length < ids.length) corrections.push(0);
      return;
    }
    for (let k = 0; k < count; k++) {
      const draw = (): number => (k < fromLatest ? latest.draw(random) : pool[random.nextInt(pool.length)]);
      let node = draw();
      while (this.#stamps[node] === this.#stamp) node = draw();
      ids.push(node);
      const expected =
        (count - fromLatest) / others +
        (fromLatest > 0 ? (fromLatest * latest.count(node)) / (latest.total - taken) : 0);
      corrections.push(-Math.log(expected));
    }
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
