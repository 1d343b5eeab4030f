/**
 * The training order of edges whose nodes are all in memory. Random rows of a large table miss the processor's address
 * translation cache: above 1 GiB, edges are trained bucket by bucket, as through a partition buffer, so that a step touches
 * few partitions of the table. The choice is written into the run's configuration.
 */
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import type { SkeinConfig } from '../../../config/index.js';
import { bufferConfig } from './initialize-table.js';
import { tableRowBytes } from './memory-budget.js';

/** Tables of more bytes than this, with the state of their optimiser, are trained by buckets. */
const randomOrderBytes = 2 ** 30;
/** Approximate bytes of a partition; four of them are trained at a time. */
const partitionBytes = 2 ** 27;

/** Most partitions: the list of bucket sizes has the square of this many entries. */
const mostBuckets = 1024;

/** Partitions that are trained at a time. */
export const partitionsAtOnce = 4;

/** Returns the configuration with `bucket_partitions` set. @param resumed the configuration of the run in the directory. */
export function withEdgeOrder(
  config: SkeinConfig,
  stats: PreparedStats,
  resumed: SkeinConfig | null = null,
): SkeinConfig {
  if (config.training.bucket_partitions >= 0) return config;
  const chosen = resumed === null ? decided(config, stats) : Math.max(0, resumed.training.bucket_partitions);
  return { ...config, training: { ...config.training, bucket_partitions: chosen } };
}

function decided(config: SkeinConfig, stats: PreparedStats): number {
  const { model, training, storage } = config;
  const bytes = stats.num_nodes * tableRowBytes(config);
  const links = model.learning_task === 'LINK_PREDICTION';
  // Negatives are drawn among the nodes of the state: all nodes would touch all of the table.
  const draws =
    training.form === 'NEGATIVES' &&
    training.negative_sampling.negatives_per_positive !== -1 &&
    !training.negative_sampling.filtered;
  const inMemory = bufferConfig(config) === null && storage.embeddings.type === 'HOST_MEMORY';
  if (!links || !draws || !inMemory || bytes <= randomOrderBytes) return 0;
  const wanted = Math.max(2 * partitionsAtOnce, Math.ceil(bytes / partitionBytes));
  return Math.min(wanted, stats.num_nodes, mostBuckets);
}
