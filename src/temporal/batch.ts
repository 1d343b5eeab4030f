/**
 * A batch of events with all inputs of a model: sources, destinations and times, negatives, the sampled past of each of them, and
 * memory and mail of every node.
 *
 * Roots are the (node, time) pairs to embed; `srcRoots`, `dstRoots` and `negRoots` are the roots of the events' ends and of their
 * negatives, so that negatives take the same path as positives.
 */
import type { TemporalHop } from '../sample/temporal-hop.js';
import type { Tensor } from '../tensor/index.js';
import type { MailBoxRows } from './mailbox/rows.js';

export interface TemporalBatch {
  /** Rows of the stream [B]. */
  readonly eventRows: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly times: Float64Array;
  /** [B·q], those of event i from i·q on. */
  readonly negatives: Int32Array;
  /**
   * Only events in rows below this one are visible to the scores of the batch, in neighbours, pairs and any other state.
   * Absent: each score sees the events before its own time.
   */
  readonly rowLimit?: number;
  /** The destinations of hop 0 are the roots. */
  readonly hops: readonly TemporalHop[];
  /** With `history` > 1: hops of every window, the latest window first; `hops` is the first of them. */
  readonly snapshots: readonly (readonly TemporalHop[])[];
  readonly rootNodes: Int32Array;
  readonly rootTimes: Float64Array;
  readonly srcRoots: Int32Array;
  readonly dstRoots: Int32Array;
  readonly negRoots: Int32Array;
  /** Nodes of all source rows of the last hop, each once [U]. */
  readonly nodes: Int32Array;
  /** Position in `nodes` of every source row of the last hop (with snapshots: of each window's, by window). */
  readonly nodeOfRow: readonly Int32Array[];
  /** State of `nodes`; null for models without memory. */
  readonly state: MailBoxRows | null;
  /** Features of `nodes` [U, w]; absent or null where nodes have none. */
  readonly nodeFeatures?: Tensor | null;
  /** Features of the events so far, row-major by event row; null without. */
  readonly edgeFeatures: Float32Array | null;
  readonly featureWidth: number;
  /** Features of pairs: the ends of each event, then each event's source with its negatives [B + B·q, width]. */
  readonly pairFeatures?: Tensor | null;
}
