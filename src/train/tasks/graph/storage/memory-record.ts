/** The memory of a run as buffer.json records it: the plan of a budget, or what a configured buffer takes. */
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import type { MemoryPlan } from '../../../../storage/index.js';
import type { SkeinConfig } from '../../../config/index.js';
import type { BufferMemory } from '../../../run/buffer-record.js';
import { bufferConfig, usesFeatures } from './initialize-table.js';
import { tableRowBytes } from './memory-budget.js';

/**
 * Returns null for a run in memory without a budget.
 *
 * @param stats of the share of a process.
 */
export function memoryRecord(
  config: SkeinConfig,
  { num_nodes: rows, node_feature_dim: width }: PreparedStats,
  plan: MemoryPlan | null,
): BufferMemory | null {
  if (plan !== null)
    return {
      budget: config.storage.memory_budget,
      table: plan.tableBytes,
      buffer: plan.bufferBytes,
      transfers: plan.sideBytes,
      edges: plan.residentEdgeBytes,
      reserved: plan.memoryBytes - plan.bufferBytes - plan.sideBytes - plan.residentEdgeBytes,
      read: plan.readBytesPerEpoch,
      written: plan.writeBytesPerEpoch,
    };
  const parts = bufferConfig(config);
  if (parts === null) return null;
  const hasFeatures = usesFeatures(config) && config.storage.features.type === 'PARTITION_BUFFER';
  const rowBytes = tableRowBytes(config) + (hasFeatures ? 4 * Math.max(0, width) : 0);
  const capacity = Math.min(parts.buffer_capacity, parts.num_partitions);
  return {
    ...{
      budget: null,
      table: rows * rowBytes,
      transfers: 0,
      edges: 0,
      reserved: 0,
      read: null,
      written: null,
    },
    buffer: capacity * Math.ceil(rows / parts.num_partitions) * rowBytes,
  };
}
