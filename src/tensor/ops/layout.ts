/**
 * Operations that rearrange elements or view them in another shape. Views (reshape of contiguous data, transpose,
 * slice, expand) share memory; concat, stack and contiguous copy.
 */
import { checkInteger, DTypeError, expected, ShapeError, ValueError } from '../../util/errors.js';
import { builtinOp } from '../op.js';
import { RowRange } from '../row-range.js';
import {
  checkAxis,
  checkShape,
  contiguousStrides,
  formatShape,
  type Shape,
  sameShape,
  sizeOf,
} from '../shape.js';
import { Tensor } from '../tensor.js';
import { checkTensor, copyInto, materialize, zerosLike } from './common.js';
import { sumTo } from './sum-to.js';

const contiguousOp = builtinOp({
  name: 'contiguous',
  forward: (_ctx, [x]) => materialize(x),
  backward: (_ctx, gy) => [gy],
});

/** Returns the tensor itself if its elements are in row-major order, otherwise a contiguous copy. */
export function contiguous(x: Tensor): Tensor {
  return checkTensor('contiguous', 'x', x).isContiguous ? x : contiguousOp([x]);
}

const cloneOp = builtinOp({
  name: 'clone',
  forward: (_ctx, [x]) => materialize(x),
  backward: (_ctx, gy) => [gy],
});

/** Copies a tensor. */
export function clone(x: Tensor): Tensor {
  return cloneOp([checkTensor('clone', 'x', x)]);
}

const reshapeOp = builtinOp<{ readonly shape: Shape; readonly from: Shape }>({
  name: 'reshape',
  forward: (_ctx, [x], { shape }) => (x.isContiguous ? x : materialize(x)).view(shape),
  backward: (_ctx, gy, { from }) => [(gy.isContiguous ? gy : materialize(gy)).view(from)],
});

/** Returns the same elements in another shape; one size may be −1 and is inferred. */
export function reshape(x: Tensor, shape: readonly number[]): Tensor {
  checkTensor('reshape', 'x', x);
  if (!Array.isArray(shape))
    throw new ShapeError(expected('reshape', 'an array of sizes', 'shape', shape, 'Write reshape([2, 3]).'));
  const holes = shape.filter((d) => d === -1).length;
  const known = sizeOf(shape.filter((d) => d !== -1));
  const resolved =
    holes === 1 && known > 0 && x.size % known === 0
      ? shape.map((d) => (d === -1 ? x.size / known : d))
      : shape;
  if (holes > 1 || resolved.includes(-1) || sizeOf(checkShape('reshape', resolved)) !== x.size) {
    throw new ShapeError(
      expected(
        'reshape',
        `a shape with ${x.size} elements`,
        'shape',
        formatShape(shape),
        `The tensor has shape ${formatShape(x.shape)}.`,
      ),
    );
  }
  return reshapeOp([x], { shape: [...resolved], from: x.shape });
}

const permuteOp = builtinOp<{ readonly order: readonly number[] }>({
  name: 'permute',
  forward: (_ctx, [x], { order }) => permuteView(x, order),
  backward(_ctx, gy, { order }) {
    const inverse = new Array<number>(order.length);
    for (const [i, axis] of order.entries()) inverse[axis] = i;
    return [permuteView(gy, inverse)];
  },
});

function permuteView(x: Tensor, order: readonly number[]): Tensor {
  return x.view(
    order.map((axis) => x.shape[axis]),
    order.map((axis) => x.strides[axis]),
  );
}

/** Permutes the axes (a view). */
export function permute(x: Tensor, order: readonly number[]): Tensor {
  checkTensor('permute', 'x', x);
  const axes = order.map((axis) => checkAxis('permute', axis, x.rank));
  if (axes.length !== x.rank || new Set(axes).size !== x.rank) {
    throw new ShapeError(expected('permute', `each of the ${x.rank} axes once`, 'order', [...order]));
  }
  return permuteOp([x], { order: axes });
}

/** Swaps two axes, by default the last two (a view). */
export function transpose(x: Tensor, a = -2, b = -1): Tensor {
  checkTensor('transpose', 'x', x);
  const first = checkAxis('transpose', a, x.rank);
  const second = checkAxis('transpose', b, x.rank);
  const order = x.shape.map((_, i) => (i === first ? second : i === second ? first : i));
  return permuteOp([x], { order });
}

const sliceOp = builtinOp<{
  readonly axis: number;
  readonly start: number;
  readonly length: number;
  readonly from: Shape;
}>({
  name: 'slice',
  forward: (_ctx, [x], { axis, start, length }) =>
    x.view(
      x.shape.map((d, i) => (i === axis ? length : d)),
      x.strides,
      x.offset + start * x.strides[axis],
    ),
  backward(_ctx, gy, { axis, start, from }) {
    if (axis === 0) return [new RowRange(from, start, gy)];
    const gx = zerosLike(gy.dtype, from);
    const strides = contiguousStrides(from);
    copyInto(gy, gx, strides, start * strides[axis]);
    return [gx];
  },
});

/** Selects positions start … end−1 along an axis (a view). Negative positions count from the end. */
export function slice(x: Tensor, start: number, end?: number, axis = 0): Tensor {
  checkTensor('slice', 'x', x);
  const which = checkAxis('slice', axis, x.rank);
  const size = x.shape[which];
  const resolve = (name: string, value: number): number => {
    const position = value < 0 ? value + size : value;
    if (!Number.isInteger(value) || position < 0 || position > size) {
      throw new ValueError(
        expected(
          'slice',
          `a position from ${-size} to ${size}`,
          name,
          value,
          `Axis ${which} has size ${size}.`,
        ),
      );
    }
    return position;
  };
  const from = resolve('start', start);
  const to = resolve('end', end ?? size);
  return sliceOp([x], { axis: which, start: from, length: Math.max(0, to - from), from: x.shape });
}

const concatOp = builtinOp<{ readonly axis: number; readonly sizes: readonly number[] }>({
  name: 'concat',
  forward(_ctx, inputs, { axis, sizes }) {
    const shape = inputs[0].shape.map((d, i) => (i === axis ? sizes.reduce((a, b) => a + b, 0) : d));
    const y = Tensor.allocate(inputs[0].dtype, shape);
    const strides = contiguousStrides(shape);
    let start = 0;
    for (const [i, x] of inputs.entries()) {
      copyInto(x, y, strides, start * strides[axis]);
      start += sizes[i];
    }
    return y;
  },
  backward(ctx, gy, { axis, sizes }) {
    let start = 0;
    return sizes.map((length, i) => {
      const part = gy.view(
        gy.shape.map((d, j) => (j === axis ? length : d)),
        gy.strides,
        gy.offset + start * gy.strides[axis],
      );
      start += length;
      return ctx.needs(i) ? materialize(part) : null;
    });
  },
});

/** Concatenates tensors along an axis; all other sizes must agree. */
export function concat(tensors: readonly Tensor[], axis = 0): Tensor {
  if (!Array.isArray(tensors) || tensors.length === 0)
    throw new ValueError(expected('concat', 'at least one tensor', 'tensors', tensors));
  const first = checkTensor('concat', 'tensors[0]', tensors[0]);
  const which = checkAxis('concat', axis, first.rank);
  for (const [i, t] of tensors.entries()) {
    checkTensor('concat', `tensors[${i}]`, t);
    if (t.dtype !== first.dtype)
      throw new DTypeError(expected('concat', first.dtype, `the dtype of tensors[${i}]`, t.dtype));
    if (
      t.rank !== first.rank ||
      t.shape.some((d: number, j: number) => j !== which && d !== first.shape[j])
    ) {
      throw new ShapeError(
        expected(
          'concat',
          `shape ${formatShape(first.shape)} except along axis ${which}`,
          `tensors[${i}]`,
          formatShape(t.shape),
        ),
      );
    }
  }
  return concatOp(tensors, { axis: which, sizes: tensors.map((t) => t.shape[which]) });
}

/** Stacks tensors of one shape along a new axis. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  if (!Array.isArray(tensors) || tensors.length === 0)
    throw new ValueError(expected('stack', 'at least one tensor', 'tensors', tensors));
  return concat(
    tensors.map((t) => unsqueeze(t, axis)),
    axis,
  );
}

/** Adds an axis of size 1. */
export function unsqueeze(x: Tensor, axis: number): Tensor {
  checkTensor('unsqueeze', 'x', x);
  const where = checkAxis('unsqueeze', axis, x.rank + 1);
  return reshape(x, [...x.shape.slice(0, where), 1, ...x.shape.slice(where)]);
}

/** Removes an axis of size 1, or all of them. */
export function squeeze(x: Tensor, axis?: number): Tensor {
  checkTensor('squeeze', 'x', x);
  if (axis === undefined)
    return reshape(
      x,
      x.shape.filter((d) => d !== 1),
    );
  const which = checkAxis('squeeze', axis, x.rank);
  if (x.shape[which] !== 1)
    throw new ShapeError(expected('squeeze', 'size 1', `axis ${which}`, formatShape(x.shape)));
  return reshape(
    x,
    x.shape.filter((_, i) => i !== which),
  );
}

const expandOp = builtinOp<{ readonly shape: Shape; readonly from: Shape }>({
  name: 'expand',
  forward(_ctx, [x], { shape }) {
    const lead = shape.length - x.rank;
    return x.view(
      shape,
      shape.map((_, i) => (i < lead || x.shape[i - lead] === 1 ? 0 : x.strides[i - lead])),
    );
  },
  backward: (_ctx, gy, { from }) => [sumTo(gy, from)],
});

/** Broadcasts a tensor to a larger shape (a view). */
export function expand(x: Tensor, shape: readonly number[]): Tensor {
  checkTensor('expand', 'x', x);
  const target = checkShape('expand', shape);
  const lead = target.length - x.rank;
  if (lead < 0 || x.shape.some((d, i) => d !== 1 && d !== target[lead + i])) {
    throw new ShapeError(
      expected('expand', `a shape that ${formatShape(x.shape)} broadcasts to`, 'shape', formatShape(target)),
    );
  }
  return sameShape(x.shape, target) ? x : expandOp([x], { shape: target, from: x.shape });
}

/** Splits an axis into chunks of equal size (views); the last may be smaller. */
export function split(x: Tensor, size: number, axis = 0): Tensor[] {
  const which = checkAxis('split', axis, checkTensor('split', 'x', x).rank);
  checkInteger('split', 'size', size, 1);
  const total = x.shape[which];
  return Array.from({ length: Math.ceil(total / size) }, (_, i) =>
    slice(x, i * size, Math.min(total, (i + 1) * size), which),
  );
}
