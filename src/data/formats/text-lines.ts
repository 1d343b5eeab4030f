/**
 * Text files as a stream of chunks or lines; a name that ends in .gz is decompressed on the way.
 */
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { FormatError, StorageError } from '../../util/errors.js';

/** The content in pieces. Errors of the file system and of the compression are named. */
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
        `${path}: expected gzip data, got ${(error as Error).message}. The file is damaged or cut off.`,
        { path },
        { cause: error },
      );
    }
    if (code === '') throw error;
    throw new StorageError(
      `read: expected to read ${path}, got ${code}. Look at the spelling and the permissions.`,
      { path, code },
      { cause: error },
    );
  } finally {
    file.destroy();
  }
}

/** Characters that a line may have: a file with longer ones is not text, and strings end at half a billion. */
const longestLine = 2 ** 26;

/** Lines without their end (\n or \r\n), decoded as UTF-8; several at a time, with the number of the first, from 1. */
export async function* readLines(path: string): AsyncGenerator<{ first: number; lines: string[] }> {
  const decoder = new TextDecoder();
  // The pieces of a line that spans many chunks, put together once it ends.
  let pieces: string[] = [];
  let length = 0;
  let first = 1;
  for await (const chunk of readChunks(path)) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    if (lines.length > 0) {
      lines[0] = pieces.join('') + lines[0];
      pieces = [];
      length = 0;
      yield { first, lines: lines.map(withoutReturn) };
      first += lines.length;
    }
    pieces.push(rest);
    length += rest.length;
    if (length > longestLine) {
      const message = `${path}:${first}: expected a line of at most ${longestLine} characters, got ${length} and no end.`;
      throw new FormatError(message, { path, line: first });
    }
  }
  pieces.push(decoder.decode());
  const last = pieces.join('');
  if (last !== '') yield { first, lines: [withoutReturn(last)] };
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
