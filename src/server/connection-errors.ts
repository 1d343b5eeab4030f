/**
 * Errors of requests that never reach a route, because they are not HTTP, too slow, too large or without a host. They have the
 * form of all other errors and end the connection: after a damaged request the beginning of the next one is unknown.
 */
import { type IncomingMessage, type RequestListener, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { HttpError } from './http-error.js';

/** Milliseconds for the client to read an error while it still sends; a socket closed at once would lose the answer. */
const lingering = 500;

/** Headers of every such answer, as of the others. */
const headers = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;

export interface ConnectionErrorOptions {
  /** Told about the status of each answer. */
  readonly onAnswer: (status: number) => void;
}

/** Answers malformed, slow and oversized requests, and expectations, with an error as JSON. */
export function answerConnectionErrors(server: Server, { onAnswer }: ConnectionErrorOptions): void {
  const answered = new WeakSet<Socket>();
  const requests = new WeakMap<Socket, Set<Exchange>>();
  // Before the routes: they may answer at once.
  server.prependListener('request', (request: IncomingMessage, response: Exchange['response']) => {
    const { socket } = request;
    const open = requests.get(socket) ?? new Set();
    requests.set(socket, open);
    const exchange = { request, response };
    open.add(exchange);
    response.once('close', () => open.delete(exchange));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    // The parser reports every further piece of a damaged request.
    if (answered.has(socket)) return;
    answered.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // An error must not be taken for the answer to an earlier request, or be written into one.
    const isOwed = [...(requests.get(socket) ?? [])].some(
      ({ request, response }) => request.complete || response.headersSent,
    );
    if (isOwed) {
      socket.destroySoon();
      return;
    }
    const { status, body } = errorOf(error.code);
    const text = JSON.stringify(body);
    const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text) });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
    );
    onAnswer(status);
    const timer = setTimeout(() => socket.destroy(), lingering);
    socket.once('close', () => clearTimeout(timer));
  });
  server.on('checkExpectation', ({ headers: { expect = '' } }, response) => {
    const got = JSON.stringify(expect.slice(0, 100));
    respond(
      response,
      new HttpError(417, 'invalid', `expected the header "Expect: 100-continue" or none, got ${got}.`),
    );
    onAnswer(417);
  });
}

/** A request and its answer. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: Parameters<RequestListener>[1];
}

/** Wraps a listener: requests without a Host header get status 400, as HTTP/1.1 demands. */
export function requireHost(
  listener: RequestListener,
  { onAnswer }: ConnectionErrorOptions,
): RequestListener {
  return (request, response) => {
    if (request.headers.host !== undefined) {
      listener(request, response);
      return;
    }
    respond(response, new HttpError(400, 'invalid', 'expected a Host header, got none.'));
    onAnswer(400);
  };
}

/** Returns the error for a request whose address is not one, such as a Host header with blanks. */
export const wrongAddress = (): HttpError =>
  new HttpError(400, 'invalid', 'expected a valid path and Host header, got others.');

export function errorResponse({ status, body }: HttpError): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

function respond(response: Exchange['response'], { status, body }: HttpError): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) }).end(text);
}

function errorOf(code: string | undefined): HttpError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new HttpError(408, 'timeout', 'expected the whole request sooner, got a part. Send it again.');
    case 'HPE_HEADER_OVERFLOW':
      return new HttpError(431, 'too_large', 'expected headers of at most 16 KiB, got more. Send fewer.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new HttpError(413, 'too_large', 'body: expected chunks without long extensions, got others.');
    default:
      return new HttpError(400, 'invalid', 'expected a request of HTTP/1.1, got other bytes.');
  }
}
