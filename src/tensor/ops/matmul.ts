/**
 * Matrix products. Transposed views are passed to the kernel as such, without a copy.
 *
 * A product with a 2-D right side treats all leading axes of the left as rows: one tall product, in which a row
 * depends on no other row (row invariance). Other batched products run one gemm per matrix pair.
 */
import { type FloatArray, kernels, reduceCode, unaryCode } from '../../native/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { builtinOp } from '../op.js';
import { broadcastShapes, contiguousStrides, formatShape, type Shape, sizeOf } from '../shape.js';
import { Tensor } from '../tensor.js';
import { checkRank, checkSameFloat, checkShapeIs, copyInto, materialize, pack } from './common.js';
import { expand, reshape } from './layout.js';

/** Returns the memory of a matrix for gemm, and whether it is stored transposed. */
function operand(t: Tensor): { data: FloatArray; transposed: boolean } {
  const [rows, cols] = t.shape;
  if (!t.isContiguous && t.strides[0] === 1 && (t.strides[1] === rows || cols === 1)) {
    return {
      data: t.storage.data.subarray(t.offset, t.offset + rows * cols) as FloatArray,
      transposed: true,
    };
  }
  return { data: pack(t), transposed: false };
}

/** Computes op(a)·op(b) + bias as a new [m, n] tensor, or one of `shape` with as many elements. */
function product(
  a: Tensor,
  b: Tensor,
  transA: boolean,
  transB: boolean,
  shape?: Shape,
  bias?: Tensor,
): Tensor {
  const left = operand(a);
  const right = operand(b);
  const [m, k] = transA ? [a.shape[1], a.shape[0]] : [a.shape[0], a.shape[1]];
  const n = transB ? b.shape[0] : b.shape[1];
  const y = Tensor.allocate(a.dtype, shape ?? [m, n]);
  const flipA = transA !== left.transposed;
  const flipB = transB !== right.transposed;
  // A weight gradient aᵀ·b with more rows than columns: its transpose is distributed better over the CPU's threads.
  if (y.device === null && flipA && !flipB && m > n && k > m && bias === undefined) {
    const turned = Tensor.allocate(a.dtype, [n, m]);
    kernels().gemm({
      a: right.data,
      b: left.data,
      bias: null,
      c: turned.floats,
      m: n,
      n: m,
      k,
      transA: true,
      transB: false,
      accumulate: false,
    });
    const columns = turned.view([m, n], [1, m]);
    copyInto(columns, y, contiguousStrides([m, n]), 0);
    columns.dispose();
    turned.dispose();
    return y;
  }
  kernels().gemm({
    a: left.data,
    b: right.data,
    bias: bias === undefined ? null : pack(bias),
    c: y.floats,
    m,
    n,
    k,
    transA: flipA,
    transB: flipB,
    accumulate: false,
  });
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
  kernels().gemmBatched({
    a: pack(a),
    b: pack(b),
    c: y.floats,
    batch,
    m,
    n,
    k,
    transA,
    transB,
    accumulate: false,
  });
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

/**
 * Computes a matrix product by NumPy's rules: vectors are one row or column, leading axes are batches that broadcast.
 */
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
    const gx = ctx.needs(0) ? product(g, weight, false, false, x.shape) : null;
    const gw = ctx.needs(1) ? product(g, flatRows(x), true, false) : null;
    if (!ctx.hasInput(2)) return [gx, gw];
    if (!ctx.needs(2)) return [gx, gw, null];
    return [gx, gw, columnSums(g)];
  },
});

/** Computes x·weightᵀ + bias in one pass; x [..., in], weight [out, in], bias [out]. */
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

const linearPairOp = builtinOp<{ readonly relu: boolean }>({
  name: 'linearPair',
  forward(ctx, [x1, w1, x2, w2, bias], { relu }) {
    const [rows, k1] = x1.shape;
    const [out, k2] = w2.shape;
    const y = Tensor.allocate(x1.dtype, [rows, out]);
    const b = bias === undefined ? null : pack(bias);
    kernels().gemmPair({
      a1: pack(x1),
      b1: pack(w1),
      k1,
      a2: pack(x2),
      b2: pack(w2),
      k2,
      bias: b,
      c: y.floats,
      m: rows,
      n: out,
      relu,
    });
    if (relu) ctx.save(x1, w1, x2, w2, y);
    else ctx.save(x1, w1, x2, w2);
    return y;
  },
  backward(ctx, gy, { relu }) {
    const [x1, w1, x2, w2, y] = ctx.saved;
    let g = gy.isContiguous ? gy : materialize(gy);
    let passed = relu ? y : null;
    const wantsInput = ctx.needs(0) || ctx.needs(2);
    const together = ctx.needs(1) && ctx.needs(3) && splitsRows(g, w1.size + w2.size);
    if (passed !== null && (wantsInput || !together)) {
      g = Tensor.allocate(gy.dtype, gy.shape);
      kernels().unaryBackward(unaryCode.relu, y.floats, y.floats, pack(gy), g.floats, g.size, 0);
      passed = null;
    }
    const [gw1, gw2, gb] = together
      ? weightGradients(g, passed, x1, x2, ctx.needs(4))
      : [
          ctx.needs(1) ? product(g, x1, true, false) : null,
          ctx.needs(3) ? product(g, x2, true, false) : null,
          ctx.needs(4) ? columnSums(g) : null,
        ];
    const gx1 = ctx.needs(0) ? product(g, w1, false, false) : null;
    const gx2 = ctx.needs(2) ? product(g, w2, false, false) : null;
    return ctx.hasInput(4) ? [gx1, gw1, gx2, gw2, gb] : [gx1, gw1, gx2, gw2];
  },
});

/** Whether a sum over the rows of g into `weights` elements is long enough to be split over threads. */
function splitsRows(g: Tensor, weights: number): boolean {
  return g.shape[0] >= 4096 && weights <= 512 * 512;
}

/** Computes the gradients of both weights and of the bias in one pass over g where `passed` is positive. */
function weightGradients(
  g: Tensor,
  passed: Tensor | null,
  x1: Tensor,
  x2: Tensor,
  bias: boolean,
): [Tensor, Tensor, Tensor | null] {
  const [rows, out] = g.shape;
  const [k1, k2] = [x1.shape[1], x2.shape[1]];
  const gw1 = Tensor.allocate(g.dtype, [out, k1]);
  const gw2 = Tensor.allocate(g.dtype, [out, k2]);
  const gb = bias ? Tensor.allocate(g.dtype, [out]) : null;
  const y = passed === null ? null : passed.floats;
  const sums = gb === null ? null : gb.floats;
  const [a1, a2] = [pack(x1), pack(x2)];
  kernels().gemmPairBackward({
    g: g.floats,
    y,
    a1,
    gb1: gw1.floats,
    k1,
    a2,
    gb2: gw2.floats,
    k2,
    gbias: sums,
    m: rows,
    n: out,
  });
  return [gw1, gw2, gb];
}

function columnSums(g: Tensor): Tensor {
  const [rows, out] = g.shape;
  const sums = Tensor.allocate(g.dtype, [out]);
  kernels().reduce(reduceCode.sum, pack(g), sums.floats, 1, rows, out);
  return sums;
}

interface LinearPairOptions {
  /** Apply relu to the sum. */
  readonly relu?: boolean;
}

/**
 * Computes x1·w1ᵀ + x2·w2ᵀ + bias in one pass, with relu if requested: two maps to the same rows, such as those of a
 * node and of its neighbours. x1 [N, in1], w1 [out, in1], x2 [N, in2], w2 [out, in2], bias [out].
 */
export function linearPair(
  x1: Tensor,
  w1: Tensor,
  x2: Tensor,
  w2: Tensor,
  bias: Tensor | null = null,
  { relu = false }: LinearPairOptions = {},
): Tensor {
  checkSameFloat('linearPair', { x1, w1, x2, w2, bias });
  for (const [name, t] of Object.entries({ x1, w1, x2, w2 })) checkRank('linearPair', name, t, 2);
  const [rows, into] = x1.shape;
  const out = w1.shape[0];
  checkShapeIs('linearPair', 'w1', w1, [out, into]);
  checkShapeIs('linearPair', 'x2', x2, [rows, x2.shape[1]]);
  checkShapeIs('linearPair', 'w2', w2, [out, x2.shape[1]]);
  if (bias !== null) checkShapeIs('linearPair', 'bias', bias, [out]);
  return linearPairOp(bias === null ? [x1, w1, x2, w2] : [x1, w1, x2, w2, bias], { relu });
}

/** Views [..., F] as a matrix of rows. */
function flatRows(x: Tensor): Tensor {
  return x.rank === 2 ? x : reshape(x, [sizeOf(x.shape.slice(0, -1)), x.shape[x.rank - 1]]);
}
