/** The kernel library: the selected kernels, their contract, their threads. */
export {
  asyncKernels,
  getThreads,
  kernels,
  lockFile,
  type NativeStatus,
  nativeKernels,
  nativeStatus,
  prepareBlock,
  referenceKernels,
  releaseBlock,
  setThreads,
  withKernels,
} from './active.js';
export { holdMemory, unshared } from './async-memory.js';
export type { GraphKernels } from './graph-kernels.js';
export type { AsyncKernels, Dims, KernelArguments, Kernels, Offsets, RandomKey } from './kernels.js';
export type { Attempt, Level } from './load.js';
export {
  type BinaryOp,
  binaryCode,
  binaryOps,
  type CompareOp,
  compareCode,
  compareOps,
  type QueryKind,
  queryCode,
  queryKinds,
  type ReduceOp,
  type RelationOp,
  reduceCode,
  reduceOps,
  relationCode,
  relationOps,
  type ScoreOp,
  type StorageType,
  scoreCode,
  scoreOps,
  storageCode,
  storageTypes,
  type UnaryOp,
  unaryCode,
  unaryOps,
} from './op-codes.js';
export { recordParameters } from './record-kernels.js';
export type { ScoreKernels } from './score-kernels.js';
export type { FloatArray, TypedArray } from './types.js';
