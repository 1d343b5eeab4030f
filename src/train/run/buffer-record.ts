/** The memory of a run and the states of its partition buffer, as buffer.json records them. */

/** Bytes of a process by their use. */
export interface BufferMemory {
  /** The limit; null without one. */
  readonly budget: number | null;
  /** All rows, most of them in files. */
  readonly table: number;
  /** Resident partitions. */
  readonly buffer: number;
  /** Partitions that are being read or written, and edges of the resident ones; 0 without a plan. */
  readonly transfers: number;
  readonly edges: number;
  /** The rest of the process; 0 without a plan. */
  readonly reserved: number;
  /** Bytes of an epoch; null without a plan. */
  readonly read: number | null;
  readonly written: number | null;
}

/** A buffer state that has become resident. */
export interface EnteredState {
  /** From 1. */
  readonly epoch: number;
  readonly state: number;
  readonly partitions: number;
  /** The resident partitions of each state of the epoch. */
  readonly states: readonly (readonly number[])[];
  /** The buckets a·p + b that each state trains; null for nodes, and for too many partitions to be drawn. */
  readonly buckets: readonly (readonly number[])[] | null;
  /** Edges or nodes that each state trains. */
  readonly items: readonly number[];
}

export interface BufferRecord {
  readonly memory: BufferMemory;
  /** Null before the first epoch, and in a run whose rows are all in memory. */
  readonly now: EnteredState | null;
}

/** Partitions whose buckets a picture can show. */
export const mostDrawnPartitions = 64;

/** Receives a state that has become resident; it is described only where the description is used. */
export type OnState = (isLast: boolean, describe: () => EnteredState) => void;
