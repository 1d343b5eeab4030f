/** Writes the archive of a packed model: files of any size, streamed, under a temporary name until it is complete. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGzip } from 'node:zlib';
import { StateError } from '../util/errors.js';
import {
  type ArchiveFile,
  type ArchiveManifest,
  isArchiveName,
  manifestName,
  tarBlock,
  tarHeader,
  tarPadding,
} from './archive-format.js';
import { storageError, syncFolder } from './atomic-file.js';
import { removeAbandoned, temporaryName } from './temporary-name.js';

/** A file to pack: its path on disk, or its contents. */
export interface ArchiveSource {
  readonly name: string;
  readonly from: string | Uint8Array;
}

/**
 * Writes the archive; the same files give the same bytes. Returns its size and that of the files in it.
 *
 * @param about what the manifest says about the contents.
 */
export async function writeArchive(
  path: string,
  sources: readonly ArchiveSource[],
  about: Readonly<Record<string, unknown>>,
): Promise<{ readonly bytes: number; readonly unpacked: number }> {
  const files: ArchiveFile[] = [];
  for (const source of sources) files.push(await describeSource(source));
  const manifest: ArchiveManifest = { format: 'skein-model', version: 1, about, files };
  const temporary = temporaryName(path);
  try {
    await removeAbandoned(path);
    await pipeline(
      Readable.from(archiveBytes(manifest, sources)),
      // Rows of floats hardly compress: the fastest level gives nearly the size of the best.
      createGzip({ level: 1 }),
      createWriteStream(temporary, { flags: 'wx' }),
    );
    const file = await open(temporary, 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    throw storageError('write', path, error);
  } finally {
    await rm(temporary, { force: true });
  }
  const unpacked = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { bytes: (await stat(path)).size, unpacked };
}

async function describeSource({ name, from }: ArchiveSource): Promise<ArchiveFile> {
  if (!isArchiveName(name))
    throw new StateError(`pack: expected a plain name of a file for the archive, got ${name}.`);
  let [bytes, sum] = [0, 0];
  for await (const chunk of contents(from)) {
    bytes += chunk.length;
    sum = crc32(chunk, sum);
  }
  return { name, bytes, crc32: sum };
}

async function* archiveBytes(
  manifest: ArchiveManifest,
  sources: readonly ArchiveSource[],
): AsyncGenerator<Uint8Array> {
  const text = new TextEncoder().encode(`${JSON.stringify(manifest)}\n`);
  const all: (ArchiveSource & { readonly bytes: number })[] = [
    { name: manifestName, from: text, bytes: text.length },
    ...sources.map((source, i) => ({ ...source, bytes: manifest.files[i].bytes })),
  ];
  for (const { name, from, bytes } of all) {
    yield tarHeader(name, bytes);
    let done = 0;
    for await (const chunk of contents(from)) {
      done += chunk.length;
      yield chunk;
    }
    if (done !== bytes)
      throw new StateError(
        `pack: expected ${bytes} bytes of ${name}, got ${done}: it changed while it was packed. Pack again when nothing writes to the run.`,
      );
    yield new Uint8Array(tarPadding(bytes));
  }
  yield new Uint8Array(2 * tarBlock);
}

async function* contents(from: string | Uint8Array): AsyncGenerator<Uint8Array> {
  if (typeof from === 'string') yield* createReadStream(from, { highWaterMark: 2 ** 20 });
  else yield from;
}
