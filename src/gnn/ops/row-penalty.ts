/**
 * The weighted penalty Σ wᵢ Σ|x|ᵖ of distinct rows of a table. Forward computes the gradient in the same pass over the
 * rows. A leaf gets its gradient as sparse rows, which are added in place to the dense gradient of a loss.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import {
  abs,
  add,
  clamp,
  fromTypedArray,
  gatherRows,
  mul,
  pow,
  SparseRows,
  slice,
  sqrt,
  square,
  sum,
  Tensor,
} from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { builtinOp } from '../../tensor/op.js';
import { checkFloat, checkIds, pack, zerosLike } from '../../tensor/ops/common.js';
import { checkInteger, expected, ShapeError } from '../../util/errors.js';
import { addUp, scaleBy } from './fused-loss.js';
import { checkMatrix } from './scores.js';

export interface RowPenaltyOptions {
  /** Distinct row numbers; null for all rows. */
  readonly ids: Int32Array | null;
  /** The weight of each of these rows, or of all. */
  readonly weights: FloatArray | number;
  /** The p of |x|ᵖ. */
  readonly power: number;
  /** Whether rows hold complex numbers (real parts first), whose moduli are penalised. */
  readonly complex: boolean;
}

interface Attributes {
  readonly ids: Int32Array | null;
  readonly weights: FloatArray;
  readonly power: number;
  readonly complex: boolean;
  /** The gradient of the rows that forward computed; backward removes it. */
  ready: Tensor | null;
}

const rowPenaltyOp = builtinOp<Attributes>({
  name: 'rowPenalty',
  forward(ctx, [table], attributes) {
    const total = Tensor.allocate(table.dtype, []);
    attributes.ready = run(table, attributes, ctx.recording && ctx.needs(0), total);
    ctx.save(table);
    return total;
  },
  backward(ctx, gy, attributes) {
    const [table] = ctx.saved;
    const { ids } = attributes;
    let g = attributes.ready;
    attributes.ready = null;
    if (g === null || g.isDisposed) g = run(table, attributes, true, Tensor.allocate(gy.dtype, [])) as Tensor;
    scaleBy(g, gy);
    if (ids === null) return [g];
    if (ctx.isLeaf(0)) {
      const sparse = SparseRows.copyOf(table.shape, ids, g.floats, g.device);
      g.dispose();
      return [sparse];
    }
    const dense = zerosLike(table.dtype, table.shape);
    kernels().scatterAddRows(ids, g.floats, dense.floats, ids.length, table.shape[0], table.shape[1]);
    g.dispose();
    return [dense];
  },
});

/** Writes the penalty to `total`; returns the gradient of the rows if it is needed. */
function run(table: Tensor, attributes: Attributes, needed: boolean, total: Tensor): Tensor | null {
  const { ids, weights, power, complex } = attributes;
  const width = table.shape[1];
  const count = weights.length;
  const loss = Tensor.allocate(table.dtype, [count]);
  const grad = needed ? Tensor.allocate(table.dtype, [count, width]) : null;
  kernels().rowPenalty({
    ...{ x: pack(table), ids, weights, loss: loss.floats, grad: grad?.floats ?? null },
    ...{ count, width, power, complex },
  });
  addUp([{ losses: loss, scale: 1 }], total);
  loss.dispose();
  return grad;
}

/** Returns Σ weights[i] · Σ|x|ᵖ over the rows ids[i] of a table [N, d]: a scalar. */
export function rowPenalty(table: Tensor, options: RowPenaltyOptions): Tensor {
  const where = 'rowPenalty';
  checkFloat(where, 'table', table);
  checkMatrix(where, 'table', table);
  const { power, complex } = options;
  checkInteger(where, 'power', power, 1, 64);
  const [rows, width] = table.shape;
  if (complex && width % 2 !== 0)
    throw new ShapeError(expected(where, 'an even width (real parts, imaginary parts)', 'table', width));
  // Copies: backward may run again after the caller has changed its arrays, and kernels trust ids checked once.
  const ids = options.ids === null ? null : checkIds(where, 'ids', options.ids, rows).slice();
  const count = ids?.length ?? rows;
  const Floats = table.dtype === 'f64' ? Float64Array : Float32Array;
  const weights =
    typeof options.weights === 'number'
      ? new Floats(count).fill(options.weights)
      : Floats.from(options.weights);
  if (weights.length !== count)
    throw new ShapeError(expected(where, `${count} numbers (one for each row)`, 'weights', weights.length));
  if (table.device !== null) return composedPenalty(table, { ids, weights, power, complex });
  return rowPenaltyOp([table], { ids, weights, power, complex, ready: null });
}

/** Returns the penalty by operations that all devices have. */
function composedPenalty(
  table: Tensor,
  { ids, weights, power, complex }: RowPenaltyOptions & { readonly weights: FloatArray },
): Tensor {
  const x = ids === null ? table : gatherRows(table, ids);
  const factors = toDeviceOf(fromTypedArray(weights, [weights.length, 1]), x);
  return sum(mul(powers(x, power, complex), factors));
}

/** Returns |x|ᵖ of each number. */
function powers(x: Tensor, power: number, complex: boolean): Tensor {
  if (!complex) return power === 2 ? square(x) : pow(abs(x), power);
  const half = x.shape[1] / 2;
  const squares = add(square(slice(x, 0, half, 1)), square(slice(x, half, undefined, 1)));
  // The root's slope is infinite at 0, where the penalty's is 0.
  return power === 2 ? squares : pow(sqrt(clamp(squares, 1e-30)), power);
}
