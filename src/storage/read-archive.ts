/**
 * Unpacks the archive of a packed model into a new folder. Nothing in the archive is trusted: only regular files that its
 * manifest lists are written, under plain names, with the length and checksum of the manifest, up to a limit.
 */
import { createReadStream } from 'node:fs';
import { mkdir, open, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32, createGunzip } from 'node:zlib';
import { FormatError, StorageError } from '../util/errors.js';
import {
  type ArchiveFile,
  type ArchiveManifest,
  archiveFolder,
  isArchiveName,
  manifestName,
  parseTarHeader,
  tarBlock,
  tarPadding,
} from './archive-format.js';
import { codeOf, isSystemError, storageError } from './atomic-file.js';

/** The most bytes that are unpacked, and the most files. */
const most = { bytes: 2 ** 40, files: 100_000, manifest: 2 ** 24 };

/** Unpacks an archive into a folder, which must exist and be empty. */
export async function readArchive(path: string, folder: string): Promise<ArchiveManifest> {
  const bytes = new ByteReader(path);
  try {
    const first = await nextFile(path, bytes);
    if (first?.name !== manifestName || first.bytes > most.manifest)
      throw wrongArchive(path, `${manifestName} first`, first?.name ?? 'an empty archive');
    const text = new TextDecoder().decode(await bytes.whole(first.bytes));
    await bytes.skip(tarPadding(first.bytes));
    const manifest = parseManifest(path, text);
    await checkSpace(path, folder, manifest);
    const left = new Map(manifest.files.map((file) => [file.name, file]));
    for (let next = await nextFile(path, bytes); next !== null; next = await nextFile(path, bytes)) {
      const file = left.get(next.name);
      if (file === undefined || file.bytes !== next.bytes)
        throw wrongArchive(
          path,
          'the files of its manifest, each once',
          `${next.name} of ${next.bytes} bytes`,
        );
      left.delete(next.name);
      await writeFile(path, folder, file, bytes);
      await bytes.skip(tarPadding(file.bytes));
    }
    const [missing] = left.keys();
    if (missing !== undefined) throw wrongArchive(path, `the file ${missing}`, 'an archive without it');
    return manifest;
  } catch (error) {
    if (/^Z_/.test(codeOf(error))) throw wrongArchive(path, 'data of gzip', (error as Error).message);
    throw isSystemError(error) ? storageError('read', path, error) : error;
  } finally {
    bytes.close();
  }
}

/** Returns the error for an archive that `packRun` did not write, or that is damaged. */
export function wrongArchive(path: string, what: string, got: string): FormatError {
  return new FormatError(
    `${path}: expected the archive of a packed model with ${what}, got ${got}. It is damaged or was not written by "skein pack"; pack the run again.`,
    { path },
  );
}

/** Returns the next file, by its name in the folder; null at the end. */
async function nextFile(
  path: string,
  bytes: ByteReader,
): Promise<{ readonly name: string; readonly bytes: number } | null> {
  const header = parseTarHeader(await bytes.whole(tarBlock));
  if (header === 'end') return null;
  if (header === null) throw wrongArchive(path, 'valid tar headers', 'a damaged one');
  const prefix = `${archiveFolder}/`;
  const name = header.name.slice(prefix.length);
  if (header.type !== '0' || !header.name.startsWith(prefix) || !isArchiveName(name))
    throw wrongArchive(path, `regular files in ${prefix}`, JSON.stringify(header.name));
  return { name, bytes: header.bytes };
}

function parseManifest(path: string, text: string): ArchiveManifest {
  let found: Partial<ArchiveManifest> | null = null;
  try {
    found = JSON.parse(text) as Partial<ArchiveManifest> | null;
  } catch {
    // Falls through to the message for everything that is not a manifest.
  }
  if (found?.format !== 'skein-model' || found.version !== 1 || !Array.isArray(found.files))
    throw wrongArchive(path, 'a manifest of version 1', JSON.stringify(text.slice(0, 60)));
  const isCount = (value: unknown, limit: number): boolean =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= limit;
  const bad = (found.files as Partial<ArchiveFile>[]).find(
    (file) => !isArchiveName(file?.name) || !isCount(file.bytes, most.bytes) || !isCount(file.crc32, 2 ** 32),
  );
  if (bad !== undefined) throw wrongArchive(path, 'names, lengths and checksums', JSON.stringify(bad));
  if (found.files.length > most.files)
    throw wrongArchive(path, `at most ${most.files} files`, String(found.files.length));
  return found as ArchiveManifest;
}

async function checkSpace(path: string, folder: string, { files }: ArchiveManifest): Promise<void> {
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > most.bytes) throw wrongArchive(path, `at most ${most.bytes} bytes`, `${total} bytes`);
  const { bavail, bsize } = await statfs(folder);
  if (total > bavail * bsize)
    throw new StorageError(
      `${path}: expected ${total} free bytes to unpack it, got ${bavail * bsize} in ${folder}. Free some space, or unpack it elsewhere with tar and open the folder.`,
      { path },
    );
}

async function writeFile(path: string, folder: string, file: ArchiveFile, bytes: ByteReader): Promise<void> {
  const target = join(folder, ...file.name.split('/'));
  await mkdir(dirname(target), { recursive: true });
  const handle = await open(target, 'wx');
  let sum = 0;
  try {
    for await (const chunk of bytes.take(file.bytes)) {
      sum = crc32(chunk, sum);
      await handle.writeFile(chunk);
    }
  } finally {
    await handle.close();
  }
  if (sum !== file.crc32) throw wrongArchive(path, `the checksum ${file.crc32} of ${file.name}`, String(sum));
}

/** Reads a gzip file in order. */
class ByteReader {
  readonly #path: string;
  readonly #file: ReturnType<typeof createReadStream>;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor(path: string) {
    this.#path = path;
    this.#file = createReadStream(path);
    const gunzip = createGunzip();
    this.#file.on('error', (error) => gunzip.destroy(error));
    this.#chunks = this.#file.pipe(gunzip)[Symbol.asyncIterator]();
  }

  /** Yields the next `count` bytes in pieces. */
  async *take(count: number): AsyncGenerator<Uint8Array> {
    for (let left = count; left > 0; ) {
      if (this.#held.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done === true) throw wrongArchive(this.#path, `${left} more bytes`, 'its end');
        this.#held = value;
      }
      const piece = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async whole(count: number): Promise<Uint8Array> {
    const out = new Uint8Array(count);
    let at = 0;
    for await (const piece of this.take(count)) {
      out.set(piece, at);
      at += piece.length;
    }
    return out;
  }

  async skip(count: number): Promise<void> {
    await this.whole(count);
  }

  close(): void {
    this.#file.destroy();
    void this.#chunks.return?.();
  }
}
