/**
 * Matrix products. Transposed views are passed to the kernel as such, without a copy.
 *
 * A product with a 2-D right side treats all leading axes of the left as rows: one tall product, whose rows do not
 * depend on each other's presence (row invariance). Other batched products run one gemm per matrix pair.
 */
import { type FloatArray, kernels, reduceCode } from '../../native/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { builtinOp } from '../op.js';
import { broadcastShapes, contiguousStrides, formatShape, type Shape, sizeOf } from '../shape.js';
import { Tensor } from '../tensor.js';
import { checkRank, checkSameFloat, checkShapeIs, copyInto, materialize, packed } from './common.js';
import { expand, reshape } from './layout.js';

/** A matrix for gemm: its memory and whether it lies there transposed. */
function operand(t: Tensor): { data: FloatArray; transposed: boolean } {
  const [rows, cols] = t.shape;
  if (!t.isContiguous && t.strides[0] === 1 && (t.strides[1] === rows || cols === 1)) {
    return {
      data: t.storage.data.subarray(t.offset, t.offset + rows * cols) as FloatArray,
      transposed: true,
    };
  }
  return { data: packed(t), transposed: false };
}

/** op(a)·op(b) + bias into a new [m, n] tensor, or one of `shape` with as many elements, or added to `onto`. */
function product(
  a: Tensor,
  b: Tensor,
  transA: boolean,
  transB: boolean,
  shape?: Shape,
  bias?: Tensor,
  onto?: Tensor,
): Tensor {
  const left = operand(a);
  const right = operand(b);
  const [m, k] = transA ? [a.shape[1], a.shape[0]] : [a.shape[0], a.shape[1]];
  const n = transB ? b.shape[0] : b.shape[1];
  const y = onto ?? Tensor.allocate(a.dtype, shape ?? [m, n]);
  const flipA = transA !== left.transposed;
  const flipB = transB !== right.transposed;
  // A weight gradient aᵀ·b that is higher than wide: its transpose is shared out better among threads.
  if (flipA && !flipB && m > n && k > m && bias === undefined && onto === undefined) {
    const turned = Tensor.allocate(a.dtype, [n, m]);
    kernels().gemm(right.data, left.data, null, turned.floats, n, m, k, true, false, false);
    const columns = turned.view([m, n], [1, m]);
    copyInto(columns, y, contiguousStrides([m, n]), 0);
    columns.dispose();
    turned.dispose();
    return y;
  }
  kernels().gemm(
    left.data,
    right.data,
    bias === undefined ? null : packed(bias),
    y.floats,
    m,
    n,
    k,
    flipA,
    flipB,
    onto !== undefined,
  );
  return y;
}

const matmul2d = builtinOp({
  name: 'matmul',
  forward(ctx, [a, b]) {
    ctx.save(a, b);
    return product(a, b, false, false);
  },
  backward(ctx, gy) {
    const [a, b] = ctx.saved;
    return [
      ctx.needs(0) ? product(gy, b, false, true) : null,
      ctx.needs(1) ? product(a, gy, true, false) : null,
    ];
  },
});

function batchedProduct(a: Tensor, b: Tensor, transA: boolean, transB: boolean): Tensor {
  const [batch, ra, ca] = a.shape;
  const [m, k] = transA ? [ca, ra] : [ra, ca];
  const n = transB ? b.shape[1] : b.shape[2];
  const y = Tensor.allocate(a.dtype, [batch, m, n]);
  kernels().gemmBatched(packed(a), packed(b), y.floats, batch, m, n, k, transA, transB, false);
  return y;
}

const matmul3d = builtinOp({
  name: 'matmul',
  forward(ctx, [a, b]) {
    ctx.save(a, b);
    return batchedProduct(a, b, false, false);
  },
  backward(ctx, gy) {
    const [a, b] = ctx.saved;
    return [
      ctx.needs(0) ? batchedProduct(gy, b, false, true) : null,
      ctx.needs(1) ? batchedProduct(a, gy, true, false) : null,
    ];
  },
});

/** Matrix product by NumPy's rules: vectors as one row or column, leading axes as batches that broadcast. */
export function matmul(a: Tensor, b: Tensor): Tensor {
  checkSameFloat('matmul', { a, b });
  if (a.rank === 0 || b.rank === 0) {
    throw new ShapeError(
      expected('matmul', 'at least one axis', a.rank === 0 ? 'a' : 'b', 'a scalar', 'Use mul().'),
    );
  }
  const inner = a.shape[a.rank - 1];
  const other = b.rank === 1 ? b.shape[0] : b.shape[b.rank - 2];
  if (inner !== other) {
    throw new ShapeError(
      `matmul: expected the last axis of a to match the ${b.rank === 1 ? 'only' : 'second to last'} axis of b, ` +
        `got ${formatShape(a.shape)} and ${formatShape(b.shape)}.`,
    );
  }
  if (a.rank === 1)
    return reshape(
      matmul(reshape(a, [1, inner]), b),
      b.rank === 1 ? [] : [...b.shape.slice(0, -2), b.shape[b.rank - 1]],
    );
  if (b.rank === 1) return reshape(matmul(a, reshape(b, [inner, 1])), a.shape.slice(0, -1));
  if (a.rank === 2 && b.rank === 2) return matmul2d([a, b]);
  if (b.rank === 2) {
    const rows = sizeOf(a.shape.slice(0, -1));
    return reshape(matmul2d([reshape(a, [rows, inner]), b]), [...a.shape.slice(0, -1), b.shape[1]]);
  }
  const batch = broadcastShapes('matmul', a.shape.slice(0, -2), b.shape.slice(0, -2));
  const flat = (t: Tensor): Tensor => {
    const tail = t.shape.slice(-2);
    return reshape(expand(t, [...batch, ...tail]), [sizeOf(batch), ...tail]);
  };
  return reshape(matmul3d([flat(a), flat(b)]), [...batch, a.shape[a.rank - 2], b.shape[b.rank - 1]]);
}

const linearOp = builtinOp<{ readonly shape: Shape }>({
  name: 'linear',
  forward(ctx, [x, weight, bias], { shape }) {
    ctx.save(x, weight);
    return product(flatRows(x), weight, false, true, shape, bias);
  },
  backward(ctx, gy) {
    const [x, weight] = ctx.saved;
    const g = flatRows(gy);
    const [rows, out] = g.shape;
    const gx = ctx.needs(0) ? product(g, weight, false, false, x.shape) : null;
    const gw = ctx.needs(1) ? product(g, flatRows(x), true, false) : null;
    if (!ctx.hasInput(2)) return [gx, gw];
    if (!ctx.needs(2)) return [gx, gw, null];
    const gb = Tensor.allocate(gy.dtype, [out]);
    kernels().reduce(reduceCode.sum, packed(g), gb.floats, 1, rows, out);
    return [gx, gw, gb];
  },
});

/** x·weightᵀ + bias in one pass; x [..., in], weight [out, in], bias [out]. */
export function linear(x: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  checkSameFloat('linear', { x, weight, bias });
  if (weight.rank !== 2)
    throw new ShapeError(expected('linear', 'shape [out, in]', 'weight', formatShape(weight.shape)));
  const [out, into] = weight.shape;
  if (x.rank === 0 || x.shape[x.rank - 1] !== into) {
    throw new ShapeError(
      expected(
        'linear',
        `a last axis of ${into} (weight is ${formatShape(weight.shape)})`,
        'x',
        formatShape(x.shape),
      ),
    );
  }
  if (bias !== null && (bias.rank !== 1 || bias.shape[0] !== out)) {
    throw new ShapeError(expected('linear', `shape [${out}]`, 'bias', formatShape(bias.shape)));
  }
  return linearOp(bias === null ? [x, weight] : [x, weight, bias], { shape: [...x.shape.slice(0, -1), out] });
}

const linearPairOp = builtinOp({
  name: 'linearPair',
  forward(ctx, [x1, w1, x2, w2, bias]) {
    ctx.save(x1, w1, x2, w2);
    const y = product(x1, w1, false, true, undefined, bias);
    return product(x2, w2, false, true, undefined, undefined, y);
  },
  backward(ctx, gy) {
    const [x1, w1, x2, w2] = ctx.saved;
    const [rows, out] = gy.shape;
    const g = gy.isContiguous ? gy : materialize(gy);
    const gradients = [
      ctx.needs(0) ? product(g, w1, false, false) : null,
      ctx.needs(1) ? product(g, x1, true, false) : null,
      ctx.needs(2) ? product(g, w2, false, false) : null,
      ctx.needs(3) ? product(g, x2, true, false) : null,
    ];
    if (!ctx.hasInput(4)) return gradients;
    const gb = ctx.needs(4) ? Tensor.allocate(gy.dtype, [out]) : null;
    if (gb !== null) kernels().reduce(reduceCode.sum, g.floats, gb.floats, 1, rows, out);
    return [...gradients, gb];
  },
});

/**
 * x1·w1ᵀ + x2·w2ᵀ + bias without a temporary: two maps to the same rows, such as a node's neighbours and itself.
 * x1 [N, in1], w1 [out, in1], x2 [N, in2], w2 [out, in2], bias [out].
 */
export function linearPair(
  x1: Tensor,
  w1: Tensor,
  x2: Tensor,
  w2: Tensor,
  bias: Tensor | null = null,
): Tensor {
  checkSameFloat('linearPair', { x1, w1, x2, w2, bias });
  for (const [name, t] of Object.entries({ x1, w1, x2, w2 })) checkRank('linearPair', name, t, 2);
  const [rows, into] = x1.shape;
  const out = w1.shape[0];
  checkShapeIs('linearPair', 'w1', w1, [out, into]);
  checkShapeIs('linearPair', 'x2', x2, [rows, x2.shape[1]]);
  checkShapeIs('linearPair', 'w2', w2, [out, x2.shape[1]]);
  if (bias !== null) checkShapeIs('linearPair', 'bias', bias, [out]);
  return linearPairOp(bias === null ? [x1, w1, x2, w2] : [x1, w1, x2, w2, bias]);
}

/** [..., F] as a matrix of rows. */
function flatRows(x: Tensor): Tensor {
  return x.rank === 2 ? x : reshape(x, [sizeOf(x.shape.slice(0, -1)), x.shape[x.rank - 1]]);
}
