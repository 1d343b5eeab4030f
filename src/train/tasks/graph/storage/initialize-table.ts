/**
 * The node table of a run: its columns, its initial values, and its files, for one process or for several workers.
 *
 * Initial values depend on (seed, row, column) alone, not on the partitions.
 */
import type { PreparedDataset } from '../../../../data/index.js';
import type { WorkerGroup } from '../../../../dist/index.js';
import { DistributedEmbeddings, type RemoteRowStore } from '../../../../dist/stores/index.js';
import { ownSlices } from '../../../../dist/stores/own-slices.js';
import { ShardEmbeddings } from '../../../../dist/stores/shard-embeddings.js';
import { agreeOnVersions } from '../../../../dist/stores/shared-files.js';
import { fillRange } from '../../../../nn/start-values.js';
import {
  BufferedColumn,
  BufferedEmbeddings,
  BufferedTable,
  DeviceEmbeddings,
  PartitionBuffer,
  PartitionLayout,
  type Residency,
  type RowOptimizer,
  type RunTable,
  repartitionTable,
  type TrainedRows,
} from '../../../../storage/index.js';
import { rowOptimizer } from '../../../../storage/optimizer-types.js';
import type { ColumnInit } from '../../../../storage/partition-transfer.js';
import { TableFiles } from '../../../../storage/table-files.js';
import { columnRowBytes, type TableColumn, type TableManifest } from '../../../../storage/table-manifest.js';
import { AllResident } from '../../../../storage/trained-rows.js';
import type { TensorDevice } from '../../../../tensor/index.js';
import { ConfigError, FormatError, markCollective, StateError } from '../../../../util/errors.js';
import { invocation } from '../../../../util/invocation.js';
import { Random } from '../../../../util/philox.js';
import type { SkeinConfig } from '../../../config/index.js';
import { defaultDistributed } from '../../../config/schema-distributed.js';
import type { PartitionBufferConfig } from '../../../config/types.js';
import { type Features, openFeatures } from './feature-stores.js';
import type { FeatureFile } from './hot-features.js';
import { readFloats } from './read-floats.js';
import { openSpreadFeatures, shardsFeatures } from './shard-data.js';

/** Random streams of the seed, distinct from those of samplers. */
export const seedStreams = { table: 32, model: 33 } as const;

export const embeddingColumn = 'embeddings';
const featureColumn = 'features';

/** The tables of a run's nodes. */
export interface RunTables {
  readonly embeddings: TrainedRows | null;
  readonly features: Features | null;
  /** The resident nodes of both. */
  readonly residency: Residency;
  /** The tables whose rows are in the files of the run; null without any. */
  readonly table: RunTable | null;
  /** Rows that other workers read. */
  readonly shared?: readonly RemoteRowStore[];
}

export interface OpenTableOptions {
  /** The directory of its files. */
  readonly tableDirectory: string;
  /** The table of a checkpoint, repartitioned where the configuration has other partitions; default: a new table. */
  readonly manifest?: TableManifest | null;
  /** Whether rows are only read: the table keeps the partitions of its files, and nothing is written. */
  readonly readOnly?: boolean;
  /** The device of DEVICE_MEMORY. */
  readonly device?: TensorDevice | null;
}

/** Returns the buffer's options when a table is buffered. Embeddings and features share one buffer. */
export function bufferConfig(config: SkeinConfig): PartitionBufferConfig['options'] | null {
  const { embeddings, features } = config.storage;
  if (embeddings.type === 'PARTITION_BUFFER' && config.model.encoder.embedding_dim > 0)
    return embeddings.options;
  return features.type === 'PARTITION_BUFFER' ? features.options : null;
}

interface TablePlan {
  readonly rows: number;
  readonly columns: TableColumn[];
  readonly optimizer: RowOptimizer | null;
  readonly init: ColumnInit;
  /** Features by global id that are not a column of the table. */
  readonly features: () => Promise<Features | null>;
}

type OpenFeatures = (file: FeatureFile) => Promise<Features>;

function planTable(
  config: SkeinConfig,
  dataset: PreparedDataset,
  open: OpenFeatures = (file) => openFeatures({ config, dataset, file }),
): TablePlan {
  const width = config.model.encoder.embedding_dim;
  const featureFile = usesFeatures(config) ? dataset.featuresFile() : null;
  const featuresBuffered = featureFile !== null && config.storage.features.type === 'PARTITION_BUFFER';
  const optimizer = width > 0 ? rowOptimizer(config.model.sparse_optimizer) : null;
  const columns: TableColumn[] = [];
  if (width > 0 && optimizer !== null) {
    const dtype = ({ float32: 'f32', float16: 'f16', bfloat16: 'bf16' } as const)[
      config.storage.embeddings.options.dtype
    ];
    columns.push(...optimizer.columns(embeddingColumn, width, dtype));
  }
  if (featuresBuffered)
    columns.push({ name: featureColumn, width: featureFile.width, dtype: 'f32', writable: false });
  const init = tableInit(config, dataset.stats.num_nodes, optimizer, featureFile?.path ?? null);
  const keepFeatures = featureFile !== null && !columns.some((c) => c.name === featureColumn);
  const features = async (): Promise<Features | null> => {
    if (!keepFeatures) return null;
    await dataset.checkFeatures();
    return open(featureFile);
  };
  return { rows: dataset.stats.num_nodes, columns, optimizer, init, features };
}

/** Opens the tables of one process. */
export async function nodeTables(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: OpenTableOptions,
): Promise<RunTables> {
  const buffered = bufferConfig(config);
  const { tableDirectory: folder, manifest = null, readOnly = false } = options;
  const hasState = manifest?.columns.some(({ name }) => name.startsWith(`${embeddingColumn}.`)) !== false;
  // A packed run has rows without the state of their optimiser.
  const plan = planTable(readOnly && !hasState ? withoutRowState(config) : config, dataset);
  const { columns, optimizer, init, features } = plan;
  // Features are read from the dataset; the run has no files of them.
  if (columns.length === 0) return fixedTables(dataset, await features());
  const { num_nodes: rows } = dataset.stats;
  if (readOnly && manifest === null)
    throw new StateError(
      `${folder}: expected the manifest of a checkpoint for a table that is only read, got none. Open a run that has saved a checkpoint.`,
    );
  // The new table is a copy with checksums of its own.
  if (manifest === null && columns.some(({ name }) => name === featureColumn)) await dataset.checkFeatures();
  const partitions = buffered?.num_partitions ?? comfortablePartitions(rows, columns);
  const files =
    manifest === null
      ? await TableFiles.create(folder, { layout: new PartitionLayout(rows, partitions), columns, init })
      : await TableFiles.open(
          folder,
          readOnly
            ? manifest
            : await repartitionForOneWorker(folder, manifest, { partitions, buffered: buffered !== null }),
        );
  checkColumns(folder, files.columns, columns);
  const buffer = new PartitionBuffer(files, buffered?.buffer_capacity ?? files.layout.partitions, {
    prefetch: buffered?.prefetching ?? false,
  });
  const table = new BufferedTable(buffer);
  const buffersFeatures = columns.some(({ name }) => name === featureColumn);
  const fixed = buffersFeatures ? new BufferedColumn(table, featureColumn) : await features();
  if (optimizer === null) return { embeddings: null, features: fixed, residency: table, table };
  const embeddings = new BufferedEmbeddings(table, embeddingColumn, optimizer);
  const { device = null } = options;
  if (device === null || config.storage.embeddings.type !== 'DEVICE_MEMORY')
    return { embeddings, features: fixed, residency: table, table };
  const there = new DeviceEmbeddings(embeddings, device);
  return { embeddings: there, features: fixed, residency: there, table: there };
}

/** Returns the configuration with an optimiser of rows that has no state. */
function withoutRowState(config: SkeinConfig): SkeinConfig {
  const stateless = { type: 'SGD', options: { learning_rate: 0 } } as const;
  return { ...config, model: { ...config.model, sparse_optimizer: stateless } };
}

/** Returns the tables of nodes without trained rows. */
function fixedTables({ stats }: PreparedDataset, features: Features | null): RunTables {
  return { embeddings: null, features, residency: new AllResident(stats.num_nodes), table: null };
}

/** Opens the table of several workers. */
export async function sharedTables(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: OpenTableOptions,
  group: WorkerGroup,
): Promise<RunTables> {
  const shared: RemoteRowStore[] = [];
  const open: OpenFeatures = async (file) => {
    if (!shardsFeatures(config, file)) return openFeatures({ config, dataset, file });
    const store = await openSpreadFeatures(file, group.comm);
    shared.push(store);
    return store;
  };
  const plan = planTable(config, dataset, open);
  const { optimizer, features } = plan;
  const buffered = bufferConfig(config);
  try {
    // Nothing is trained: the run has no files of it.
    if (optimizer === null)
      return await group.onEveryRank(async () => ({ ...fixedTables(dataset, await features()), shared }));
    const files = await sharedFiles(config, plan, options, group);
    return await group.onEveryRank(async () => {
      const embeddings = new DistributedEmbeddings(files, group, {
        ...{ column: embeddingColumn, optimizer, partitions: buffered?.num_partitions ?? 1 },
        capacity: buffered?.buffer_capacity ?? 1,
        prefetch: buffered?.prefetching ?? false,
      });
      return { embeddings, features: await features(), residency: embeddings, table: embeddings, shared };
    });
  } catch (error) {
    // Also where another worker failed: the run ends, and the tables opened here are unused.
    for (const store of shared) store.close();
    throw error;
  }
}

/**
 * Opens the rows of one worker's nodes in a graph that is sharded over workers; null without embeddings. Collective.
 *
 * @param nodeIds the nodes of this worker, by their numbers in the dataset; null where partitions do not state them.
 */
export async function shardTable(
  config: SkeinConfig,
  dataset: PreparedDataset,
  options: OpenTableOptions,
  { group, nodeIds }: { readonly group: WorkerGroup; readonly nodeIds: Int32Array | null },
): Promise<ShardEmbeddings | null> {
  const plan = planTable(config, dataset);
  const { optimizer } = plan;
  if (optimizer === null) return null;
  if (group.any(nodeIds === null))
    throw markCollective(
      new ConfigError(
        `distributed.partition_dir: expected partitions with the dataset's node ids for EMBEDDING layers, got partitions without them. Make them with "${invocation()} partition <this configuration>".`,
      ),
    );
  const files = await sharedFiles(config, plan, options, group);
  return ShardEmbeddings.open({ files, group, nodeIds: nodeIds as Int32Array, optimizer });
}

/**
 * Opens the files of a table that workers write together, each its own. Each partition of the plan (one for all rows where
 * all are in memory) is split into `distributed.partitions` shards, so that any number of workers up to that can resume
 * from it; a table with fewer shards, as one worker writes it, or of another plan is repartitioned first.
 */
async function sharedFiles(
  config: SkeinConfig,
  { columns, init, rows }: TablePlan,
  { tableDirectory: folder, manifest: given = null }: OpenTableOptions,
  group: WorkerGroup,
): Promise<TableFiles> {
  const buffered = bufferConfig(config);
  const plan = buffered?.num_partitions ?? 1;
  const wanted = sharedLayout(config, columns, { rows, plan, workers: group.size });
  const manifest = await group.onRoot(async () => {
    if (given === null) {
      await TableFiles.prepare(folder);
      return null;
    }
    const { partitions, pieces = 1 } = given;
    const isPlanned = plan === 1 ? pieces === 1 : partitions === plan * pieces;
    const enough = partitions / plan >= group.size;
    return isPlanned && enough ? given : repartitionTable(folder, given, wanted);
  });
  const pieces = (manifest?.partitions ?? wanted.partitions) / plan;
  const own = ownSlices(pieces, group.rank, group.size);
  const files = await group.onEveryRank(async () => {
    const made =
      manifest === null
        ? await TableFiles.create(folder, { layout: wanted, columns, init, own })
        : await TableFiles.open(folder, manifest, { own });
    checkColumns(folder, made.columns, columns);
    return made;
  });
  agreeOnVersions(group, files);
  return files;
}

/** Returns the layout of a table of several workers: each partition of the plan is split into shards, at least one per worker. */
function sharedLayout(
  config: SkeinConfig,
  columns: readonly TableColumn[],
  { rows, plan, workers }: { readonly rows: number; readonly plan: number; readonly workers: number },
): PartitionLayout {
  const most = Math.floor(rows / plan);
  if (most < workers) {
    const nodes = plan === 1 ? `${rows} nodes` : `${rows} nodes in ${plan} partitions`;
    throw markCollective(
      new ConfigError(`run: expected at most ${most} workers for ${nodes}, got ${workers}. Take fewer.`),
    );
  }
  const least = Math.max(workers, Math.ceil(comfortablePartitions(rows, columns) / plan));
  const { partitions } = config.distributed ?? defaultDistributed();
  const pieces = Math.min(most, Math.max(partitions, least));
  return plan === 1
    ? new PartitionLayout(rows, pieces)
    : new PartitionLayout(rows, plan * pieces, { pieces });
}

/**
 * Returns the table that one process resumes from. A table in memory may have any partitions, but not shards; a buffer
 * needs the partitions of its plan, which a table that was in memory when it was saved does not have.
 */
async function repartitionForOneWorker(
  folder: string,
  manifest: TableManifest,
  { partitions, buffered }: { readonly partitions: number; readonly buffered: boolean },
): Promise<TableManifest> {
  const fits = manifest.pieces === undefined && (!buffered || manifest.partitions === partitions);
  return fits ? manifest : repartitionTable(folder, manifest, new PartitionLayout(manifest.rows, partitions));
}

/** Files of at most half a GiB: a partition's column must fit one typed array, and small files are rewritten faster. */
function comfortablePartitions(rows: number, columns: readonly TableColumn[]): number {
  const rowBytes = columns.reduce((sum, column) => sum + columnRowBytes(column), 0);
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
      fillRange(part, layer.init, {
        ...{ first: start * width, fanSum: numNodes + column.width, random: random.split(i) },
      });
      for (let r = 0; r < rows; r++)
        values.set(part.subarray(r * width, (r + 1) * width), r * column.width + offset);
      offset += width;
    }
  };
}
