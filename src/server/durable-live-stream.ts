/** A durable stream as the server sees it. Answers come from what has been applied; nothing waits for the rest. */
import type { DurableStream } from '../predict/index.js';
import type { LiveStream, QuarantineAccess } from './live-stream.js';

export class DurableLiveStream implements LiveStream {
  readonly quarantine: QuarantineAccess;
  readonly append: LiveStream['append'];
  readonly addNodes: NonNullable<LiveStream['addNodes']>;
  readonly #stream: DurableStream;

  constructor(stream: DurableStream) {
    this.#stream = stream;
    this.append = (events, options) => stream.append(events, options);
    this.addNodes = (nodes) => stream.addNodes(nodes);
    this.quarantine = {
      list: (options) => stream.quarantine(options),
      release: (keys) => stream.releaseQuarantined(keys),
      remove: (keys) => stream.deleteQuarantined(keys),
    };
  }

  get version(): number {
    return this.#stream.version;
  }

  get failure(): string | null {
    return this.#stream.failure;
  }

  async settle(): Promise<void> {}

  async settleAll(): Promise<void> {
    await this.#stream.settled();
  }

  status(): ReturnType<LiveStream['status']> {
    return { durable: true, ...this.#stream.status() };
  }

  /** The predictor is the stream itself, and closes it. */
  async close(): Promise<void> {}
}
