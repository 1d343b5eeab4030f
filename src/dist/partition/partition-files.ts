/**
 * Partitions in our own files: `<name>.json` and a safetensors file for each partition beside it (docs/partitions.md).
 *
 * Files of partitions carry a checksum in their name and the JSON comes last, so a crash leaves the old directory or the
 * new one. The JSON has a checksum of every block of every file: damage is found before anything is built of it, and named
 * by its place. Loading never follows a path out of the directory.
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
  complain,
  fileBeside,
  isObject,
  type JsonObject,
  type Manifest,
  sealedJson,
  wholeNumber,
} from './manifest.js';
import type { IdRange } from './partition-book.js';
import type { PartitionContent } from './partition-content.js';
import type { PartitionedGraph } from './partitioned-graph.js';

export const partitionFormat = 'skein-partitions';

/** Bytes that one checksum stands for. */
const blockBytes = 2 ** 22;

export interface WritePartitionsOptions {
  /** Name of the graph, and of the JSON. */
  readonly name?: string;
  /** How the graph was cut, for those who look at the directory later. */
  readonly method?: string;
  /** What tells the graph from others of the same size, by name: checksums of the files that it was read from. */
  readonly source?: PartitionOrigin;
}

/** Texts by name; `describePartitions` gives them back. */
export type PartitionOrigin = Readonly<Record<string, string>>;

export interface WrittenPartitions {
  /** The JSON: what `loadPartitionData` takes. */
  readonly path: string;
  /** How many all files of partitions have together. */
  readonly bytes: number;
}

/** Writes a graph that `partitionData` cut, one partition at a time. */
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
  const text = sealedJson(manifest);
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

/** What the manifest says of the graph that was cut; null in files of DGL and of older versions. */
export function originIn({ path, json }: Manifest): PartitionOrigin | null {
  const { source } = json;
  if (source === undefined) return null;
  if (!isObject(source) || Object.values(source).some((text) => typeof text !== 'string'))
    throw complain(path, 'source', 'texts by name', source);
  return source as PartitionOrigin;
}

/** The file of one partition as the manifest has it. */
export interface PartitionFile {
  readonly path: string;
  readonly bytes: number;
  readonly blockBytes: number;
  readonly crc32: readonly number[];
}

export function partitionFiles({ path, json, book }: Manifest): PartitionFile[] {
  if (json['version'] !== 1) throw complain(path, 'version', '1', json['version'], 'A newer Skein wrote it.');
  const { parts } = json;
  if (!Array.isArray(parts) || parts.length !== book.numParts)
    throw complain(path, 'parts', `${book.numParts} files`, parts);
  const size = wholeNumber(path, 'block_bytes', json['block_bytes'], 1, 2 ** 40);
  return parts.map((entry: unknown, p) => {
    const key = `parts[${p}]`;
    if (!isObject(entry)) throw complain(path, key, 'file, bytes and crc32', entry);
    const bytes = wholeNumber(path, `${key}.bytes`, entry['bytes'], 0, Number.MAX_SAFE_INTEGER);
    const sums = entry['crc32'];
    const blocks = Math.ceil(bytes / size);
    if (!Array.isArray(sums) || sums.length !== blocks)
      throw complain(path, `${key}.crc32`, `${blocks} checksums`, sums);
    sums.forEach((sum, i) => {
      wholeNumber(path, `${key}.crc32[${i}]`, sum, 0, 2 ** 32 - 1);
    });
    const file = fileBeside(dirname(path), path, `${key}.file`, entry['file']);
    return { path: file, bytes, blockBytes: size, crc32: sums as number[] };
  });
}

/** One partition, after all that was promised of it was checked. */
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
      `${path}: at byte ${at}: expected ${want} bytes, got ${bytes.length}. The file is ${bytes.length < want ? 'cut' : 'longer than it was written'}.`,
      { path, byteOffset: at },
    );
  }
  sums.forEach((sum, i) => {
    const start = i * size;
    const end = Math.min(bytes.length, start + size);
    if (crc32(bytes.subarray(start, end)) === sum) return;
    throw new FormatError(
      `${path}: at byte ${start}: expected checksum ${sum} of the bytes up to ${end}, got another. The file is corrupt; use another copy.`,
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

/** Files of an earlier cut of the same name that the new JSON does not need. */
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
    throw complain(path, 'skein.partition', `partition ${part}`, metadata['skein.partition']);
  const ids = (name: string): Int32Array | null => {
    const value = tensors[name];
    if (value === undefined) return null;
    if (value.dtype === 'i32' && value.rank === 1) return value.dataSync<Int32Array>();
    throw complain(path, name, 'one row of i32', `${value.dtype} of ${value.rank} axes`);
  };
  const needed = (name: string): Int32Array => {
    const values = ids(name);
    if (values === null) throw complain(path, 'tensors', `one named ${name}`, Object.keys(tensors));
    return values;
  };
  const under = (prefix: string): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(tensors).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      ),
    );
  return {
    part,
    src: needed('src'),
    dst: needed('dst'),
    nodeFeatures: under(nodePrefix),
    edgeFeatures: under(edgePrefix),
    originalNodeIds: ids('original_node_ids'),
    originalEdgeIds: ids('original_edge_ids'),
  };
}
