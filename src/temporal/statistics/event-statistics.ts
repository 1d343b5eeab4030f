/**
 * `EventStatistics`: what a stream of events says about nodes and pairs of nodes, as running statistics. Of pairs: how often,
 * when and in how many visits they met, with fading counts. Of nodes, on each side: events, partners, fading counts, habits. Of
 * two nodes of one side: partners in common, and how often one followed the other.
 *
 * The numbers of a source and a candidate at a time come from strictly earlier events: events of the latest time are kept
 * back until a later one arrives, so that events of one time do not see each other, however the stream is split into calls.
 */
import { eventLayout, pairNumbers } from '../../native/event-kernels.js';
import { kernels } from '../../native/index.js';
import {
  checkInteger,
  checkNumber,
  expected,
  ShapeError,
  StateError,
  ValueError,
} from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { isPreviewOf, type Preview } from '../preview.js';
import type { Cadence, EventSlice } from '../steps.js';
import type { CommittedState, StateSnapshot } from '../temporal-state.js';
import {
  bytesOf,
  emptyArrays,
  restoredArrays,
  roomFor,
  roomOf,
  type StatisticsArrays,
  savedArrays,
  withRoom,
} from './statistics-arrays.js';

export interface EventStatisticsOptions {
  readonly numNodes: number;
  /** Five times after which an event counts half, the shortest first. */
  readonly halfLives: readonly number[];
  /** Unit of ages, which are described by their logarithms. */
  readonly timeUnit: number;
  /** Whether pairs are also described by events of the opposite direction, where sources can be destinations. Default false. */
  readonly reverse?: boolean;
}

/** Sources at times, each with its candidates. */
export interface PairQueries {
  readonly src: Int32Array;
  readonly times: Float64Array;
  /** Boundaries of the candidates of each source. */
  readonly offsets: Int32Array;
  readonly candidates: Int32Array;
}

/** How numbers become inputs of a model: (x − shift)·scale, limited to ±6. */
export interface Scaling {
  readonly shift: Float32Array;
  readonly scale: Float32Array;
}

/** Where the numbers of candidates go. */
export interface PairNumbers {
  readonly scaling: Scaling;
  /** [·, width], written. */
  readonly out: Float32Array;
}

/** The values that events change. */
interface StatisticsContent {
  readonly arrays: StatisticsArrays;
  readonly waiting: EventSlice;
  readonly lastTime: number;
}

const where = 'EventStatistics';
const noQueries: PairQueries = {
  src: new Int32Array(0),
  times: new Float64Array(0),
  offsets: new Int32Array(1),
  candidates: new Int32Array(0),
};
const noNumbers: PairNumbers = {
  scaling: { shift: new Float32Array(pairNumbers.all), scale: new Float32Array(pairNumbers.all) },
  out: new Float32Array(0),
};

/**
 * @example
 * const statistics = new EventStatistics({ numNodes, halfLives: [60, 600, 3600, 86400, 604800], timeUnit: 1 });
 * statistics.commit(statistics.prepare({ src, dst, times }));
 */
export class EventStatistics implements CommittedState<EventSlice> {
  readonly name = 'statistics';
  readonly isBatchFree = true;
  /** Numbers per pair. */
  readonly width: number;
  readonly #options: EventStatisticsOptions;
  readonly #clock: Float64Array;
  #numNodes: number;
  #arrays: StatisticsArrays;
  /** Events of the latest time. */
  #waiting: EventSlice = noEvents();
  #lastTime = Number.NEGATIVE_INFINITY;
  #preview: Preview<StatisticsContent> | null = null;

  constructor(options: EventStatisticsOptions) {
    checkOptionNames(where, options, { numNodes: true, halfLives: true, timeUnit: true, reverse: true });
    this.#options = options;
    const { halfLives, timeUnit, reverse = false } = options;
    if (!Array.isArray(halfLives) || halfLives.length !== eventLayout.halfLives)
      throw new ValueError(expected(where, `${eventLayout.halfLives} numbers`, 'halfLives', halfLives));
    for (const time of [timeUnit, ...halfLives]) checkNumber(where, 'a time', time, Number.MIN_VALUE);
    this.#clock = Float64Array.from([timeUnit, ...halfLives], (time) => 1 / time);
    this.width = reverse ? pairNumbers.all : pairNumbers.reverse;
    this.#numNodes = checkInteger(where, 'numNodes', options.numNodes, 0, 2 ** 30);
    this.#arrays = this.#empty();
  }

  get numNodes(): number {
    return this.#numNodes;
  }

  /** Returns statistics of the same form that have not observed any event. */
  withoutEvents(): EventStatistics {
    return new EventStatistics({ ...this.#options, numNodes: this.#numNodes });
  }

  get bytes(): number {
    return bytesOf(this.#arrays);
  }

  /** Events that have been observed, with those of the latest time. */
  get numEvents(): number {
    return this.#arrays.totals[0] + this.#waiting.src.length;
  }

  prepare(events: EventSlice): EventSlice {
    return this.#checkEvents(events);
  }

  commit(events: EventSlice): void {
    this.observe(events);
  }

  /**
   * Describes the candidates of queries, then observes events. A query sees the events before its own time, those of the same
   * call as well; cadence 'batch' shows it all events of earlier calls and no others.
   */
  observe(
    events: EventSlice,
    queries: PairQueries = noQueries,
    cadence: Cadence = 'moment',
    numbers: PairNumbers = noNumbers,
  ): void {
    this.#checkEvents(events);
    this.#checkQueries(queries, numbers);
    if (events.src.length > 0) this.#preview = null;
    const all = joined(this.#waiting, events);
    const earlier = this.#waiting.src.length;
    const count = all.src.length;
    const last = count === 0 ? this.#lastTime : all.times[count - 1];
    const isFrozen = cadence === 'batch';
    const settled = isFrozen
      ? count
      : this.#settled(all, last, events.src.length === 0 ? queries.times : null);
    const before = isFrozen
      ? new Int32Array(queries.src.length).fill(earlier)
      : visible(all.times, settled, queries.times);
    this.#run(all, settled, { ...queries, before }, numbers);
    this.#lastTime = last;
    this.#waiting = sliceEvents(all, settled, count);
  }

  withEvents<T>(events: EventSlice, work: () => T): T {
    const own = this.#content;
    const kept = this.#preview;
    // Kept again after work that succeeds: a failure may leave it half changed.
    this.#preview = null;
    try {
      if (isPreviewOf(kept, events)) this.#content = kept.content;
      else {
        this.#arrays = withRoom(own.arrays, roomFor(own.arrays, events.src.length));
        this.observe(events);
      }
      const result = work();
      this.#preview = { events, content: this.#content };
      return result;
    } finally {
      this.#content = own;
    }
  }

  /** Describes the candidates of queries, and changes nothing that later results depend on. */
  describe(queries: PairQueries, cadence: Cadence, numbers: PairNumbers): void {
    this.observe(noEvents(), queries, cadence, numbers);
  }

  /**
   * Returns up to `most` earlier destinations of a source, without events of the latest time: the last distinct ones, the latest
   * first, then others, the latest acquaintances first.
   */
  partners(src: number, most: number): number[] {
    const { nodeInts, pairInts } = this.#arrays;
    const found = new Set(this.#recent(src, 0).slice(0, most));
    let pair = nodeInts[2 * src * eventLayout.nodeInts + eventLayout.newestPair] - 1;
    while (pair >= 0 && found.size < most) {
      found.add(pairInts[pair * eventLayout.pairInts + 1]);
      pair = pairInts[pair * eventLayout.pairInts + eventLayout.olderPair] - 1;
    }
    return [...found];
  }

  /** Returns a node and the last distinct sources of events to it, if pairs are described in both directions. */
  contacts(node: number): number[] {
    return this.width === pairNumbers.reverse ? [] : [node, ...this.#recent(node, 1)];
  }

  /** The events of the latest time, which wait. */
  get waiting(): EventSlice {
    return this.#waiting;
  }

  get #content(): StatisticsContent {
    return { arrays: this.#arrays, waiting: this.#waiting, lastTime: this.#lastTime };
  }

  set #content({ arrays, waiting, lastTime }: StatisticsContent) {
    [this.#arrays, this.#waiting, this.#lastTime] = [arrays, waiting, lastTime];
  }

  reset(): void {
    this.#preview = null;
    this.#arrays = this.#empty();
    this.#waiting = noEvents();
    this.#lastTime = Number.NEGATIVE_INFINITY;
  }

  snapshot(): StateSnapshot {
    const { src, dst } = this.#waiting;
    return {
      arrays: {
        ...savedArrays(this.#arrays, this.#numNodes),
        'waiting.src': src.slice(),
        'waiting.dst': dst.slice(),
        'waiting.time': Float64Array.of(this.#lastTime),
      },
    };
  }

  restore({ arrays: saved }: StateSnapshot): void {
    const arrays = restoredArrays(saved, this.#numNodes);
    const { nodes } = roomOf(arrays);
    const [src, dst] = ['waiting.src', 'waiting.dst'].map((name) => Int32Array.from(saved[name] ?? []));
    const lastTime = Number(saved['waiting.time']?.[0]);
    checkNodes('restore', src, nodes);
    checkNodes('restore', dst, nodes);
    if (src.length !== dst.length || Number.isNaN(lastTime))
      throw new ShapeError(expected('EventStatistics.restore', 'events and a time', 'waiting', lastTime));
    this.#preview = null;
    this.#arrays = arrays;
    this.#numNodes = nodes;
    this.#waiting = { src, dst, times: new Float64Array(src.length).fill(lastTime) };
    this.#lastTime = lastTime;
  }

  grow(numNodes: number): void {
    if (numNodes <= this.#numNodes) return;
    this.#preview = null;
    const room = roomOf(this.#arrays);
    if (numNodes > room.nodes)
      this.#arrays = withRoom(this.#arrays, { ...room, nodes: Math.max(numNodes, 2 * room.nodes) });
    this.#numNodes = numNodes;
  }

  /** Returns the last distinct partners of a node on one side (0: destinations, 1: sources), the latest first. */
  #recent(node: number, side: number): number[] {
    const at = (2 * node + side) * eventLayout.nodeInts + eventLayout.recent;
    const marks = this.#arrays.nodeInts.subarray(at, at + eventLayout.numRecent);
    return Array.from(marks, (mark) => mark - 1).filter((other) => other >= 0);
  }

  #empty(): StatisticsArrays {
    return emptyArrays({ nodes: this.#numNodes, pairs: 1024, related: 2 * eventLayout.relatedSlack });
  }

  /** Calls the kernel until all settled events are observed, with more room each time. */
  #run(
    { src, dst, times }: EventSlice,
    settled: number,
    queries: PairQueries & { readonly before: Int32Array },
    { scaling, out }: PairNumbers,
  ): void {
    for (let done = 0, query = 0; ; ) {
      const needed = roomFor(this.#arrays, settled - done);
      const { pairs, related } = roomOf(this.#arrays);
      if (needed.pairs > pairs || needed.related > related) this.#arrays = withRoom(this.#arrays, needed);
      done += kernels().eventStatistics({
        ...this.#arrays,
        ...{ numNodes: this.#numNodes, clock: this.#clock, width: this.width },
        ...{ pairRoom: needed.pairs, relatedRoom: needed.related, slotCount: this.#arrays.pairSlots.length },
        ...{ src: src.subarray(done), dst: dst.subarray(done), times: times.subarray(done) },
        numEvents: settled - done,
        querySrc: queries.src.subarray(query),
        queryTimes: queries.times.subarray(query),
        queryBefore: done === 0 ? queries.before : queries.before.subarray(query).map((n) => n - done),
        offsets: queries.offsets.subarray(query),
        candidates: queries.candidates,
        numQueries: queries.src.length - query,
        ...{ ...scaling, out },
      });
      if (done === settled) return;
      while (query < queries.src.length && queries.before[query] <= done) query++;
    }
  }

  /** Returns how many events are before the latest time, or all of them where queries alone are at later ones. */
  #settled({ times }: EventSlice, last: number, asked: Float64Array | null): number {
    if (asked !== null && asked.length > 0) {
      const [least, most] = [Math.min(...extremes(asked)), Math.max(...extremes(asked))];
      if (least < last || (least === last && most > last))
        throw new StateError(expected(where, `times after ${last}, which it has reached,`, 'a query', least));
      return least > last ? times.length : 0;
    }
    let settled = times.length;
    while (settled > 0 && times[settled - 1] === last) settled--;
    return settled;
  }

  #checkEvents(events: EventSlice): EventSlice {
    const { src, dst, times } = events;
    if (dst.length !== src.length || times.length !== src.length)
      throw new ShapeError(expected(where, `${src.length} destinations and times`, 'events', dst.length));
    checkNodes('observe', src, this.#numNodes);
    checkNodes('observe', dst, this.#numNodes);
    let before = this.#lastTime;
    for (const time of times) {
      if (!(time >= before) || time === Number.POSITIVE_INFINITY)
        throw new StateError(
          expected(where, `a time of at least ${before}, which it has reached,`, 'an event', time),
        );
      before = time;
    }
    return events;
  }

  #checkQueries({ src, times, offsets, candidates }: PairQueries, { out }: PairNumbers): void {
    checkNodes('describe', src, this.#numNodes);
    checkNodes('describe', candidates, this.#numNodes);
    const fits = times.length === src.length && offsets.length === src.length + 1;
    if (!fits || out.length < candidates.length * this.width)
      throw new ShapeError(
        expected(where, `${candidates.length} rows of ${this.width} numbers`, 'out', out.length),
      );
  }
}

/** Returns how many of the settled events are before each time. Times of queries ascend with events, or are all later. */
function visible(times: Float64Array, settled: number, asked: Float64Array): Int32Array {
  const before = new Int32Array(asked.length);
  let count = 0;
  for (const [i, time] of asked.entries()) {
    while (count < settled && times[count] < time) count++;
    before[i] = count;
  }
  return before;
}

function extremes(values: Float64Array): [number, number] {
  let [least, most] = [values[0], values[0]];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}

function noEvents(): EventSlice {
  return { src: new Int32Array(0), dst: new Int32Array(0), times: new Float64Array(0) };
}

function joined(a: EventSlice, b: EventSlice): EventSlice {
  if (a.src.length === 0) return b;
  const count = a.src.length + b.src.length;
  const all = { src: new Int32Array(count), dst: new Int32Array(count), times: new Float64Array(count) };
  for (const name of ['src', 'dst', 'times'] as const) {
    all[name].set(a[name]);
    all[name].set(b[name], a.src.length);
  }
  return all;
}

export function sliceEvents({ src, dst, times }: EventSlice, from: number, to: number): EventSlice {
  return { src: src.slice(from, to), dst: dst.slice(from, to), times: times.slice(from, to) };
}

function checkNodes(what: string, nodes: Int32Array, numNodes: number): void {
  for (const node of nodes)
    if (node < 0 || node >= numNodes)
      throw new ValueError(
        expected(`${where}.${what}`, `nodes from 0 to ${numNodes - 1}`, 'a node', node, 'Call grow first.'),
      );
}
