/**
 * Layer and batch normalisation over the last axis' rows or columns.
 */
import { kernels } from '../../native/index.js';
import { checkNumber, expected, ShapeError } from '../../util/errors.js';
import { onDevice } from '../device.js';
import { noGrad } from '../grad-mode.js';
import { Tensor } from '../methods.js';
import { builtinOp } from '../op.js';
import { formatShape, sizeOf } from '../shape.js';
import { add } from './binary.js';
import { checkRank, checkSameFloat, checkShapeIs, pack } from './common.js';
import { reciprocal, sqrt } from './unary.js';

const layerNormOp = builtinOp<{ readonly eps: number }>({
  name: 'layerNorm',
  forward(ctx, [x, gamma, beta], { eps }) {
    const cols = x.shape[x.rank - 1];
    const rows = sizeOf(x.shape.slice(0, -1));
    const y = Tensor.allocate(x.dtype, x.shape);
    const mean = Tensor.allocate(x.dtype, [rows]);
    const rstd = Tensor.allocate(x.dtype, [rows]);
    const scale = gamma === undefined ? null : pack(gamma);
    const shift = beta === undefined ? null : pack(beta);
    kernels().layerNorm({
      x: pack(x),
      gamma: scale,
      beta: shift,
      y: y.floats,
      mean: mean.floats,
      rstd: rstd.floats,
      rows,
      cols,
      eps,
    });
    ctx.save(x, mean, rstd, ...(gamma === undefined ? [] : [gamma]));
    return y;
  },
  backward(ctx, gy) {
    const [x, mean, rstd, gamma] = ctx.saved;
    const cols = x.shape[x.rank - 1];
    const gx = Tensor.allocate(x.dtype, x.shape);
    const ggamma = ctx.hasInput(1) ? Tensor.allocate(x.dtype, [cols]) : null;
    const gbeta = ctx.hasInput(2) ? Tensor.allocate(x.dtype, [cols]) : null;
    kernels().layerNormBackward({
      x: pack(x),
      gy: pack(gy),
      gamma: gamma === undefined ? null : pack(gamma),
      mean: mean.floats,
      rstd: rstd.floats,
      gx: gx.floats,
      ggamma: ggamma?.floats ?? null,
      gbeta: gbeta?.floats ?? null,
      rows: sizeOf(x.shape.slice(0, -1)),
      cols,
    }); // prettier-ignore
    return [gx, ggamma, gbeta].slice(0, ctx.hasInput(1) ? 3 : 1);
  },
});

/**
 * Normalises each row to mean 0 and variance 1, then scales and shifts it: x [..., F], gamma and beta [F], both or
 * neither.
 */
export function layerNorm(
  x: Tensor,
  gamma: Tensor | null = null,
  beta: Tensor | null = null,
  eps = 1e-5,
): Tensor {
  checkSameFloat('layerNorm', { x, gamma, beta });
  checkNumber('layerNorm', 'eps', eps, 0);
  if (x.rank === 0)
    throw new ShapeError(expected('layerNorm', 'at least one axis', 'x', formatShape(x.shape)));
  if ((gamma === null) !== (beta === null))
    throw new ShapeError(expected('layerNorm', 'both or neither', 'gamma and beta', 'one of them'));
  if (gamma === null || beta === null) return layerNormOp([x], { eps });
  const width = [x.shape[x.rank - 1]];
  checkShapeIs('layerNorm', 'gamma', gamma, width);
  checkShapeIs('layerNorm', 'beta', beta, width);
  return layerNormOp([x, gamma, beta], { eps });
}

const batchNormOp = builtinOp<{ readonly mean: Tensor; readonly rstd: Tensor }>({
  name: 'batchNorm',
  forward(ctx, [x, gamma, beta], { mean, rstd }) {
    const [rows, cols] = x.shape;
    const y = Tensor.allocate(x.dtype, x.shape);
    const scale = gamma === undefined ? null : pack(gamma);
    const shift = beta === undefined ? null : pack(beta);
    kernels().batchNorm(pack(x), pack(mean), rstd.floats, scale, shift, y.floats, rows, cols);
    ctx.save(x, mean, rstd, ...(gamma === undefined ? [] : [gamma]));
    return y;
  },
  backward(ctx, gy) {
    const [x, mean, rstd, gamma] = ctx.saved;
    const [rows, cols] = x.shape;
    const gx = Tensor.allocate(x.dtype, x.shape);
    const ggamma = Tensor.allocate(x.dtype, [cols]);
    const gbeta = Tensor.allocate(x.dtype, [cols]);
    kernels().batchNormBackward({
      x: pack(x),
      gy: pack(gy),
      mean: pack(mean),
      rstd: rstd.floats,
      gamma: gamma === undefined ? null : pack(gamma),
      gx: gx.floats,
      ggamma: ggamma.floats,
      gbeta: gbeta.floats,
      rows,
      cols,
    }); // prettier-ignore
    return [gx, ggamma, gbeta].slice(0, ctx.hasInput(1) ? 3 : 1);
  },
});

export interface ColumnStats {
  readonly mean: Tensor;
  /** Biased: divided by the number of rows. */
  readonly variance: Tensor;
}

/** Computes mean and variance of each column of x [N, F]; not differentiable by itself. */
export function columnStats(x: Tensor): ColumnStats {
  checkSameFloat('columnStats', { x });
  checkRank('columnStats', 'x', x, 2);
  const [rows, cols] = x.shape;
  if (rows === 0)
    throw new ShapeError(expected('columnStats', 'at least one row', 'x', formatShape(x.shape)));
  return onDevice(x.device, () => {
    const mean = Tensor.allocate(x.dtype, [cols]);
    const variance = Tensor.allocate(x.dtype, [cols]);
    kernels().columnStats(pack(x), mean.floats, variance.floats, rows, cols);
    return { mean, variance };
  });
}

/**
 * Normalises each column to mean 0 and variance 1 by the statistics of the batch (from `columnStats`), through which
 * the gradient flows; gamma and beta [F], both or neither.
 */
export function batchNorm(
  x: Tensor,
  stats: ColumnStats,
  gamma: Tensor | null = null,
  beta: Tensor | null = null,
  eps = 1e-5,
): Tensor {
  checkSameFloat('batchNorm', { x, 'stats.mean': stats.mean, 'stats.variance': stats.variance, gamma, beta });
  checkRank('batchNorm', 'x', x, 2);
  checkNumber('batchNorm', 'eps', eps, 0);
  const width = [x.shape[1]];
  checkShapeIs('batchNorm', 'stats.mean', stats.mean, width);
  checkShapeIs('batchNorm', 'stats.variance', stats.variance, width);
  const attributes = { mean: stats.mean, rstd: inverseDeviation(stats.variance, eps) };
  if (gamma === null || beta === null) {
    if (gamma !== beta)
      throw new ShapeError(expected('batchNorm', 'both or neither', 'gamma and beta', 'one of them'));
    return batchNormOp([x], attributes);
  }
  checkShapeIs('batchNorm', 'gamma', gamma, width);
  checkShapeIs('batchNorm', 'beta', beta, width);
  return batchNormOp([x, gamma, beta], attributes);
}

/** Computes 1 / √(variance + eps), on the CPU in double precision before it is stored. */
function inverseDeviation(variance: Tensor, eps: number): Tensor {
  if (variance.device !== null) return noGrad(() => reciprocal(sqrt(add(variance, eps))));
  const rstd = Tensor.allocate(variance.dtype, variance.shape, null);
  const variances = pack(variance);
  for (let i = 0; i < rstd.size; i++) rstd.floats[i] = 1 / Math.sqrt(variances[i] + eps);
  return rstd;
}
