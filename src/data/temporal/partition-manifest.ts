/**
 * The manifest of a partitioned stream: algorithm and sizes, and the files of the partitions with their checksums. It is written
 * last and replaced atomically; the names of the other files contain their checksums, so a new version never overwrites a file
 * that the old manifest names.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { kernels } from '../../native/index.js';
import { readWholeFile, writeFileAtomic } from '../../storage/atomic-file.js';
import type { PartitionAlgorithm } from '../../temporal/index.js';
import type { PartitionStats } from '../../temporal/partition/types.js';
import { partitionAlgorithms } from '../../temporal/partition/types.js';
import { checkInteger, expected, FormatError, StorageError, ValueError } from '../../util/errors.js';

export interface PartitionFile {
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
}

export interface PartitionManifest {
  readonly format: 'skein-temporal-partition';
  readonly formatVersion: 1;
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  readonly seed: number;
  readonly numNodes: number;
  readonly numEvents: number;
  readonly featureWidth: number;
  readonly directed: boolean;
  readonly trainEnd: number;
  readonly validationEnd: number;
  readonly stats: PartitionStats;
  /** Events, masters, owners. */
  readonly structure: PartitionFile;
  /** One file per partition. */
  readonly parts: readonly PartitionFile[];
}

const manifestName = 'manifest.json';

/** Returns the folder of the partitions, named as in StarryGL. */
export function partitionFolder(root: string, algo: string, numParts: number): string {
  return join(root, `${algo}_${numParts}`);
}

export function checksum(bytes: Uint8Array): number {
  return kernels().crc32(bytes, bytes.length, 0);
}

export async function writeManifest(folder: string, manifest: PartitionManifest): Promise<void> {
  const crc32 = checksum(new TextEncoder().encode(JSON.stringify(manifest)));
  const text = `${JSON.stringify({ ...manifest, crc32 }, null, 2)}\n`;
  await writeFileAtomic(join(folder, manifestName), new TextEncoder().encode(text));
}

export interface ManifestRequest {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
}

/** Reads the manifest of that algorithm and number of partitions; throws, with the reason, for any other. */
export async function readManifest(root: string, request: ManifestRequest): Promise<PartitionManifest> {
  const { algo, numParts } = request;
  const folder = partitionFolder(root, algo, numParts);
  const path = join(folder, manifestName);
  const bytes = await readWholeFile(path).catch(async (error: unknown) => {
    throw (await missingError(root, request)) ?? error;
  });
  const manifest = parse(path, bytes);
  const found = { algo: manifest.algo, numParts: manifest.numParts };
  for (const name of ['algo', 'numParts'] as const) {
    if (found[name] === request[name]) continue;
    const advice = 'The folder belongs to other partitions; partition the stream again.';
    throw new FormatError(
      expected('partitionLoad', `${request[name]}`, `${name} in ${path}`, found[name], advice),
      {
        path,
      },
    );
  }
  return manifest;
}

/** Makes an error that names the partitions in the folder, if the requested ones are not there. */
async function missingError(root: string, { algo, numParts }: ManifestRequest): Promise<StorageError | null> {
  const names = await readdir(root).catch(() => []);
  const there = names.filter((name) => partitionAlgorithms.some((a) => name.startsWith(`${a}_`))).sort();
  if (there.length === 0 || there.includes(`${algo}_${numParts}`)) return null;
  const advice = 'Start as many workers as there are partitions, or partition the stream again.';
  const what = `a partition ${algo}_${numParts}`;
  return new StorageError(expected('partitionLoad', what, root, there.join(', '), advice), {
    path: root,
    there,
  });
}

function parse(path: string, bytes: Uint8Array): PartitionManifest {
  const where = 'partitionLoad';
  const corrupt = (what: string, got: unknown): FormatError =>
    new FormatError(expected(where, what, path, got, 'The file is corrupt; partition again.'), { path });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw corrupt('JSON', String(error));
  }
  const { crc32, ...manifest } = (value ?? {}) as PartitionManifest & { crc32?: number };
  if (manifest.format !== 'skein-temporal-partition')
    throw corrupt('skein-temporal-partition', manifest.format);
  if (manifest.formatVersion !== 1) {
    const advice = 'Another Skein wrote it; partition again.';
    throw new FormatError(expected(where, 'version 1', path, manifest.formatVersion, advice), { path });
  }
  const actual = checksum(new TextEncoder().encode(JSON.stringify(manifest)));
  if (crc32 !== actual) throw corrupt(`checksum ${crc32}`, actual);
  return manifest;
}

/** Reads a file that a manifest names; throws if its length or checksum is another. */
export async function readChecked(folder: string, file: PartitionFile): Promise<Uint8Array> {
  const path = join(folder, file.name);
  const bytes = await readWholeFile(path);
  const got = { bytes: bytes.length, crc32: bytes.length === file.bytes ? checksum(bytes) : 0 };
  if (got.bytes !== file.bytes || got.crc32 !== file.crc32) {
    const [what, was] =
      got.bytes === file.bytes
        ? [`checksum ${file.crc32}`, got.crc32]
        : [`${file.bytes} bytes`, `${got.bytes} bytes`];
    throw new FormatError(
      expected('partitionLoad', `${what}`, path, was, 'The file is corrupt; partition again.'),
      { path },
    );
  }
  return bytes;
}

export function checkRequest(where: string, algo: unknown, numParts: unknown): ManifestRequest {
  if (!partitionAlgorithms.includes(algo as PartitionAlgorithm))
    throw new ValueError(expected(where, `one of ${partitionAlgorithms.join(', ')}`, 'algo', algo));
  return { algo: algo as PartitionAlgorithm, numParts: checkInteger(where, 'numParts', numParts, 1) };
}
