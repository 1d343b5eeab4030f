/**
 * Shared by the operations: argument checks with uniform messages, contiguous views of inputs, result allocation.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import { onDevice } from '../device.js';
import { type DType, dtypes, type FloatDType, isFloat } from '../dtype.js';
import { isGradEnabled } from '../grad-mode.js';
import { contiguousStrides, formatShape, type Shape, sameShape } from '../shape.js';
import { Tensor } from '../tensor.js';

/** A tensor, or a number, which takes the dtype of the other operand. */
export type TensorLike = Tensor | number;

export function checkTensor(where: string, name: string, value: unknown): Tensor {
  if (!(value instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, value));
  return value;
}

export function checkFloat(where: string, name: string, t: Tensor): FloatDType {
  checkTensor(where, name, t);
  if (!isFloat(t.dtype)) {
    throw new DTypeError(
      expected(where, 'f32 or f64', `the dtype of ${name}`, t.dtype, 'Convert it with cast().'),
    );
  }
  return t.dtype;
}

/** Throws unless all arguments have the same float dtype: there is no implicit promotion. */
export function checkSameFloat(
  where: string,
  tensors: Readonly<Record<string, Tensor | null | undefined>>,
): FloatDType {
  let first: { name: string; dtype: FloatDType } | null = null;
  for (const [name, t] of Object.entries(tensors)) {
    if (t === null || t === undefined) continue;
    const dtype = checkFloat(where, name, t);
    first ??= { name, dtype };
    if (dtype !== first.dtype) {
      throw new DTypeError(
        expected(
          where,
          `${first.dtype} (as ${first.name})`,
          `the dtype of ${name}`,
          dtype,
          'Convert one of them with cast().',
        ),
      );
    }
  }
  return (first as { dtype: FloatDType } | null)?.dtype ?? 'f32';
}

export function checkRank(where: string, name: string, t: Tensor, rank: number): void {
  checkTensor(where, name, t);
  if (t.rank !== rank) {
    throw new ShapeError(
      expected(where, `${rank} ax${rank === 1 ? 'is' : 'es'}`, name, `shape ${formatShape(t.shape)}`),
    );
  }
}

export function checkShapeIs(where: string, name: string, t: Tensor, shape: Shape): void {
  checkTensor(where, name, t);
  if (!sameShape(t.shape, shape)) {
    throw new ShapeError(
      expected(where, `shape ${formatShape(shape)}`, name, `shape ${formatShape(t.shape)}`),
    );
  }
}

/** Returns ids as an Int32Array; throws if one is outside [lo, hi). */
export function checkIds(
  where: string,
  name: string,
  ids: Tensor | Int32Array | readonly number[],
  hi: number,
  lo = 0,
): Int32Array {
  const array = toInt32(where, name, ids);
  const bad = kernels().findOutOfRange(array, array.length, lo, hi);
  if (bad >= 0) {
    throw new ValueError(
      expected(where, `ids from ${lo} to ${hi - 1}`, name, `${array[bad]} at position ${bad}`),
      { position: bad, id: array[bad] },
    );
  }
  return array;
}

/**
 * Returns ids that backward can read: a copy if `t` is recorded, because the caller may change its array before
 * backward, or a scope may recycle its tensor, and kernels trust ids that have been checked once.
 */
export function lastingIds(ids: Int32Array, t: Tensor): Int32Array {
  return t.requiresGrad && isGradEnabled() ? ids.slice() : ids;
}

export function toInt32(
  where: string,
  name: string,
  ids: Tensor | Int32Array | readonly number[],
): Int32Array {
  if (ids instanceof Int32Array) return ids;
  if (ids instanceof Tensor) {
    if (ids.dtype !== 'i32') throw new DTypeError(expected(where, 'i32', `the dtype of ${name}`, ids.dtype));
    return ids.dataSync() as Int32Array;
  }
  if (!Array.isArray(ids))
    throw new ValueError(expected(where, 'an i32 tensor, an Int32Array or an array of numbers', name, ids));
  for (const [i, id] of ids.entries()) {
    if (!Number.isInteger(id) || Math.abs(id) >= 2 ** 31)
      throw new ValueError(expected(where, 'whole numbers', name, `${id} at position ${i}`));
  }
  return Int32Array.from(ids);
}

/** Returns the elements in row-major order: the tensor's memory, or a copy made by a strided kernel. */
export function pack(t: Tensor): FloatArray {
  return (t.isContiguous ? t : materialize(t)).floats;
}

/** Makes a contiguous copy. */
export function materialize(t: Tensor): Tensor {
  return onDevice(t.device, () => {
    const out = Tensor.allocate(t.dtype, t.shape);
    copyInto(t, out, contiguousStrides(t.shape), 0);
    return out;
  });
}

/** Copies `src` to the elements of `dst` that the strides and offset select. */
export function copyInto(src: Tensor, dst: Tensor, dstStrides: Shape, dstOffset: number): void {
  if (src.size === 0) return;
  const dims = Int32Array.of(src.rank, ...src.shape, ...src.strides, ...dstStrides);
  const target = dstOffset === 0 && dst.isContiguous ? dst.array : dst.array.subarray(dstOffset);
  kernels().copyStrided(src.base, target, dtypes[src.dtype].bytes, dims);
}

export function zerosLike(dtype: DType, shape: Shape): Tensor {
  const out = Tensor.allocate(dtype, shape);
  if (isFloat(dtype) || out.device !== null) kernels().fill(out.floats, out.size, 0);
  else out.array.fill(0);
  return out;
}
