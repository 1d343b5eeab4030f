/**
 * The model of a stream: takes released events into the graph, where neighbours are current at once, and into the state,
 * batch by batch. Where batches end follows from the released events alone, so that the state does too.
 */
import type { TemporalState } from '../../temporal/index.js';
import type { OnlineScorer } from '../../temporal/online.js';
import type { EventColumnMaker } from '../event-columns.js';
import type { DestinationPool, GrowingNodes } from './growing-nodes.js';
import type { PlainEvent } from './log-entry.js';
import type { RollingQuality } from './quality.js';

export interface StreamModelParts {
  readonly scorer: OnlineScorer;
  readonly nodes: GrowingNodes;
  readonly pool: DestinationPool;
  readonly columns: EventColumnMaker;
  readonly batchSize: number;
  /** Null: events are not ranked. */
  readonly quality: RollingQuality | null;
}

/** Columns of released events. */
export interface ReleasedColumns {
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  readonly types?: Int32Array;
  readonly features?: Float32Array;
}

export class StreamModel {
  readonly parts: StreamModelParts;
  /** Rows of the training stream. */
  readonly baseRows: number;
  readonly #scorer: OnlineScorer;
  readonly #state: TemporalState | null;
  /** Rows at which a batch ends whatever its size, ascending. */
  #cuts: number[] = [];
  /** Events per second of the last slices. */
  #rate = 0;

  constructor(parts: StreamModelParts) {
    this.parts = parts;
    this.#scorer = parts.scorer;
    this.#state = parts.scorer.state;
    this.baseRows = parts.scorer.graph.numEvents;
  }

  /** Released events. */
  get released(): number {
    return this.#scorer.graph.numEvents - this.baseRows;
  }

  /** Released events that the state contains. */
  get applied(): number {
    return this.#state === null ? this.released : this.#scorer.stateRows - this.baseRows;
  }

  get rate(): number {
    return this.#rate;
  }

  release(events: readonly PlainEvent[]): void {
    const { nodes, columns } = this.parts;
    const count = events.length;
    const src = new Int32Array(count);
    const dst = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      src[i] = nodes.numberOf(events[i].head, 'src');
      dst[i] = nodes.numberOf(events[i].tail, 'dst');
    }
    const time = Float64Array.from(events, (event) => event.time);
    this.take({ src, dst, time, ...columns.columns(events) });
  }

  /** Adds events whose nodes have numbers. */
  take(columns: ReleasedColumns): void {
    const { nodes, pool } = this.parts;
    const first = this.#scorer.graph.numEvents;
    this.#scorer.addNodes(nodes.size);
    this.#scorer.append(columns);
    for (let i = 0; i < columns.dst.length; i++) pool.add(columns.dst[i], first + i);
  }

  /** Ends a batch after the events that are released. */
  cut(): void {
    if (this.#state === null || this.#state.isBatchFree === true) return;
    const { numEvents } = this.#scorer.graph;
    if (numEvents > (this.#cuts.at(-1) ?? this.#scorer.stateRows)) this.#cuts.push(numEvents);
  }

  /** Returns whether `applyBatch` would commit one. */
  hasBatch(watermark: number): boolean {
    return this.#batchEnd(watermark) !== null;
  }

  /** Commits one batch, if there is a whole one; returns whether. `watermark` tells whether a time is complete. */
  applyBatch(watermark: number): boolean {
    const end = this.#batchEnd(watermark);
    if (end === null) return false;
    const started = performance.now();
    const from = this.#scorer.stateRows;
    this.#rankEvents(from, end);
    this.#scorer.advanceTo(end);
    while (this.#cuts.length > 0 && this.#cuts[0] <= end) this.#cuts.shift();
    const rate = (end - from) / Math.max(1e-6, (performance.now() - started) / 1000);
    this.#rate = this.#rate === 0 ? rate : 0.9 * this.#rate + 0.1 * rate;
    return true;
  }

  /** The columns of released events from `from` to `to`. */
  columnsOf(from: number, to: number): ReleasedColumns {
    const { src, dst, time, types, features, featureWidth } = this.#scorer.graph;
    const [begin, end] = [this.baseRows + from, this.baseRows + to];
    return {
      ...{ src: src.slice(begin, end), dst: dst.slice(begin, end), time: time.slice(begin, end) },
      ...(types === null ? {} : { types: types.slice(begin, end) }),
      ...(features === null ? {} : { features: features.slice(begin * featureWidth, end * featureWidth) }),
    };
  }

  save(): { readonly applied: number; readonly cuts: readonly number[] } {
    return { applied: this.applied, cuts: [...this.#cuts] };
  }

  /** Continues with a restored state that contains the first `applied` events. */
  load(applied: number, cuts: readonly number[]): void {
    this.#scorer.continueAt(this.baseRows + applied);
    this.#cuts = [...cuts];
  }

  /** Returns the row after the next batch; null if its events are not complete. */
  #batchEnd(watermark: number): number | null {
    const { graph, stateRows: from } = this.#scorer;
    const { time, numEvents } = graph;
    if (this.#state === null || from === numEvents) return null;
    const { batchSize } = this.parts;
    // Small slices, so that events are ranked by a state that lacks few others.
    if (this.#state.isBatchFree === true) return Math.min(numEvents, from + freeBatch);
    const [cut = Number.POSITIVE_INFINITY] = this.#cuts;
    let end = from + batchSize;
    if (cut <= end) return cut;
    if (end > numEvents) return null;
    // Events of one time do not see each other, so they are never in two batches, unless a flush separated them.
    const last = Math.min(cut, numEvents);
    while (end < last && time[end] === time[end - 1]) end++;
    if (end === cut) return cut;
    return end === numEvents && time[end - 1] >= watermark ? null : end;
  }

  /** Ranks some of the events of a batch, which the state does not contain yet. */
  #rankEvents(from: number, end: number): void {
    const { quality, pool } = this.parts;
    if (quality === null) return;
    const { time, dst } = this.#scorer.graph;
    const reached = from === 0 ? Number.NEGATIVE_INFINITY : time[from - 1];
    const first = this.baseRows + Math.ceil((from - this.baseRows) / quality.every) * quality.every;
    const rows: number[] = [];
    for (let row = first; row < end; row += quality.every)
      if (time[row] > reached && pool.countBefore(row) > 1) rows.push(row);
    if (rows.length === 0) return;
    const others = new Int32Array(rows.length * quality.candidates);
    for (const [i, row] of rows.entries())
      others.set(
        quality.draw(row - this.baseRows, dst[row], pool.nodes, pool.countBefore(row)),
        i * quality.candidates,
      );
    quality.add(this.#scorer.scoreEvents(Int32Array.from(rows), others));
  }
}

/** Events per slice where the state does not depend on batches. */
const freeBatch = 500;
