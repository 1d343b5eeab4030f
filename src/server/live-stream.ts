/** The server's view of a stream of events, whether it lasts or is lost when the process ends. */
import type { NamedEvent } from '../predict/index.js';

/** An event with the sender's id. */
export interface StreamEvent extends NamedEvent {
  readonly id?: string;
}

export interface LiveStream {
  /** Whether accepted events survive the end of the process. */
  readonly isDurable: boolean;
  /** Appends all events or, if one is invalid, none. A request with a known id changes nothing. */
  append(
    events: readonly StreamEvent[],
    options: { readonly requestId?: string },
  ): Promise<{ readonly outcomes: readonly string[]; readonly newNodes: number }>;
  /** Applies waiting events to the model as far as answers need it, without holding up other requests. */
  settle(): Promise<void>;
  status(): Readonly<Record<string, unknown>>;
  /** Null: a stream without quarantine. */
  readonly quarantine: Quarantine | null;
  close(): Promise<void>;
}

/** Events that were not applied because of their times or names. */
export interface Quarantine {
  list(): readonly Readonly<Record<string, unknown>>[];
  release(keys: readonly number[]): Promise<unknown>;
  remove(keys: readonly number[]): Promise<unknown>;
}
