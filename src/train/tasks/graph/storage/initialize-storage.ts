/**
 * The storage of a run, from a configuration and a prepared dataset: edges in memory or in their file, the node table in
 * files with all or some partitions resident (initialize-table.ts), labels and node splits, and the order of buffer states.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PreparedDataset } from '../../../../data/index.js';
import type { Communicator, WorkerGroup } from '../../../../dist/index.js';
import {
  PartitionLayout,
  planEdgeBuckets,
  type Residency,
  type RunTable,
} from '../../../../storage/index.js';
import { planNodePartitions } from '../../../../storage/orderings/node-partitions.js';
import type { TableManifest } from '../../../../storage/table-manifest.js';
import type { TensorDevice } from '../../../../tensor/index.js';
import { checkOptionNames } from '../../../../util/option-names.js';
import { usesEdgeWeights, usesText } from '../../../config/check-layers.js';
import { checkLoaded } from '../../../config/check-loaded.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { PartitionBufferConfig } from '../../../config/types.js';
import type { SplitName } from '../../../task.js';
import type { TextRows } from '../model/text-bags.js';
import { bucketedEdges, sortedEdges } from './bucketed-edges.js';
import { partitionsAtOnce } from './edge-order.js';
import { type EdgeSplit, FileEdges, MemoryEdges } from './edge-splits.js';
import { GraphStorage } from './graph-storage.js';
import type { EpochPlan } from './graph-storage-parts.js';
import { bufferConfig, nodeTables, type RunTables, sharedTables } from './initialize-table.js';
import { openSpreadEdges, spreadsEdges } from './shard-data.js';

export interface InitializeStorageOptions {
  /** The directory of the node table's files. */
  readonly tableDirectory: string;
  /** The table of a checkpoint; default: a new table. */
  readonly manifest?: TableManifest | null;
  /** Whether the run is only read, as in evaluation: no file of it is written. Needs a manifest where rows are trained. */
  readonly readOnly?: boolean;
  /** The device of DEVICE_MEMORY (`await enableWebGpu()`); without one such a table is in host memory. */
  readonly device?: TensorDevice | null;
}

export interface InitializedStorage {
  readonly storage: GraphStorage;
  /** The tables whose rows are in the files of the run; null without any. */
  readonly table: RunTable | null;
}

/** Makes the storage of one process. */
export async function initializeStorage(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: InitializeStorageOptions,
): Promise<InitializedStorage> {
  checkLoaded('initializeStorage', config);
  checkOptionNames('initializeStorage', options, {
    ...{ tableDirectory: true, manifest: true, readOnly: true, device: true },
  });
  const tables = await nodeTables(config, dataset, options);
  try {
    return { storage: await graphStorage(config, dataset, options, tables), table: tables.table };
  } catch (error) {
    await closeTables(tables);
    throw error;
  }
}

/** Makes the storage of one of several workers: a sharded node table, and replicated or sharded edges. Collective. */
export async function initializeSharedStorage(
  config: SkeinConfig,
  dataset: PreparedDataset,
  given: Omit<InitializeStorageOptions, 'readOnly'> & { readonly group: WorkerGroup },
): Promise<InitializedStorage> {
  checkOptionNames('initializeSharedStorage', given, {
    ...{ tableDirectory: true, manifest: true, device: true, group: true },
  });
  const { group, ...options } = given;
  if (group.size === 1) return initializeStorage(config, dataset, options);
  const tables = await sharedTables(config, dataset, options, group);
  const spread = spreadsEdges(config, dataset) ? group.comm : null;
  // One worker sorts edges into a file of the run where needed; the others open it.
  const inFile = spread !== null || partitionsOf(config).swapped !== null;
  const made: GraphStorage[] = [];
  try {
    if (inFile || config.storage.edges.type === 'FLAT_FILE')
      await group.onRoot(async () => void (await trainingEdges(config, dataset, options, true)));
    await group.onEveryRank(async () => {
      made.push(await graphStorage(config, dataset, options, tables, spread));
    });
    return { storage: made[0], table: tables.table };
  } catch (error) {
    // Also where another worker failed: the run ends, and the tables opened here are unused.
    for (const storage of made) storage.spread?.close();
    await closeTables(tables);
    throw error;
  }
}

/** Closes tables that will not be used. */
async function closeTables({ features, shared = [] }: RunTables): Promise<void> {
  for (const store of shared) store.close();
  await features?.unload?.();
}

/** @param spread the workers over which training edges are sharded; null: this worker has all. */
async function graphStorage(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: InitializeStorageOptions,
  tables: RunTables,
  spread: Communicator | null = null,
): Promise<GraphStorage> {
  const train = await trainingEdges(config, dataset, options, spread !== null);
  if (!(train instanceof FileEdges) || spread === null)
    return assembleStorage(config, dataset, tables, train);
  const opened = await openSpreadEdges(config, dataset, train, spread);
  try {
    return await assembleStorage(config, dataset, tables, opened);
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** @param train the training edges; null without any. */
async function assembleStorage(
  config: SkeinConfig,
  dataset: PreparedDataset,
  { embeddings, features, residency, shared = [] }: RunTables,
  train: EdgeSplit | null,
): Promise<GraphStorage> {
  const { num_nodes: numNodes } = dataset.stats;
  const edges: Partial<Record<SplitName, EdgeSplit>> = train === null ? {} : { train };
  for (const split of ['validation', 'test'] as const) {
    const found = await edgeSplit(config, dataset, split, false);
    if (found !== null) edges[split] = found;
  }
  const { swapped, ordered } = partitionsOf(config);
  const nodes: Partial<Record<SplitName, Int32Array>> = {};
  for (const split of ['train', 'validation', 'test'] as const) {
    const found = await dataset.readNodes(split);
    if (found !== null) nodes[split] = found;
  }
  const plan =
    swapped === null
      ? bucketPlan(config, ordered)
      : planner(config, swapped, residency, { numNodes, train: nodes.train ?? null });
  return new GraphStorage({
    numNodes,
    numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
    edges,
    ...{ embeddings, features, residency, shared },
    text: usesText(config) ? await readText(dataset) : null,
    labels: await dataset.readLabels(),
    nodeTypes: await dataset.readNodeTypes(),
    nodes,
    ...(plan === undefined ? {} : { plan, planKey: planKey(config) }),
  });
}

/** Reads the text of all nodes; null without text columns. */
async function readText(dataset: PreparedDataset): Promise<TextRows | null> {
  const text = await dataset.readText();
  return text === null ? null : { matrix: text.matrix(), columns: text.vocabulary.columns.length };
}

/** Returns the plan key: everything but the seed that determines the states of an epoch. */
function planKey(config: SkeinConfig): string {
  const { swapped, ordered } = partitionsOf(config);
  if (swapped === null) return ordered === 0 ? '' : `${ordered} partitions in memory`;
  const { num_partitions, buffer_capacity, edge_bucket_ordering, node_partition_ordering } = swapped;
  const others = [
    swapped.fine_to_coarse_ratio,
    swapped.num_cache_partitions,
    swapped.randomly_assign_edge_buckets,
  ];
  return `${buffer_capacity} of ${num_partitions} partitions, ${edge_bucket_ordering}, ${node_partition_ordering}, ${others.join(', ')}`;
}

/** Returns the options of a buffer that swaps partitions, or the partitions by which edges in memory are ordered (0: none). */
function partitionsOf(config: SkeinConfig) {
  const parts = bufferConfig(config);
  if (parts === null || parts.buffer_capacity >= parts.num_partitions)
    return { swapped: null, ordered: bucketPartitions(config) };
  return { swapped: parts, ordered: 0 };
}

/** Opens the training edges in training order; `inFile`: read from their file, whatever is configured. */
async function trainingEdges(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: InitializeStorageOptions,
  inFile: boolean,
): Promise<MemoryEdges | FileEdges | null> {
  const { swapped, ordered } = partitionsOf(config);
  const { num_nodes: numNodes } = dataset.stats;
  const sortedFolder = join(dirname(options.tableDirectory), 'edges');
  const sorted = async (partitions: number): Promise<MemoryEdges | FileEdges> => {
    if (options.readOnly !== true)
      return bucketedEdges(dataset, partitions, sortedFolder, usesEdgeWeights(config));
    const inMemory = await memoryEdges(config, dataset, 'train');
    return inMemory.inBuckets(numNodes, partitions);
  };
  const fits = (partitions: number): boolean => edges?.bucketSizes?.length === partitions ** 2;
  let edges = await edgeSplit(config, dataset, 'train', inFile);
  if (edges === null) return null;
  if (edges.bucketSizes === null && existsSync(sortedFolder))
    // Sorted when the run was trained; samplers draw by the order of edges, so the sorted file must be used.
    edges = (await sortedEdges(dataset, sortedFolder, usesEdgeWeights(config))) ?? edges;
  // A run that was all in memory may have sorted them for other partitions, or not at all.
  if (swapped !== null && !fits(swapped.num_partitions)) edges = await sorted(swapped.num_partitions);
  if (ordered === 0) return edges;
  if (edges instanceof MemoryEdges) return edges.inBuckets(numNodes, ordered);
  return options.readOnly === true && fits(ordered) ? edges : sorted(ordered);
}

async function edgeSplit(
  config: SkeinConfig,
  dataset: PreparedDataset,
  split: SplitName,
  inFile: boolean,
): Promise<MemoryEdges | FileEdges | null> {
  const file = dataset.edgeFile(split);
  if (file === null) return null;
  if (inFile || config.storage.edges.type === 'FLAT_FILE') {
    // Edges are read in chunks from here on.
    await dataset.checkEdges(split);
    const weights = weighs(config, split) ? dataset.weightsFile(split) : null;
    return new FileEdges(file, dataset.bucketSizes(split), weights);
  }
  return memoryEdges(config, dataset, split);
}

async function memoryEdges(
  config: SkeinConfig,
  dataset: PreparedDataset,
  split: SplitName,
): Promise<MemoryEdges> {
  const weights = weighs(config, split) ? await dataset.readWeights(split) : null;
  const rows = await dataset.readEdges(split);
  return new MemoryEdges(rows, dataset.numColumns, dataset.bucketSizes(split), weights);
}

/** Messages go along training edges alone. */
const weighs = (config: SkeinConfig, split: SplitName): boolean =>
  split === 'train' && usesEdgeWeights(config);

/** Returns the partitions by whose buckets edges in memory are trained; 0: in random order. */
function bucketPartitions({ storage, model, training }: SkeinConfig): number {
  const { filtered, negatives_per_positive: negatives } = training.negative_sampling;
  // Negatives that are all nodes touch all of the table anyway.
  const draws = training.form === 'NEGATIVES' && !filtered && negatives !== -1;
  const links = model.learning_task === 'LINK_PREDICTION' && draws;
  return links && storage.embeddings.type === 'HOST_MEMORY' ? Math.max(0, training.bucket_partitions) : 0;
}

function bucketPlan({ model }: SkeinConfig, partitions: number): ((epoch: number) => EpochPlan) | undefined {
  if (partitions === 0) return undefined;
  const capacity = Math.min(partitions, partitionsAtOnce);
  const seed = model.random_seed;
  return (epoch) => ({
    partitions,
    ...planEdgeBuckets({ ordering: 'COMET', partitions, capacity, seed, epoch }),
  });
}

function planner(
  config: SkeinConfig,
  options: PartitionBufferConfig['options'],
  { partitions, capacity }: Residency,
  { numNodes, train }: { readonly numNodes: number; readonly train: Int32Array | null },
): (epoch: number) => EpochPlan {
  const seed = config.model.random_seed;
  if (train === null) {
    return (epoch) => ({
      partitions,
      ...planEdgeBuckets({
        ordering: options.edge_bucket_ordering,
        partitions,
        capacity,
        seed,
        epoch,
        fineToCoarseRatio: options.fine_to_coarse_ratio,
        cachePartitions: options.num_cache_partitions,
        randomlyAssign: options.randomly_assign_edge_buckets,
      }),
    });
  }
  const layout = new PartitionLayout(numNodes, partitions);
  const byPartition: number[][] = Array.from({ length: partitions }, () => []);
  for (const node of train) byPartition[layout.partitionOf(node)].push(node);
  return (epoch) => {
    const { states, assigned } = planNodePartitions({
      ordering: options.node_partition_ordering,
      partitions,
      capacity,
      seed,
      epoch,
      fineToCoarseRatio: options.fine_to_coarse_ratio,
      trainNodesPerPartition: byPartition.map((nodes) => nodes.length),
    });
    const nodes: number[][] = states.map(() => []);
    for (const [k, own] of byPartition.entries())
      for (const [i, node] of own.entries()) nodes[assigned[k][i]].push(node);
    return { partitions, states, nodes: nodes.map((list) => Int32Array.from(list)) };
  };
}
