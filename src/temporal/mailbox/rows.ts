/** What a mailbox hands out and takes back: state of some nodes, and the change a batch makes. */
import type { Tensor } from '../../tensor/index.js';

/** State of `nodes`, copied: later commits do not change it. K = slots of mail a node has, D = width of its memory. */
export interface MailBoxRows {
  readonly nodes: Int32Array;
  /** [n, D]. */
  readonly memory: Tensor;
  /** When the memory was last changed, [n]. */
  readonly memoryTime: Float64Array;
  /** [n, K·2D]: of each slot the own half, then the other end's; edge features are found by `mailEvents`. */
  readonly mail: Tensor;
  /** Event row of every slot [n·K]; −1 where no mail lies. */
  readonly mailEvents: Int32Array;
  readonly mailTime: Float64Array;
  /** Filled slots [n]: the first of a node. */
  readonly mailCount: Int32Array;
  /** Mean features of every slot's events [n·K, E], only where mails are combined by their mean. */
  readonly mailFeatures?: Tensor;
  /** Mail and features where they were read together; `mail` is then a view of it. */
  readonly wholeMail?: WholeMail;
}

/** Every mail with the features of its event beside it. */
export interface WholeMail {
  /** [n, 2D + E]. */
  readonly rows: Tensor;
  /** What the rows were made of. */
  readonly events: Int32Array;
  readonly features: Float32Array;
}

/** The whole mails of `rows`; null when they were not read together, or when one of their parts was exchanged since. */
export function wholeMailOf(rows: MailBoxRows, features: Float32Array | null): Tensor | null {
  const { wholeMail: whole, mail, mailEvents } = rows;
  if (whole === undefined || features === null) return null;
  const same = whole.rows.storage === mail.storage && whole.events === mailEvents;
  return same && whole.features.buffer === features.buffer ? whole.rows : null;
}

/** Gives the memory of rows that nobody looks at any more back. */
export function disposeRows({ memory, mail, mailFeatures, wholeMail }: MailBoxRows): void {
  for (const t of [memory, mail, mailFeatures, wholeMail?.rows]) t?.dispose();
}

/** The change that one batch makes; every node at most once in each list is not required: the latest (time, event) wins. */
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
