/**
 * NATS JetStream as a source. The sequence number of the last message is part of the stream's log and snapshots, so a
 * restart continues behind it, whatever the broker believes: every message is in the stream exactly once. The creation time
 * of the JetStream stream is kept with it: one that was deleted and created again counts from 1, so it is refused.
 * Connections that break are opened again, for as long as it takes; the stream's notices say why the source waits.
 */
import type { JetStreamClient, JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { expected, StateError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import type { DurableStream } from '../durable-stream.js';
import type { StreamSource } from '../types.js';
import { type FieldMapping, parseMessage } from './messages.js';
import {
  appendWhenReady,
  checkFields,
  checkStream,
  checkText,
  messagesPerRequest,
  pause,
  startSource,
} from './source-loop.js';

export interface FollowNatsOptions {
  /** Such as `nats://127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** Name of the JetStream stream. */
  readonly stream: string;
  /** Only messages with these subjects. Default: all of the stream. */
  readonly subjects?: string | readonly string[];
  readonly fields?: FieldMapping;
  /** Name of the source. Default: `nats:` and the name of the JetStream stream. */
  readonly source?: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** Whether messages without an id get the `Nats-Msg-Id` of their headers. Default true. */
  readonly messageIds?: boolean;
}

const waitMilliseconds = 1000;
const retryMilliseconds = 500;

/** Appends the messages of a JetStream stream; needs the packages `@nats-io/transport-node` and `@nats-io/jetstream`. */
export function followNats(stream: DurableStream, options: FollowNatsOptions): StreamSource {
  if (options === undefined) throw new ValueError(expected('followNats', 'an object', 'options', options));
  checkOptionNames('followNats', options, {
    ...({ servers: true, stream: true, subjects: true, fields: true, source: true } as const),
    ...({ user: true, password: true, token: true, messageIds: true } as const),
  });
  checkStream('followNats', stream);
  const { servers } = options;
  if (Array.isArray(servers) && servers.length > 0)
    for (const server of servers) checkText('followNats', 'servers', server);
  else checkText('followNats', 'servers', servers);
  checkText('followNats', 'stream', options.stream);
  const { subjects } = options;
  for (const subject of Array.isArray(subjects) ? subjects : [subjects])
    if (subject !== undefined) checkText('followNats', 'subjects', subject);
  // The value may be a secret, so the message does not repeat it.
  for (const name of ['user', 'password', 'token'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'string')
      throw new ValueError(`followNats: expected a text for ${name}, got ${typeof options[name]}.`);
  checkFields('followNats', stream, options.fields ?? {});
  const source = options.source ?? `nats:${options.stream}`;
  return startSource('followNats', stream, source, async (stop) => {
    const { transport, jetstream } = await loadPackages();
    const troubles = new Troubles(stream, source);
    const connection = await connect(transport, options, troubles, stop);
    if (connection === null) return;
    try {
      const client = jetstream.jetstream(connection);
      while (!stop.aborted)
        await readMessages(stream, client, jetstream, { ...options, source }, troubles, stop);
    } finally {
      await connection.close();
    }
  });
}

type Transport = typeof import('@nats-io/transport-node');
type JetStream = typeof import('@nats-io/jetstream');

async function loadPackages(): Promise<{ transport: Transport; jetstream: JetStream }> {
  try {
    return {
      transport: await import('@nats-io/transport-node'),
      jetstream: await import('@nats-io/jetstream'),
    };
  } catch (error) {
    throw new StateError(
      'followNats: expected the packages @nats-io/transport-node and @nats-io/jetstream, got none. Install them: npm install @nats-io/transport-node @nats-io/jetstream',
      {},
      { cause: error },
    );
  }
}

/** Connects; a broker that is not there yet is waited for. Returns null if the source was stopped before. */
async function connect(
  { connect: open, errors }: Transport,
  { servers, user, password, token }: FollowNatsOptions,
  troubles: Troubles,
  stop: AbortSignal,
): Promise<NatsConnection | null> {
  while (!stop.aborted) {
    try {
      return await open({
        servers: typeof servers === 'string' ? servers : [...servers],
        maxReconnectAttempts: -1,
        reconnectTimeWait: retryMilliseconds,
        ...(user === undefined ? {} : { user }),
        ...(password === undefined ? {} : { pass: password }),
        ...(token === undefined ? {} : { token }),
      });
    } catch (error) {
      if (error instanceof TypeError)
        throw new ValueError(
          'followNats: expected URLs such as nats://127.0.0.1:4222 for servers, got others.',
        );
      // A name that cannot be resolved may be one of a network that is down.
      const isUnknownHost = error instanceof Error && /ENOTFOUND|EAI_AGAIN/.test(error.message);
      if (!(error instanceof errors.ConnectionError) && !isUnknownHost) throw error;
      troubles.report(error as Error);
      await pause(retryMilliseconds, stop);
    }
  }
  return null;
}

/** Why a source waits, as notices of its stream: at once, then less and less often. */
class Troubles {
  readonly #stream: DurableStream;
  readonly #source: string;
  #next = 0;
  #interval = firstInterval;

  constructor(stream: DurableStream, source: string) {
    this.#stream = stream;
    this.#source = source;
  }

  report(error: Error): void {
    const now = performance.now();
    if (now < this.#next) return;
    this.#next = now + this.#interval;
    this.#interval = Math.min(2 * this.#interval, longestInterval);
    this.#stream.notify(`The source ${this.#source} waits for its broker: ${error.name}: ${error.message}`);
  }

  /** Says that messages arrive again, if there was trouble. */
  end(): void {
    if (this.#next > 0) this.#stream.notify(`The source ${this.#source} reads messages again.`);
    this.#next = 0;
    this.#interval = firstInterval;
  }
}

const firstInterval = 10_000;
const longestInterval = 3_600_000;

/** Reads and appends messages behind the position of the source until the connection or the broker fails. */
async function readMessages(
  stream: DurableStream,
  client: JetStreamClient,
  { DeliverPolicy }: JetStream,
  options: FollowNatsOptions & { readonly source: string },
  troubles: Troubles,
  stop: AbortSignal,
): Promise<void> {
  const { subjects, source } = options;
  let from = (stream.positionOf(source) ?? 0) + 1;
  try {
    const mark = await checkSame(client, options.stream, from - 1, stream.markOf(source));
    const consumer = await client.consumers.get(options.stream, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
      ...(subjects === undefined
        ? {}
        : { filter_subjects: typeof subjects === 'string' ? subjects : [...subjects] }),
    });
    troubles.end();
    while (!stop.aborted) {
      const batch: JsMsg[] = [];
      // A consumer that the library has made again may repeat messages.
      for await (const message of await consumer.fetch({
        max_messages: messagesPerRequest(stream),
        expires: waitMilliseconds,
      }))
        if (message.seq >= from) batch.push(message);
      // After the messages were read: then they come from the stream that is checked.
      await checkSame(client, options.stream, from - 1, mark);
      if (batch.length === 0) continue;
      from = batch[batch.length - 1].seq + 1;
      await appendMessages(stream, { source, mark }, batch, options, stop);
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'StreamNotFoundError')
      throw new StateError(
        `followNats: expected a JetStream stream, got ${options.stream}, which the broker does not have. Create it first.`,
        {},
        { cause: error },
      );
    if (!isPassing(error)) throw error;
    if (isRefused(error))
      throw new StateError(
        `followNats: expected stream and subjects that the broker accepts, got its error: ${error.message}. Correct the options.`,
        {},
        { cause: error },
      );
    troubles.report(error);
    await pause(retryMilliseconds, stop);
  }
}

/** Returns the creation time of a JetStream stream; throws unless it is the one that was read up to `position` before. */
async function checkSame(
  client: JetStreamClient,
  name: string,
  position: number,
  mark: string | null,
): Promise<string> {
  const { created, state } = await (await client.streams.get(name)).info();
  // Folders of earlier versions have positions without marks.
  if (mark !== null && mark !== created)
    throw new StateError(
      `followNats: expected the JetStream stream ${name} that was created at ${mark}, got one created at ${created}: it was deleted and created again. Follow the new one under another source.`,
    );
  if (state.last_seq < position)
    throw new StateError(
      `followNats: expected at least ${position} messages of ${name}, which were read before, got ${state.last_seq}. Follow a new stream under another source.`,
    );
  return created;
}

async function appendMessages(
  stream: DurableStream,
  from: { readonly source: string; readonly mark: string },
  batch: readonly JsMsg[],
  { fields = {}, messageIds = true }: FollowNatsOptions,
  stop: AbortSignal,
): Promise<void> {
  const messages = batch.map((message) => {
    const parsed = parseMessage(message.string(), fields);
    const id = message.headers?.get('Nats-Msg-Id') ?? '';
    if (!messageIds || id === '' || !('event' in parsed) || parsed.event.id !== undefined) return parsed;
    return { ...parsed, event: { ...parsed.event, id } };
  });
  await appendWhenReady(stream, { ...from, position: batch[batch.length - 1].seq, messages }, stop);
}

/** Errors of a connection or of a broker that may be gone for a while. */
const passing = [
  ...['ClosedConnectionError', 'ConnectionError', 'ConsumerNotFoundError', 'DrainingConnectionError'],
  ...['JetStreamApiError', 'JetStreamError', 'JetStreamNotEnabled', 'JetStreamStatusError', 'NoResponders'],
  ...['NoRespondersError', 'ProtocolError', 'RequestError', 'TimeoutError'],
];

function isPassing(error: unknown): error is Error {
  return error instanceof Error && passing.includes(error.name);
}

/** Returns whether a broker refuses a request as wrong, which it would for ever. */
function isRefused(error: Error): boolean {
  return error.name === 'JetStreamApiError' && (error as Error & { readonly status?: number }).status === 400;
}
