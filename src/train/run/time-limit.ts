/**
 * The time limit of a run (`training.time_limit`). What the clock decides becomes a number of epochs, once: the first
 * batches are measured, and the epochs that fit the limit are recorded before anything depends on them. If epochs take
 * longer than measured, training ends before the one that would exceed the limit, and that number is recorded too.
 */
import type { FitState } from '../fit.js';

/** The fraction of the time that measured epochs may fill: evaluations are not measured. */
const share = 0.9;
/** Batches that are measured, after one that is not. */
const fewestBatches = 4;
/** Seconds that are measured at least, unless the limit is short. */
const fewestSeconds = 2;

export interface TimeLimitOptions {
  readonly seconds: number;
  /** Seconds of the run before it was resumed. */
  readonly elapsed: number;
  /** Items of an epoch. */
  readonly itemsPerEpoch: number;
  /** Whether the number of epochs has been recorded already. */
  readonly isPlanned: boolean;
  /** Returns the current time in seconds. */
  readonly now?: () => number;
}

export class TimeLimit {
  readonly #options: TimeLimitOptions;
  readonly #now: () => number;
  readonly #started: number;
  #isPlanned: boolean;
  /** The first measured moment. */
  #from: { readonly time: number; readonly items: number } | null = null;
  #batches = 0;

  constructor(options: TimeLimitOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now() / 1000);
    this.#started = this.#now();
    this.#isPlanned = options.isPlanned;
  }

  /** Returns the number of epochs that the limit allows, when it is determined; otherwise undefined. */
  epochs({ position, progress }: Pick<FitState, 'position' | 'progress'>): number | undefined {
    const { seconds, itemsPerEpoch } = this.#options;
    const time = this.#now();
    const left = seconds - this.#options.elapsed - (time - this.#started);
    const items = position.epoch * itemsPerEpoch + progress.items;
    this.#from ??= { time, items };
    const measured = { seconds: time - this.#from.time, items: items - this.#from.items };
    const rate = measured.items / Math.max(measured.seconds, 1e-9);
    if (position.step === 0 && rate > 0 && left < itemsPerEpoch / rate) {
      this.#isPlanned = true;
      return position.epoch;
    }
    const isMeasured =
      this.#batches++ >= fewestBatches && measured.seconds >= Math.min(fewestSeconds, seconds / 50);
    if (this.#isPlanned || !isMeasured) return undefined;
    this.#isPlanned = true;
    return Math.max(1, Math.floor((items + share * Math.max(0, left) * rate) / Math.max(1, itemsPerEpoch)));
  }
}
