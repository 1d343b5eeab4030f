/**
 * State that events change: memory and mail, recurrent state over snapshots, counts of meetings. A run resets it at the
 * beginning of an epoch, writes it into checkpoints, and serves from it; training and scoring commit to it.
 */
import type { TypedArray } from '../native/index.js';
import type { TemporalBatch } from './batch.js';
import type { TemporalOutput } from './models/output.js';

/** State as plain arrays (Float32Array, Float64Array, Int32Array) and, beside them, values that survive JSON. */
export interface StateSnapshot {
  readonly arrays: Readonly<Record<string, TypedArray>>;
  readonly [key: string]: unknown;
}

export interface TemporalState {
  /** What checkpoints call it: a word of letters. */
  readonly name: string;
  readonly bytes: number;
  /** Forgets all events, and nothing that was learned. */
  reset(): void;
  snapshot(): StateSnapshot;
  /** Becomes what the snapshot was taken of; one that does not fit is refused and changes nothing. */
  restore(saved: StateSnapshot): void;
  /** Makes room for nodes with numbers below `numNodes`; absent: nodes are fixed. */
  grow?(numNodes: number): void;
  /** Writes what waits, at the end of an epoch. */
  drain?(): void;
}

/** State that a `TemporalRuntime` commits to: the change of a batch is made first, then written as a whole. */
export interface CommittedState<Delta = unknown> extends TemporalState {
  /** What the events of a batch change. Writes nothing. `output` gives what the model made of the batch. */
  prepare(batch: TemporalBatch, output: () => TemporalOutput): Delta;
  /** Refuses what `commit` would refuse, before parameters move. */
  check?(delta: Delta): void;
  commit(delta: Delta): void;
}
