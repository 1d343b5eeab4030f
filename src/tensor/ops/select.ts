/**
 * Selects and converts elements: where, clamp, cast.
 */
import { kernels } from '../../native/index.js';
import { DTypeError, expected, ValueError } from '../../util/errors.js';
import { onDevice } from '../device.js';
import { checkDType, type DType, dtypes, isFloat } from '../dtype.js';
import { builtinOp } from '../op.js';
import { broadcastShapes, type Shape } from '../shape.js';
import { Tensor } from '../tensor.js';
import { operands } from './binary.js';
import { checkFloat, checkTensor, materialize, pack, type TensorLike, zerosLike } from './common.js';
import { expand } from './layout.js';

const whereOp = builtinOp<{ readonly condition: Tensor }>({
  name: 'where',
  forward(ctx, [a, b], { condition }) {
    const y = Tensor.allocate(a.dtype, a.shape);
    kernels().where(condition.array as Uint8Array, pack(a), pack(b), y.floats, y.size);
    ctx.save(condition);
    return y;
  },
  backward(ctx, gy) {
    const flags = ctx.saved[0].array as Uint8Array;
    const zero = zerosLike(gy.dtype, gy.shape);
    const pick = (first: Tensor, second: Tensor): Tensor => {
      const g = Tensor.allocate(gy.dtype, gy.shape);
      kernels().where(flags, pack(first), pack(second), g.floats, g.size);
      return g;
    };
    return [ctx.needs(0) ? pick(gy, zero) : null, ctx.needs(1) ? pick(zero, gy) : null];
  },
});

/** Returns condition ? a : b for each element; condition is a u8 tensor (from a comparison). All three broadcast. */
export function where(condition: Tensor, a: TensorLike, b: TensorLike): Tensor {
  checkTensor('where', 'condition', condition);
  if (condition.dtype !== 'u8')
    throw new DTypeError(expected('where', 'u8', 'the dtype of condition', condition.dtype));
  const [x, y] = operands('where', a, b);
  checkFloat('where', 'a', x);
  const shape: Shape = broadcastShapes('where', condition.shape, broadcastShapes('where', x.shape, y.shape));
  const mask = expand(condition, shape);
  const flags = mask.isContiguous ? mask : materialize(mask);
  return whereOp([expand(x, shape), expand(y, shape)], { condition: flags });
}

const clampOp = builtinOp<{ readonly lo: number; readonly hi: number }>({
  name: 'clamp',
  forward(ctx, [x], { lo, hi }) {
    const y = Tensor.allocate(x.dtype, x.shape);
    kernels().clamp(pack(x), y.floats, y.size, lo, hi);
    ctx.save(x);
    return y;
  },
  backward({ saved: [x] }, gy, { lo, hi }) {
    // The gradient passes where the value was within the bounds, inclusive.
    const values = pack(x);
    const clamped = Tensor.allocate(x.dtype, x.shape);
    kernels().clamp(values, clamped.floats, clamped.size, lo, hi);
    const inside = Tensor.allocate('u8', x.shape);
    kernels().compare(0, values, clamped.floats, inside.array as Uint8Array, inside.size, null);
    const gx = Tensor.allocate(gy.dtype, gy.shape);
    kernels().where(
      inside.array as Uint8Array,
      pack(gy),
      zerosLike(gy.dtype, gy.shape).floats,
      gx.floats,
      gx.size,
    );
    return [gx];
  },
});

/** Raises values below lo to lo and lowers those above hi to hi; either bound is optional. */
export function clamp(x: Tensor, lo = -Infinity, hi = Infinity): Tensor {
  checkFloat('clamp', 'x', x);
  if (Number.isNaN(lo) || Number.isNaN(hi) || lo > hi)
    throw new ValueError(expected('clamp', 'lo <= hi', 'bounds', `${lo} and ${hi}`));
  return clampOp([x], { lo, hi });
}

const castOp = builtinOp<{ readonly from: DType; readonly to: DType }>({
  name: 'cast',
  forward: (_ctx, [x], { to }) => convert(x, to),
  backward: (_ctx, gy, { from }) => [convert(gy, from)],
});

function convert(x: Tensor, dtype: DType): Tensor {
  return onDevice(x.device, () => {
    const y = Tensor.allocate(dtype, x.shape);
    const source = x.isContiguous ? x : materialize(x);
    kernels().cast(source.array, dtypes[x.dtype].code, y.array, dtypes[dtype].code, y.size);
    return y;
  });
}

/** Converts values to another dtype: to integers by truncation and saturation, to f16/bf16 by rounding. */
export function cast(x: Tensor, dtype: DType): Tensor {
  checkTensor('cast', 'x', x);
  checkDType('cast', dtype);
  if (x.dtype === dtype) return x;
  return isFloat(x.dtype) && isFloat(dtype) ? castOp([x], { from: x.dtype, to: dtype }) : convert(x, dtype);
}
