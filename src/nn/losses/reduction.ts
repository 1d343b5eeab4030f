/**
 * Reduces losses per row or element to one number.
 */

import { mean, sum, type Tensor } from '../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../util/errors.js';

export type Reduction = 'mean' | 'sum' | 'none';

export interface LossOptions {
  /** 'mean' (the default), 'sum', or 'none' for the separate losses. */
  readonly reduction?: Reduction;
}

export function checkReduction(where: string, reduction: Reduction = 'mean'): Reduction {
  if (reduction !== 'mean' && reduction !== 'sum' && reduction !== 'none') {
    throw new ValueError(expected(where, "'mean', 'sum' or 'none'", 'reduction', reduction));
  }
  return reduction;
}

export function reduceLoss(where: string, losses: Tensor, options: LossOptions): Tensor {
  const reduction = checkReduction(where, options.reduction);
  if (reduction === 'none') return losses;
  if (reduction === 'sum') return sum(losses);
  if (losses.size === 0) {
    throw new ShapeError(
      `${where}: expected at least one element to average, got none. Skip empty batches, or use reduction 'sum'.`,
    );
  }
  return mean(losses);
}
