/**
 * Partitions of a stream on disk: `{root}/{algo}_{parts}/` holds a manifest, one file with the structure that every worker
 * needs (events, masters, owners), and one file per part with what only it holds (its nodes, its events, their features).
 * Features lie in the file of their owner alone.
 *
 * Writing again replaces a partition as a whole: until the new manifest is in place, the old one is valid. Loading checks
 * every byte that it uses.
 */
import { mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { splitByTime, TemporalGraph } from '../../graph/index.js';
import { kernels, type TypedArray } from '../../native/index.js';
import { storageError, writeFileAtomic } from '../../storage/atomic-file.js';
import type { PartitionAlgorithm, PartitionStats } from '../../temporal/index.js';
import { eventsOfPart, nodesOfPart, partitionTemporal } from '../../temporal/partition/partition-temporal.js';
import type { TemporalPartition } from '../../temporal/partition/types.js';
import { decodeSafetensors, encodeSafetensors, fromTypedArray, type Tensor } from '../../tensor/index.js';
import { checkInteger, expected, FormatError, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import {
  checkRequest,
  checksum,
  type PartitionFile,
  type PartitionManifest,
  partitionFolder,
  readChecked,
  readManifest,
  writeManifest,
} from './partition-manifest.js';
import type { TemporalData } from './temporal-data.js';

/** First event rows after training and after validation. */
export interface RowSplit {
  readonly trainEnd: number;
  readonly validationEnd: number;
}

export interface PartitionSaveOptions {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  readonly seed?: number;
  readonly hotRatio?: number;
  /** By default the one of the data, or 70 and 85 per cent of the time. Only training events shape the parts. */
  readonly split?: RowSplit;
}

export interface PartitionLoadOptions {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  /** Which part (0). */
  readonly rank?: number;
  /** Features in `graph`: none, because a part holds those of its own events only, or those of all parts (`own`). */
  readonly features?: 'own' | 'all';
}

/** What one worker has. */
export interface PartitionData {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  readonly rank: number;
  /** Nodes that the part holds, ascending: those it is the master of, and the shared ones. */
  readonly ids: Int32Array;
  /** Sources and destinations of the part's events [2, E]. */
  readonly edgeIndex: Tensor;
  /** Rows of its events in the stream, ascending. */
  readonly eids: Int32Array;
  readonly edgeTs: Float64Array;
  /** Features of its events [E, width]. */
  readonly edgeAttr: Tensor | null;
  /** Labels of its events. */
  readonly edgeLabels: Float32Array | null;
  /** Features of its nodes [ids, width]. */
  readonly x: Tensor | null;
  /** One flag per event of the part. */
  readonly masks: { readonly train: Uint8Array; readonly validation: Uint8Array; readonly test: Uint8Array };
  readonly sharedNodes: Int32Array;
  /** The part of every node and of every event of the stream. */
  readonly master: Int32Array;
  readonly edgeOwner: Int32Array;
  readonly split: RowSplit;
  readonly stats: PartitionStats;
  /** The whole stream: neighbours are sampled from all events. */
  readonly graph: TemporalGraph;
}

/** Cuts a stream into parts and saves them; returns what was decided. */
export async function partitionSave(
  root: string,
  data: Omit<TemporalData, 'nodes'> | TemporalGraph,
  options: PartitionSaveOptions,
): Promise<TemporalPartition> {
  checkOptionNames('partitionSave', options, {
    algo: true,
    numParts: true,
    seed: true,
    hotRatio: true,
    split: true,
  });
  const where = 'partitionSave';
  const { algo, numParts } = checkRequest(where, options.algo, options.numParts);
  const graph = data instanceof TemporalGraph ? data : graphOf(data);
  const labels = data instanceof TemporalGraph ? null : data.labels;
  if (labels !== null && labels.length !== graph.numEvents)
    throw new ShapeError(expected(where, `${graph.numEvents} labels`, 'labels', labels.length));
  const { split, ...others } = options;
  const given = split ?? (data instanceof TemporalGraph ? undefined : data.split);
  const { trainEnd, validationEnd } = given ?? splitByTime(graph);
  checkInteger(where, 'split.validationEnd', validationEnd, 0, graph.numEvents);
  checkInteger(where, 'split.trainEnd', trainEnd, 0, validationEnd);
  const partition = partitionTemporal(graph, { ...others, trainEnd });
  const folder = partitionFolder(root, algo, numParts);
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw storageError('write', folder, error);
  });
  const structure = await saveArrays(folder, 'structure', structureArrays(graph, partition));
  const parts: PartitionFile[] = [];
  for (let rank = 0; rank < numParts; rank++) {
    const name = String(rank).padStart(3, '0');
    parts.push(await saveArrays(folder, name, partArrays(graph, labels, partition, rank)));
  }
  const { numNodes, numEvents, featureWidth, directed } = graph;
  await writeManifest(folder, {
    ...({ format: 'skein-temporal-partition', formatVersion: 1 } as const),
    ...{ algo, numParts, seed: options.seed ?? 0, numNodes, numEvents, featureWidth, directed },
    ...{ trainEnd, validationEnd, stats: partition.stats, structure, parts },
  });
  await removeOthers(folder, [structure, ...parts]);
  return partition;
}

/** Loads one part of a saved partition. */
export async function partitionLoad(root: string, options: PartitionLoadOptions): Promise<PartitionData> {
  checkOptionNames('partitionLoad', options, { algo: true, numParts: true, rank: true, features: true });
  const where = 'partitionLoad';
  const request = checkRequest(where, options.algo, options.numParts);
  const rank = checkInteger(where, 'rank', options.rank ?? 0, 0, request.numParts - 1);
  const { features = 'own' } = options;
  if (features !== 'own' && features !== 'all')
    throw new ValueError(expected(where, "'own' or 'all'", 'features', features));
  const manifest = await readManifest(root, request);
  const folder = partitionFolder(root, request.algo, request.numParts);
  const structure = await loadTensors(folder, manifest.structure);
  const part = await loadTensors(folder, manifest.parts[rank]);
  const all = features === 'all' ? await joinFeatures(folder, manifest) : { edge: null, node: null };
  const src = array<Int32Array>(structure, 'src');
  const dst = array<Int32Array>(structure, 'dst');
  const time = array<Float64Array>(structure, 'time');
  const graph = new TemporalGraph(
    {
      ...{ src, dst, time, ids: array<Int32Array>(structure, 'eventIds') },
      ...(structure.types === undefined ? {} : { types: array<Int32Array>(structure, 'types') }),
      ...(all.edge === null ? {} : { features: all.edge }),
    },
    {
      ...{ numNodes: manifest.numNodes, directed: manifest.directed },
      ...(all.node === null ? {} : { nodeFeatures: all.node }),
    },
  );
  const eids = array<Int32Array>(part, 'eids');
  const { trainEnd, validationEnd } = manifest;
  const flags = (from: number, to: number): Uint8Array =>
    Uint8Array.from(eids, (row) => (row >= from && row < to ? 1 : 0));
  return {
    ...request,
    rank,
    ids: array<Int32Array>(part, 'ids'),
    edgeIndex: fromTypedArray(pairs(src, dst, eids), [2, eids.length]),
    eids,
    edgeTs: Float64Array.from(eids, (row) => time[row]),
    edgeAttr: part.edgeAttr ?? null,
    edgeLabels: part.edgeLabels === undefined ? null : array<Float32Array>(part, 'edgeLabels'),
    x: part.x ?? null,
    masks: {
      train: flags(0, trainEnd),
      validation: flags(trainEnd, validationEnd),
      test: flags(validationEnd, manifest.numEvents),
    },
    sharedNodes: array<Int32Array>(structure, 'sharedNodes'),
    master: array<Int32Array>(structure, 'master'),
    edgeOwner: array<Int32Array>(structure, 'edgeOwner'),
    split: { trainEnd, validationEnd },
    stats: manifest.stats,
    graph,
  };
}

function graphOf({
  events,
  numNodes,
  featureWidth,
  nodeFeatures,
}: Omit<TemporalData, 'nodes'>): TemporalGraph {
  return new TemporalGraph(events, {
    ...{ numNodes, featureWidth },
    ...(nodeFeatures === null ? {} : { nodeFeatures }),
  });
}

function structureArrays(graph: TemporalGraph, partition: TemporalPartition): Record<string, Tensor> {
  const { src, dst, time, eventIds, types } = graph;
  const { master, edgeOwner, sharedNodes } = partition;
  const arrays = {
    src,
    dst,
    time,
    eventIds,
    master,
    edgeOwner,
    sharedNodes,
    ...(types === null ? {} : { types }),
  };
  return Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, fromTypedArray(values)]));
}

function partArrays(
  graph: TemporalGraph,
  labels: Float32Array | null,
  partition: TemporalPartition,
  rank: number,
): Record<string, Tensor> {
  const ids = nodesOfPart(partition, rank);
  const eids = eventsOfPart(partition, rank);
  const { features, featureWidth, nodeFeatures } = graph;
  const arrays: Record<string, Tensor> = { ids: fromTypedArray(ids), eids: fromTypedArray(eids) };
  if (features !== null) arrays.edgeAttr = rowsOf(features, eids, featureWidth);
  if (labels !== null) arrays.edgeLabels = fromTypedArray(Float32Array.from(eids, (row) => labels[row]));
  if (nodeFeatures !== null)
    arrays.x = rowsOf(nodeFeatures.dataSync<Float32Array>(), ids, nodeFeatures.shape[1]);
  return arrays;
}

function rowsOf(values: Float32Array, ids: Int32Array, width: number): Tensor {
  const rows = new Float32Array(ids.length * width);
  kernels().gatherRows(values, ids, rows, ids.length, width * 4);
  return fromTypedArray(rows, [ids.length, width]);
}

async function saveArrays(
  folder: string,
  stem: string,
  arrays: Readonly<Record<string, Tensor>>,
): Promise<PartitionFile> {
  const bytes = encodeSafetensors(arrays);
  const crc32 = checksum(bytes);
  const name = `${stem}-${crc32.toString(16).padStart(8, '0')}.safetensors`;
  await writeFileAtomic(join(folder, name), bytes);
  return { name, bytes: bytes.length, crc32 };
}

/** Files of earlier versions; the manifest no longer needs them. */
async function removeOthers(folder: string, files: readonly PartitionFile[]): Promise<void> {
  const needed = new Set(files.map((file) => file.name));
  const ours = /^(?:structure|\d{3,})-[0-9a-f]{8}\.safetensors$/;
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (ours.test(name) && !needed.has(name)) await unlink(join(folder, name)).catch(() => {});
  }
}

async function loadTensors(folder: string, file: PartitionFile): Promise<Record<string, Tensor>> {
  return decodeSafetensors(await readChecked(folder, file)).tensors;
}

/** Features of all events and nodes, put together from the files of all parts. */
async function joinFeatures(
  folder: string,
  { parts, numEvents, numNodes }: PartitionManifest,
): Promise<{ edge: Float32Array | null; node: Tensor | null }> {
  let edge: Float32Array | null = null;
  let node: Tensor | null = null;
  for (const file of parts) {
    const part = await loadTensors(folder, file);
    if (part.edgeAttr !== undefined) {
      edge ??= new Float32Array(numEvents * part.edgeAttr.shape[1]);
      putAll(part.edgeAttr, array<Int32Array>(part, 'eids'), edge);
    }
    if (part.x !== undefined) {
      const width = part.x.shape[1];
      node ??= fromTypedArray(new Float32Array(numNodes * width), [numNodes, width]);
      putAll(part.x, array<Int32Array>(part, 'ids'), node.dataSync<Float32Array>());
    }
  }
  return { edge, node };
}

function putAll(rows: Tensor, ids: Int32Array, into: Float32Array): void {
  kernels().putRows(rows.dataSync(), ids, into, ids.length, rows.shape[1] * 4);
}

function array<T extends TypedArray>(tensors: Readonly<Record<string, Tensor>>, name: string): T {
  const found = tensors[name];
  if (found === undefined) {
    throw new FormatError(
      expected('partitionLoad', `a tensor ${name}`, 'a file of the partition', undefined),
    );
  }
  return found.dataSync<T>();
}

function pairs(src: Int32Array, dst: Int32Array, rows: Int32Array): Int32Array {
  const both = new Int32Array(2 * rows.length);
  kernels().gatherRows(src, rows, both, rows.length, 4);
  kernels().gatherRows(dst, rows, both.subarray(rows.length), rows.length, 4);
  return both;
}
