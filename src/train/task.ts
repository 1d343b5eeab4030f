/**
 * What can be trained: batches of each split, a step, an evaluation, and the state that a checkpoint keeps. `fit` trains any
 * task; a run puts a directory around it.
 *
 * With several workers every worker has a task of its own, and all call the same methods in the same order.
 */
import type { Module } from '../nn/index.js';
import type { Resumable } from '../storage/safetensors-file.js';
import type { Tensor } from '../tensor/index.js';

export const splitNames = ['train', 'validation', 'test'] as const;
export type SplitName = (typeof splitNames)[number];
/** Splits that a task is evaluated on. */
export type HeldOut = Exclude<SplitName, 'train'>;

export type Metrics = Readonly<Record<string, number>>;

/** A place within an epoch. Only the batches of the task that gave it know what it means beyond `step`. */
export interface Cursor {
  /** Batches of the epoch before it. */
  readonly step: number;
  /** The state of a partition buffer. */
  readonly state?: number;
  /** Items of that state before it. */
  readonly cursor?: number;
}

/** Where training is: epochs before it, and the place within the epoch. */
export interface Position extends Cursor {
  readonly epoch: number;
}

/** A batch may say where the epoch continues after it; without, one step further. */
export interface StepBatch {
  readonly after?: Cursor | null;
}

/** An epoch of batches that can start anywhere. Look-ahead, prefetching and the share of a worker are inside it. */
export interface Batches<B> {
  /** Items of a whole epoch. */
  readonly numItems: number;
  /**
   * Whether parameters of later batches are read before earlier ones are trained. A checkpoint then starts the generator
   * again at its place, as a resumed run does, so that both have the same results.
   */
  readonly readsAhead?: boolean;
  /**
   * The batches of an epoch from `from` on. A batch is valid until the next one is requested; it must have been trained by
   * then.
   */
  epoch(epoch: number, from?: Cursor): AsyncGenerator<B, void, undefined>;
}

export interface StepLoss {
  /** Sum over items. */
  readonly loss: number;
  readonly items: number;
}

/** What a checkpoint keeps beside the parameters and their optimiser. */
export interface SavedState {
  readonly tensors: Readonly<Record<string, Tensor>>;
  /** Anything that survives JSON. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** State that can be saved and restored. */
export interface Durable {
  readonly model: Module;
  readonly optimizer: Resumable | null;
  snapshot(): Promise<SavedState>;
  /** Becomes what `snapshot` was taken of; the caller restores model and optimizer. */
  restore(saved: SavedState): Promise<void>;
  /** Removes files that none of the states needs, those of all checkpoints that exist. */
  prune?(kept: readonly SavedState['state'][]): Promise<void>;
}

export type ItemName = 'edges' | 'nodes' | 'events' | 'rows' | 'graphs';

export interface Task<B extends object = object> extends Durable {
  /** What batches consist of. */
  readonly items: ItemName;
  readonly batches: Readonly<Record<SplitName, Batches<B>>>;
  /** The metric that decides about early stopping and the best state. */
  readonly headline: string;
  /** Metrics of which less is better, beside those that `fit` knows. */
  readonly lowerIsBetter?: readonly string[];
  /** Whether evaluation moves the state on, as the memory of a stream of events does. */
  readonly evaluationMovesState?: boolean;
  /** Called before the first batch of an epoch, not when training resumes within it. */
  startEpoch?(epoch: number): void | Promise<void>;
  /** Multiplies the configured learning rates, from the next step on. */
  scaleRates?(factor: number): void;
  /** Forward, backward, updates of parameters and rows. */
  train(batch: B): StepLoss | Promise<StepLoss>;
  /** Metrics of a split; empty when the split is. */
  evaluate(split: HeldOut, onProgress?: (done: number, total: number) => void): Promise<Metrics>;
  close(): Promise<void>;
}
