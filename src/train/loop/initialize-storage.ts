/**
 * From a configuration and a prepared dataset to what training runs on: edges in memory or in their file, the node table
 * in files with all or some partitions resident, labels and node splits, and the order of states.
 *
 * A table is filled from (seed, row, column) alone, so its first values do not depend on how it is partitioned.
 */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PreparedDataset } from '../../data/index.js';
import { kernels } from '../../native/index.js';
import {
  type ColumnInit,
  FileStore,
  PartitionBuffer,
  PartitionLayout,
  planEdgeBuckets,
  planNodePartitions,
  type RowOptimizer,
  rowAdagrad,
  rowAdam,
  rowSGD,
  type TableColumn,
  TableFiles,
  type TableManifest,
} from '../../storage/index.js';
import { ConfigError, FormatError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import {
  BufferedNodeTable,
  embeddingColumn,
  type Features,
  featureColumn,
} from '../batch/buffered-node-table.js';
import { type EdgeSplit, FileEdges, MemoryEdges, type SplitName } from '../batch/edge-splits.js';
import { type EpochPlan, GraphModelStorage } from '../batch/graph-model-storage.js';
import type { InitConfig, OptimizerConfig, PartitionBufferConfig, SkeinConfig } from '../config/index.js';
import { bucketedEdges, sortedEdges } from './bucketed-edges.js';

/** Independent uses of the seed; apart from those of samplers. */
export const seedStreams = { table: 32, model: 33 } as const;

export interface InitializeStorageOptions {
  /** Where the node table's files go. */
  readonly tableDirectory: string;
  /** Where edges go that must be sorted into buckets first; default: `edges` beside the table. */
  readonly edgesDirectory?: string;
  /** The table as a checkpoint has it; without, a new one is made. */
  readonly manifest?: TableManifest | null;
}

export interface InitializedStorage {
  readonly storage: GraphModelStorage;
  readonly table: BufferedNodeTable;
}

export async function initializeStorage(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: InitializeStorageOptions,
): Promise<InitializedStorage> {
  const { num_nodes: numNodes } = dataset.stats;
  const edges: Partial<Record<SplitName, EdgeSplit>> = {};
  for (const split of ['train', 'validation', 'test'] as const) {
    const found = await edgeSplit(config, dataset, split);
    if (found !== null) edges[split] = found;
  }
  const parts = bufferConfig(config);
  const beside = join(dirname(options.tableDirectory), 'edges');
  const whole = parts === null || parts.buffer_capacity >= parts.num_partitions;
  if (edges.train !== undefined && edges.train.bucketSizes === null && existsSync(beside))
    // Sorted when the run was trained; samplers draw by the order of edges, so it is used from then on.
    edges.train = (await sortedEdges(dataset, beside)) ?? edges.train;
  if (!whole && edges.train !== undefined && edges.train.bucketSizes === null)
    edges.train = await bucketedEdges(dataset, parts.num_partitions, options.edgesDirectory ?? beside);
  const nodes: Partial<Record<SplitName, Int32Array>> = {};
  for (const split of ['train', 'validation', 'test'] as const) {
    const found = await dataset.readNodes(split);
    if (found !== null) nodes[split] = found;
  }
  const table = await nodeTable(config, dataset, options);
  const buffer = bufferConfig(config);
  const plan = buffer === null ? undefined : planner(config, buffer, table, nodes.train ?? null);
  const storage = new GraphModelStorage({
    numNodes,
    numRelations: dataset.hasRelations ? dataset.stats.num_relations : 0,
    edges,
    table,
    labels: await dataset.readLabels(),
    nodes,
    ...(plan === undefined || table.capacity >= table.partitions ? {} : { plan }),
  });
  return { storage, table };
}

async function edgeSplit(
  config: SkeinConfig,
  dataset: PreparedDataset,
  split: SplitName,
): Promise<EdgeSplit | null> {
  const file = dataset.edgeFile(split);
  if (file === null) return null;
  const sizes = dataset.bucketSizes(split);
  if (config.storage.edges.type === 'FLAT_FILE') return new FileEdges(file, sizes);
  return new MemoryEdges(await dataset.readEdges(split), file.columns, sizes);
}

/** The buffer's options when some table is buffered. Embeddings and features share one buffer. */
export function bufferConfig(config: SkeinConfig): PartitionBufferConfig['options'] | null {
  const { embeddings, features } = config.storage;
  if (embeddings.type === 'PARTITION_BUFFER' && config.model.encoder.embedding_dim > 0)
    return embeddings.options;
  return features.type === 'PARTITION_BUFFER' ? features.options : null;
}

async function nodeTable(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: InitializeStorageOptions,
): Promise<BufferedNodeTable> {
  const buffered = bufferConfig(config);
  const width = config.model.encoder.embedding_dim;
  const featureFile = usesFeatures(config) ? dataset.featuresFile() : null;
  const featuresBuffered = featureFile !== null && config.storage.features.type === 'PARTITION_BUFFER';
  const optimizer = width > 0 ? newRowOptimizer(config.model.sparse_optimizer) : null;
  const columns: TableColumn[] = [];
  if (width > 0 && optimizer !== null) {
    const dtype = ({ float32: 'f32', float16: 'f16', bfloat16: 'bf16' } as const)[
      config.storage.embeddings.options.dtype
    ];
    columns.push(...optimizer.columns(embeddingColumn, width, dtype));
  }
  if (featuresBuffered || columns.length === 0) {
    const featureWidth = featureFile?.width ?? 1;
    columns.push({ name: featureColumn, width: featureWidth, dtype: 'f32', writable: false });
  }
  const partitions = buffered?.num_partitions ?? comfortablePartitions(dataset.stats.num_nodes, columns);
  const layout = new PartitionLayout(dataset.stats.num_nodes, partitions);
  const { manifest } = options;
  const files =
    manifest === undefined || manifest === null
      ? await TableFiles.create(options.tableDirectory, {
          layout,
          columns,
          init: tableInit(config, dataset.stats.num_nodes, optimizer, featureFile?.path ?? null),
        })
      : await TableFiles.open(options.tableDirectory, manifest);
  checkColumns(options.tableDirectory, files.columns, columns);
  checkPartitions(options.tableDirectory, files.layout.partitions, buffered);
  const buffer = new PartitionBuffer(files, buffered?.buffer_capacity ?? files.layout.partitions, {
    prefetch: buffered?.prefetching ?? false,
  });
  const keepFeatures = featureFile !== null && !columns.some((c) => c.name === featureColumn);
  const features = keepFeatures
    ? await openFeatures(featureFile, config.storage.features.type === 'FLAT_FILE')
    : null;
  return new BufferedNodeTable(buffer, optimizer, features);
}

async function openFeatures(
  file: { readonly path: string; readonly rows: number; readonly width: number },
  onDisk: boolean,
): Promise<Features> {
  const { path, rows, width } = file;
  if (!onDisk) return { values: await readFloats(path, 0, rows * width), width };
  const store = new FileStore(path, { rows, width });
  await store.load();
  return store;
}

/** A run keeps its partitions: its table and its edges are cut by them. */
function checkPartitions(path: string, got: number, wanted: PartitionBufferConfig['options'] | null): void {
  if (wanted === null || wanted.num_partitions === got || wanted.num_partitions === 1) return;
  throw new ConfigError(
    `storage.embeddings.options.num_partitions: expected ${got}, as the table in ${path} has, got ${wanted.num_partitions}. A run keeps its partitions.`,
  );
}

/** Files of at most half a GiB: a partition's column must fit one typed array, and small files are rewritten faster. */
function comfortablePartitions(rows: number, columns: readonly TableColumn[]): number {
  const rowBytes = columns.reduce((sum, { width, dtype }) => sum + width * (dtype === 'f32' ? 4 : 2), 0);
  return Math.min(rows, Math.max(1, Math.ceil((rows * rowBytes) / 2 ** 29)));
}

function checkColumns(path: string, got: readonly TableColumn[], wanted: readonly TableColumn[]): void {
  const describe = (columns: readonly TableColumn[]) =>
    columns.map((c) => `${c.name} (${c.width} × ${c.dtype})`).join(', ');
  if (describe(got) !== describe(wanted))
    throw new FormatError(
      `${path}: expected a table of ${describe(wanted)}, got ${describe(got)}. The configuration does not fit this run; use the one it was started with.`,
      { path },
    );
}

export function usesFeatures(config: SkeinConfig): boolean {
  return config.model.encoder.layers.some((stage) => stage.some((layer) => layer.type === 'FEATURE'));
}

function newRowOptimizer(config: OptimizerConfig): RowOptimizer {
  switch (config.type) {
    case 'SGD':
      return rowSGD({ learningRate: config.options.learning_rate });
    case 'ADAGRAD': {
      const { learning_rate, eps, init_value, lr_decay, weight_decay } = config.options;
      return rowAdagrad({
        learningRate: learning_rate,
        eps,
        initialValue: init_value,
        learningRateDecay: lr_decay,
        weightDecay: weight_decay,
      });
    }
    case 'ADAM': {
      const { learning_rate, beta_1, beta_2, eps, weight_decay, amsgrad } = config.options;
      if (amsgrad)
        throw new ConfigError(
          'model.sparse_optimizer.options.amsgrad: expected false for the node table, got true. It is there for dense_optimizer only.',
        );
      return rowAdam({
        learningRate: learning_rate,
        betas: [beta_1, beta_2],
        eps,
        weightDecay: weight_decay,
      });
    }
  }
}

function tableInit(
  config: SkeinConfig,
  numNodes: number,
  optimizer: RowOptimizer | null,
  featurePath: string | null,
): ColumnInit {
  const random = new Random(config.model.random_seed, seedStreams.table);
  const layers = config.model.encoder.layers.flat().filter((layer) => layer.type === 'EMBEDDING');
  return async (piece) => {
    const { column, start, rows, values } = piece;
    if (column.name === featureColumn) {
      if (featurePath !== null)
        values.set(await readFloats(featurePath, start * column.width, rows * column.width));
      return;
    }
    if (column.name !== embeddingColumn) {
      await optimizer?.init(piece);
      return;
    }
    let offset = 0;
    for (const [i, layer] of layers.entries()) {
      const width = layer.output_dim;
      const part = new Float32Array(rows * width);
      fill(part, layer.init, start * width, numNodes + column.width, random.split(i));
      for (let r = 0; r < rows; r++)
        values.set(part.subarray(r * width, (r + 1) * width), r * column.width + offset);
      offset += width;
    }
  };
}

/** Values first … of the sequence that fills the whole table. */
function fill(out: Float32Array, init: InitConfig, first: number, fanSum: number, random: Random): void {
  const uniform = (bound: number): void =>
    kernels().randomUniform(out, out.length, -bound, bound, random.key, first);
  const normal = (mean: number, std: number): void =>
    kernels().randomNormal(out, out.length, mean, std, random.key, 4 * first);
  if (init.type === 'GLOROT_UNIFORM') uniform(Math.sqrt(6 / fanSum));
  else if (init.type === 'UNIFORM') uniform(init.options.scale_factor);
  else if (init.type === 'GLOROT_NORMAL') normal(0, Math.sqrt(2 / fanSum));
  else if (init.type === 'NORMAL') normal(init.options.mean, init.options.std);
  else if (init.type === 'CONSTANT') out.fill(init.options.constant);
  else if (init.type === 'ONES') out.fill(1);
}

async function readFloats(path: string, first: number, count: number): Promise<Float32Array> {
  const values = new Float32Array(count);
  const bytes = new Uint8Array(values.buffer);
  const handle = await open(path, 'r');
  try {
    for (let done = 0; done < bytes.length; ) {
      const length = Math.min(bytes.length - done, 2 ** 30);
      const { bytesRead } = await handle.read(bytes, done, length, first * 4 + done);
      if (bytesRead === 0)
        throw new FormatError(`${path}: expected ${count * 4} bytes from ${first * 4}, got ${done}.`);
      done += bytesRead;
    }
  } finally {
    await handle.close();
  }
  return values;
}

function planner(
  config: SkeinConfig,
  options: PartitionBufferConfig['options'],
  table: BufferedNodeTable,
  trainNodes: Int32Array | null,
): (epoch: number) => EpochPlan {
  const { partitions, capacity } = table;
  const seed = config.model.random_seed;
  if (trainNodes === null) {
    return (epoch) =>
      planEdgeBuckets({
        ordering: options.edge_bucket_ordering,
        partitions,
        capacity,
        seed,
        epoch,
        fineToCoarseRatio: options.fine_to_coarse_ratio,
        cachePartitions: options.num_cache_partitions,
        randomlyAssign: options.randomly_assign_edge_buckets,
      });
  }
  const { layout } = table.buffer;
  const byPartition: number[][] = Array.from({ length: partitions }, () => []);
  for (const node of trainNodes) byPartition[layout.partitionOf(node)].push(node);
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
    return { states, nodes: nodes.map((list) => Int32Array.from(list)) };
  };
}
