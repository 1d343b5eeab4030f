/**
 * Losses of one prediction and one target each.
 */
import { kernels, reduceCode } from '../../native/index.js';
import {
  abs,
  add,
  clamp,
  div,
  log,
  mul,
  pow,
  softplus,
  square,
  sub,
  sum,
  type Tensor,
} from '../../tensor/index.js';
import { builtinOp } from '../../tensor/op.js';
import { checkSameFloat, checkShapeIs, pack } from '../../tensor/ops/common.js';
import { bceWithLogitsElements } from '../../tensor/ops/cross-entropy.js';
import { checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkReduction, type LossOptions, reduceLoss } from './reduction.js';

/** Computes the mean of (prediction − target)². */
export function mseLoss(prediction: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('mseLoss', options, { reduction: true });
  check('mseLoss', prediction, target, options);
  return reduceLoss('mseLoss', square(sub(prediction, target)), options);
}

/** Computes the mean of |prediction − target|. */
export function l1Loss(prediction: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('l1Loss', options, { reduction: true });
  check('l1Loss', prediction, target, options);
  return reduceLoss('l1Loss', abs(sub(prediction, target)), options);
}

/** Computes the binary cross entropy of scores before the sigmoid; targets in [0, 1]. */
export function bceWithLogits(logits: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('bceWithLogits', options, { reduction: true });
  check('bceWithLogits', logits, target, options);
  return reduceLoss('bceWithLogits', bceWithLogitsElements(logits, target), options);
}

const bceOp = builtinOp({
  name: 'bceLoss',
  forward(ctx, [p, target]) {
    ctx.save(p, target);
    // −(t·log p + (1 − t)·log(1 − p)) with logarithms clamped at −100, as in PyTorch, so that 0·∞ does not occur.
    const hit = mul(target, clamp(log(p), -100));
    const miss = mul(sub(1, target), clamp(log(sub(1, p)), -100));
    return mul(add(hit, miss), -1);
  },
  backward({ saved: [p, target] }, gy) {
    const slope = div(sub(p, target), clamp(mul(p, sub(1, p)), 1e-12));
    return [mul(gy, slope), null];
  },
});

/**
 * Computes the binary cross entropy of probabilities; prefer `bceWithLogits`, which keeps its precision near 0 and 1.
 */
export function bceLoss(probabilities: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('bceLoss', options, { reduction: true });
  check('bceLoss', probabilities, target, options);
  if (target.requiresGrad)
    throw new ValueError(
      expected('bceLoss', 'a constant', 'target', 'a tensor that requires a gradient', 'Use detach().'),
    );
  for (const [name, t] of Object.entries({ probabilities, target })) {
    // Reading values on a device would need an await.
    if (t.device !== null) continue;
    const lo = extreme('min', t);
    const hi = extreme('max', t);
    if (t.size > 0 && !(lo >= 0 && hi <= 1))
      throw new ValueError(expected('bceLoss', 'values from 0 to 1', name, `${lo} to ${hi}`));
  }
  return reduceLoss('bceLoss', bceOp([probabilities, target]), options);
}

function extreme(op: 'min' | 'max', t: Tensor): number {
  if (t.size === 0) return 0;
  const out = t.dtype === 'f64' ? new Float64Array(1) : new Float32Array(1);
  kernels().reduce(reduceCode[op], pack(t), out, 1, t.size, 1);
  return out[0];
}

export interface MarginOptions extends LossOptions {
  /** 0 by default. */
  readonly margin?: number;
  /** 1 where `first` should be larger, −1 where `second` should; 1 everywhere by default. */
  readonly target?: Tensor;
}

/**
 * Computes max(0, margin − target·(first − second)) for each pair. The arguments broadcast: positive scores [B, 1]
 * against negative scores [B, K].
 */
export function marginRankingLoss(first: Tensor, second: Tensor, options: MarginOptions = {}): Tensor {
  checkOptionNames('marginRankingLoss', options, { reduction: true, margin: true, target: true });
  const { margin = 0, target } = options;
  checkNumber('marginRankingLoss', 'margin', margin);
  checkReduction('marginRankingLoss', options.reduction);
  const lead = sub(first, second);
  const gap = sub(margin, target === undefined ? lead : mul(target, lead));
  return reduceLoss('marginRankingLoss', clamp(gap, 0), options);
}

/** Computes log(1 + exp(−(2·target − 1)·score)): targets 1 for true and 0 for false. */
export function softplusLoss(scores: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('softplusLoss', options, { reduction: true });
  check('softplusLoss', scores, target, options);
  const sign = sub(1, mul(target, 2));
  return reduceLoss('softplusLoss', softplus(mul(sign, scores)), options);
}

export interface PenaltyOptions {
  /** The exponent, at least 1; 2 by default. */
  readonly p?: number;
  /** The factor of the sum; 1 by default. */
  readonly coefficient?: number;
}

/** Computes coefficient · Σ |x|^p over all tensors: a regulariser to add to a loss. */
export function normPenalty(tensors: readonly Tensor[], options: PenaltyOptions = {}): Tensor {
  checkOptionNames('normPenalty', options, { p: true, coefficient: true });
  const p = checkNumber('normPenalty', 'p', options.p ?? 2, 1);
  const coefficient = checkNumber('normPenalty', 'coefficient', options.coefficient ?? 1);
  if (!Array.isArray(tensors) || tensors.length === 0) {
    throw new ValueError(expected('normPenalty', 'at least one tensor', 'tensors', tensors));
  }
  const power = (t: Tensor): Tensor => (p === 2 ? square(t) : p === 1 ? abs(t) : pow(abs(t), p));
  const total = tensors.map((t) => sum(power(t))).reduce((a, b) => add(a, b));
  return mul(total, coefficient);
}

function check(where: string, prediction: Tensor, target: Tensor, options: LossOptions): void {
  checkReduction(where, options.reduction);
  checkSameFloat(where, { prediction, target });
  checkShapeIs(where, 'target', target, prediction.shape);
}
