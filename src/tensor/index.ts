/**
 * Tensors with reverse-mode differentiation.
 */
export { type BackwardOptions, backward, grad } from './backward.js';
export { checkpoint } from './checkpoint.js';
export {
  arange,
  bernoulli,
  type CreateOptions,
  eye,
  fromArray,
  fromTypedArray,
  full,
  ones,
  type RandomOptions,
  rand,
  randint,
  randn,
  randperm,
  tensor,
  zeros,
} from './create.js';
export type { DeviceArray, DeviceLike, TensorDevice } from './device.js';
export { type DryRun, dryRun } from './dry-run.js';
export type { DType, FloatDType } from './dtype.js';
export { enableGrad, isGradEnabled, noGrad, setCheckFinite } from './grad-mode.js';
export { Tensor } from './methods.js';
export { defineMultiOp, defineOp, type MultiOpDefinition, type OpDefinition } from './op.js';
export * from './ops/index.js';
export { emptyPool, type PoolStats, poolStats, resetPeak } from './pool.js';
export { manualSeed, randomState, setRandomState } from './random.js';
export {
  type DecodedTensors,
  decodeSafetensors,
  encodeSafetensors,
  type SafetensorsMetadata,
} from './safetensors.js';
export { keep, scope } from './scope.js';
export type { Shape } from './shape.js';
export { SparseRows } from './sparse-rows.js';
export type { BackwardContext, OpContext } from './tape.js';
export type { NestedArray } from './tensor.js';
