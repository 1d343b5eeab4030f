/**
 * Reductions over one axis, several axes or all. `keepDims` leaves reduced axes with size 1.
 */
import { kernels, type ReduceOp, reduceCode } from '../../native/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { onDevice } from '../device.js';
import { builtinOp } from '../op.js';
import { checkAxis, formatShape, type Shape, sizeOf } from '../shape.js';
import { Tensor } from '../tensor.js';
import { add, div, eq, mul, sub } from './binary.js';
import { checkFloat, pack } from './common.js';
import { expand, reshape } from './layout.js';
import { cast } from './select.js';
import { sqrt, square } from './unary.js';

/** One axis, several, or (undefined) all. */
export type Axes = number | readonly number[] | undefined;

export interface ReduceOptions {
  readonly keepDims?: boolean;
}

interface Block {
  readonly outer: number;
  readonly mid: number;
  readonly inner: number;
}

function blockOf(shape: Shape, first: number, last: number): Block {
  return {
    outer: sizeOf(shape.slice(0, first)),
    mid: sizeOf(shape.slice(first, last + 1)),
    inner: sizeOf(shape.slice(last + 1)),
  };
}

/** Returns the axes counted from 0, sorted and distinct. */
function resolveAxes(where: string, axes: Axes, rank: number): number[] {
  if (axes === undefined) return Array.from({ length: rank }, (_, i) => i);
  const list = (typeof axes === 'number' ? [axes] : [...axes]).map((axis) => checkAxis(where, axis, rank));
  if (new Set(list).size !== list.length)
    throw new ShapeError(expected(where, 'each axis once', 'axis', list));
  return list.sort((a, b) => a - b);
}

const sumOp = builtinOp<{
  readonly block: Block;
  readonly shape: Shape;
  readonly from: Shape;
  readonly keptShape: Shape;
}>({
  name: 'sum',
  forward(_ctx, [x], { block, shape }) {
    const y = Tensor.allocate(x.dtype, shape);
    kernels().reduce(reduceCode.sum, pack(x), y.floats, block.outer, block.mid, block.inner);
    return y;
  },
  backward: (_ctx, gy, { from, keptShape }) => [expand(reshape(gy, keptShape), from)],
});

function sumRange(x: Tensor, first: number, last: number, keepDims: boolean): Tensor {
  const keptShape = x.shape.map((d, i) => (i >= first && i <= last ? 1 : d));
  const shape = keepDims ? keptShape : x.shape.filter((_, i) => i < first || i > last);
  return sumOp([x], { block: blockOf(x.shape, first, last), shape, from: x.shape, keptShape });
}

/** Sums over the axes. */
export function sum(x: Tensor, axes?: Axes, options: ReduceOptions = {}): Tensor {
  checkFloat('sum', 'x', x);
  const list = resolveAxes('sum', axes, x.rank);
  let y = x;
  // Adjacent axes are reduced in one pass; later axes first, so that indices stay valid.
  for (let end = list.length - 1; end >= 0; ) {
    let start = end;
    while (start > 0 && list[start - 1] === list[start] - 1) start--;
    y = sumRange(y, list[start], list[end], options.keepDims === true);
    end = start - 1;
  }
  return y;
}

/** Computes the arithmetic mean over the axes. */
export function mean(x: Tensor, axes?: Axes, options: ReduceOptions = {}): Tensor {
  checkFloat('mean', 'x', x);
  const count = sizeOf(resolveAxes('mean', axes, x.rank).map((axis) => x.shape[axis]));
  return mul(sum(x, axes, options), 1 / count);
}

/**
 * Computes the variance over the axes; `correction` 1 (the default) is the unbiased estimate, 0 divides by the count.
 */
export function variance(
  x: Tensor,
  axes?: Axes,
  options: ReduceOptions & { readonly correction?: number } = {},
): Tensor {
  checkFloat('variance', 'x', x);
  const count = sizeOf(resolveAxes('variance', axes, x.rank).map((axis) => x.shape[axis]));
  const squares = square(sub(x, mean(x, axes, { keepDims: true })));
  return div(sum(squares, axes, options), count - (options.correction ?? 1));
}

const normOp = builtinOp<{ readonly axes: Axes; readonly keepDims: boolean }>({
  name: 'norm',
  forward(ctx, [x], { axes, keepDims }) {
    const y = sqrt(sum(square(x), axes, { keepDims: true }));
    ctx.save(x, y);
    const kept = resolveAxes('norm', axes, x.rank);
    return keepDims
      ? y
      : reshape(
          y,
          x.shape.filter((_, i) => !kept.includes(i)),
        );
  },
  backward({ saved: [x, y] }, gy) {
    // x / y, and 0 for a zero vector, where the gradient is not defined.
    const none = cast(eq(y, 0), y.dtype);
    return [mul(mul(div(x, add(y, none)), sub(1, none)), reshape(gy, y.shape))];
  },
});

/** Computes the Euclidean norm over the axes; the gradient of a zero vector is 0. */
export function norm(x: Tensor, axes?: Axes, options: ReduceOptions = {}): Tensor {
  checkFloat('norm', 'x', x);
  return normOp([x], { axes, keepDims: options.keepDims === true });
}

const extremumOp = builtinOp<{
  readonly op: 'max' | 'min';
  readonly block: Block;
  readonly shape: Shape;
  readonly from: Shape;
}>({
  name: 'max/min',
  forward(ctx, [x], { op, block: { outer, mid, inner }, shape }) {
    const y = Tensor.allocate(x.dtype, shape);
    const data = pack(x);
    kernels().reduce(reduceCode[op], data, y.floats, outer, mid, inner);
    if (ctx.recording) {
      const index = Tensor.allocate('i32', shape);
      kernels().argReduce(reduceCode[op], data, index.array as Int32Array, outer, mid, inner);
      ctx.save(index);
    }
    return y;
  },
  backward({ saved: [index] }, gy, { block: { outer, mid, inner }, from }) {
    const gx = Tensor.allocate(gy.dtype, from);
    kernels().argScatter(pack(gy), index.array as Int32Array, gx.floats, outer, mid, inner);
    return [gx];
  },
});

function extremum(op: 'max' | 'min', x: Tensor, axis: number | undefined, options: ReduceOptions): Tensor {
  checkFloat(op, 'x', x);
  const which = axis === undefined ? null : checkAxis(op, axis, x.rank);
  const [first, last] = which === null ? [0, x.rank - 1] : [which, which];
  const block = blockOf(x.shape, first, last);
  if (block.mid === 0)
    throw new ShapeError(expected(op, 'at least one element', 'the reduced axis', formatShape(x.shape)));
  const shape = x.shape.map((d, i) => (i >= first && i <= last ? 1 : d));
  const y = extremumOp([x], { op, block, shape, from: x.shape });
  if (options.keepDims === true) return y;
  return reshape(
    y,
    x.shape.filter((_, i) => i < first || i > last),
  );
}

/** Returns the largest element along an axis, or of all; the gradient goes to the first of equals. */
export function max(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  return extremum('max', x, axis, options);
}

/** Returns the smallest element along an axis, or of all; the gradient goes to the first of equals. */
export function min(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  return extremum('min', x, axis, options);
}

function argExtremum(name: string, op: ReduceOp, x: Tensor, axis: number): Tensor {
  checkFloat(name, 'x', x);
  const which = checkAxis(name, axis, x.rank);
  const { outer, mid, inner } = blockOf(x.shape, which, which);
  if (mid === 0)
    throw new ShapeError(expected(name, 'at least one element', `axis ${which}`, formatShape(x.shape)));
  return onDevice(x.device, () => {
    const index = Tensor.allocate(
      'i32',
      x.shape.filter((_, i) => i !== which),
    );
    kernels().argReduce(reduceCode[op], pack(x), index.array as Int32Array, outer, mid, inner);
    return index;
  });
}

/** Returns the position of the largest element along an axis (i32); the first of equals. */
export function argmax(x: Tensor, axis = -1): Tensor {
  return argExtremum('argmax', 'max', x, axis);
}

/** Returns the position of the smallest element along an axis (i32); the first of equals. */
export function argmin(x: Tensor, axis = -1): Tensor {
  return argExtremum('argmin', 'min', x, axis);
}
