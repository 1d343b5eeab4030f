/** Sources of JSON lines: a file that grows, and any readable stream such as the standard input. */
import { type FileHandle, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, fromSystem, isSystemError, storageError } from '../../../storage/atomic-file.js';
import { checkPath } from '../../../util/check-path.js';
import { expected, StateError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import type { DurableStream } from '../durable-stream.js';
import type { StreamSource } from '../types.js';
import { FileTail } from './file-tail.js';
import { type FieldMapping, parseMessage, type SourceMessage } from './messages.js';
import {
  appendWhenReady,
  checkFields,
  checkStream,
  messagesPerRequest,
  pause,
  startSource,
} from './source-loop.js';

export interface FollowLinesOptions {
  /** Name of the source. Default: `file:` and the path, or `input`. */
  readonly source?: string;
  readonly fields?: FieldMapping;
}

export interface FollowFileOptions extends FollowLinesOptions {
  /** Whether to wait for more lines at the end of the file. Default true. */
  readonly follow?: boolean;
}

const chunkBytes = 2 ** 18;
const pollMilliseconds = 100;
const newline = 10;

/**
 * Appends the lines of a file, and those that are added to it. The position in the file is part of the stream's log: after
 * a crash the source continues behind the last line that is in the stream.
 */
export function followFile(
  stream: DurableStream,
  path: string,
  options: FollowFileOptions = {},
): StreamSource {
  checkOptionNames('followFile', options, { source: true, fields: true, follow: true });
  checkStream('followFile', stream);
  checkPath('followFile', 'the path of a file', 'path', path);
  const { source = `file:${resolve(path)}`, fields = {}, follow = true } = options;
  checkFields('followFile', stream, fields);
  if (typeof follow !== 'boolean')
    throw new ValueError(expected('followFile', 'true or false', 'follow', follow));
  return startSource('followFile', stream, source, async (stop) => {
    const file = await open(path, 'r').catch((error: unknown) => {
      throw storageError('open', path, error);
    });
    try {
      if (!(await file.stat()).isFile())
        throw new ValueError(expected('followFile', 'the path of a file', 'path', path));
      await readOn(stream, file, path, { source, fields, follow }, stop);
    } catch (error) {
      throw isSystemError(error) ? fromSystem(error, path) : error;
    } finally {
      await file.close();
    }
  });
}

async function readOn(
  stream: DurableStream,
  file: FileHandle,
  path: string,
  { source, fields, follow }: Required<FollowFileOptions>,
  stop: AbortSignal,
): Promise<void> {
  let position = stream.positionOf(source) ?? 0;
  let tail = await sameTail(stream, file, path, source);
  let size = chunkBytes;
  while (!stop.aborted) {
    const length = await checkLength(file, path, position);
    const buffer = Buffer.alloc(Math.min(size, length - position));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    const isEnd = position + bytesRead >= length;
    let end = buffer.lastIndexOf(newline, bytesRead - 1) + 1;
    // The last line of a file that does not grow needs no newline.
    if (isEnd && !follow) end = bytesRead;
    if (end > 0) {
      for (const lines of blocksOf(buffer.subarray(0, end), messagesPerRequest(stream))) {
        const messages = messagesOf(lines, position === 0, fields);
        tail = tail.with(lines);
        position += lines.length;
        const batch = { source, position, mark: tail.mark, messages };
        if (!(await appendWhenReady(stream, batch, stop))) return;
      }
      size = chunkBytes;
    } else if (isEnd) {
      if (!follow || !(await pause(pollMilliseconds, stop))) return;
      await checkSameFile(file, path);
    } else size *= 2;
  }
}

/** Returns the last bytes that were read before; throws if the file has others there. */
async function sameTail(
  stream: DurableStream,
  file: FileHandle,
  path: string,
  source: string,
): Promise<FileTail> {
  const position = stream.positionOf(source) ?? 0;
  await checkLength(file, path, position);
  const tail = await FileTail.before(file, position);
  const mark = stream.markOf(source);
  // Folders of earlier versions have positions without marks.
  if (mark === null || mark === tail.mark) return tail;
  throw new StateError(
    `followFile: expected the bytes before byte ${position} of ${path} that were read before, got others: the file was replaced. Follow the new file under another source.`,
  );
}

/** Throws if the path leads to another file than the one that is open, as after a rotation. */
async function checkSameFile(file: FileHandle, path: string): Promise<void> {
  const now = await stat(path).catch((error: unknown) => {
    // Between the two steps of a rotation there is none.
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  const { dev, ino } = await file.stat();
  if (now === null || (now.dev === dev && now.ino === ino)) return;
  throw new StateError(
    `followFile: expected ${path} to grow, got another file under this name: it was replaced. Lines that were added to the old one in the last ${pollMilliseconds} ms may be missing. Follow the new file under another source.`,
  );
}

/** Returns the length of a file, which must not be less than a position. */
async function checkLength(file: FileHandle, path: string, position: number): Promise<number> {
  const { size } = await file.stat();
  if (size >= position) return size;
  throw new StateError(
    `followFile: expected at least ${position} bytes of ${path}, which were read before, got ${size}. Follow a new file under another source.`,
  );
}

/** Appends the lines of a readable stream until it ends. It has no positions: after a crash its lines need ids. */
export function followInput(
  stream: DurableStream,
  // The part of a Readable of Node.js that is used: programs need no types of Node.js to import this module.
  input: AsyncIterable<string | Uint8Array> & { destroy(): unknown },
  options: FollowLinesOptions = {},
): StreamSource {
  checkOptionNames('followInput', options, { source: true, fields: true });
  checkStream('followInput', stream);
  if (typeof (input as Partial<typeof input> | null | undefined)?.[Symbol.asyncIterator] !== 'function')
    throw new ValueError(expected('followInput', 'a readable stream', 'input', input));
  const { source = 'input', fields = {} } = options;
  checkFields('followInput', stream, fields);
  return startSource('followInput', stream, source, async (stop) => {
    let rest: Buffer = Buffer.alloc(0);
    let isStart = true;
    const send = async (bytes: Buffer): Promise<boolean> => {
      for (const lines of blocksOf(bytes, messagesPerRequest(stream))) {
        const messages = messagesOf(lines, isStart, fields);
        isStart = false;
        if (!(await appendWhenReady(stream, { source, position: null, messages }, stop))) return false;
      }
      return true;
    };
    const end = (): void => {
      input.destroy();
    };
    stop.addEventListener('abort', end);
    try {
      for await (const chunk of input) {
        if (typeof chunk !== 'string' && !ArrayBuffer.isView(chunk))
          throw new ValueError(expected('followInput', 'text or bytes', 'input', chunk));
        rest = Buffer.concat([rest, Buffer.from(chunk)]);
        const at = rest.lastIndexOf(newline) + 1;
        if (at > 0 && !(await send(rest.subarray(0, at)))) return;
        rest = rest.subarray(at);
      }
      if (rest.length > 0) await send(rest);
    } catch (error) {
      // Destroying the input ends the loop with an error.
      if (!stop.aborted) throw error;
    } finally {
      stop.removeEventListener('abort', end);
    }
  });
}

/** Returns the bytes in blocks of at most `most` lines. */
function* blocksOf(bytes: Buffer, most: number): Generator<Buffer> {
  let start = 0;
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
    lines++;
    if (lines < most) continue;
    yield bytes.subarray(start, at + 1);
    start = at + 1;
    lines = 0;
  }
  if (start < bytes.length) yield bytes.subarray(start);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Returns the messages of the lines that are not empty. Some editors begin a file with a byte order mark, which is no part of its
 * text. A line that is not UTF-8 is not a message: replaced characters would make different names equal.
 */
function messagesOf(bytes: Buffer, isStart: boolean, fields: FieldMapping): SourceMessage[] {
  const text = decode(bytes);
  if (text !== null)
    return (isStart && text.startsWith('\ufeff') ? text.slice(1) : text)
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => parseMessage(line, fields));
  return [...blocksOf(bytes, 1)].flatMap((line, i) =>
    decode(line) === null
      ? [{ text: line.toString('latin1').trimEnd(), reason: 'expected UTF-8' }]
      : messagesOf(line, isStart && i === 0, fields),
  );
}

function decode(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
