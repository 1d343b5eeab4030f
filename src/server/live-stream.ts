/** The server's view of a stream of events, whether it lasts or is lost when the process ends. */
import type { StreamEvent, StreamNode } from '../predict/index.js';

export interface LiveStream {
  /** Appends all events or, if one is invalid, none. A request with a known id changes nothing. */
  append(
    events: readonly StreamEvent[],
    options: { readonly requestId?: string },
  ): Promise<{ readonly outcomes: readonly string[]; readonly newNodes: number }>;
  /** Adds nodes before an event brings them; null: a stream whose nodes are fixed. */
  readonly addNodes: ((nodes: readonly StreamNode[]) => Promise<{ readonly newNodes: number }>) | null;
  /** Events that answers see, counted since the stream was created; grows only. */
  readonly version: number;
  /** Applies waiting events to the model as far as answers need it, without holding up other requests. */
  settle(): Promise<void>;
  /** Resolves when every event that was appended before is part of the answers. */
  settleAll(): Promise<void>;
  /** Why the stream has stopped; null while it works. */
  readonly failure: string | null;
  /** Counters and gauges. It sorts latencies: ask `failure` where that is enough. */
  status(): Readonly<Record<string, unknown>>;
  /** Null: a stream without quarantine. */
  readonly quarantine: QuarantineAccess | null;
  close(): Promise<void>;
}

/** Which part of a list is wanted. */
export interface PageOptions {
  readonly limit?: number | undefined;
  readonly after?: number | undefined;
}

/** Events that were not applied because of their times or names. */
export interface QuarantineAccess {
  /** The oldest ones with keys above `after`. */
  list(options: PageOptions): readonly object[];
  release(keys: readonly number[]): Promise<unknown>;
  remove(keys: readonly number[]): Promise<unknown>;
}
