/**
 * Rows by id: lookup and its transpose, and reductions over consecutive rows. All deterministic: contributions to one
 * row are added in their order.
 */
import { kernels, type ReduceOp, reduceCode } from '../../native/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { dtypes } from '../dtype.js';
import { builtinOp } from '../op.js';
import { formatShape, type Shape, sizeOf } from '../shape.js';
import { SparseRows } from '../sparse-rows.js';
import { Tensor } from '../tensor.js';
import {
  checkFloat,
  checkIds,
  checkTensor,
  lastingIds,
  materialize,
  pack,
  toInt32,
  zerosLike,
} from './common.js';

/** Row numbers: an i32 tensor, an Int32Array or plain numbers. */
export type Ids = Tensor | Int32Array | readonly number[];

interface GatherAttributes {
  readonly ids: Int32Array;
  readonly shape: Shape;
  readonly from: Shape;
  readonly sparse: boolean;
}

const gatherRowsOp = builtinOp<GatherAttributes>({
  name: 'gatherRows',
  forward(_ctx, [x], { ids, shape, from }) {
    const y = Tensor.allocate(x.dtype, shape);
    const rowBytes = sizeOf(from.slice(1)) * dtypes[x.dtype].bytes;
    const source = x.isContiguous ? x.array : materialize(x).array;
    kernels().gatherRows(source, ids, y.array, ids.length, rowBytes);
    return y;
  },
  backward(ctx, gy, { ids, from, sparse }) {
    const g = pack(gy);
    // The leaf's gradient keeps the rows after this pass, so they need memory that no scope recycles.
    if (sparse && ctx.isLeaf(0)) return [SparseRows.copyOf(from, ids, g, gy.device)];
    const gx = zerosLike(gy.dtype, from);
    kernels().scatterAddRows(ids, g, gx.floats, ids.length, from[0], sizeOf(from.slice(1)));
    return [gx];
  },
});

export interface GatherOptions {
  /** Make the gradient of a leaf sparse rows (`sparseGrad`) instead of a dense tensor. */
  readonly sparse?: boolean;
}

/** Returns x[ids], the rows of x [R, ...] in the order of ids; an ids tensor of any shape gives [...ids.shape, ...]. */
export function gatherRows(x: Tensor, ids: Ids, options: GatherOptions = {}): Tensor {
  checkTensor('gatherRows', 'x', x);
  if (x.rank === 0)
    throw new ShapeError(expected('gatherRows', 'at least one axis', 'x', formatShape(x.shape)));
  const array = checkIds('gatherRows', 'ids', ids, x.shape[0]);
  const lead = ids instanceof Tensor ? ids.shape : [array.length];
  const shape = [...lead, ...x.shape.slice(1)];
  return gatherRowsOp([x], {
    ids: lastingIds(array, x),
    shape,
    from: x.shape,
    sparse: options.sparse === true,
  });
}

const scatterAddRowsOp = builtinOp<{ readonly ids: Int32Array; readonly shape: Shape }>({
  name: 'scatterAddRows',
  forward(_ctx, [src], { ids, shape }) {
    const y = zerosLike(src.dtype, shape);
    kernels().scatterAddRows(ids, pack(src), y.floats, ids.length, shape[0], sizeOf(shape.slice(1)));
    return y;
  },
  backward(_ctx, gy, { ids, shape }) {
    const gx = Tensor.allocate(gy.dtype, [ids.length, ...shape.slice(1)]);
    kernels().gatherRows(
      pack(gy),
      ids,
      gx.floats,
      ids.length,
      sizeOf(shape.slice(1)) * dtypes[gy.dtype].bytes,
    );
    return [gx];
  },
});

/** Returns `rows` rows, each the sum of the rows of `src` with its id; rows without an id are 0. */
export function scatterAddRows(src: Tensor, ids: Ids, rows: number): Tensor {
  checkFloat('scatterAddRows', 'src', src);
  checkInteger('scatterAddRows', 'rows', rows);
  if (src.rank === 0)
    throw new ShapeError(expected('scatterAddRows', 'at least one axis', 'src', formatShape(src.shape)));
  const array = checkIds('scatterAddRows', 'ids', ids, rows);
  if (array.length !== src.shape[0]) {
    throw new ShapeError(
      expected('scatterAddRows', `${src.shape[0]} ids (one per row of src)`, 'ids', array.length),
    );
  }
  return scatterAddRowsOp([src], { ids: lastingIds(array, src), shape: [rows, ...src.shape.slice(1)] });
}

const segmentReduceOp = builtinOp<{
  readonly op: ReduceOp;
  readonly offsets: Int32Array;
  readonly from: Shape;
}>({
  name: 'segmentReduce',
  forward(ctx, [x], { op, offsets, from }) {
    const segments = offsets.length - 1;
    const width = sizeOf(from.slice(1));
    const y = Tensor.allocate(x.dtype, [segments, ...from.slice(1)]);
    const arg = ctx.recording && (op === 'max' || op === 'min') ? Tensor.allocate('i32', y.shape) : null;
    kernels().segmentReduce(
      reduceCode[op],
      pack(x),
      offsets,
      y.floats,
      (arg?.array as Int32Array) ?? null,
      segments,
      width,
    );
    if (arg !== null) ctx.save(arg);
    return y;
  },
  backward({ saved: [arg] }, gy, { op, offsets, from }) {
    const gx = Tensor.allocate(gy.dtype, from);
    const index = arg === undefined ? null : (arg.array as Int32Array);
    kernels().segmentReduceBackward(
      reduceCode[op],
      pack(gy),
      offsets,
      index,
      gx.floats,
      offsets.length - 1,
      sizeOf(from.slice(1)),
    );
    return [gx];
  },
});

/**
 * Reduces consecutive rows: segment s takes rows offsets[s] … offsets[s+1]−1 of x. An empty segment gives 0; the
 * gradient of max and min goes to the first of equals.
 *
 * @param offsets ascending, from 0 to the number of rows: one more than there are segments.
 */
export function segmentReduce(x: Tensor, offsets: Ids, op: ReduceOp = 'sum'): Tensor {
  checkFloat('segmentReduce', 'x', x);
  if (!Object.hasOwn(reduceCode, op))
    throw new ValueError(expected('segmentReduce', `one of ${Object.keys(reduceCode).join(', ')}`, 'op', op));
  if (x.rank === 0)
    throw new ShapeError(expected('segmentReduce', 'at least one axis', 'x', formatShape(x.shape)));
  const array = toInt32('segmentReduce', 'offsets', offsets);
  const rows = x.shape[0];
  if (array.length === 0 || array[0] !== 0 || array[array.length - 1] !== rows) {
    throw new ValueError(
      expected(
        'segmentReduce',
        `offsets from 0 to ${rows}`,
        'offsets',
        array.length === 0 ? 'none' : `${array[0]} to ${array[array.length - 1]}`,
      ),
    );
  }
  for (let i = 1; i < array.length; i++) {
    if (array[i] < array[i - 1])
      throw new ValueError(
        expected(
          'segmentReduce',
          'ascending offsets',
          'offsets',
          `${array[i]} after ${array[i - 1]} at position ${i}`,
        ),
      );
  }
  return segmentReduceOp([x], { op, offsets: lastingIds(array, x), from: x.shape });
}
