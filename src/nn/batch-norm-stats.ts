/**
 * Running statistics of batch normalisation, for a batch on one worker or on several: updates them from the batch, and
 * normalises by them as constants.
 */
import {
  add,
  cast,
  isGradEnabled,
  mul,
  noGrad,
  reciprocal,
  scope,
  sub,
  type Tensor,
  type TensorLike,
} from '../tensor/index.js';
import { writeValues } from '../tensor/move.js';
import { batchNorm, type ColumnStats } from '../tensor/ops/norm.js';

export interface RunningStats {
  readonly momentum: number | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly numBatchesTracked: Tensor | null;
}

/** Updates running statistics from those of a batch of `rows` rows; the variance becomes the unbiased one. */
export function trackStats(running: RunningStats, { mean, variance }: ColumnStats, rows: number): void {
  const { runningMean, runningVar, numBatchesTracked } = running;
  if (runningMean === null || runningVar === null || numBatchesTracked === null) return;
  const unbiased = rows / (rows - 1);
  if (numBatchesTracked.device !== null) {
    const update = (): void => {
      writeValues(add(numBatchesTracked, 1), numBatchesTracked);
      const rate = running.momentum ?? reciprocal(cast(numBatchesTracked, mean.dtype));
      moveOnDevice(runningMean, mean, rate, 1);
      moveOnDevice(runningVar, variance, rate, unbiased);
    };
    noGrad(() => scope(update));
    return;
  }
  const batches = ++numBatchesTracked.array[0];
  const rate = running.momentum ?? 1 / batches;
  move(runningMean, mean, rate, 1);
  move(runningVar, variance, rate, unbiased);
  numBatchesTracked.storage.version++;
}

/** Computes running += rate·(factor·batch − running) on a device. */
function moveOnDevice(running: Tensor, batch: Tensor, rate: TensorLike, factor: number): void {
  writeValues(add(running, mul(sub(mul(batch, factor), running), rate)), running);
}

export interface Affine {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly eps: number;
}

/** Normalises by statistics that are constants: no gradient flows through them. */
export function normByStats(x: Tensor, stats: ColumnStats, { weight, bias, eps }: Affine): Tensor {
  if (!isGradEnabled() || !(x.requiresGrad || weight?.requiresGrad || bias?.requiresGrad)) {
    return noGrad(() => batchNorm(x, stats, weight, bias, eps));
  }
  const rstd = noGrad(() => add(stats.variance, eps).pow(-0.5));
  const centred = sub(x, stats.mean);
  if (weight === null || bias === null) return mul(centred, rstd);
  return add(mul(centred, mul(weight, rstd)), bias);
}

/** Computes running = (1 − rate)·running + rate·factor·batch, in f64 before it is stored. */
function move(running: Tensor, batch: Tensor, rate: number, factor: number): void {
  const target = running.floats;
  const source = batch.floats;
  for (let i = 0; i < target.length; i++) target[i] = (1 - rate) * target[i] + rate * (factor * source[i]);
  running.storage.version++;
}
