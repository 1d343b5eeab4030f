/**
 * Skein: graph learning for TypeScript. Tensors, operations and graphs by name; modules, losses and
 * optimisers under `nn`, graph layers and models under `gnn`.
 */
export * as gnn from './gnn/index.js';
export * from './graph/index.js';
export { getThreads, nativeStatus, setThreads } from './native/index.js';
export * as nn from './nn/index.js';
export { fitEvents, fitLinks, fitNodes, openModel, type Predictor } from './predict/index.js';
export * from './sample/index.js';
// Training has classes of these names as well; here they are the samplers', there see skein/train.
export { Batch, EdgeSampler, NegativeSampler, NeighborSampler } from './sample/index.js';
export {
  loadCheckpoint,
  loadModel,
  loadTensors,
  saveCheckpoint,
  saveModel,
  saveTensors,
} from './storage/index.js';
export * from './tensor/index.js';
export * from './train/index.js';
export * from './util/public.js';
