/**
 * Negatives for training and evaluation: destinations that an event does not have. Only destinations are replaced; source and time stay
 * those of the event.
 *
 * Draws depend on (seed, split, epoch, event row, k) alone, not on batches. Strategies: `random` as in TGN (with
 * replacement, from a pool of destinations); `historical` and `inductive` after Poursafaei et al., "Towards better
 * evaluation for dynamic link prediction" (NeurIPS 2022), here per source: destinations it met before the event, for
 * `inductive` only pairs that training never saw; `tgb` as the files of the Temporal Graph Benchmark (NeurIPS 2023);
 * `all`: every other destination. Every event has the same number of negatives: with `all`, the event's own destination is in
 * the place of a destination that the source meets at the same time, and `ignored` lists these places. Results under different strategies are not comparable.
 */
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { distinctIds, type EventStream, type StreamSplit, streamSplits } from '../event-stream.js';
import { EventWords, mostNegatives } from './event-words.js';
import { checkStream, PairHistory } from './pair-history.js';

export type NegativeStrategy = 'random' | 'historical' | 'inductive' | 'tgb' | 'all';

/** All strategies. */
const negativeStrategies: readonly NegativeStrategy[] = [
  ...(['random', 'historical', 'inductive', 'tgb', 'all'] as const),
];

export interface TemporalNegativesOptions {
  /** Default 'random'. */
  readonly strategy?: NegativeStrategy;
  /** Negatives per event (default 1); with 'all' it follows from the pool. */
  readonly amount?: number;
  /** Nodes to draw from. Default: all destinations of the stream; for the split 'train' those before `trainEnd`. */
  readonly pool?: ArrayLike<number>;
  readonly seed?: number;
  /** Never draw destinations that the source meets at the time of the event. Default: true except for 'random'. */
  readonly avoidPositives?: boolean;
  /** Events of training are the rows below. Needed by 'inductive' and 'tgb'. */
  readonly trainEnd?: number;
  /** With 'tgb': the fraction drawn from destinations that the source met in training (default 0.5). */
  readonly historicalRatio?: number;
}

export interface DrawOptions {
  /** Default 0; keep it for evaluation, so that every evaluation has the same negatives. */
  readonly epoch?: number;
  /** Default 'train'. */
  readonly split?: StreamSplit;
}

const name = 'TemporalNegatives';

/**
 * @example
 * const negatives = new TemporalNegatives(graph, { trainEnd: split.trainEnd, seed: 1 });
 * negatives.draw(0, 200, { epoch, split: 'train' }); // one destination for each of the first 200 events
 */
export class TemporalNegatives {
  readonly strategy: NegativeStrategy;
  /** Negatives per event. */
  readonly amount: number;
  /** The pool of validation and test, ascending. */
  readonly pool: Int32Array;
  readonly #trainPool: Int32Array;
  readonly #stream: EventStream;
  readonly #avoid: boolean;
  readonly #trainEnd: number;
  readonly #numHistorical: number;
  readonly #words: EventWords;
  #history: PairHistory | null = null;
  /** Nodes that must not be drawn for the current event have its stamp. */
  #barred: Int32Array;
  #stamp = 0;
  #scratch = new Int32Array(0);

  constructor(stream: EventStream, options: TemporalNegativesOptions = {}) {
    checkOptionNames('TemporalNegatives', options, {
      strategy: true,
      amount: true,
      pool: true,
      seed: true,
      avoidPositives: true,
      trainEnd: true,
      historicalRatio: true,
    });
    const { strategy = 'random', trainEnd, historicalRatio = 0.5 } = options;
    if (!negativeStrategies.includes(strategy))
      throw new ValueError(expected(name, `one of ${negativeStrategies.join(', ')}`, 'strategy', strategy));
    if (trainEnd === undefined && (strategy === 'inductive' || strategy === 'tgb')) {
      const advice = `'${strategy}' tells pairs of training from others.`;
      throw new ValueError(
        expected(name, 'the first event row after training', 'trainEnd', trainEnd, advice),
      );
    }
    checkStream(name, stream);
    const numEvents = stream.src.length;
    this.strategy = strategy;
    this.#stream = stream;
    this.#trainEnd = checkInteger(name, 'trainEnd', trainEnd ?? numEvents, 0, numEvents);
    const own = options.pool === undefined ? null : distinctIds(name, options.pool, stream.numNodes);
    this.pool = own ?? distinctIds(name, stream.dst, stream.numNodes);
    this.#trainPool = own ?? distinctIds(name, stream.dst.subarray(0, this.#trainEnd), stream.numNodes);
    this.amount = this.#checkAmount(options.amount);
    this.#avoid = options.avoidPositives ?? strategy !== 'random';
    const byHistory = strategy === 'historical' || strategy === 'inductive';
    if (byHistory && this.amount >= this.pool.length) {
      const advice = 'No more could be found without those that it meets.';
      const what = `fewer than the ${this.pool.length} nodes of the pool`;
      throw new ValueError(expected(name, what, 'amount', this.amount, advice));
    }
    checkNumber(name, 'historicalRatio', historicalRatio, 0, 1);
    this.#numHistorical = strategy === 'tgb' ? Math.floor(this.amount * historicalRatio) : this.amount;
    this.#words = new EventWords(checkInteger(name, 'seed', options.seed ?? 0));
    this.#barred = new Int32Array(stream.numNodes);
  }

  /** Draws the negatives of the event rows rowBegin … rowEnd − 1: [events · amount], those of an event side by side. */
  draw(rowBegin: number, rowEnd: number, options: DrawOptions = {}): Int32Array {
    checkInteger(name, 'rowEnd', rowEnd, 0, this.#stream.src.length);
    checkInteger(name, 'rowBegin', rowBegin, 0, rowEnd);
    return this.drawFor(
      Int32Array.from({ length: rowEnd - rowBegin }, (_, i) => rowBegin + i),
      options,
    );
  }

  /** Draws the negatives of any event rows: [events · amount], those of an event side by side. */
  drawFor(rows: Int32Array, options: DrawOptions = {}): Int32Array {
    const { epoch = 0, split = 'train' } = options;
    checkInteger(name, 'epoch', epoch);
    if (!streamSplits.includes(split))
      throw new ValueError(expected(name, `one of ${streamSplits.join(', ')}`, 'split', split));
    const out = new Int32Array(rows.length * this.amount);
    if (out.length === 0) return out;
    const pool = split === 'train' ? this.#trainPool : this.pool;
    if (pool.length === 0) throw new ValueError(expected(name, 'at least one node', 'pool', 'none'));
    this.#words.select(split, epoch);
    for (let i = 0; i < rows.length; i++) {
      const row = checkInteger(name, 'row', rows[i], 0, this.#stream.src.length - 1);
      const at = i * this.amount;
      if (this.strategy === 'all') this.#others(row, out, at);
      else if (this.strategy === 'random' && !this.#avoid) this.#drawFreely(row, pool, out, at);
      else this.#drawCarefully(row, pool, out, at);
    }
    return out;
  }

  #checkAmount(amount: number | undefined): number {
    if (this.strategy !== 'all') return checkInteger(name, 'amount', amount ?? 1, 1, mostNegatives);
    const others = this.pool.length - 1;
    if (others < 1)
      throw new ValueError(expected(name, 'two nodes or more for all', 'pool', `${others + 1} nodes`));
    if (amount !== undefined && amount !== others)
      throw new ValueError(expected(name, `${others}, the nodes of the pool but one,`, 'amount', amount));
    return others;
  }

  /** Returns the index of pairs, built on first use and rebuilt when the stream has grown. */
  #index(): PairHistory {
    if (this.#history?.numEvents !== this.#stream.src.length) {
      this.#history = new PairHistory(name, this.#stream);
      if (this.#barred.length < this.#stream.numNodes) this.#barred = new Int32Array(this.#stream.numNodes);
    }
    return this.#history;
  }

  #others(row: number, out: Int32Array, at: number): void {
    const own = this.#stream.dst[row];
    this.#barPositives(this.#index(), this.#stream.src[row], row);
    let next = at;
    for (const node of this.pool) {
      if (node === own) continue;
      // Without the event's own destination in the pool there is one candidate too many.
      if (next === at + this.amount) {
        throw new ValueError(expected(name, `destination ${own} of event row ${row}`, 'pool', 'other nodes'));
      }
      out[next++] = this.#barred[node] === this.#stamp ? own : node;
    }
  }

  /** Returns the places of `drawFor` that hold no negative: with 'all', those of other positives of the same time. */
  ignored(rows: Int32Array): Int32Array {
    if (this.strategy !== 'all' || !this.#avoid) return new Int32Array(0);
    const found: number[] = [];
    const history = this.#index();
    for (let i = 0; i < rows.length; i++) {
      const own = this.#stream.dst[rows[i]];
      const others = new Set<number>();
      history.forEachPositive(this.#stream.src[rows[i]], rows[i], (node) => {
        if (node !== own) others.add(node);
      });
      for (const node of others) {
        const at = positionOf(this.pool, node);
        // The event's own destination is left out of the list.
        if (at >= 0) found.push(i * this.amount + at - (own < node ? 1 : 0));
      }
    }
    return Int32Array.from(found).sort();
  }

  #drawFreely(row: number, pool: Int32Array, out: Int32Array, at: number): void {
    for (let k = 0; k < this.amount; k++) out[at + k] = pool[this.#words.below(pool.length, row, k, 0)];
  }

  #drawCarefully(row: number, pool: Int32Array, out: Int32Array, at: number): void {
    const history = this.#index();
    const source = this.#stream.src[row];
    const barred = this.#barPositives(history, source, row);
    let done = 0;
    if (this.strategy !== 'random') {
      const [from, to] = this.#range(history, source, row);
      const list = history.destinations.subarray(from, to);
      done = this.#pick(list, barred, this.#numHistorical, row, out, at, 0);
    }
    if (this.strategy === 'tgb')
      done += this.#pick(pool, barred + done, this.amount - done, row, out, at + done, done);
    else this.#refill(row, pool, barred, out, at, done);
    if (this.strategy === 'tgb' && done < this.amount) {
      const got = `${done} for event row ${row}`;
      throw new ValueError(expected(name, `at least ${this.amount} free destinations`, 'pool', got));
    }
  }

  /** Marks nodes that must not be drawn for this event; returns their number. */
  #barPositives(history: PairHistory, source: number, row: number): number {
    this.#stamp++;
    if (!this.#avoid) return 0;
    let count = 0;
    history.forEachPositive(source, row, (node) => {
      if (this.#barred[node] !== this.#stamp) count++;
      this.#barred[node] = this.#stamp;
    });
    return count;
  }

  /** Returns the range of the list of pairs that a strategy draws from. */
  #range(history: PairHistory, source: number, row: number): [number, number] {
    if (this.strategy === 'tgb')
      return [history.offsets[source], history.metBeforeRow(source, this.#trainEnd)];
    const to = history.metBefore(source, this.#stream.time[row]);
    if (this.strategy === 'historical') return [history.offsets[source], to];
    return [Math.min(to, history.metBeforeRow(source, this.#trainEnd)), to];
  }

  /** Draws up to `count` free nodes of `list`, none twice, and marks them; returns their number. */
  #pick(
    list: Int32Array,
    barred: number,
    count: number,
    row: number,
    out: Int32Array,
    at: number,
    k: number,
  ): number {
    if (list.length > 2 * (barred + count)) {
      // More than half of the list stays free, so few retries are needed.
      for (let i = 0; i < count; i++) {
        let attempt = 0;
        let node = list[this.#words.below(list.length, row, k + i, attempt)];
        while (this.#barred[node] === this.#stamp)
          node = list[this.#words.below(list.length, row, k + i, ++attempt)];
        this.#barred[node] = this.#stamp;
        out[at + i] = node;
      }
      return count;
    }
    const free = this.#free(list);
    const found = Math.min(count, free.length);
    for (let i = 0; i < found; i++) {
      const j = i + this.#words.below(free.length - i, row, k + i, 0);
      [free[i], free[j]] = [free[j], free[i]];
      this.#barred[free[i]] = this.#stamp;
      out[at + i] = free[i];
    }
    return found;
  }

  /** Draws the remaining negatives of an event: free nodes of the pool, with replacement. */
  #refill(row: number, pool: Int32Array, barred: number, out: Int32Array, at: number, done: number): void {
    if (done === this.amount) return;
    const list = pool.length > 2 * (barred + done) ? pool : this.#free(pool);
    if (list.length === 0) {
      const got = `only those it meets, at event row ${row}`;
      throw new ValueError(expected(name, 'nodes that the source does not meet', 'pool', got));
    }
    for (let k = done; k < this.amount; k++) {
      let attempt = 0;
      let node = list[this.#words.below(list.length, row, k, attempt)];
      while (this.#barred[node] === this.#stamp)
        node = list[this.#words.below(list.length, row, k, ++attempt)];
      out[at + k] = node;
    }
  }

  /** Returns the unmarked nodes of a list, in an array that the next call reuses. */
  #free(list: Int32Array): Int32Array {
    if (this.#scratch.length < list.length) this.#scratch = new Int32Array(list.length);
    let count = 0;
    for (const node of list) if (this.#barred[node] !== this.#stamp) this.#scratch[count++] = node;
    return this.#scratch.subarray(0, count);
  }
}

/** Returns the position of a number in an ascending list; −1 if it is not there. */
function positionOf(list: Int32Array, wanted: number): number {
  let low = 0;
  for (let high = list.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (list[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return list[low] === wanted ? low : -1;
}
