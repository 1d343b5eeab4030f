/**
 * Reads the body of a request as JSON: of a limited size and depth, in UTF-8, and only under the content type
 * application/json. A web page of another origin cannot send that type without asking first, so it cannot write.
 */
import { HttpError } from './http-error.js';
import type { ServeLimits } from './limits.js';

/** Bytes of the bodies that a server holds. */
export class BodyBudget {
  readonly #most: number;
  #held = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take(bytes: number): void {
    if (this.#held + bytes > this.#most)
      throw new HttpError(
        503,
        'busy',
        'expected less data at once: the server holds too many large requests. Try again.',
        {
          headers: { 'retry-after': '1' },
        },
      );
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

export interface ReadBody {
  readonly value: unknown;
  /** Returns the bytes to the budget; call it once. */
  release(): void;
}

export async function readJson(request: Request, limits: ServeLimits, budget: BodyBudget): Promise<ReadBody> {
  checkType(request);
  const { maxBody } = limits;
  const stated = Number(request.headers.get('content-length') ?? 0);
  if (stated > maxBody) throw tooLarge(maxBody);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let released = false;
  const release = (): void => {
    if (!released) budget.release(bytes);
    released = true;
  };
  try {
    const reader = request.body?.getReader();
    for (let part = await next(reader); part?.done === false; part = await next(reader)) {
      const chunk = part.value;
      if (bytes + chunk.length > maxBody) {
        await reader?.cancel();
        throw tooLarge(maxBody);
      }
      budget.take(chunk.length);
      bytes += chunk.length;
      chunks.push(chunk);
    }
    return { value: parseJson(Buffer.concat(chunks, bytes), limits.maxDepth), release };
  } catch (error) {
    release();
    throw error;
  }
}

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

async function next(
  reader: BodyReader | undefined,
): Promise<Awaited<ReturnType<BodyReader['read']>> | undefined> {
  try {
    return await reader?.read();
  } catch {
    // The client has closed the connection, or was too slow.
    throw new HttpError(408, 'timeout', 'body: expected as many bytes as announced, got fewer.');
  }
}

const tooLarge = (maxBody: number): HttpError =>
  new HttpError(
    413,
    'too_large',
    `body: expected at most ${maxBody} bytes, got more. Send several requests.`,
    {
      // The rest of the body is not read.
      headers: { connection: 'close' },
    },
  );

function checkType({ headers }: Request): void {
  const type = headers.get('content-type') ?? '';
  const [media, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (media === 'application/json' && (charset ?? 'utf-8') === 'utf-8' && encoding === 'identity') return;
  const got =
    encoding !== 'identity'
      ? `the encoding ${encoding.slice(0, 40)}`
      : type === ''
        ? 'none'
        : type.slice(0, 80);
  throw new HttpError(
    415,
    'unsupported_media_type',
    `body: expected the content type application/json in UTF-8, got ${got}. Send the header "Content-Type: application/json".`,
  );
}

function parseJson(bytes: Uint8Array, maxDepth: number): unknown {
  checkDepth(bytes, maxDepth);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown;
  } catch (error) {
    const isText = error instanceof SyntaxError;
    const got =
      bytes.length === 0 ? 'nothing' : isText ? 'text that is not JSON' : 'bytes that are not UTF-8';
    throw new HttpError(400, 'not_json', `body: expected JSON, got ${got}.`);
  }
}

/** Throws for a body with more levels of lists and objects than any schema has. */
function checkDepth(bytes: Uint8Array, maxDepth: number): void {
  let depth = 0;
  let inText = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inText) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inText = false;
    } else if (byte === 0x22) inText = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > maxDepth)
        throw new HttpError(
          400,
          'invalid',
          `body: expected at most ${maxDepth} levels of lists and objects, got more.`,
        );
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
}
