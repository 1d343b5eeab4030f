/**
 * A separate matrix for each group of consecutive rows: y[rows of g] = x[rows of g] · weight[g], or its transpose. One
 * product per non-empty group, forward and backward, without copies.
 */
import { kernels } from '../../native/index.js';
import { Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkSameFloat, pack, zerosLike } from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { expected, ShapeError } from '../../util/errors.js';

interface GroupAttributes {
  /** Rows of group g: offsets[g] … offsets[g+1]−1. */
  readonly offsets: Int32Array;
  readonly transposed: boolean;
}

const groupedMatmulOp = builtinOp<GroupAttributes>({
  name: 'groupedMatmul',
  forward(ctx, [x, weight], { offsets, transposed }) {
    ctx.save(x, weight);
    const [into, out] = widthsOf(weight, transposed);
    const y = Tensor.allocate(x.dtype, [x.shape[0], out]);
    eachProduct(pack(x), pack(weight), y.floats, offsets, into, out, transposed);
    return y;
  },
  backward(ctx, gy, { offsets, transposed }) {
    const [x, weight] = ctx.saved;
    let gx: Tensor | null = null;
    if (ctx.needs(0)) {
      const [into, out] = widthsOf(weight, transposed);
      gx = Tensor.allocate(x.dtype, x.shape);
      eachProduct(pack(gy), pack(weight), gx.floats, offsets, out, into, !transposed);
    }
    if (!ctx.needs(1)) return [gx, null];
    // Groups without rows have a gradient of 0. With transposed matrices x and gy change places.
    const gw = zerosLike(weight.dtype, weight.shape);
    const [, into, out] = weight.shape;
    const [rows, g] = transposed ? [pack(gy), pack(x)] : [pack(x), pack(gy)];
    for (let group = 0; group + 1 < offsets.length; group++) {
      const [from, to] = [offsets[group], offsets[group + 1]];
      if (to === from) continue;
      const target = gw.floats.subarray(group * into * out, (group + 1) * into * out);
      const left = rows.subarray(from * into, to * into);
      const right = g.subarray(from * out, to * out);
      kernels().gemm({
        a: left,
        b: right,
        bias: null,
        c: target,
        m: into,
        n: out,
        k: to - from,
        transA: true,
        transB: false,
        accumulate: false,
      });
    }
    return [gx, gw];
  },
});

/** Returns the columns of x and of y. */
function widthsOf({ shape: [, rows, columns] }: Tensor, transposed: boolean): [into: number, out: number] {
  return transposed ? [columns, rows] : [rows, columns];
}

/** y[rows of g] = x[rows of g] · op(weight[g]); k columns in, n out. */
function eachProduct(
  x: Float32Array | Float64Array,
  weight: Float32Array | Float64Array,
  y: Float32Array | Float64Array,
  offsets: Int32Array,
  k: number,
  n: number,
  transposed: boolean,
): void {
  for (let group = 0; group + 1 < offsets.length; group++) {
    const [from, to] = [offsets[group], offsets[group + 1]];
    if (to === from) continue;
    const matrix = weight.subarray(group * k * n, (group + 1) * k * n);
    const rows = x.subarray(from * k, to * k);
    const target = y.subarray(from * n, to * n);
    kernels().gemm({
      a: rows,
      b: matrix,
      bias: null,
      c: target,
      m: to - from,
      n,
      k,
      transA: false,
      transB: transposed,
      accumulate: false,
    });
  }
}

/**
 * x [P, in], weight [G, in, out] → [P, out]; with `transposed`, weight [G, out, in].
 *
 * @param offsets ascending from 0 to P, one more than there are groups; must not change before backward.
 */
export function groupedMatmul(
  x: Tensor,
  weight: Tensor,
  offsets: Int32Array,
  { transposed = false }: { readonly transposed?: boolean } = {},
): Tensor {
  checkSameFloat('groupedMatmul', { x, weight });
  const fits = x.rank === 2 && weight.rank === 3 && x.shape[1] === widthsOf(weight, transposed)[0];
  if (!fits || offsets.length !== weight.shape[0] + 1 || offsets[offsets.length - 1] !== x.shape[0]) {
    const got = `${formatShape(x.shape)}, ${formatShape(weight.shape)} and ${offsets.length} offsets`;
    throw new ShapeError(
      expected('groupedMatmul', '[P, in], [G, in, out] and G + 1 offsets up to P', 'x, weight, offsets', got),
    );
  }
  return groupedMatmulOp([x, weight], { offsets, transposed });
}
