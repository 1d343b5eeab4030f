/**
 * Batch normalisation over the rows of all workers: the same numbers as `nn.BatchNorm1d` on the rows of all ranks
 * together.
 *
 * Each rank sends (count, mean, M2) to all, which merge them in rank order in double by the formula of Chan, Golub and
 * LeVeque (1979): stable for data far from 0, the same bits on every rank, and a rank may have no rows. Backward sums Σ
 * gy and Σ gy·h over ranks; the gradients of weight and bias stay this rank's contribution, for `gatherGrads` to sum.
 *
 * Parameters and buffers have the same names as in `BatchNorm1d`, so each can load the other's state.
 */
import { kernels } from '../../native/index.js';
import { normByStats, trackStats } from '../../nn/batch-norm-stats.js';
import { checkFloatDType, checkSizes, newBuffer, newParameter } from '../../nn/factory.js';
import { type BatchNormOptions, init, Module } from '../../nn/index.js';
import { Tensor } from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { pack } from '../../tensor/ops/common.js';
import { type ColumnStats, columnStats } from '../../tensor/ops/norm.js';
import { formatShape } from '../../tensor/shape.js';
import { checkNumber, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Communicator } from '../comm/communicator.js';
import { currentCommunicator } from '../comm/current.js';

export interface DistributedBatchNormOptions extends BatchNormOptions {
  readonly comm?: Communicator;
}

/** x [rows of this rank, features] → the same shape. Forward is collective in training mode, and so is backward. */
export class DistributedBatchNorm1d extends Module {
  readonly features: number;
  readonly eps: number;
  readonly momentum: number | null;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly numBatchesTracked: Tensor | null;
  readonly #comm: Communicator | null;

  constructor(features: number, options: DistributedBatchNormOptions = {}) {
    super();
    checkOptionNames('DistributedBatchNorm1d', options, {
      dtype: true,
      random: true,
      eps: true,
      momentum: true,
      affine: true,
      trackRunningStats: true,
      comm: true,
    });
    const where = 'DistributedBatchNorm1d';
    checkSizes(where, { features });
    const momentum = options.momentum === undefined ? 0.1 : options.momentum;
    const dtype = checkFloatDType(options.dtype);
    this.features = features;
    this.eps = checkNumber(where, 'eps', options.eps ?? 1e-5, 0);
    this.momentum = momentum === null ? null : checkNumber(where, 'momentum', momentum, 0, 1);
    const affine = options.affine !== false;
    this.weight = affine ? newParameter([features], options, init.ones) : null;
    this.bias = affine ? newParameter([features], options) : null;
    const tracks = options.trackRunningStats !== false;
    this.runningMean = tracks ? newBuffer([features], dtype) : null;
    this.runningVar = tracks ? newBuffer([features], dtype, init.ones) : null;
    this.numBatchesTracked = tracks ? newBuffer([], 'i32') : null;
    this.#comm = options.comm ?? null;
  }

  forward(x: Tensor): Tensor {
    const { weight, bias, eps } = this;
    if (x.rank !== 2 || x.shape[1] !== this.features) {
      throw new ShapeError(
        expected('DistributedBatchNorm1d', `shape [N, ${this.features}]`, 'x', formatShape(x.shape)),
      );
    }
    if (!this.training && this.runningMean !== null && this.runningVar !== null) {
      return normByStats(x, { mean: this.runningMean, variance: this.runningVar }, this);
    }
    const comm = this.#comm ?? currentCommunicator();
    const { count, stats } = statsOverRanks(comm, x);
    if (count < 2) {
      throw new ValueError(
        expected(
          'DistributedBatchNorm1d',
          'at least 2 rows on all ranks together in training',
          'x',
          count,
          'The variance of one row is 0; use eval() to score single rows.',
        ),
      );
    }
    if (this.training) trackStats(this, stats, count);
    const rstd = Tensor.allocate(x.dtype, [this.features]);
    for (let c = 0; c < this.features; c++) rstd.floats[c] = 1 / Math.sqrt(stats.variance.floats[c] + eps);
    const inputs = weight === null || bias === null ? [x] : [x, weight, bias];
    return distributedBatchNorm(inputs, { mean: stats.mean, rstd, count, comm });
  }

  protected override describe(): string {
    return `${this.features}, eps ${this.eps}, momentum ${this.momentum}`;
  }
}

/** Collective. Returns mean and biased variance of each column over the rows of all ranks. */
function statsOverRanks(comm: Communicator, x: Tensor): { count: number; stats: ColumnStats } {
  const [rows, cols] = x.shape;
  const own = new Float64Array(1 + 2 * cols);
  if (rows > 0) {
    const local = columnStats(x);
    own[0] = rows;
    for (let c = 0; c < cols; c++) {
      own[1 + c] = local.mean.floats[c];
      own[1 + cols + c] = local.variance.floats[c] * rows;
    }
    if (comm.size === 1) return { count: rows, stats: local };
  }
  const all = Array.from({ length: comm.size }, () => new Float64Array(own.length));
  comm
    .exchange(
      all.map(() => own),
      all,
    )
    .wait();
  let count = 0;
  const total = new Float64Array(2 * cols);
  for (const stats of all) {
    const n = stats[0];
    if (n === 0) continue;
    const fraction = n / (count + n);
    for (let c = 0; c < cols; c++) {
      const delta = stats[1 + c] - total[c];
      total[c] += delta * fraction;
      total[cols + c] += stats[1 + cols + c] + delta * delta * count * fraction;
    }
    count += n;
  }
  const mean = Tensor.allocate(x.dtype, [cols]);
  const variance = Tensor.allocate(x.dtype, [cols]);
  for (let c = 0; c < cols; c++) {
    mean.floats[c] = total[c];
    variance.floats[c] = count === 0 ? 0 : total[cols + c] / count;
  }
  return { count, stats: { mean, variance } };
}

interface Attributes {
  readonly mean: Tensor;
  readonly rstd: Tensor;
  /** Rows of all ranks. */
  readonly count: number;
  readonly comm: Communicator;
}

const distributedBatchNorm = builtinOp<Attributes>({
  name: 'distributedBatchNorm',
  forward(ctx, [x, gamma, beta], { mean, rstd }) {
    const [rows, cols] = x.shape;
    const y = Tensor.allocate(x.dtype, x.shape);
    const scale = gamma === undefined ? null : pack(gamma);
    const shift = beta === undefined ? null : pack(beta);
    if (rows > 0) kernels().batchNorm(pack(x), mean.floats, rstd.floats, scale, shift, y.floats, rows, cols);
    ctx.save(x, mean, rstd, ...(gamma === undefined ? [] : [gamma]));
    return y;
  },
  backward(ctx, gy, attributes) {
    const [x, mean, rstd, gamma] = ctx.saved;
    const [rows, cols] = x.shape;
    const gx = Tensor.allocate(x.dtype, x.shape);
    const ggamma = Tensor.allocate(x.dtype, [cols]);
    const gbeta = Tensor.allocate(x.dtype, [cols]);
    const scale = gamma === undefined ? null : pack(gamma);
    if (rows > 0) {
      kernels().batchNormBackward({
        x: pack(x),
        gy: pack(gy),
        mean: mean.floats,
        rstd: rstd.floats,
        gamma: scale,
        gx: gx.floats,
        ggamma: ggamma.floats,
        gbeta: gbeta.floats,
        rows,
        cols,
      }); // prettier-ignore
    } else {
      ggamma.floats.fill(0);
      gbeta.floats.fill(0);
    }
    if (attributes.comm.size > 1) correct(attributes, { x, mean, rstd, scale, gx, ggamma, gbeta });
    return [gx, ggamma, gbeta].slice(0, ctx.hasInput(1) ? 3 : 1);
  },
});

interface LocalGradients {
  readonly x: Tensor;
  readonly mean: Tensor;
  readonly rstd: Tensor;
  readonly scale: ArrayLike<number> | null;
  readonly gx: Tensor;
  readonly ggamma: Tensor;
  readonly gbeta: Tensor;
}

/**
 * The kernel has taken the means of gy and gy·h over this rank's n rows, but the means over all N rows are needed. With
 * f = gamma·rstd the difference is f·(gbeta/n − Gbeta/N) + f·h·(ggamma/n − Ggamma/N), which is linear in x: one more
 * pass of the forward kernel.
 */
function correct({ comm, count }: Attributes, local: LocalGradients): void {
  const { x, mean, rstd, scale, gx, ggamma, gbeta } = local;
  const [rows, cols] = x.shape;
  const sums = new Float64Array(2 * cols);
  sums.set(ggamma.floats);
  sums.set(gbeta.floats, cols);
  comm.allReduce(sums);
  if (rows === 0) return;
  const slope = Tensor.allocate(x.dtype, [cols]);
  const offset = Tensor.allocate(x.dtype, [cols]);
  for (let c = 0; c < cols; c++) {
    const factor = rstd.floats[c] * (scale === null ? 1 : scale[c]);
    slope.floats[c] = factor * rstd.floats[c] * (ggamma.floats[c] / rows - sums[c] / count);
    offset.floats[c] = factor * (gbeta.floats[c] / rows - sums[cols + c] / count);
  }
  const change = Tensor.allocate(x.dtype, x.shape);
  kernels().batchNorm(pack(x), mean.floats, slope.floats, null, offset.floats, change.floats, rows, cols);
  kernels().axpy(1, change.floats, gx.floats, gx.size);
}
