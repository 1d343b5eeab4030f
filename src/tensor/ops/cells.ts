/**
 * Fused recurrent cells and the time encoding. The matrix products are computed by the caller, so that they can be
 * shared.
 */
import { type FloatArray, kernels } from '../../native/index.js';
import { expected, ShapeError } from '../../util/errors.js';
import { dtypes } from '../dtype.js';
import { Tensor } from '../methods.js';
import { builtinOp } from '../op.js';
import { formatShape } from '../shape.js';
import { checkIds, checkRank, checkSameFloat, checkShapeIs, pack, zerosLike } from './common.js';

const gruGatesOp = builtinOp<{ readonly kept: Int32Array | null }>({
  name: 'gruGates',
  forward(ctx, [gi, gh, h], { kept }) {
    const [batch, hidden] = h.shape;
    const out = Tensor.allocate(h.dtype, h.shape);
    const gates = Tensor.allocate(h.dtype, [batch, 4 * hidden]);
    kernels().gruCell(pack(gi), pack(gh), pack(h), out.floats, gates.floats, batch, hidden);
    if (kept !== null) copyRows(pack(h), out, kept);
    ctx.save(h, gates);
    return out;
  },
  backward(ctx, gy, { kept }) {
    const [h, gates] = ctx.saved;
    const [batch, hidden] = h.shape;
    const dgi = Tensor.allocate(h.dtype, [batch, 3 * hidden]);
    const dgh = Tensor.allocate(h.dtype, [batch, 3 * hidden]);
    const dh = ctx.needs(2) ? Tensor.allocate(h.dtype, h.shape) : null;
    kernels().gruCellBackward(
      pack(gy),
      pack(h),
      gates.floats,
      dgi.floats,
      dgh.floats,
      dh?.floats ?? null,
      batch,
      hidden,
    );
    if (kept !== null) {
      const nothing = zerosLike(h.dtype, [kept.length, 3 * hidden]);
      for (const g of [dgi, dgh]) kernels().putRows(nothing.array, kept, g.array, kept.length, rowBytes(g));
      if (dh !== null) copyRows(pack(gy), dh, kept);
    }
    return [dgi, dgh, dh];
  },
});

const rowBytes = (t: Tensor): number => t.shape[1] * dtypes[t.dtype].bytes;

/** Copies the rows named by `rows` from `from`, a matrix of the shape of `to`, to `to`. */
function copyRows(from: FloatArray, to: Tensor, rows: Int32Array): void {
  const picked = Tensor.allocate(to.dtype, [rows.length, to.shape[1]]);
  kernels().gatherRows(from, rows, picked.array, rows.length, rowBytes(to));
  kernels().putRows(picked.array, rows, to.array, rows.length, rowBytes(to));
}

/**
 * Computes a GRU cell: r = σ(gi_r + gh_r), z = σ(gi_z + gh_z), n = tanh(gi_n + r·gh_n), h' = (1 − z)·n + z·h.
 * gi and gh [B, 3H] are the input's and the state's products with bias, in the order r, z, n; h [B, H].
 * Rows named by `kept` are copied from h, regardless of gi and gh.
 */
export function gruGates(gi: Tensor, gh: Tensor, h: Tensor, kept: Int32Array | null = null): Tensor {
  checkSameFloat('gruGates', { gi, gh, h });
  checkRank('gruGates', 'h', h, 2);
  const wide = [h.shape[0], 3 * h.shape[1]];
  checkShapeIs('gruGates', 'gi', gi, wide);
  checkShapeIs('gruGates', 'gh', gh, wide);
  if (kept === null || kept.length === 0) return gruGatesOp([gi, gh, h], { kept: null });
  return gruGatesOp([gi, gh, h], { kept: checkIds('gruGates', 'kept', kept, h.shape[0]).slice() });
}

const rnnGatesOp = builtinOp<{ readonly relu: boolean }>({
  name: 'rnnGates',
  forward(ctx, [gi, gh], { relu }) {
    const out = Tensor.allocate(gi.dtype, gi.shape);
    kernels().rnnCell(pack(gi), pack(gh), out.floats, out.size, relu);
    ctx.save(out);
    return out;
  },
  backward({ saved: [out] }, gy, { relu }) {
    const g = Tensor.allocate(gy.dtype, gy.shape);
    kernels().rnnCellBackward(pack(gy), out.floats, g.floats, g.size, relu);
    return [g, g];
  },
});

/** Computes a plain recurrent cell after its products: tanh(gi + gh), or relu. */
export function rnnGates(gi: Tensor, gh: Tensor, nonlinearity: 'tanh' | 'relu' = 'tanh'): Tensor {
  checkSameFloat('rnnGates', { gi, gh });
  checkShapeIs('rnnGates', 'gh', gh, gi.shape);
  return rnnGatesOp([gi, gh], { relu: nonlinearity === 'relu' });
}

const timeEncodeOp = builtinOp({
  name: 'timeEncode',
  forward(ctx, [t, w, b]) {
    const n = t.size;
    const d = w.size;
    const y = Tensor.allocate(t.dtype, [...t.shape, d]);
    kernels().timeEncode(pack(t), pack(w), pack(b), y.floats, n, d);
    ctx.save(t, w, b);
    return y;
  },
  backward(ctx, gy) {
    const [t, w, b] = ctx.saved;
    const gt = ctx.needs(0) ? Tensor.allocate(t.dtype, t.shape) : null;
    const gw = Tensor.allocate(t.dtype, w.shape);
    const gb = Tensor.allocate(t.dtype, b.shape);
    kernels().timeEncodeBackward({
      t: pack(t),
      w: pack(w),
      b: pack(b),
      gy: pack(gy),
      gt: gt?.floats ?? null,
      gw: gw.floats,
      gb: gb.floats,
      n: t.size,
      d: w.size,
    });
    return [gt, gw, gb];
  },
});

/**
 * Returns cos(t·w + b): time spans t [...], frequencies w [D], phases b [D] → [..., D]. Large spans keep their
 * precision.
 */
export function timeEncode(t: Tensor, w: Tensor, b: Tensor): Tensor {
  checkSameFloat('timeEncode', { t, w, b });
  if (w.rank !== 1) throw new ShapeError(expected('timeEncode', 'one axis', 'w', formatShape(w.shape)));
  checkShapeIs('timeEncode', 'b', b, w.shape);
  return timeEncodeOp([t, w, b]);
}
