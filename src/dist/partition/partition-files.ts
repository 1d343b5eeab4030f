/**
 * Our partition files: `<name>.json` and next to it one safetensors file per partition (docs/partitions.md).
 *
 * Partition files have a checksum in their name and the JSON is written last, so a crash leaves the old directory or
 * the new one. The JSON has a checksum of every block of every file: damage is detected before anything is built from
 * it, and the error names its position. Loading never follows a path out of the directory.
 */
import { readdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readWholeFile, writeFileAtomic } from '../../storage/atomic-file.js';
import { makeFolder } from '../../storage/make-folder.js';
import { inFile } from '../../storage/safetensors-file.js';
import { decodeSafetensors, encodeSafetensors, fromTypedArray, type Tensor } from '../../tensor/index.js';
import { crc32 } from '../../util/crc32.js';
import { expected, FormatError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkContent } from './check-content.js';
import {
  fileInDirectory,
  formatError,
  isObject,
  type JsonObject,
  jsonWithChecksum,
  type Manifest,
  wholeNumber,
} from './manifest.js';
import type { IdRange } from './partition-book.js';
import type { PartitionContent } from './partition-content.js';
import type { PartitionedGraph } from './partitioned-graph.js';

export const partitionFormat = 'skein-partitions';

/** Bytes per checksum. */
const blockBytes = 2 ** 22;

export interface WritePartitionsOptions {
  /** Name of the graph, and of the JSON. */
  readonly name?: string;
  /** How the graph was partitioned, for information. */
  readonly method?: string;
  /** Distinguishes the graph from others of the same size: checksums of the files that it was read from, by name. */
  readonly source?: PartitionOrigin;
}

/** Strings by name; returned by `describePartitions`. */
export type PartitionOrigin = Readonly<Record<string, string>>;

export interface WrittenPartitions {
  /** The JSON file, as `loadPartitionData` takes it. */
  readonly path: string;
  /** Total size of all partition files. */
  readonly bytes: number;
}

/** Writes a graph that `partitionData` partitioned, one partition at a time. */
export async function writePartitions(
  directory: string,
  split: PartitionedGraph,
  options: WritePartitionsOptions = {},
): Promise<WrittenPartitions> {
  checkOptionNames('writePartitions', options, { name: true, method: true, source: true });
  const { name = 'graph', method = 'given', source } = options;
  if (!/^\w[\w.-]*$/.test(name))
    throw new ValueError(expected('writePartitions', 'letters, digits, _, - and .', 'name', name));
  makeFolder(directory);
  const files: JsonObject[] = [];
  for (let part = 0; part < split.numParts; part++) {
    const bytes = encodeContent(split.content(part));
    const checksums = blockChecksums(bytes);
    const file = fileName(name, part, checksums);
    await writeFileAtomic(join(directory, file), bytes);
    files.push({ file, bytes: bytes.length, crc32: checksums });
  }
  const path = join(directory, `${name}.json`);
  const manifest = { ...manifestOf(split, name, method, files), ...(source === undefined ? {} : { source }) };
  const text = jsonWithChecksum(manifest);
  await writeFileAtomic(path, new TextEncoder().encode(text));
  await removeOldFiles(
    directory,
    name,
    files.map(({ file }) => file as string),
  );
  return { path, bytes: files.reduce((sum, { bytes }) => sum + (bytes as number), 0) };
}

function manifestOf(
  split: PartitionedGraph,
  name: string,
  method: string,
  parts: readonly JsonObject[],
): JsonObject {
  const { book } = split;
  const { cutEdges, halo } = split.stats();
  const byName = (names: readonly string[], map: readonly (readonly IdRange[])[]): JsonObject =>
    Object.fromEntries(names.map((type, t) => [type, map[t].map(({ start, end }) => [start, end])]));
  const numbers = (names: readonly string[]): JsonObject =>
    Object.fromEntries(names.map((type, t) => [type, t]));
  return {
    format: partitionFormat,
    version: 1,
    graph_name: name,
    part_method: method,
    num_parts: book.numParts,
    num_nodes: book.numNodes(),
    num_edges: book.numEdges(),
    ntypes: numbers(book.nodeTypeNames),
    etypes: numbers(book.edgeTypeNames),
    node_map: byName(book.nodeTypeNames, book.nodeMap),
    edge_map: byName(book.edgeTypeNames, book.edgeMap),
    cut_edges: cutEdges,
    halo,
    block_bytes: blockBytes,
    parts,
  };
}

/** Returns the origin of the graph from the manifest; null in files of DGL and of older versions. */
export function readOrigin({ path, json }: Manifest): PartitionOrigin | null {
  const { source } = json;
  if (source === undefined) return null;
  if (!isObject(source) || Object.values(source).some((text) => typeof text !== 'string'))
    throw formatError(path, 'source', 'texts by name', source);
  return source as PartitionOrigin;
}

/** The file of one partition according to the manifest. */
export interface PartitionFile {
  readonly path: string;
  readonly bytes: number;
  readonly blockBytes: number;
  readonly crc32: readonly number[];
}

export function partitionFiles({ path, json, book }: Manifest): PartitionFile[] {
  if (json['version'] !== 1)
    throw formatError(path, 'version', '1', json['version'], 'It was written by a newer version of Skein.');
  const { parts } = json;
  if (!Array.isArray(parts) || parts.length !== book.numParts)
    throw formatError(path, 'parts', `${book.numParts} files`, parts);
  const size = wholeNumber(path, 'block_bytes', json['block_bytes'], 1, 2 ** 40);
  return parts.map((entry: unknown, p) => {
    const key = `parts[${p}]`;
    if (!isObject(entry)) throw formatError(path, key, 'file, bytes and crc32', entry);
    const bytes = wholeNumber(path, `${key}.bytes`, entry['bytes'], 0, Number.MAX_SAFE_INTEGER);
    const sums = entry['crc32'];
    const blocks = Math.ceil(bytes / size);
    if (!Array.isArray(sums) || sums.length !== blocks)
      throw formatError(path, `${key}.crc32`, `${blocks} checksums`, sums);
    sums.forEach((sum, i) => {
      wholeNumber(path, `${key}.crc32[${i}]`, sum, 0, 2 ** 32 - 1);
    });
    const file = fileInDirectory(dirname(path), path, `${key}.file`, entry['file']);
    return { path: file, bytes, blockBytes: size, crc32: sums as number[] };
  });
}

/** Reads one partition and checks it against the manifest. */
export async function readPartition(
  manifest: Manifest,
  file: PartitionFile,
  part: number,
): Promise<PartitionContent> {
  const bytes = await readWholeFile(file.path);
  checkBytes(file, bytes);
  return inFile(file.path, () => {
    const content = decodeContent(file.path, bytes, part);
    checkContent(manifest.book, content);
    return content;
  });
}

function checkBytes(
  { path, bytes: want, blockBytes: size, crc32: sums }: PartitionFile,
  bytes: Uint8Array,
): void {
  if (bytes.length !== want) {
    const at = Math.min(bytes.length, want);
    throw new FormatError(
      `${path}: at byte ${at}: expected ${want} bytes, got ${bytes.length}. The file is ${bytes.length < want ? 'truncated' : 'longer than it was written'}.`,
      { path, byteOffset: at },
    );
  }
  sums.forEach((sum, i) => {
    const start = i * size;
    const end = Math.min(bytes.length, start + size);
    if (crc32(bytes.subarray(start, end)) === sum) return;
    throw new FormatError(
      `${path}: at byte ${start}: expected checksum ${sum} of the bytes up to ${end}, got a different one. The file is corrupt; use another copy.`,
      { path, byteOffset: start },
    );
  });
}

function blockChecksums(bytes: Uint8Array): number[] {
  return Array.from({ length: Math.ceil(bytes.length / blockBytes) }, (_, i) =>
    crc32(bytes.subarray(i * blockBytes, (i + 1) * blockBytes)),
  );
}

function fileName(name: string, part: number, checksums: readonly number[]): string {
  const stamp = crc32(new Uint8Array(Uint32Array.from(checksums).buffer));
  return `${name}-${String(part).padStart(5, '0')}.${stamp.toString(16).padStart(8, '0')}.safetensors`;
}

/** Removes files of an earlier partitioning of the same name that the new JSON does not need. */
async function removeOldFiles(directory: string, name: string, keep: readonly string[]): Promise<void> {
  const pattern = /^-\d{5,}\.[0-9a-f]{8}\.safetensors$/;
  for (const file of await readdir(directory)) {
    const old = file.startsWith(name) && pattern.test(file.slice(name.length)) && !keep.includes(file);
    if (old) await unlink(join(directory, file));
  }
}

const [nodePrefix, edgePrefix] = ['node/', 'edge/'];

function encodeContent(content: PartitionContent): Uint8Array {
  const tensors: Record<string, Tensor> = {
    src: fromTypedArray(content.src),
    dst: fromTypedArray(content.dst),
  };
  const { originalNodeIds, originalEdgeIds } = content;
  if (originalNodeIds !== null) tensors['original_node_ids'] = fromTypedArray(originalNodeIds);
  if (originalEdgeIds !== null) tensors['original_edge_ids'] = fromTypedArray(originalEdgeIds);
  for (const [key, value] of Object.entries(content.nodeFeatures)) tensors[nodePrefix + key] = value;
  for (const [key, value] of Object.entries(content.edgeFeatures)) tensors[edgePrefix + key] = value;
  return encodeSafetensors(tensors, { 'skein.partition': String(content.part) });
}

function decodeContent(path: string, bytes: Uint8Array, part: number): PartitionContent {
  const { tensors, metadata } = decodeSafetensors(bytes);
  if (metadata['skein.partition'] !== String(part))
    throw formatError(path, 'skein.partition', `partition ${part}`, metadata['skein.partition']);
  const ids = (name: string): Int32Array | null => {
    const value = tensors[name];
    if (value === undefined) return null;
    if (value.dtype === 'i32' && value.rank === 1) return value.dataSync<Int32Array>();
    throw formatError(path, name, 'one row of i32', `${value.dtype} of ${value.rank} axes`);
  };
  const requireIds = (name: string): Int32Array => {
    const values = ids(name);
    if (values === null) throw formatError(path, 'tensors', `one named ${name}`, Object.keys(tensors));
    return values;
  };
  const withPrefix = (prefix: string): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(tensors).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      ),
    );
  return {
    part,
    src: requireIds('src'),
    dst: requireIds('dst'),
    nodeFeatures: withPrefix(nodePrefix),
    edgeFeatures: withPrefix(edgePrefix),
    originalNodeIds: ids('original_node_ids'),
    originalEdgeIds: ids('original_edge_ids'),
  };
}
