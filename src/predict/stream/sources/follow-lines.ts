/** Sources of JSON lines: a file that grows, and any readable stream such as the standard input. */
import { type FileHandle, open } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { storageError } from '../../../storage/atomic-file.js';
import { expected, StateError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import type { DurableStream } from '../durable-stream.js';
import { type FieldMapping, parseMessage } from './messages.js';
import {
  appendPatiently,
  checkStream,
  checkText,
  pause,
  type StreamSource,
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
  checkText('followFile', 'path', path);
  const { source = `file:${resolve(path)}`, fields = {}, follow = true } = options;
  return startSource(source, async (stop) => {
    const file = await open(path, 'r').catch((error: unknown) => {
      throw storageError('open', path, error);
    });
    try {
      await readOn(stream, file, path, { source, fields, follow }, stop);
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
  let size = chunkBytes;
  while (!stop.aborted) {
    const { size: length } = await file.stat();
    if (length < position)
      throw new StateError(
        `followFile: expected at least ${position} bytes of ${path}, which were read before, got ${length}. Follow a new file under another source.`,
      );
    const buffer = Buffer.alloc(Math.min(size, length - position));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    const isEnd = position + bytesRead >= length;
    let end = buffer.lastIndexOf(newline, bytesRead - 1) + 1;
    // The last line of a file that does not grow needs no newline.
    if (isEnd && !follow) end = bytesRead;
    if (end > 0) {
      const messages = linesOf(buffer.subarray(0, end), position === 0).map((line) =>
        parseMessage(line, fields),
      );
      if (!(await appendPatiently(stream, { source, position: position + end, messages }, stop))) return;
      position += end;
      size = chunkBytes;
    } else if (isEnd) {
      if (!follow || !(await pause(pollMilliseconds, stop))) return;
    } else size *= 2;
  }
}

/** Appends the lines of a readable stream until it ends. It has no positions: after a crash its lines need ids. */
export function followInput(
  stream: DurableStream,
  input: Readable,
  options: FollowLinesOptions = {},
): StreamSource {
  checkOptionNames('followInput', options, { source: true, fields: true });
  checkStream('followInput', stream);
  if (typeof (input as Partial<Readable> | null | undefined)?.[Symbol.asyncIterator] !== 'function')
    throw new ValueError(expected('followInput', 'a readable stream', 'input', input));
  const { source = 'input', fields = {} } = options;
  return startSource(source, async (stop) => {
    let rest: Buffer = Buffer.alloc(0);
    let isStart = true;
    const send = (bytes: Buffer): Promise<boolean> => {
      const messages = linesOf(bytes, isStart).map((line) => parseMessage(line, fields));
      isStart = false;
      return appendPatiently(stream, { source, position: null, messages }, stop);
    };
    const end = (): void => {
      input.destroy();
    };
    stop.addEventListener('abort', end);
    try {
      for await (const chunk of input) {
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

/** Returns the lines that are not empty. Some editors begin a file with a byte order mark, which is no part of its text. */
function linesOf(bytes: Buffer, isStart: boolean): string[] {
  const text = bytes.toString('utf8');
  return (isStart && text.startsWith('\ufeff') ? text.slice(1) : text)
    .split('\n')
    .filter((line) => line.trim() !== '');
}
