/** Files of tensors: models and checkpoints. Needs Node; the byte codec itself is in `tensor`. */
export type { DecodedTensors, SafetensorsMetadata } from '../tensor/safetensors.js';
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
