/**
 * In which order edges are trained whose nodes are all in memory. Rows of a large table are scattered over more memory than
 * the processor can translate addresses for at speed: above 1 GiB, edges are trained bucket by bucket, as through a
 * partition buffer, so that a step touches a part of the table only. The choice is written into the run's configuration.
 */
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import type { SkeinConfig } from '../../../config/index.js';
import { bufferConfig } from './initialize-table.js';
import { tableRowBytes } from './memory-budget.js';

/** Tables of more bytes than this, with the state of their optimiser, are trained by buckets. */
const randomOrderBytes = 2 ** 30;
/** Bytes of a partition, about: four of them are trained at a time. */
const partitionBytes = 2 ** 27;

/** A table of sizes has the square of this many entries. */
const mostBuckets = 1024;

/** Partitions that are trained at a time. */
export const partitionsAtOnce = 4;

/** The configuration with `bucket_partitions` decided. @param resumed as the run in the directory was trained. */
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
  // Negatives are drawn among the nodes of the state: all nodes would be all of the table again.
  const draws =
    training.negative_sampling.negatives_per_positive >= 0 && !training.negative_sampling.filtered;
  const inMemory = bufferConfig(config) === null && storage.embeddings.type === 'HOST_MEMORY';
  if (!links || !draws || !inMemory || bytes <= randomOrderBytes) return 0;
  const wanted = Math.max(2 * partitionsAtOnce, Math.ceil(bytes / partitionBytes));
  return Math.min(wanted, stats.num_nodes, mostBuckets);
}
