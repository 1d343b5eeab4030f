/**
 * Loads partitions from a directory: finds the files, detects their format, and reads those of this worker.
 *
 * @example
 * const data = await loadPartitionData('partitions/cora.json'); // this rank of the current communicator
 */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { storageError } from '../../storage/atomic-file.js';
import { inFile } from '../../storage/safetensors-file.js';
import { checkInteger, expected, FormatError, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { currentCommunicator } from '../comm/current.js';
import { readDglPartition } from './dgl/dgl-partition.js';
import {
  fileInDirectory,
  formatError,
  isObject,
  type Manifest,
  parseManifest,
  readJson,
} from './manifest.js';
import { joinPartitions, type PartitionContent, type WorkerRank } from './partition-content.js';
import type { PartitionData } from './partition-data.js';
import {
  type PartitionOrigin,
  partitionFiles,
  partitionFormat,
  readOrigin,
  readPartition,
} from './partition-files.js';

/** The worker that loads: a rank of a communicator (the current one by default), or a rank by number. */
export interface LoadPartitionOptions {
  readonly comm?: { readonly rank: number; readonly size: number };
  readonly rank?: number;
  /** Default: the number of partitions. */
  readonly workers?: number;
}

/** Loads the data of a worker, from our files or from DGL's. `path` is the JSON file, or a directory with one. */
export async function loadPartitionData(
  path: string,
  options: LoadPartitionOptions = {},
): Promise<PartitionData> {
  checkOptionNames('loadPartitionData', options, { comm: true, rank: true, workers: true });
  const manifest = await openManifest(path);
  const { book } = manifest;
  const worker = resolveWorker('loadPartitionData', options, book.numParts);
  const { start, end } = book.workerParts(worker.rank, worker.workers);
  const contents: PartitionContent[] = [];
  const files = isSkeinManifest(manifest) ? partitionFiles(manifest) : null;
  for (let part = start; part < end; part++) {
    contents.push(
      files === null
        ? await readDglPartition(manifest, part)
        : await readPartition(manifest, files[part], part),
    );
  }
  return inFile(manifest.path, () => joinPartitions(book, contents, worker));
}

/**
 * Loads a partition that DGL wrote, as `sar.load_dgl_partition_data`. `worker` is a rank or the options of
 * `loadPartitionData`. `device` exists for compatibility; data are always on the host.
 */
export async function loadDglPartitionData(
  path: string,
  worker: number | LoadPartitionOptions = {},
  device: 'cpu' = 'cpu',
): Promise<PartitionData> {
  if (device !== 'cpu')
    throw new ValueError(
      expected('loadDglPartitionData', 'cpu', 'device', device, 'Move tensors afterwards.'),
    );
  const json = await manifestPath(path);
  if ((await readJson(json))['format'] === partitionFormat)
    throw formatError(
      json,
      'the file',
      "DGL's description of partitions",
      'a description by Skein',
      'Use loadPartitionData.',
    );
  return loadPartitionData(json, typeof worker === 'number' ? { rank: worker } : worker);
}

function resolveWorker(where: string, options: LoadPartitionOptions, numParts: number): WorkerRank {
  if (options.rank !== undefined) {
    const workers = checkInteger(where, 'workers', options.workers ?? numParts, 1);
    return { rank: checkInteger(where, 'rank', options.rank, 0, workers - 1), workers };
  }
  if (options.workers !== undefined)
    throw new ValueError(expected(where, 'a rank', 'rank', undefined, 'Give rank and workers, or comm.'));
  const { rank, size } = options.comm ?? currentCommunicator();
  return { rank, workers: size };
}

/** Whether a description of ours was modified. */
function isDamaged(error: unknown): boolean {
  return error instanceof FormatError && error.details['key'] === 'checksum';
}

/** Whether a path is a description of partitions or a directory with one, damaged or not; reads JSON only. */
export async function isPartitionDirectory(path: string): Promise<boolean> {
  for (const file of await jsonFiles(path).catch(() => [])) {
    const json = await readJson(file).catch((error: unknown) => (isDamaged(error) ? true : null));
    // A damaged description is still a description; reading it reports the damage.
    if (json === true) return true;
    if (
      json?.['format'] === partitionFormat ||
      (json?.['num_parts'] !== undefined && isObject(json['part-0']))
    )
      return true;
  }
  return false;
}

export interface PartitionDirectory {
  readonly path: string;
  readonly format: 'skein' | 'dgl';
  readonly name: string;
  readonly method: string;
  readonly numParts: number;
  readonly nodes: Readonly<Record<string, number>>;
  readonly edges: Readonly<Record<string, number>>;
  readonly parts: readonly { readonly nodes: number; readonly edges: number; readonly bytes: number }[];
  /** Edges between partitions and rows that each fetches; null if the files do not state them. */
  readonly cutEdges: number | null;
  readonly halo: readonly number[] | null;
  /** Distinguishes the graph from others of the same size; null if the files do not state it. */
  readonly source: PartitionOrigin | null;
}

/** Describes a partition directory; reads only the sizes of its other files. */
export async function describePartitions(path: string): Promise<PartitionDirectory> {
  const manifest = await openManifest(path);
  const { book, json } = manifest;
  const own = isSkeinManifest(manifest) ? partitionFiles(manifest) : null;
  const { cut_edges: cutEdges, halo } = json;
  const parts = Array.from({ length: book.numParts }, async (_, p) => {
    const [nodes, edges] = [book.nodeRange(p), book.edgeRange(p)];
    const files = own === null ? dglFiles(manifest, p) : [own[p].path];
    const sizes = await Promise.all(files.map(sizeOf));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    return { nodes: nodes.end - nodes.start, edges: edges.end - edges.start, bytes };
  });
  return {
    path: manifest.path,
    format: own === null ? 'dgl' : 'skein',
    name: manifest.name,
    method: manifest.method,
    numParts: book.numParts,
    nodes: Object.fromEntries(book.nodeTypeNames.map((type) => [type, book.numNodes(type)])),
    edges: Object.fromEntries(book.edgeTypeNames.map((type) => [type, book.numEdges(type)])),
    parts: await Promise.all(parts),
    cutEdges: typeof cutEdges === 'number' ? cutEdges : null,
    halo: Array.isArray(halo) && halo.length === book.numParts ? (halo as number[]) : null,
    source: own === null ? null : readOrigin(manifest),
  };
}

function dglFiles({ path, json }: Manifest, part: number): string[] {
  const entry = json[`part-${part}`];
  if (!isObject(entry)) throw formatError(path, `part-${part}`, 'names of files', entry);
  return Object.entries(entry)
    .filter(([key]) => ['part_graph', 'node_feats', 'edge_feats'].includes(key))
    .map(([key, value]) => fileInDirectory(dirname(path), path, `part-${part}.${key}`, value));
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw storageError('read', path, error);
  }
}

function isSkeinManifest({ json }: Manifest): boolean {
  return json['format'] === partitionFormat;
}

async function openManifest(path: string): Promise<Manifest> {
  const file = await manifestPath(path);
  const json = await readJson(file);
  const { format } = json;
  if (format !== undefined && format !== partitionFormat)
    throw formatError(file, 'format', partitionFormat, format, 'This JSON describes something else.');
  if (format === undefined && !isObject(json['part-0']))
    throw formatError(file, 'the file', 'a description of partitions', 'JSON of another kind');
  return parseManifest(file, json);
}

async function manifestPath(path: string): Promise<string> {
  const files = await jsonFiles(path);
  // A file given by path may be in any folder; one found in a directory must be inside it.
  if (files.length === 1)
    return files[0] === path ? path : fileInDirectory(path, files[0], 'the file', basename(files[0]));
  throw new StateError(
    `loadPartitionData: expected one JSON in ${path}, got ${files.length === 0 ? 'none' : files.map((file) => basename(file)).join(', ')}. Give the path of the file.`,
  );
}

/** Returns the file itself, or the JSON files of a directory. */
async function jsonFiles(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort();
    return names.map((name) => join(path, name));
  } catch (error) {
    throw storageError('read', path, error);
  }
}
