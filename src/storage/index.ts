/**
 * Files of tensors (models and checkpoints) and tables of rows larger than memory: partitions, orderings, buffers.
 * Needs Node; the byte codec of tensors itself is in `tensor`.
 */
export type { DecodedTensors, SafetensorsMetadata } from '../tensor/safetensors.js';
export * from './orderings/index.js';
export { PartitionLayout } from './partition-layout.js';
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
