/**
 * Files of tensors (models and checkpoints) and tables of rows larger than memory: partitions, orderings, buffers.
 * Needs Node; the byte codec of tensors itself is in `tensor`.
 */
export type { DecodedTensors, SafetensorsMetadata } from '../tensor/safetensors.js';
export * from './orderings/index.js';
export {
  type ColumnBlock,
  type LocalRange,
  PartitionBuffer,
  type PartitionBufferOptions,
} from './partition-buffer.js';
export { PartitionLayout } from './partition-layout.js';
export {
  type RowAdagradOptions,
  type RowAdamOptions,
  type RowOptimizer,
  type RowOptimizerState,
  type RowSGDOptions,
  rowAdagrad,
  rowAdam,
  rowSGD,
} from './row-optimizer.js';
export {
  type CheckpointParts,
  loadCheckpoint,
  loadModel,
  loadTensors,
  type Resumable,
  saveCheckpoint,
  saveModel,
  saveTensors,
} from './safetensors-file.js';
export { type ColumnInit, type CreateTableOptions, TableFiles, type TableOptions } from './table-files.js';
export type { ColumnType, FileVersion, TableColumn, TableManifest } from './table-manifest.js';
