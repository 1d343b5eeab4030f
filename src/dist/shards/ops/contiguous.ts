/** Row-major tensors for kernels and messages. */
import type { Tensor } from '../../../tensor/index.js';
import { materialize } from '../../../tensor/ops/common.js';

/** The tensor itself, or a copy when it is strided. */
export function contiguous(t: Tensor): Tensor {
  return t.isContiguous ? t : materialize(t);
}
