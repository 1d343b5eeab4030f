/**
 * Applies a memory budget to a run: whether the node table fits, otherwise into how many partitions it is split and how
 * many are resident. Reports the cost of the choice before training starts.
 */
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import { type MemoryPlan, type MemoryPlanOptions, planMemory } from '../../../../storage/index.js';
import { rowOptimizer } from '../../../../storage/optimizer-types.js';
import { columnRowBytes } from '../../../../storage/table-manifest.js';
import { ConfigError, InternalError, ValueError } from '../../../../util/errors.js';
import { invocation } from '../../../../util/invocation.js';
import { formatBytes } from '../../../../util/size.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { PartitionBufferConfig } from '../../../config/types.js';
import { bufferConfig, usesFeatures } from './initialize-table.js';
import { shardsFeatures } from './shard-data.js';

const elementBytes = { float32: 4, float16: 2, bfloat16: 2 } as const;

/** Returns the bytes of a batch: rows of its nodes, their gradients, and copies of both in flight. */
export function batchBytes(config: SkeinConfig): number {
  const { form, batch_size: edges, negative_sampling: negatives } = config.training;
  const width = Math.max(1, config.model.encoder.embedding_dim);
  // Rows of all nodes are not copied; scores are computed in blocks of this size.
  if (form !== 'NEGATIVES') return scoreBytes + 6 * edges * width * 4;
  const given = negatives.negatives_per_positive;
  const { src, dst } = typeof given === 'object' ? given : { src: given, dst: given };
  const drawn = (Math.max(0, src) + Math.max(0, dst)) * negatives.num_chunks;
  return (2 * edges + drawn) * width * 4 * 6;
}

/** Returns the bytes of a node's embeddings with optimiser state. */
export function tableRowBytes(config: SkeinConfig): number {
  const width = config.model.encoder.embedding_dim;
  if (width === 0) return 0;
  const [, ...state] = rowOptimizer(config.model.sparse_optimizer).columns('rows', width);
  const stateBytes = state.reduce((sum, column) => sum + columnRowBytes(column), 0);
  // A step of queries against all nodes has a gradient of every resident row.
  const gradient = config.training.form === 'NEGATIVES' ? 0 : width * 4;
  return width * elementBytes[config.storage.embeddings.options.dtype] + stateBytes + gradient;
}

/** Bytes of the scores of queries against all nodes that are in memory at the same time. */
const scoreBytes = 2 ** 26;

export interface BudgetedConfig {
  readonly config: SkeinConfig;
  readonly plan: MemoryPlan | null;
}

/**
 * Returns the configuration with the storage of tables that fits the budget; unchanged without a budget.
 *
 * @param stats of the share of a process.
 * @param resumed the configuration of the run in the directory, which keeps its partitions for any number of workers.
 */
export function withMemoryBudget(
  config: SkeinConfig,
  stats: PreparedStats,
  resumed: SkeinConfig | null = null,
  workers = 1,
): BudgetedConfig {
  const { memory_budget: memoryBudget, embeddings, features } = config.storage;
  const width = config.model.encoder.embedding_dim;
  if (memoryBudget === null) return { config, plan: null };
  const rowBytes = tableRowBytes(config);
  // Features that are read from their file take no memory.
  const inMemory = usesFeatures(config) && features.type !== 'FLAT_FILE';
  const featureBytes = inMemory ? Math.max(0, stats.node_feature_dim) * 4 : 0;
  const { num_nodes: rows } = stats;
  // Without sharding every worker has all features.
  const spread =
    workers > 1 && shardsFeatures(config, { path: '', rows: rows * workers, width: featureBytes / 4 });
  const fixedRowBytes = featureBytes * (spread ? 1 : workers);
  if (rowBytes + fixedRowBytes === 0) return { config, plan: null };
  const prepared = stats.num_partitions > 1 ? { partitions: stats.num_partitions } : {};
  const columns = stats.num_relations > 1 ? 3 : 2;
  const options: MemoryPlanOptions = {
    rows: stats.num_nodes,
    rowBytes,
    fixedRowBytes,
    edges: stats.num_train,
    edgeBytes: columns * 4 * 2,
    memoryBudget,
    reservedBytes: processBytes + batchBytes(config),
    ...prepared,
  };
  const kept = resumed === null ? null : bufferConfig(resumed);
  const free = cheapestPlan(options);
  const fits = kept === null || free.inMemory || free.partitions === kept.num_partitions;
  const plan = fits ? free : cheapestPlan({ ...options, partitions: kept.num_partitions });
  if (plan.inMemory) return { config, plan };
  const before = embeddings.type === 'PARTITION_BUFFER' ? embeddings.options : defaults;
  const buffer = {
    type: 'PARTITION_BUFFER' as const,
    options: {
      ...before,
      dtype: embeddings.options.dtype,
      num_partitions: plan.partitions,
      buffer_capacity: plan.capacity,
      fine_to_coarse_ratio: plan.fineToCoarseRatio,
      prefetching: before.prefetching && plan.prefetch,
    },
  };
  const storage = {
    ...config.storage,
    embeddings: width > 0 ? buffer : embeddings,
    features:
      fixedRowBytes > 0 ? { ...buffer, options: { ...buffer.options, dtype: 'float32' as const } } : features,
    edges: { ...config.storage.edges, type: 'FLAT_FILE' as const },
  };
  const { form, candidates } = config.training;
  const training = {
    ...config.training,
    candidates: form === 'NEGATIVES' ? candidates : ('RESIDENT' as const),
  };
  return { config: { ...config, storage, training }, plan };
}

/**
 * Throws if a run would change its partitions, on which its states and its edge order depend. A run that was all in memory
 * has none.
 *
 * @param resumed the configuration of the run in the directory.
 */
export function checkKeptPartitions(config: SkeinConfig, resumed: SkeinConfig | null): void {
  const kept = resumed === null ? null : bufferConfig(resumed);
  const wanted = bufferConfig(config);
  if (kept === null || wanted === null || kept.num_partitions === wanted.num_partitions) return;
  throw new ConfigError(
    `storage.embeddings.options.num_partitions: expected ${kept.num_partitions}, as the run in ${config.storage.model_dir} has, got ${wanted.num_partitions}. A run keeps its partitions.`,
  );
}

/**
 * Memory of a process without the table: about 150 MiB before the first batch, and arrays of earlier batches that wait
 * for the garbage collector.
 */
const processBytes = 208 * 2 ** 20;

/** Plans with reading ahead if possible: it takes memory of partitions, but without it training waits for every transfer. */
const waitingCost = 1.5;

function cheapestPlan(options: MemoryPlanOptions): MemoryPlan & { readonly prefetch: boolean } {
  const ahead = tryPlan({ ...options, prefetch: true });
  const waiting = tryPlan({ ...options, prefetch: false });
  if (ahead === null && waiting === null) refuseBudget(options);
  const costOf = (plan: MemoryPlan | null): number =>
    plan?.predictedIoBytesPerEpoch ?? Number.POSITIVE_INFINITY;
  const prefetch = costOf(ahead) <= waitingCost * costOf(waiting);
  return { ...((prefetch ? ahead : waiting) as MemoryPlan), prefetch };
}

/** Formats a budget for an option. */
const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)}M`;

/** Plans without reading ahead, or throws with the least budget that works. */
function refuseBudget(options: MemoryPlanOptions): never {
  const { memoryBudget, reservedBytes = 0 } = options;
  try {
    planMemory({ ...options, prefetch: false });
  } catch (error) {
    const least = error instanceof ValueError ? error.details['leastBytes'] : undefined;
    if (typeof least !== 'number') throw error;
    const own = `${formatBytes(reservedBytes)} of it are for the process and its batches`;
    throw new ConfigError(
      `storage.memory_budget: expected at least ${megabytes(least)}, got ${formatBytes(memoryBudget)}. ${own}, the rest for rows in memory. Raise the budget, lower training.batch_size or output_dim, or halve the rows with storage.embeddings.options.dtype: float16.`,
    );
  }
  throw new InternalError('a plan without reading ahead was refused, then found');
}

/** Throws if training on the whole graph does not fit: each step uses all rows, so none can stay on disk. */
export function checkFullBatch({ storage, training }: SkeinConfig, plan: MemoryPlan | null): void {
  if (!training.full_batch || plan === null || plan.inMemory) return;
  const { memoryBytes, bufferBytes, tableBytes } = plan;
  const least = megabytes(memoryBytes - bufferBytes + tableBytes);
  const got = formatBytes(storage.memory_budget ?? 0);
  throw new ConfigError(
    `storage.memory_budget: expected about ${least} or more with training.full_batch, got ${got}. A step on the whole graph has all rows in memory. Raise the budget, shard the rows over more workers ("${invocation()} run -n 2 train …"), or set training.full_batch: false, which trains sampled batches with rows on disk.`,
  );
}

/** Returns a plan; null when the budget does not suffice. */
function tryPlan(options: MemoryPlanOptions): MemoryPlan | null {
  try {
    return planMemory(options);
  } catch (error) {
    if (error instanceof ValueError) return null;
    throw error;
  }
}

const defaults: Omit<PartitionBufferConfig['options'], 'dtype' | 'num_partitions' | 'buffer_capacity'> = {
  prefetching: true,
  fine_to_coarse_ratio: 1,
  num_cache_partitions: 0,
  edge_bucket_ordering: 'COMET',
  node_partition_ordering: 'DISPERSED',
  randomly_assign_edge_buckets: true,
};
