/**
 * Losses of positive scores [B] against negative scores [B, n], by Marius's names. SUM adds everything; MEAN divides by
 * B, RANKING's by B·n, and element-wise losses by B·(1 + n), or by B if the mean of the negatives is taken.
 *
 * To write a custom loss, extend `LossFunction`.
 */
import { bceLoss, bceWithLogits, crossEntropy, marginRankingLoss, mseLoss } from '../../nn/index.js';
import { softmaxCrossEntropyNegatives } from '../../nn/losses/cross-entropy.js';
import { softplusLoss } from '../../nn/losses/elementwise.js';
import {
  add,
  concat,
  fromTypedArray,
  type Ids,
  mul,
  reshape,
  sigmoid,
  Tensor,
  unsqueeze,
} from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { checkIds } from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { checkNumber, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';

export type LossReduction = 'SUM' | 'MEAN';

export interface LossFunctionOptions {
  /** Reduction over edges (default SUM). */
  readonly reduction?: LossReduction;
  /**
   * Label smoothing ε (default 0) of training against all entities: of the labels of a query's candidates, 1 for answers and
   * 0 for others, the fraction ε is taken from the answers and distributed over all candidates.
   */
  readonly labelSmoothing?: number;
}

type Elementwise = (prediction: Tensor, target: Tensor, options: { reduction: 'sum' | 'mean' }) => Tensor;

export abstract class LossFunction {
  readonly reduction: LossReduction;
  readonly labelSmoothing: number;
  /** The score of a masked negative, which adds nothing to the loss. */
  readonly maskedScore: number = -1e9;

  constructor(options: LossFunctionOptions = {}) {
    const reduction = options.reduction ?? 'SUM';
    if (reduction !== 'SUM' && reduction !== 'MEAN')
      throw new ValueError(expected(new.target.name, 'SUM or MEAN', 'reduction', reduction));
    this.reduction = reduction;
    const { labelSmoothing = 0 } = options;
    if (!(labelSmoothing >= 0 && labelSmoothing < 1)) {
      const want = 'a number from 0 up to, not including, 1';
      throw new ValueError(expected(new.target.name, want, 'labelSmoothing', labelSmoothing));
    }
    this.labelSmoothing = labelSmoothing;
  }

  /** Whether edges are weighted, so that `forward` is given their weights. */
  readonly weighsEdges: boolean = false;

  /** Returns the loss of positive [B] and negative scores [B, n]: a scalar. @param weights of the edges, [B]. */
  abstract forward(positive: Tensor, negative: Tensor, weights?: Tensor | null): Tensor;

  /**
   * Returns the loss of class scores [N, C] and labels: a scalar.
   *
   * @param rows the divisor of MEAN if these rows are a worker's share of the batch.
   */
  classes(_logits: Tensor, _labels: Ids, _rows?: number): Tensor {
    throw new StateError(
      `${this.constructor.name}: expected a loss for classes, got one for edges only. Use CROSS_ENTROPY.`,
    );
  }

  protected get how(): { reduction: 'sum' | 'mean' } {
    return { reduction: this.reduction === 'SUM' ? 'sum' : 'mean' };
  }

  /** Turns the sum over some rows into their contribution to the loss of all. */
  protected share(sum: Tensor, count: number): Tensor {
    return this.reduction === 'SUM' ? sum : mul(sum, 1 / count);
  }

  /** Throws unless the scores are [B] and [B, n] of one batch. */
  protected check(positive: Tensor, negative: Tensor): void {
    const where = this.constructor.name;
    for (const [name, t] of Object.entries({ positive, negative }))
      if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, t));
    if (positive.rank !== 1)
      throw new ShapeError(expected(where, 'shape [B]', 'positive', formatShape(positive.shape)));
    if (negative.rank !== 2 || negative.shape[0] !== positive.shape[0]) {
      const want = `shape [${positive.shape[0]}, n]`;
      throw new ShapeError(expected(where, want, 'negative', formatShape(negative.shape)));
    }
  }
}

/** Σ log(eᵖ + Σ eⁿ) − p */
export class SoftmaxCrossEntropy extends LossFunction {
  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return softmaxCrossEntropyNegatives(positive, negative, this.how);
  }
}

/** SoftmaxCrossEntropy on scores; cross entropy on classes. */
export class CrossEntropyLoss extends LossFunction {
  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return softmaxCrossEntropyNegatives(positive, negative, this.how);
  }

  override classes(logits: Tensor, labels: Ids, rows?: number): Tensor {
    if (rows === undefined) return crossEntropy(logits, labels, this.how);
    return this.share(crossEntropy(logits, labels, { reduction: 'sum' }), rows);
  }
}

export interface RankingLossOptions extends LossFunctionOptions {
  /** Margin (default 0.1). */
  readonly margin?: number;
}

/** Σ max(0, n − p + margin) */
export class RankingLoss extends LossFunction {
  readonly margin: number;

  constructor(options: RankingLossOptions = {}) {
    super(options);
    checkOptionNames('RankingLoss', options, { reduction: true, labelSmoothing: true, margin: true });
    this.margin = checkNumber('RankingLoss', 'margin', options.margin ?? 0.1);
  }

  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return marginRankingLoss(unsqueeze(positive, 1), negative, { ...this.how, margin: this.margin });
  }
}

/** Compares each score with 1 for positives and 0 for negatives; classes with one-hot rows. */
abstract class ElementLoss extends LossFunction {
  protected abstract readonly elements: Elementwise;

  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    const edges = positive.shape[0];
    const scores = concat([positive, reshape(negative, [negative.size])]);
    return this.elements(scores, labelsOf(scores, edges), this.how);
  }

  override classes(logits: Tensor, labels: Ids, ofRows?: number): Tensor {
    const [rows, count] = logits.shape;
    const ids = checkIds(this.constructor.name, 'labels', labels, count);
    if (ids.length !== rows)
      throw new ShapeError(expected(this.constructor.name, `${rows} labels`, 'labels', ids.length));
    const target = logits.dtype === 'f64' ? new Float64Array(logits.size) : new Float32Array(logits.size);
    for (const [row, id] of ids.entries()) target[row * count + id] = 1;
    const targets = toDeviceOf(fromTypedArray(target, [rows, count]), logits);
    if (ofRows === undefined) return this.elements(logits, targets, this.how);
    return this.share(this.elements(logits, targets, { reduction: 'sum' }), ofRows * count);
  }
}

/** Returns labels of scores: 1 for the first `positives`, 0 for the others. */
function labelsOf(scores: Tensor, positives: number): Tensor {
  const labels = scores.dtype === 'f64' ? new Float64Array(scores.size) : new Float32Array(scores.size);
  return toDeviceOf(fromTypedArray(labels.fill(1, 0, positives), scores.shape), scores);
}

export interface LogisticLossOptions extends LossFunctionOptions {
  /**
   * A number γ that is added to the scores of edges (default 0). Scores of distances are negative: without an offset, no
   * probability is above a half.
   */
  readonly offset?: number;
  /** Whether the losses of an edge's negatives are added (the default) or averaged. */
  readonly negatives?: LossReduction;
}

/** An element-wise loss of the probability σ(score + γ). */
abstract class LogisticLoss extends ElementLoss {
  readonly offset: number;
  readonly negatives: LossReduction;

  constructor(options: LogisticLossOptions = {}) {
    super(options);
    const where = new.target.name;
    checkOptionNames(where, options, {
      ...{ reduction: true, labelSmoothing: true, offset: true, negatives: true },
    });
    this.offset = checkNumber(where, 'offset', options.offset ?? 0);
    this.negatives = options.negatives ?? 'SUM';
    if (this.negatives !== 'SUM' && this.negatives !== 'MEAN')
      throw new ValueError(expected(where, 'SUM or MEAN', 'negatives', this.negatives));
  }

  override forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    const [p, n] =
      this.offset === 0 ? [positive, negative] : [add(positive, this.offset), add(negative, this.offset)];
    if (this.negatives === 'SUM') return super.forward(p, n);
    const [edges, count] = negative.shape;
    const total = (scores: Tensor, positives: number): Tensor =>
      this.elements(scores, labelsOf(scores, positives), { reduction: 'sum' });
    return this.share(add(total(p, edges), mul(total(n, 0), 1 / Math.max(1, count))), Math.max(1, edges));
  }
}

/** Binary cross entropy of the sigmoid of each score; BCE_WITH_LOGITS is equal without loss of precision. */
export class BCEAfterSigmoidLoss extends LogisticLoss {
  protected readonly elements: Elementwise = (x, target, how) => bceLoss(sigmoid(x), target, how);
}

/** Binary cross entropy of each score before the sigmoid. */
export class BCEWithLogitsLoss extends LogisticLoss {
  protected readonly elements: Elementwise = bceWithLogits;
}

/** Σ (score − label)² */
export class MSELoss extends ElementLoss {
  override readonly maskedScore = 0;
  protected readonly elements: Elementwise = mseLoss;
}

/** Σ log(1 + exp(−(2·label − 1)·score)) */
export class SoftPlusLoss extends LogisticLoss {
  protected readonly elements: Elementwise = softplusLoss;
}
