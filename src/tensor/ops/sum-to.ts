/**
 * Sums a gradient to the shape that an operand had before broadcasting.
 */
import { kernels, reduceCode } from '../../native/index.js';
import { type Shape, sameShape, sizeOf } from '../shape.js';
import { Tensor } from '../tensor.js';
import { materialize, pack } from './common.js';

export function sumTo(g: Tensor, shape: Shape): Tensor {
  if (sameShape(g.shape, shape)) return g;
  const lead = g.rank - shape.length;
  let dims = [...g.shape];
  let data = pack(g);
  let result: Tensor | null = null;
  // Runs of adjacent broadcast axes are summed in one pass: [N, F] → [F] and [B, N, F] → [F] take one each.
  for (let axis = 0; axis < dims.length; ) {
    let end = axis;
    while (end < dims.length && (end < lead || shape[end - lead] === 1) && dims[end] !== 1) end++;
    if (end === axis) {
      axis++;
      continue;
    }
    const outer = sizeOf(dims.slice(0, axis));
    const mid = sizeOf(dims.slice(axis, end));
    const inner = sizeOf(dims.slice(end));
    const next = Tensor.allocate(g.dtype, [outer * inner]);
    kernels().reduce(reduceCode.sum, data, next.floats, outer, mid, inner);
    dims = dims.map((d, i) => (i >= axis && i < end ? 1 : d));
    data = next.floats;
    result = next;
    axis = end;
  }
  return (result ?? (g.isContiguous ? g : materialize(g))).view(shape);
}
