/**
 * Where the rows of a mailbox are. `SharedMailBox` checks its arguments and keeps the rules; a store reads, writes and copies
 * rows: all in this process (`LocalStore`), those of a partition (`PartitionStore`), or distributed over workers
 * (src/dist/temporal).
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from './check-delta.js';
import type { MailBoxRows } from './rows.js';
import type { StateName, StateSizes } from './state.js';

/** Features to read together with mails. */
export interface WholeFeatures {
  readonly features: Float32Array;
  readonly width: number;
}

export interface StateStore {
  /** Whether every call is collective: all workers make it, also those that have nothing to read or write. */
  readonly collective: boolean;
  /** Ids are below this. */
  readonly numNodes: number;
  /** Rows that `copy` returns. */
  readonly numRows: number;
  /** Bytes that this process holds. */
  readonly bytes: number;
  /** Empties all rows. */
  reset(): void;
  /** Makes room for new nodes, which start empty. */
  grow(numNodes: number): void;
  /** Copies the rows of each list of nodes; with `whole`, mails and the features of their events are one matrix. */
  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[];
  /** Throws what `write` would throw, and changes nothing. */
  check(where: string, delta: PlainDelta): void;
  /** Applies a change as a whole, or throws. @param features of events, where slots keep their mean. */
  write(where: string, delta: PlainDelta, features: Float32Array | null): void;
  /** Exchanges changes that the store has held back, if it does so. */
  settle(): void;
  /** Copies the arrays of all rows. */
  copy(): Record<StateName, TypedArray>;
  /** Replaces all rows by arrays that `copy` returned. */
  load(arrays: Readonly<Record<string, TypedArray>>): void;
  /** Returns the pending changes of all workers. */
  gatherPending(delta: PlainDelta): PlainDelta;
  /** Whether this process takes the pending changes of a snapshot when it is restored. */
  readonly takesPending: boolean;
}

/** Makes the store of a mailbox; a store of several workers may be given the number of rows of this worker as `numNodes`. */
export type StoreFactory = (sizes: StateSizes, combine: 'last' | 'mean') => StateStore;
