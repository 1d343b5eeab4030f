/** Arguments and answers of a durable stream. */
import type { Latency } from '../../util/latency-log.js';
import type { Name, NamedEvent } from '../predictor.js';

/** An event with the sender's id. */
export interface StreamEvent extends NamedEvent {
  /** At most 128 bytes. An event whose id is known changes nothing, so that a request can be sent again. */
  readonly id?: string;
}

/** A node that is added before an event brings it. */
export interface StreamNode {
  readonly name: Name;
  /** A `tail` can be recommended from now on. Required where heads and tails have separate names. */
  readonly side?: 'head' | 'tail';
  /** As many numbers as nodes of the training data have, for a model that uses them. Default zeros. */
  readonly features?: readonly number[];
}

/** A running source. */
export interface StreamSource {
  readonly name: string;
  /** Resolves when the source has ended or was stopped; rejects with the error that ended it. */
  readonly done: Promise<void>;
  /** Ends the source after what it has read; resolves like `done`. */
  stop(): Promise<void>;
}

/** Which new names are accepted: all, none, or as many as `limit` in all. */
export type NewNodesRule = 'allow' | 'refuse' | { readonly limit: number };

export interface StreamOptions {
  /** The folder of log and snapshots; created if missing. One process at a time can use it. */
  readonly state: string;
  /** How far behind the latest event of its source an event may be, in the time of the stream. Default 0. */
  readonly lateness?: number;
  /** `drop` late events, write them to the file `late.jsonl` (`side`), or `apply` them at the time of the watermark. Default drop. */
  readonly late?: 'drop' | 'side' | 'apply';
  /**
   * The meaning of event times: seconds or milliseconds since 1970, or only the order of the `stream`. Default: by the last time of
   * the training stream.
   */
  readonly clock?: 'seconds' | 'milliseconds' | 'stream';
  /** An event further ahead of the wall clock is quarantined. Default one hour; without effect for `clock: 'stream'`. */
  readonly maxFuture?: number;
  /** An event further ahead of the latest one is quarantined. Default 30 days for `clock: 'stream'`, else unlimited. */
  readonly maxJump?: number;
  /** Default `allow`, or `refuse` for a model that has no room for new nodes. */
  readonly newNodes?: NewNodesRule;
  /** A source that has sent nothing for so many seconds does not hold back the watermark. Default 60. */
  readonly idleSeconds?: number;
  /** Ids are remembered for so long, in the time of the stream. Default 24 hours. */
  readonly idWindow?: number;
  /** Ids of released events that are remembered. Default 10 million. */
  readonly maxIds?: number;
  /** Events that may wait for the watermark; beyond, `append` throws `StreamBusyError`. Default 1 million. */
  readonly maxWaiting?: number;
  /** Events that may wait for the model; beyond, `append` throws `StreamBusyError`. Default 20,000. */
  readonly maxLag?: number;
  /** Quarantined events that are kept; beyond, the oldest is removed. Default 100,000. */
  readonly maxQuarantined?: number;
  /** Events per pass of the model; default as in training. Models whose state does not depend on it ignore it. */
  readonly batchSize?: number;
  /** How often a snapshot is written. Default: after 250,000 events or 5 minutes. */
  readonly snapshotEvery?: { readonly events?: number; readonly minutes?: number };
  /** Whether log segments are kept when snapshots no longer need them. Default false. */
  readonly keepLog?: boolean;
  /** Appends that wait for one fsync: for so many milliseconds, or until there are so many events. Default 5 and 1,000. */
  readonly groupCommit?: { readonly milliseconds?: number; readonly events?: number };
  /** Ranks every nth event against sampled destinations before it is applied; `false`: none. Default every 10th against 20. */
  readonly quality?: false | { readonly every?: number; readonly candidates?: number };
  /** Receives sentences for the operator: a cut tail of the log, a damaged snapshot. Default: `console.warn`. */
  readonly onNotice?: (sentence: string) => void;
}

/** An event that was not applied. */
export interface QuarantinedEvent {
  /** Number by which it is released or deleted. */
  readonly key: number;
  /** `future`: ahead of the wall clock; `jump`: ahead of the stream; `new nodes`: beyond the limit; `unreadable`: not an event. */
  readonly reason: 'future' | 'jump' | 'new nodes' | 'unreadable';
  readonly source: string;
  /** Wall clock when it arrived, in milliseconds since 1970. */
  readonly arrived: number;
  /** Absent for `unreadable`. */
  readonly event?: StreamEvent;
  /** For `unreadable`: the message and why it is not an event. */
  readonly text?: string;
}

/** Rolling quality over the last ranked events; see the option `quality`. */
export interface StreamQuality {
  readonly events: number;
  readonly mrr: number;
  readonly hits10: number;
}

export interface SourceStatus {
  readonly source: string;
  readonly latest: number | null;
  /** Position of the last message in the log: a byte of a file, a sequence number of a broker. */
  readonly position: number | null;
  readonly idle: boolean;
}

/** Counters since the stream was created, and gauges. */
export interface StreamStatus {
  /** Released events that answers see: their number since the stream was created. */
  readonly version: number;
  /** Released events that the state of the model contains. */
  readonly applied: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly late: number;
  readonly quarantined: number;
  readonly newNodes: number;
  readonly nodes: number;
  readonly events: number;
  /** Events that wait for the watermark. */
  readonly waiting: number;
  /** Released events that wait for the model. */
  readonly lag: number;
  /** Events that were received and wait for the log. */
  readonly unwritten: number;
  readonly inQuarantine: number;
  /** Rejected by `StreamBusyError`, since the stream was opened. */
  readonly busy: number;
  /** Null before the first event. */
  readonly watermark: number | null;
  /** How far the watermark is behind the latest event, in the time of the stream. */
  readonly watermarkLag: number;
  readonly sources: readonly SourceStatus[];
  readonly logSequence: number;
  readonly logBytes: number;
  readonly fsync: Latency;
  readonly snapshot: { readonly sequence: number; readonly time: number; readonly seconds: number } | null;
  readonly replayed: { readonly records: number; readonly events: number; readonly seconds: number };
  readonly applyRate: number;
  readonly score: Latency;
  readonly quality: StreamQuality | null;
  readonly notices: readonly string[];
  /** Why the stream has stopped; null while it works. */
  readonly failure: string | null;
}
