/**
 * The `Task` interface: batches of each split, a training step, an evaluation, and the state that a checkpoint keeps. `fit`
 * trains any task; a run puts a directory around it.
 *
 * With several workers each worker has its own task, and all of them call the same methods in the same order.
 */
import type { Module } from '../nn/index.js';
import type { Resumable } from '../storage/safetensors-file.js';
import type { Tensor } from '../tensor/index.js';

export const splitNames = ['train', 'validation', 'test'] as const;
export type SplitName = (typeof splitNames)[number];
/** Splits that a task is evaluated on. */
export type HeldOut = Exclude<SplitName, 'train'>;

export type Metrics = Readonly<Record<string, number>>;

/** The result of a method that learns nothing, on the items of a split. */
export interface Baseline {
  /** For example `counting`. */
  readonly name: string;
  readonly metrics: Metrics;
  /** The number of evaluated items, if not all of the split. */
  readonly items?: number;
}

/** A position within an epoch. Beyond `step`, its meaning is private to the batches that produced it. */
export interface Cursor {
  /** Number of batches of the epoch before this position. */
  readonly step: number;
  /** Index of the buffer state, with a partition buffer. */
  readonly state?: number;
  /** Number of items of that buffer state before this position. */
  readonly cursor?: number;
}

/** A position in training: the number of finished epochs, and the position within the current one. */
export interface Position extends Cursor {
  readonly epoch: number;
}

/** A batch may state where the epoch continues after it. Default: one step further. */
export interface StepBatch {
  readonly after?: Cursor | null;
}

/** An epoch of batches that can start at any position. Look-ahead, prefetching and the share of a worker are internal to it. */
export interface Batches<B> {
  /** Items of a whole epoch. */
  readonly numItems: number;
  /**
   * Whether parameters of later batches are read before earlier ones are trained. A checkpoint then restarts the generator
   * at its position, as a resumed run does, so that both give the same results.
   */
  readonly readsAhead?: boolean;
  /**
   * Generates the batches of an epoch, starting at `from`. A batch is valid until the next one is requested, and must have
   * been trained by then.
   */
  epoch(epoch: number, from?: Cursor): AsyncGenerator<B, void, undefined>;
}

export interface StepLoss {
  /** Sum over items. */
  readonly loss: number;
  readonly items: number;
}

/** State that a checkpoint keeps in addition to the parameters and their optimiser. */
export interface SavedState {
  readonly tensors: Readonly<Record<string, Tensor>>;
  /** Any JSON value. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** State that can be saved and restored. */
export interface Durable {
  readonly model: Module;
  readonly optimizer: Resumable | null;
  snapshot(): Promise<SavedState>;
  /** Restores a state that `snapshot` returned; the caller restores model and optimizer. */
  restore(saved: SavedState): Promise<void>;
  /** Removes files that no state in `kept` (the states of all existing checkpoints) refers to. */
  prune?(kept: readonly SavedState['state'][]): Promise<void>;
}

export type ItemName = 'edges' | 'nodes' | 'events' | 'rows' | 'graphs';

export interface Task<B extends object = object> extends Durable {
  /** The kind of items in a batch. */
  readonly items: ItemName;
  readonly batches: Readonly<Record<SplitName, Batches<B>>>;
  /** The metric that early stopping and the best state are based on. */
  readonly headline: string;
  /** Metrics for which lower is better, in addition to those that `fit` knows. */
  readonly lowerIsBetter?: readonly string[];
  /** Whether evaluation advances the state, as it does the memory of an event stream. */
  readonly evaluationMovesState?: boolean;
  /** Called before the first batch of an epoch, not when training resumes within it. */
  startEpoch?(epoch: number): void | Promise<void>;
  /** Multiplies the configured learning rates, from the next step on. */
  scaleRates?(factor: number): void;
  /** Forward, backward, updates of parameters and rows. */
  train(batch: B): StepLoss | Promise<StepLoss>;
  /** Returns the metrics of a split; empty for an empty split. */
  evaluate(split: HeldOut, onProgress?: (done: number, total: number) => void): Promise<Metrics>;
  /** Returns baselines for the metrics of a split, after it was evaluated. */
  baselines?(split: HeldOut): Promise<readonly Baseline[]>;
  close(): Promise<void>;
}
