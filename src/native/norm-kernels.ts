/** Layer and batch normalisation; part of the contract in `kernels.ts`, whose rules hold here too. */
import type { FloatArray } from './types.js';

/** A matrix with its statistics: per row for layers, per column for batches. */
interface NormArguments {
  /** Input [rows, cols]. */
  readonly x: FloatArray;
  readonly mean: FloatArray;
  /** 1 / √(variance + eps). */
  readonly rstd: FloatArray;
  /** Scale per column; null for 1. */
  readonly gamma: FloatArray | null;
  readonly rows: number;
  readonly cols: number;
}

export interface LayerNormArguments extends NormArguments {
  /** Shift per column; null for 0. */
  readonly beta: FloatArray | null;
  /** The result. mean and rstd are written too. */
  readonly y: FloatArray;
  /** Added to the variance. */
  readonly eps: number;
}

export interface LayerNormBackwardArguments extends NormArguments {
  /** Gradient of the result. */
  readonly gy: FloatArray;
  /** Gradient of x, overwritten. */
  readonly gx: FloatArray;
  /** Gradient of gamma, overwritten; null if it is not needed. */
  readonly ggamma: FloatArray | null;
  /** Gradient of beta, overwritten; null if it is not needed. */
  readonly gbeta: FloatArray | null;
}

export interface BatchNormBackwardArguments extends NormArguments {
  /** Gradient of the result. */
  readonly gy: FloatArray;
  /** Gradient of x, overwritten. */
  readonly gx: FloatArray;
  /** Gradient of gamma, overwritten. */
  readonly ggamma: FloatArray;
  /** Gradient of beta, overwritten. */
  readonly gbeta: FloatArray;
}

export interface NormKernels {
  /** Per row: mean, rstd = 1/√(var + eps) (biased), y = (x − mean)·rstd·gamma + beta. */
  layerNorm(args: LayerNormArguments): void;
  layerNormBackward(args: LayerNormBackwardArguments): void;
  /** Per column: mean and biased variance over the rows. */
  columnStats(x: FloatArray, mean: FloatArray, variance: FloatArray, rows: number, cols: number): void;
  /** y = (x − mean)·rstd·gamma + beta by column. */
  batchNorm(
    x: FloatArray,
    mean: FloatArray,
    rstd: FloatArray,
    gamma: FloatArray | null,
    beta: FloatArray | null,
    y: FloatArray,
    rows: number,
    cols: number,
  ): void;
  /** Gradients of batchNorm when mean and rstd are statistics of x itself. */
  batchNormBackward(args: BatchNormBackwardArguments): void;
}
