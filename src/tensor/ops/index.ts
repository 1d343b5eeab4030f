/** Every operation. */
export { add, div, eq, ge, gt, le, lt, maximum, minimum, mul, ne, pow, sub } from './binary.js';
export { timeEncode } from './cells.js';
export type { TensorLike } from './common.js';
export { crossEntropyTotal } from './cross-entropy.js';
export { dropout } from './dropout.js';
export {
  clone,
  concat,
  contiguous,
  expand,
  permute,
  reshape,
  slice,
  split,
  squeeze,
  stack,
  transpose,
  unsqueeze,
} from './layout.js';
export { linear, matmul } from './matmul.js';
export { layerNorm } from './norm.js';
export {
  type Axes,
  argmax,
  argmin,
  max,
  mean,
  min,
  norm,
  type ReduceOptions,
  sum,
  variance,
} from './reduce.js';
export { gatherRows, type Ids, scatterAddRows, segmentReduce } from './rows.js';
export { cast, clamp, where } from './select.js';
export { logSoftmax, softmax } from './softmax.js';
export {
  abs,
  cos,
  elu,
  exp,
  gelu,
  leakyRelu,
  log,
  logSigmoid,
  neg,
  reciprocal,
  relu,
  sigmoid,
  sign,
  sin,
  softplus,
  sqrt,
  square,
  tanh,
} from './unary.js';
