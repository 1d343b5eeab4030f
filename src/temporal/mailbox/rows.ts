/** Rows that are read from a mailbox, and the delta that a batch commits. */
import type { Tensor } from '../../tensor/index.js';

/** Copied rows of `nodes`, which later commits do not change. K = slots of mail per node, D = width of memory. */
export interface MailBoxRows {
  readonly nodes: Int32Array;
  /** [n, D]. */
  readonly memory: Tensor;
  /** Time of the last change of the memory, [n]. */
  readonly memoryTime: Float64Array;
  /** [n, K·2D]: per slot the own half, then the other end's; edge features are looked up by `mailEvents`. */
  readonly mail: Tensor;
  /** Event row of every slot [n·K]; −1 for empty slots. */
  readonly mailEvents: Int32Array;
  readonly mailTime: Float64Array;
  /** Number of filled slots [n], which are the first of a node. */
  readonly mailCount: Int32Array;
  /** Mean features of every slot's events [n·K, E], only where mails are combined by their mean. */
  readonly mailFeatures?: Tensor;
  /** Mail and features where they were read together; `mail` is then a view of it. */
  readonly wholeMail?: WholeMail;
}

/** Every mail followed by the features of its event. */
export interface WholeMail {
  /** [n, 2D + E]. */
  readonly rows: Tensor;
  /** The inputs of the rows. */
  readonly events: Int32Array;
  readonly features: Float32Array;
}

/** Returns the whole mails of `rows`; null if they were not read together, or if mail or features were replaced since. */
export function wholeMailOf(rows: MailBoxRows, features: Float32Array | null): Tensor | null {
  const { wholeMail: whole, mail, mailEvents } = rows;
  if (whole === undefined || features === null) return null;
  const same = whole.rows.storage === mail.storage && whole.events === mailEvents;
  return same && whole.features.buffer === features.buffer ? whole.rows : null;
}

/** Releases the memory of rows that are no longer used. */
export function disposeRows({ memory, mail, mailFeatures, wholeMail }: MailBoxRows): void {
  for (const t of [memory, mail, mailFeatures, wholeMail?.rows]) t?.dispose();
}

/** The change of one batch. A node may appear more than once in a list: the latest (time, event) wins. */
export interface StateDelta {
  readonly nodes: Int32Array;
  /** [nodes, D]. */
  readonly memory: Tensor;
  readonly memoryTime: Float64Array;
  /** Event row that caused the change, for ties of time. */
  readonly memoryEvents: Int32Array;
  readonly mailNodes: Int32Array;
  /** [mailNodes, 2D]. */
  readonly mail: Tensor;
  readonly mailTime: Float64Array;
  readonly mailEvents: Int32Array;
}
