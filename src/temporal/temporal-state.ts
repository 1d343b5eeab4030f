/**
 * State that events change: memory and mail, recurrent state over snapshots, counts of meetings. A run resets it at the
 * beginning of an epoch, writes it into checkpoints, and serves from it; training and scoring commit to it.
 */
import type { TypedArray } from '../native/index.js';
import type { TemporalBatch } from './batch.js';
import type { TemporalOutput } from './models/output.js';
import type { EventSlice } from './steps.js';

/** State as plain arrays (Float32Array, Float64Array, Int32Array), with values that can be written as JSON. */
export interface StateSnapshot {
  readonly arrays: Readonly<Record<string, TypedArray>>;
  readonly [key: string]: unknown;
}

export interface TemporalState {
  /** Its name in checkpoints: letters only. */
  readonly name: string;
  readonly bytes: number;
  /** Removes all events; learned parameters stay. */
  reset(): void;
  snapshot(): StateSnapshot;
  /** Restores a snapshot; one that does not fit throws and changes nothing. */
  restore(saved: StateSnapshot): void;
  /** Whether the state after some events does not depend on how they were divided into batches. Default false. */
  readonly isBatchFree?: boolean;
  /**
   * Returns the result of `work`, which sees a copy of the state that has also observed `events`; the state itself does not
   * change. Only for states that do not depend on batches.
   */
  withEvents?<T>(events: EventSlice, work: () => T): T;
  /** Makes room for nodes with numbers below `numNodes`; absent: nodes are fixed. */
  grow?(numNodes: number): void;
  /** Commits pending changes, at the end of an epoch. */
  drain?(): void;
}

/** State that a `TemporalRuntime` commits to: the delta of a batch is prepared first, then written as a whole. */
export interface CommittedState<Delta = unknown> extends TemporalState {
  /** Returns the delta of a batch and writes nothing. `output` runs the model on the batch. */
  prepare(batch: TemporalBatch, output: () => TemporalOutput): Delta;
  /** Throws what `commit` would throw, before parameters change. */
  check?(delta: Delta): void;
  commit(delta: Delta): void;
}
