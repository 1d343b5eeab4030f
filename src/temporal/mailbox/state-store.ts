/**
 * Where the rows of a mailbox lie. `SharedMailBox` checks what it is given and keeps the rules; a store reads, writes and
 * copies rows: all in this process (`LocalStore`), or shared out among workers (src/dist/temporal).
 */
import type { TypedArray } from '../../native/index.js';
import type { PlainDelta } from './check-delta.js';
import type { MailBoxRows } from './rows.js';
import type { StateName, StateSizes } from './state.js';

/** Features to read beside mails. */
export interface WholeFeatures {
  readonly features: Float32Array;
  readonly width: number;
}

export interface StateStore {
  /** Whether all workers must call it together, also one that has nothing to read or write. */
  readonly collective: boolean;
  /** Bytes that this process holds. */
  readonly bytes: number;
  /** Forgets everything. */
  reset(): void;
  /** Makes room for new nodes, which start empty. */
  grow(numNodes: number): void;
  /** For each list the state of its nodes, copied; mails with features beside them when asked for. */
  read(lists: readonly Int32Array[], whole: WholeFeatures | null): MailBoxRows[];
  /** Throws what `write` would throw, and changes nothing. */
  check(where: string, delta: PlainDelta): void;
  /** Applies a change as a whole, or throws. @param features of events, where slots keep their mean. */
  write(where: string, delta: PlainDelta, features: Float32Array | null): void;
  /** Writes what was held back, where a store does that. */
  settle(): void;
  /** Copies of the arrays of all nodes. */
  copy(): Record<StateName, TypedArray>;
  /** Becomes what was copied. */
  load(arrays: Readonly<Record<string, TypedArray>>): void;
  /** Changes that wait, of all workers. */
  gatherPending(delta: PlainDelta): PlainDelta;
  /** Whether changes that waited at a snapshot wait here after a restore. */
  readonly takesPending: boolean;
}

/** Makes the store of a mailbox of these sizes. */
export type StoreFactory = (sizes: StateSizes, combine: 'last' | 'mean') => StateStore;
