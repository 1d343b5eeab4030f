/**
 * `BatchNorm1d` (Ioffe & Szegedy 2015): y = (x − mean) / √(var + eps) · γ + β over each column of the batch.
 *
 * In training the statistics are those of the batch, and the running ones are updated with `momentum`, with the
 * unbiased variance as in PyTorch; in evaluation the running ones are used, as constants.
 */

import type { Tensor } from '../tensor/index.js';
import { batchNorm, columnStats } from '../tensor/ops/norm.js';
import { formatShape } from '../tensor/shape.js';
import { checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { normByStats, trackStats } from './batch-norm-stats.js';
import { checkFloatDType, checkSizes, newBuffer, newParameter, type ParameterOptions } from './factory.js';
import * as init from './init.js';
import { Module } from './module.js';

export interface BatchNormOptions extends ParameterOptions {
  readonly eps?: number;
  /** The weight of the new batch in the running statistics; null averages all batches equally. 0.1 by default. */
  readonly momentum?: number | null;
  /** Scale by γ (from 1) and shift by β (from 0), both trained. The default. */
  readonly affine?: boolean;
  /** Keep running statistics (the default); otherwise evaluation uses the batch too. */
  readonly trackRunningStats?: boolean;
}

/** Normalises x [N, features]. */
export class BatchNorm1d extends Module {
  readonly features: number;
  readonly eps: number;
  readonly momentum: number | null;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly runningMean: Tensor | null;
  readonly runningVar: Tensor | null;
  readonly numBatchesTracked: Tensor | null;

  constructor(features: number, options: BatchNormOptions = {}) {
    super();
    checkOptionNames('BatchNorm1d', options, {
      dtype: true,
      random: true,
      eps: true,
      momentum: true,
      affine: true,
      trackRunningStats: true,
    });
    checkSizes('BatchNorm1d', { features });
    const momentum = options.momentum === undefined ? 0.1 : options.momentum;
    const dtype = checkFloatDType(options.dtype);
    this.features = features;
    this.eps = checkNumber('BatchNorm1d', 'eps', options.eps ?? 1e-5, 0);
    this.momentum = momentum === null ? null : checkNumber('BatchNorm1d', 'momentum', momentum, 0, 1);
    const affine = options.affine !== false;
    this.weight = affine ? newParameter([features], options, init.ones) : null;
    this.bias = affine ? newParameter([features], options) : null;
    const tracks = options.trackRunningStats !== false;
    this.runningMean = tracks ? newBuffer([features], dtype) : null;
    this.runningVar = tracks ? newBuffer([features], dtype, init.ones) : null;
    this.numBatchesTracked = tracks ? newBuffer([], 'i32') : null;
  }

  forward(x: Tensor): Tensor {
    if (x.rank !== 2 || x.shape[1] !== this.features) {
      throw new ShapeError(expected('BatchNorm1d', `shape [N, ${this.features}]`, 'x', formatShape(x.shape)));
    }
    if (!this.training && this.runningMean !== null && this.runningVar !== null) {
      return normByStats(x, { mean: this.runningMean, variance: this.runningVar }, this);
    }
    if (x.shape[0] < 2) {
      throw new ValueError(
        expected(
          'BatchNorm1d',
          'at least 2 rows in training',
          'x',
          formatShape(x.shape),
          'The variance of one row is 0; use eval() to score single rows.',
        ),
      );
    }
    const stats = columnStats(x);
    if (this.training) trackStats(this, stats, x.shape[0]);
    return batchNorm(x, stats, this.weight, this.bias, this.eps);
  }

  protected override describe(): string {
    return `${this.features}, eps ${this.eps}, momentum ${this.momentum}`;
  }
}
