/**
 * Baselines as kinds of temporal models: a run goes through the training events once, then evaluates. An event is scored when
 * all events of earlier times have been observed and none of its own time, within a batch as well, so batches do not matter.
 * Only in batches with a `rowLimit` an event is scored when the events of earlier batches have been observed.
 */
import { Module } from '../../nn/index.js';
import { expected, StateError } from '../../util/errors.js';
import type { Settings, ValuesOf } from '../../util/settings.js';
import type { TemporalBatch } from '../batch.js';
import { CandidateIndex } from '../candidates.js';
import { type TemporalModelKind, type TemporalPlace, temporalModelKind } from '../models/model-kind.js';
import { isPreviewOf, type Preview } from '../preview.js';
import type { CandidateOptions, EventSlice, ScoredStep, ScoringSteps } from '../steps.js';
import type { StateSnapshot, TemporalState } from '../temporal-state.js';
import type { DurableBaseline } from './baseline.js';

export interface BaselineKind<S extends Settings> {
  readonly kind: string;
  readonly doc: string;
  readonly settings: S;
  check?(place: TemporalPlace<ValuesOf<S>>): string | null;
  baseline(place: TemporalPlace<ValuesOf<S>>): DurableBaseline;
}

/** A baseline for `registerTemporalModel`. */
export function baselineKind<S extends Settings>({
  baseline,
  ...kind
}: BaselineKind<S>): TemporalModelKind<S> {
  return temporalModelKind<S>({
    ...kind,
    learns: false,
    make(place) {
      const state = new BaselineState(() => baseline(place));
      return { model: new Baseline(), state, needs: {}, steps: new BaselineSteps(state) };
    },
  });
}

/** Returns the duration of the training split of a stream. */
export function trainingTime({ graph, trainEnd }: Pick<TemporalPlace, 'graph' | 'trainEnd'>): number {
  return trainEnd > 0 ? graph.time[trainEnd - 1] - graph.time[0] : 0;
}

/** A module without parameters: a baseline has only state. */
class Baseline extends Module {
  forward(): never {
    throw new StateError('forward: expected a network, got a baseline, which scores events one by one.');
  }
}

interface BaselineContent {
  readonly baseline: DurableBaseline;
  readonly src: number[];
  readonly dst: number[];
  readonly time: number;
}

/** The state of a baseline, with the events of the latest time, which it observes when a later event arrives. */
class BaselineState implements TemporalState {
  readonly name = 'baseline';
  readonly isBatchFree = true;
  readonly #make: () => DurableBaseline;
  #baseline: DurableBaseline;
  #src: number[] = [];
  #dst: number[] = [];
  /** Time of the pending events. */
  #time = Number.NEGATIVE_INFINITY;
  #preview: Preview<BaselineContent> | null = null;

  constructor(make: () => DurableBaseline) {
    this.#make = make;
    this.#baseline = make();
  }

  get baseline(): DurableBaseline {
    return this.#baseline;
  }

  get bytes(): number {
    return this.baseline.bytes + 8 * this.#src.length;
  }

  /** Observes the pending events before a time. */
  advance(time: number): void {
    if (time < this.#time)
      throw new StateError(
        expected('baseline', `a time of at least ${this.#time}, which it has seen,`, 'an event', time),
      );
    if (time > this.#time) this.observeAll();
  }

  /** Observes all pending events. */
  observeAll(): void {
    for (const [i, src] of this.#src.entries()) this.baseline.observe(src, this.#dst[i], this.#time);
    this.#src = [];
    this.#dst = [];
  }

  /** Adds an event of the latest time or of a later one. */
  take(src: number, dst: number, time: number): void {
    this.#preview = null;
    this.advance(time);
    this.#time = time;
    this.#src.push(src);
    this.#dst.push(dst);
  }

  withEvents<T>(events: EventSlice, work: () => T): T {
    const own = this.#content;
    const kept = this.#preview;
    // Kept again after work that succeeds: a failure may leave it half changed.
    this.#preview = null;
    try {
      if (isPreviewOf(kept, events)) this.#content = kept.content;
      else {
        this.#baseline = this.#make();
        this.#baseline.restore(own.baseline.snapshot());
        [this.#src, this.#dst] = [[...own.src], [...own.dst]];
        for (const [i, src] of events.src.entries()) this.take(src, events.dst[i], events.times[i]);
      }
      const result = work();
      this.#preview = { events, content: this.#content };
      return result;
    } finally {
      this.#content = own;
    }
  }

  get #content(): BaselineContent {
    return { baseline: this.#baseline, src: this.#src, dst: this.#dst, time: this.#time };
  }

  set #content({ baseline, src, dst, time }: BaselineContent) {
    [this.#baseline, this.#src, this.#dst, this.#time] = [baseline, src, dst, time];
  }

  reset(): void {
    this.#preview = null;
    this.baseline.forget();
    [this.#src, this.#dst, this.#time] = [[], [], Number.NEGATIVE_INFINITY];
  }

  snapshot(): StateSnapshot {
    const { arrays, ...rest } = this.baseline.snapshot();
    return {
      ...rest,
      arrays: {
        ...arrays,
        'waiting.src': Int32Array.from(this.#src),
        'waiting.dst': Int32Array.from(this.#dst),
        'waiting.time': Float64Array.of(this.#time),
      },
    };
  }

  restore(saved: StateSnapshot): void {
    this.#preview = null;
    this.baseline.restore(saved);
    this.#src = Array.from(saved.arrays['waiting.src'], Number);
    this.#dst = Array.from(saved.arrays['waiting.dst'], Number);
    this.#time = Number(saved.arrays['waiting.time'][0]);
  }

  /** Accepts any node. */
  grow(): void {}
}

class BaselineSteps implements ScoringSteps {
  readonly state: BaselineState;
  #candidates: CandidateIndex | null = null;

  constructor(state: BaselineState) {
    this.state = state;
  }

  /** Fits the baseline to each event and its negatives, if it learns, before it observes the event. */
  train(batch: TemporalBatch): { readonly loss: number } {
    const { baseline } = this.state;
    const amount = batch.negatives.length / batch.src.length;
    this.#walk(batch, (i, src, dst, time) => {
      if (baseline.learn === undefined) return;
      baseline.learn(src, dst, time, 1);
      for (let k = i * amount; k < (i + 1) * amount; k++) baseline.learn(src, batch.negatives[k], time, 0);
    });
    return { loss: 0 };
  }

  evaluate(batch: TemporalBatch): ScoredStep {
    return this.#score(batch, true);
  }

  score(batch: TemporalBatch): ScoredStep {
    return this.#score(batch, false);
  }

  evaluateCandidates(events: EventSlice, { candidates, cadence = 'moment' }: CandidateOptions) {
    const { baseline } = this.state;
    if (this.#candidates?.nodes !== candidates) this.#candidates = new CandidateIndex(candidates);
    const index = this.#candidates;
    const count = candidates.length;
    const positive = new Float64Array(events.src.length);
    const all = new Float64Array(events.src.length * count);
    const at = (i: number, src: number, dst: number, time: number): void => {
      positive[i] = baseline.score(src, dst, time);
      const out = all.subarray(i * count, (i + 1) * count);
      if (baseline.scoreMany !== undefined) baseline.scoreMany(src, index, time, out);
      else for (let k = 0; k < count; k++) out[k] = baseline.score(src, candidates[k], time);
    };
    this.#walk(cadence === 'batch' ? { ...events, rowLimit: 0 } : events, at);
    return { positive, candidates: all };
  }

  observe(batch: TemporalBatch): void {
    this.#walk(batch, () => undefined);
  }

  embed(): never {
    throw new StateError('embed: expected a model with embeddings of nodes, got a baseline.');
  }

  #score(batch: TemporalBatch, commit: boolean): ScoredStep {
    const { baseline } = this.state;
    const { negatives } = batch;
    const positive = new Float64Array(batch.src.length);
    const negative = new Float64Array(negatives.length);
    const amount = negatives.length / positive.length;
    const at = (i: number, src: number, dst: number, time: number): void => {
      positive[i] = baseline.score(src, dst, time);
      for (let k = i * amount; k < (i + 1) * amount; k++)
        negative[k] = baseline.score(src, negatives[k], time);
    };
    this.#walk(batch, at, commit);
    return { loss: 0, positive, negative };
  }

  /** Visits each event at its time; with `commit` the event is added. */
  #walk(
    { src, dst, times, rowLimit }: EventSlice & Pick<TemporalBatch, 'rowLimit'>,
    visit: (i: number, src: number, dst: number, time: number) => void,
    commit = true,
  ): void {
    if (rowLimit !== undefined) {
      this.state.observeAll();
      for (let i = 0; i < src.length; i++) visit(i, src[i], dst[i], times[i]);
    }
    for (let i = 0; i < src.length; i++) {
      if (rowLimit === undefined) {
        this.state.advance(times[i]);
        visit(i, src[i], dst[i], times[i]);
      }
      if (commit) this.state.take(src[i], dst[i], times[i]);
    }
  }
}
