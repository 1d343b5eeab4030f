/**
 * Scores of a question about the future as if some past events had not happened. Running statistics are counted again without
 * them. Other models sample past events or search them: there the events are no longer neighbours, but what they have written
 * into memory stays.
 */
import type { TemporalGraph } from '../../graph/index.js';
import type { OnlineScorer } from '../../temporal/index.js';
import type { EventStatistics } from '../../temporal/statistics/event-statistics.js';
import { StatisticsSteps } from '../../temporal/statistics/statistics-steps.js';
import type { EventSlice } from '../../temporal/steps.js';
import type { OpenedEventRun } from '../../train/index.js';
import type { EventExplanation } from './explanation.js';

/** A question by ids. */
export interface AskedPair {
  readonly src: number;
  readonly dst: number;
  readonly time: number;
}

export interface EventOcclusion {
  readonly method: EventExplanation['method'];
  /** Returns the score of the question without the events of some rows. */
  score(without: ReadonlySet<number>): number;
}

/** Returns how a model can be asked without past events; null if it cannot. */
export function occlusionMethod({ parts }: OpenedEventRun): EventExplanation['method'] | null {
  if (parts.runtime instanceof StatisticsSteps) return 'statistics';
  const { neighbors, pairDepth = 0 } = parts.needs;
  const samples =
    neighbors !== undefined && neighbors.strategy !== 'identity' && neighbors.fanouts.length > 0;
  return samples || pairDepth > 0 ? 'neighbors' : null;
}

/**
 * Returns the rows that answers depend on, ascending: statistics have not observed the training events of nodes that were held
 * out; neighbours are those of the whole stream.
 */
export function observedRows(
  { parts, stream }: OpenedEventRun,
  { graph, stateRows }: OnlineScorer,
): Int32Array {
  if (!(parts.runtime instanceof StatisticsSteps))
    return Int32Array.from({ length: graph.numEvents }, (_, row) => row);
  const { train } = stream.rows;
  const { trainEnd } = stream.split;
  const rows = new Int32Array(train.length + stateRows - trainEnd);
  rows.set(train);
  for (let row = trainEnd; row < stateRows; row++) rows[train.length + row - trainEnd] = row;
  return rows;
}

/** @param rows those of `observedRows` @param first no event before this row is left out later */
export function eventOcclusion(
  run: OpenedEventRun,
  scorer: OnlineScorer,
  asked: AskedPair,
  rows: Int32Array,
  first: number,
): EventOcclusion {
  const { runtime } = run.parts;
  return runtime instanceof StatisticsSteps
    ? new StatisticsOcclusion(runtime, scorer, asked, rows, first)
    : new NeighborOcclusion(scorer, asked);
}

class StatisticsOcclusion implements EventOcclusion {
  readonly method = 'statistics';
  readonly #steps: StatisticsSteps;
  readonly #asked: AskedPair;
  /** Statistics of the events before all those that are left out. */
  readonly #before: EventStatistics;
  /** The other rows. */
  readonly #later: Int32Array;
  readonly #graph: TemporalGraph;

  constructor(
    steps: StatisticsSteps,
    scorer: OnlineScorer,
    asked: AskedPair,
    rows: Int32Array,
    first: number,
  ) {
    this.#steps = steps;
    this.#asked = asked;
    this.#graph = scorer.graph;
    this.#before = steps.state.withoutEvents();
    this.#before.observe(this.#events(rows.filter((row) => row < first)));
    this.#later = rows.filter((row) => row >= first);
  }

  #events(rows: Int32Array): EventSlice {
    const { src, dst, time } = this.#graph;
    return {
      src: rows.map((row) => src[row]),
      dst: rows.map((row) => dst[row]),
      times: Float64Array.from(rows, (row) => time[row]),
    };
  }

  score(without: ReadonlySet<number>): number {
    const { src, dst, time } = this.#asked;
    const events = this.#events(this.#later.filter((row) => !without.has(row)));
    return this.#before.withEvents(events, () => this.#steps.scoreBy(this.#before, src, dst, time));
  }
}

class NeighborOcclusion implements EventOcclusion {
  readonly method = 'neighbors';
  readonly #scorer: OnlineScorer;
  readonly #asked: AskedPair;

  constructor(scorer: OnlineScorer, asked: AskedPair) {
    this.#scorer = scorer;
    this.#asked = asked;
  }

  score(without: ReadonlySet<number>): number {
    const { src, dst, time } = this.#asked;
    return this.#scorer.graph.withoutNeighbors(without, () => this.#scorer.score(src, dst, time)[0]);
  }
}
