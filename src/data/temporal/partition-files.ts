/**
 * Partitions of a stream on disk: `{root}/{algo}_{numParts}/` holds a manifest, one file with the structure that every worker
 * needs (events, masters, owners), and one file per partition with its own nodes, events and features. Features are stored only
 * in the file of their owner.
 *
 * Saving again replaces all partitions at the same time: until the new manifest is in place, the old one is valid. Loading checks
 * every byte that it uses.
 */
import { mkdir, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { splitByTime, TemporalGraph } from '../../graph/index.js';
import { kernels, type TypedArray } from '../../native/index.js';
import { storageError, writeFileAtomic } from '../../storage/atomic-file.js';
import type { PartitionAlgorithm } from '../../temporal/index.js';
import {
  eventsOfPartition,
  nodesOfPartition,
  partitionTemporal,
} from '../../temporal/partition/partition-temporal.js';
import type { PartitionStats, TemporalPartition } from '../../temporal/partition/types.js';
import { decodeSafetensors, encodeSafetensors, fromTypedArray, type Tensor } from '../../tensor/index.js';
import { checkInteger, expected, FormatError, ShapeError, ValueError } from '../../util/errors.js';
import { launchedBy } from '../../util/launched-by.js';
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
  /** By default the split of the data, or 70 and 85 per cent of the time. Only training events decide the partitions. */
  readonly split?: RowSplit;
}

export interface PartitionLoadOptions {
  readonly algo: PartitionAlgorithm;
  /** Default: the number of workers that a launcher such as `skein run` started; 1 without one. */
  readonly numParts?: number;
  /** Default: the rank of this worker if there are as many workers as partitions, else 0. */
  readonly rank?: number;
  /**
   * Features in `graph`. `own`: none, because a partition has those of its own events only. `all`: read from the files of all
   * partitions. Default: `own`, or `all` if there is one partition, whose events are all events.
   */
  readonly features?: 'own' | 'all';
}

/** One partition of a stream: what one worker holds. */
export interface StreamPartitionData {
  readonly algo: PartitionAlgorithm;
  readonly numParts: number;
  readonly rank: number;
  /** Global ids of the partition's nodes, ascending: those it is the master of, and the shared ones. Row i of `x` is of `ids[i]`. */
  readonly ids: Int32Array;
  /** Global ids of the sources and destinations of its events [2, E]. */
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
  /** One flag per event of the partition. */
  readonly masks: { readonly train: Uint8Array; readonly validation: Uint8Array; readonly test: Uint8Array };
  readonly sharedNodes: Int32Array;
  /** The partition of every node and of every event of the stream. */
  readonly master: Int32Array;
  readonly edgeOwner: Int32Array;
  readonly split: RowSplit;
  readonly stats: PartitionStats;
  /** The whole stream: neighbours are sampled from all events. */
  readonly graph: TemporalGraph;
}

/** Partitions a stream and saves the partitions; returns the masters and owners. */
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
  const graph = data instanceof TemporalGraph ? data : makeGraph(data);
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
    parts.push(await saveArrays(folder, name, partitionArrays(graph, labels, partition, rank)));
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

/**
 * Loads one partition of a saved stream.
 *
 * @example
 * const pdata = await partitionLoad('data/wikipedia', { algo: 'metis_for_tgnn' });
 * const mailbox = new SharedMailBox({ numNodes: pdata.ids.length, memoryParam, dimEdgeFeat: pdata.edgeAttr?.shape[1] ?? 0 });
 * const loader = new TemporalLoader(pdata, { sampler, mailbox, batchSize: 200 });
 */
export async function partitionLoad(
  root: string,
  options: PartitionLoadOptions,
): Promise<StreamPartitionData> {
  checkOptionNames('partitionLoad', options, { algo: true, numParts: true, rank: true, features: true });
  const where = 'partitionLoad';
  const workers = launchedBy();
  const request = checkRequest(where, options.algo, options.numParts ?? workers?.size ?? 1);
  const ownRank = workers?.size === request.numParts ? workers.rank : 0;
  const rank = checkInteger(where, 'rank', options.rank ?? ownRank, 0, request.numParts - 1);
  const { features = request.numParts === 1 ? 'all' : 'own' } = options;
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
    edgeIndex: fromTypedArray(gatherPairs(src, dst, eids), [2, eids.length]),
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

function makeGraph({
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

function partitionArrays(
  graph: TemporalGraph,
  labels: Float32Array | null,
  partition: TemporalPartition,
  rank: number,
): Record<string, Tensor> {
  const ids = nodesOfPartition(partition, rank);
  const eids = eventsOfPartition(partition, rank);
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

/** Removes the files of earlier versions, which the manifest no longer names. */
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

/** Reads the features of all events and nodes from the files of all partitions. */
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
      putRows(part.edgeAttr, array<Int32Array>(part, 'eids'), edge);
    }
    if (part.x !== undefined) {
      const width = part.x.shape[1];
      node ??= fromTypedArray(new Float32Array(numNodes * width), [numNodes, width]);
      putRows(part.x, array<Int32Array>(part, 'ids'), node.dataSync<Float32Array>());
    }
  }
  return { edge, node };
}

function putRows(rows: Tensor, ids: Int32Array, into: Float32Array): void {
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

function gatherPairs(src: Int32Array, dst: Int32Array, rows: Int32Array): Int32Array {
  const both = new Int32Array(2 * rows.length);
  kernels().gatherRows(src, rows, both, rows.length, 4);
  kernels().gatherRows(dst, rows, both.subarray(rows.length), rows.length, 4);
  return both;
}
