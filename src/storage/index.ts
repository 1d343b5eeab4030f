/**
 * Files of tensors (models and checkpoints) and tables of rows larger than memory: partitions, orderings, buffers.
 * Needs Node.js; the codec of tensors is in `tensor`.
 */
export type { DecodedTensors, SafetensorsMetadata } from '../tensor/safetensors.js';
export {
  type RowAdagradOptions,
  type RowAdamOptions,
  type RowSGDOptions,
  rowAdagrad,
  rowAdam,
  rowSGD,
} from './built-in-row-optimizers.js';
export { FileStore, type FileStoreOptions } from './file-store.js';
export { type HotColdOptions, type HotColdStats, HotColdStore } from './hot-cold-store.js';
export { type MemoryPlan, type MemoryPlanOptions, planMemory } from './memory-plan.js';
export { MemoryStore } from './memory-store.js';
export { type CustomOptimizer, registerOptimizer } from './optimizer-types.js';
export * from './orderings/index.js';
export { PartitionBuffer, type PartitionBufferOptions } from './partition-buffer.js';
export {
  PartitionBufferStore,
  type PartitionBufferStoreOptions,
} from './partition-buffer-store.js';
export { PartitionLayout } from './partition-layout.js';
export { repartitionTable } from './repartition-table.js';
export { BaseRowOptimizer, type RowOptimizer, type RowOptimizerState } from './row-optimizer.js';
export type { RowArray, RowReader, RowStore, StoreType } from './row-store.js';
export {
  loadCheckpoint,
  loadModel,
  loadTensors,
  saveCheckpoint,
  saveModel,
  saveTensors,
} from './safetensors-file.js';
export { TableFiles } from './table-files.js';
export * from './tables.js';
