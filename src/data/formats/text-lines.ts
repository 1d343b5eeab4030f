/**
 * Text files as a stream of chunks or lines; files whose name ends in .gz are decompressed.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FormatError, StorageError } from '../../util/errors.js';

/** Yields the content in chunks. Errors of the file system and of the compression name the file. */
export async function* readChunks(path: string): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  const source = path.endsWith('.gz')
    ? pipeline(file, createGunzip({ chunkSize: 1 << 20 }), () => {}) // the loop below sees the error
    : file;
  try {
    for await (const chunk of source) yield chunk as Uint8Array;
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code ?? '');
    if (code.startsWith('Z_')) {
      throw new FormatError(
        `${path}: expected gzip data, got ${(error as Error).message}. The file is damaged or truncated.`,
        { path },
        { cause: error },
      );
    }
    if (code === '') throw error;
    throw new StorageError(
      `read: expected to read ${path}, got ${code}. Check the path and the permissions.`,
      { path, code },
      { cause: error },
    );
  } finally {
    file.destroy();
  }
}

/** Maximum characters of a line: a file with longer ones is not text, and strings are limited to half a billion. */
const maxLineLength = 2 ** 26;

/** Yields lines without their end (\n or \r\n), decoded as UTF-8; several at a time, with the number of the first, from 1. */
export async function* readLines(path: string): AsyncGenerator<{ first: number; lines: string[] }> {
  const decoder = new TextDecoder();
  // The segments of a line that spans chunks, joined when it ends.
  let segments: string[] = [];
  let length = 0;
  let first = 1;
  for await (const chunk of readChunks(path)) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    if (lines.length > 0) {
      lines[0] = segments.join('') + lines[0];
      segments = [];
      length = 0;
      yield { first, lines: lines.map(stripReturn) };
      first += lines.length;
    }
    segments.push(rest);
    length += rest.length;
    if (length > maxLineLength) {
      const message = `${path}:${first}: expected a line of at most ${maxLineLength} characters, got ${length} and no end.`;
      throw new FormatError(message, { path, line: first });
    }
  }
  segments.push(decoder.decode());
  const last = segments.join('');
  if (last !== '') yield { first, lines: [stripReturn(last)] };
}

function stripReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
