/**
 * Finds the raw files of a dataset below a root, or downloads them. A downloaded file gets its final name once it is
 * complete and its checksum matches. Nothing outside the root is read or written.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { writeFileAtomic } from '../storage/atomic-file.js';
import { FormatError, StorageError } from '../util/errors.js';
import type { CatalogueEntry, CatalogueFile } from './catalogue.js';
import { readTar } from './formats/tar.js';
import { readZip } from './formats/zip.js';

export interface FindOptions {
  readonly root: string;
  readonly download: boolean;
  /** Server with the files as <mirror>/<folder>/<file>, used instead of the publisher. */
  readonly mirror?: string;
}

/** Returns the paths of the files of an entry, in its order. */
export async function findFiles(
  name: string,
  entry: CatalogueEntry,
  options: FindOptions,
): Promise<string[]> {
  const root = resolve(options.root);
  const folders = [...new Set([entry.folder, name, join(name, 'raw'), '.'])].map((part) => join(root, part));
  for (const folder of folders) {
    const present = entry.files.map((names) => names.find((file) => existsSync(join(folder, file.name))));
    if (present.some((file) => file === undefined)) continue;
    const files = present as CatalogueFile[];
    for (const file of files) await checkFile(root, join(folder, file.name), file.sha256);
    return files.map((file) => join(folder, file.name));
  }
  const target = join(root, entry.folder);
  let reason: unknown = null;
  if (options.download) {
    for (const file of entry.files.flat()) await checkTarget(root, join(target, file.name));
    try {
      return await fetchFiles(entry, root, target, options.mirror);
    } catch (error) {
      reason = error;
    }
  }
  throw missingFilesError(name, entry, target, reason);
}

async function checkFile(root: string, path: string, sha256: string | undefined): Promise<void> {
  const [inside, real] = [await realpath(root), await realpath(path)];
  if (!isInside(inside, real)) throw outsideRootError(root, path, real);
  if (sha256 === undefined) return;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  checkSum(path, hash.digest('hex'), sha256);
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function outsideRootError(root: string, path: string, real: string): StorageError {
  return new StorageError(
    `loadDataset: expected files inside ${root}, got ${path}, which leads to ${real}. Pass the folder that contains it as root, or set SKEIN_DATA to it.`,
    { path },
  );
}

/** Throws if a link leads the folder of a file to be written outside the root. */
async function checkTarget(root: string, path: string): Promise<void> {
  const [inside, real] = [await futurePath(root), await futurePath(dirname(path))];
  if (!isInside(inside, real)) throw outsideRootError(root, dirname(path), real);
}

/** Returns the real path of a folder that may not exist yet: that of its nearest existing ancestor, and the rest. */
async function futurePath(path: string): Promise<string> {
  try {
    await lstat(path);
  } catch (error) {
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path)
      throw unusableFolderError(path, error as NodeJS.ErrnoException);
    return join(await futurePath(parent), basename(path));
  }
  // A dangling link exists, but has no real path.
  return realpath(path).catch((error) => {
    throw unusableFolderError(path, error);
  });
}

function unusableFolderError(path: string, error: NodeJS.ErrnoException): StorageError {
  const message = `loadDataset: expected a folder to write to, got ${path} with ${error.code}. Pass another root.`;
  return new StorageError(message, { path, code: error.code }, { cause: error });
}

function checkSum(path: string, got: string, wanted: string): void {
  if (got === wanted) return;
  throw new FormatError(
    `${path}: expected the checksum ${wanted.slice(0, 12)}…, got ${got.slice(0, 12)}…. The file is damaged or of another version; delete it to download it again.`,
    { path, sha256: got },
  );
}

/** Returns an error that lists the expected paths and the addresses of the missing files. */
function missingFilesError(
  name: string,
  entry: CatalogueEntry,
  target: string,
  reason: unknown,
): StorageError {
  const lines = entry.files.map((names) => {
    const absent = names.map((file) => join(target, file.name)).join('  or  ');
    const url = names.find((file) => file.url !== undefined)?.url ?? entry.archive;
    return `  ${absent}${url === undefined ? '' : `   (${url})`}`;
  });
  const why = reason === null ? 'none' : `none, and the download failed: ${describeCause(reason)}`;
  return new StorageError(
    `loadDataset: expected the files of ${name}, got ${why}. Put the files in place, pass their folder as root, or set SKEIN_DATA to it:\n${lines.join('\n')}`,
    { dataset: name, folder: target },
    reason === null ? undefined : { cause: reason },
  );
}

function describeCause(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

async function fetchFiles(
  entry: CatalogueEntry,
  root: string,
  target: string,
  mirror: string | undefined,
): Promise<string[]> {
  const paths: string[] = [];
  const members =
    entry.archive === undefined || mirror !== undefined ? null : await fetchArchive(entry.archive);
  for (const names of entry.files) {
    const file = names.find((one) => one.url !== undefined) ?? names[0];
    const path = join(target, file.name);
    const url = mirror === undefined ? file.url : `${mirror.replace(/\/$/, '')}/${entry.folder}/${file.name}`;
    const bytes = members === null ? await fetchBytes(url) : readMember(members, file.name);
    if (file.sha256 !== undefined) {
      checkSum(url ?? path, createHash('sha256').update(bytes).digest('hex'), file.sha256);
    }
    await checkTarget(root, path);
    await mkdir(dirname(path), { recursive: true });
    await writeFileAtomic(path, bytes);
    await checkFile(root, path, undefined);
    paths.push(path);
  }
  return paths;
}

async function fetchBytes(url: string | undefined): Promise<Uint8Array> {
  if (url === undefined)
    throw new StorageError(
      'download: expected an address for this file, got none. The publisher does not offer it.',
    );
  const response = await fetch(url);
  if (!response.ok) {
    throw new StorageError(
      `download: expected ${url}, got status ${response.status} ${response.statusText}.`,
    );
  }
  return new Uint8Array(await response.arrayBuffer());
}

interface Member {
  readonly name: string;
  read(): Uint8Array;
}

async function fetchArchive(url: string): Promise<Member[]> {
  const bytes = await fetchBytes(url);
  return /\.(tgz|tar\.gz)$/.test(url)
    ? readTar(gunzipSync(bytes), basename(url))
    : readZip(bytes, basename(url));
}

/** Reads the member whose path ends in `name`. Only names of the catalogue are written, whatever the archive contains. */
function readMember(members: readonly Member[], name: string): Uint8Array {
  const member = members.find((one) => one.name === name || one.name.endsWith(`/${name}`));
  if (member === undefined) throw new FormatError(`download: expected ${name} in the archive, got none.`);
  return member.read();
}
