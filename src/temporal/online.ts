/**
 * A trained model on a live stream: appends events and scores pairs.
 *
 * Appending only adds events to the graph, which takes a microsecond per event; neighbours are current immediately. In memory every
 * event depends on the ones before, so an update is a pass of the model: `advance` commits pending events in batches, as training
 * did. A score uses the memory as it is; call `advance()` first to make it current.
 */

import type { TemporalEvents, TemporalGraph } from '../graph/index.js';
import type { Appended } from '../graph/temporal-graph.js';
import type { TemporalNeighborSampler } from '../sample/index.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { type Latency, LatencyLog } from '../util/latency-log.js';
import { checkOptionNames } from '../util/option-names.js';
import { BatchMaker, type Pairs, range } from './batch-maker.js';
import type { ScoreArray, ScoredStep, ScoringSteps } from './steps.js';
import type { TemporalState } from './temporal-state.js';

export interface OnlineOptions {
  readonly graph: TemporalGraph;
  readonly sampler: TemporalNeighborSampler;
  readonly runtime: ScoringSteps;
  /** Events per pass of the model over memory. Default 200. */
  readonly batchSize?: number;
  /** Events that memory already contains; default: those of the graph. */
  readonly stateRows?: number;
  /** As the loader's. */
  readonly pairDepth?: number;
}

/** From this number on, destinations of one source are scored as candidates, where the model can. */
const manyCandidates = 64;

export class OnlineScorer {
  readonly graph: TemporalGraph;
  readonly #sampler: TemporalNeighborSampler;
  readonly #runtime: ScoringSteps;
  readonly #maker: BatchMaker;
  readonly #batchSize: number;
  readonly #latencies = new LatencyLog();
  #stateRows: number;

  constructor(options: OnlineOptions) {
    checkOptionNames('OnlineScorer', options, {
      graph: true,
      sampler: true,
      runtime: true,
      batchSize: true,
      stateRows: true,
      pairDepth: true,
    });
    this.graph = options.graph;
    this.#sampler = options.sampler;
    this.#runtime = options.runtime;
    this.#maker = new BatchMaker(options.graph, options.runtime.mailbox ?? null, options.pairDepth ?? 0);
    this.#batchSize = checkInteger('OnlineScorer', 'batchSize', options.batchSize ?? 200, 1);
    const rows = options.graph.numEvents;
    this.#stateRows = checkInteger('OnlineScorer', 'stateRows', options.stateRows ?? rows, 0, rows);
  }

  /** The state that events change; null where a model has none. */
  get state(): TemporalState | null {
    return this.#runtime.state;
  }

  /** Rows of the graph that the state contains. */
  get stateRows(): number {
    return this.#stateRows;
  }

  /** Events that are not in memory yet. */
  get numWaiting(): number {
    return this.#runtime.state === null ? 0 : this.graph.numEvents - this.#stateRows;
  }

  /** Adds events; throws and adds none if one of them is wrong. */
  append(events: TemporalEvents): Appended {
    const { state } = this.#runtime;
    // Make room for new nodes first: an event whose nodes have no row must not be in the stream.
    const needed = mostNode(events) + 1;
    if (state !== null && this.graph.growsNodes) {
      if (state.grow === undefined && needed > this.graph.numNodes)
        throw new ValueError(
          expected('append', `nodes from 0 to ${this.graph.numNodes - 1}`, 'events', needed - 1, noRoom),
        );
      state.grow?.(needed);
    }
    return this.graph.append(events);
  }

  /**
   * Returns the result of `work`, whose scores see `events` after all others; afterwards everything is as before. A state that
   * does not depend on batches contains them meanwhile; memory stays as it is, so that they are neighbours alone.
   */
  withEvents<T>(events: TemporalEvents, work: () => T): T {
    return this.graph.withEvents(events, () => {
      const { state } = this.#runtime;
      const [from, end] = [this.#stateRows, this.graph.numEvents];
      if (state?.withEvents === undefined || from === end) return work();
      const { src, dst, time } = this.graph;
      const missing = { src: src.slice(from, end), dst: dst.slice(from, end), times: time.slice(from, end) };
      return state.withEvents(missing, () => {
        this.#stateRows = end;
        try {
          return work();
        } finally {
          this.#stateRows = from;
        }
      });
    });
  }

  /** Makes room for nodes with numbers below `numNodes`, in the state and in the graph, where new ones may have features. */
  addNodes(numNodes: number, features?: Float32Array): void {
    const { state } = this.#runtime;
    if (numNodes <= this.graph.numNodes) return;
    if (state !== null && state.grow === undefined)
      throw new ValueError(
        expected('addNodes', `at most ${this.graph.numNodes} nodes`, 'numNodes', numNodes, noRoom),
      );
    state?.grow?.(numNodes);
    this.graph.addNodes(numNodes, features);
  }

  /** Declares the events below `row` to be part of the state, which was restored. */
  continueAt(row: number): void {
    this.#stateRows = checkInteger('continueAt', 'row', row, 0, this.graph.numEvents);
  }

  /**
   * Commits about `most` pending events to memory, in batches; returns their number. Events of one time are not split, so there may
   * be more.
   */
  advance(most = Number.POSITIVE_INFINITY): number {
    let done = 0;
    while (done < most && this.numWaiting > 0) {
      const count = this.#momentEnd(Math.min(this.#batchSize, this.numWaiting, most - done));
      this.#commit(this.#stateRows + count);
      done += count;
    }
    return done;
  }

  #commit(end: number): void {
    const pairs = this.#maker.pairs(range(this.#stateRows, end), new Int32Array(0));
    const roots = this.#maker.roots(pairs);
    this.#runtime.observe(this.#maker.make(pairs, roots, this.#sample(roots)));
    this.#stateRows = end;
  }

  /** Commits the pending events below `row` as one batch. */
  advanceTo(row: number): void {
    const end = checkInteger('advanceTo', 'row', row, this.#stateRows, this.graph.numEvents);
    if (end > this.#stateRows) this.#commit(end);
  }

  /**
   * Scores pairs at time `t` (default: just after the last event) as logits; a baseline returns numbers of which only the order has a
   * meaning. A single source is used for all destinations, and a single time for all pairs. A number is a list of one.
   */
  score(
    from: number | ArrayLike<number>,
    to: number | ArrayLike<number>,
    t?: number | ArrayLike<number>,
  ): ScoreArray {
    const started = performance.now();
    const src = listOf('src', from);
    const dst = listOf('dst', to);
    const count = dst.length;
    if (src.length !== 1 && src.length !== count)
      throw new ShapeError(expected('score', `1 or ${count} sources`, 'src', src.length));
    if (typeof t === 'object' && t.length !== count)
      throw new ShapeError(expected('score', `${count} times`, 't', t.length));
    const times =
      typeof t === 'object'
        ? Float64Array.from({ length: count }, (_, i) => this.#time(t[i]))
        : Float64Array.of(t === undefined ? this.now : this.#time(t));
    // A source at several times is embedded at each of them.
    const sources = times.length > 1 && src.length === 1 ? new Array<number>(count).fill(src[0]) : src;
    const scores = count > 0 ? this.#score(sources, dst, times) : new Float32Array(0);
    this.#latencies.add(performance.now() - started);
    return scores;
  }

  /**
   * Scores events of the graph that the state does not contain, each against as many negatives, at its own time: the events of
   * `rows`, then the negatives [rows · amount].
   */
  scoreEvents(rows: Int32Array, negatives: Int32Array): Pick<ScoredStep, 'positive' | 'negative'> {
    for (const row of rows)
      checkInteger('scoreEvents', 'a row', row, this.#stateRows, this.graph.numEvents - 1);
    const pairs = { ...this.#maker.pairs(rows, negatives), eventRows: new Int32Array(rows.length).fill(-1) };
    const roots = this.#maker.roots(pairs);
    return this.#runtime.score(this.#maker.make(pairs, roots, this.#sample(roots)));
  }

  #score(src: ArrayLike<number>, dst: ArrayLike<number>, times: Float64Array): ScoreArray {
    const sources = Int32Array.from({ length: src.length }, (_, i) => this.#node('src', src, i));
    const others = Int32Array.from({ length: dst.length }, (_, i) => this.#node('dst', dst, i));
    // A single source is embedded once: the first destination is the positive, the others are negatives.
    const own = sources.length;
    const pairs = {
      eventRows: new Int32Array(own).fill(-1),
      src: sources,
      dst: others.subarray(0, own),
      times: times.length === own ? times : new Float64Array(own).fill(times[0]),
      negatives: others.subarray(own),
    };
    const fast = own === 1 && others.length >= manyCandidates ? this.#candidates(pairs, others) : null;
    if (fast !== null) return fast;
    const roots = this.#maker.roots(pairs);
    const { positive, negative } = this.#runtime.score(this.#maker.make(pairs, roots, this.#sample(roots)));
    const scores =
      positive instanceof Float64Array ? new Float64Array(dst.length) : new Float32Array(dst.length);
    scores.set(positive);
    scores.set(negative, own);
    return scores;
  }

  /** Scores many destinations of one source; null where the model has no fast way. */
  #candidates(pairs: Pairs, nodes: Int32Array): ScoreArray | null {
    if (this.#runtime.scoreCandidates === undefined) return null;
    const alone = { ...pairs, negatives: new Int32Array(0) };
    const roots = this.#maker.roots(alone);
    const batch = this.#maker.make(alone, roots, this.#sample(roots));
    return this.#runtime.scoreCandidates(batch, nodes, this.graph);
  }

  /** Latency of the last 100,000 calls of `score`. */
  latency(): Latency {
    return this.#latencies.percentiles();
  }

  /** Returns the end of `most` pending events, extended to all events of the last one's time: otherwise the rest would see the first. */
  #momentEnd(count: number): number {
    const { time, numEvents } = this.graph;
    let end = this.#stateRows + count;
    while (end < numEvents && time[end] === time[end - 1]) end++;
    return end - this.#stateRows;
  }

  /** Draws depend on node and time alone, so that repeated queries have equal results. */
  #sample(roots: { readonly nodes: Int32Array; readonly times: Float64Array }) {
    return this.#sampler.sample(roots, { epoch: 0, step: 0 });
  }

  /** The time just after the last event. Events of one time do not see each other; a query then sees all. */
  get now(): number {
    const { lastTime } = this.graph;
    if (lastTime === Number.NEGATIVE_INFINITY) return 0;
    const step = 2 ** (Math.floor(Math.log2(Math.max(Math.abs(lastTime), 2 ** -900))) - 51);
    return lastTime + step;
  }

  /** Rejects times before the memory, which contains later events. */
  #time(t: number): number {
    checkNumber('score', 't', t, -1.7e38, 1.7e38);
    const known = this.#runtime.state === null || this.#stateRows === 0;
    const last = known ? Number.NEGATIVE_INFINITY : this.graph.time[this.#stateRows - 1];
    if (t > last) return t;
    throw new ValueError(
      expected('score', `a time after ${last}, which memory has reached,`, 't', t, 'Leave it out for now.'),
    );
  }

  #node(name: string, ids: ArrayLike<number>, i: number): number {
    return checkInteger('score', `${name}[${i}]`, ids[i], 0, this.graph.numNodes - 1);
  }
}

const noRoom = 'This model has no room for new ones.';

/** Returns the largest valid id; appending reports the others. */
function mostNode({ src, dst }: TemporalEvents): number {
  let most = -1;
  for (const ids of [src, dst] as readonly ArrayLike<number>[])
    for (let i = 0; i < (ids?.length ?? 0); i++)
      if (Number.isInteger(ids[i]) && ids[i] < 2 ** 31 - 2 && ids[i] > most) most = ids[i];
  return most;
}

function listOf(name: string, given: number | ArrayLike<number>): ArrayLike<number> {
  if (typeof given === 'number') return [given];
  if (typeof given === 'object' && given !== null && typeof given.length === 'number') return given;
  throw new ValueError(expected('score', 'a node or a list of nodes', name, given));
}
