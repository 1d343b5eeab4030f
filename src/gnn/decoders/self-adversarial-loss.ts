/** The loss of RotatE, in which the negatives of an edge are weighted by their scores. */
import { add, mul, neg, noGrad, softmax, softplus, sum, type Tensor } from '../../tensor/index.js';
import { checkNumber } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { LossFunction, type LossFunctionOptions } from './link-losses.js';

export interface SelfAdversarialLossOptions extends LossFunctionOptions {
  /** A number γ that is added to the scores (default 9). */
  readonly offset?: number;
  /** How much a negative with a higher score weighs more (default 1); 0: all weigh the same. */
  readonly temperature?: number;
  /** Weigh edges: a run gives frequent (head, relation) and (relation, tail) less weight (default false). */
  readonly subsampling?: boolean;
}

/**
 * ½ [softplus(−γ − p) + Σⱼ aⱼ softplus(γ + nⱼ)] with a = softmax(temperature · n), which is not differentiated: Sun et al.,
 * "RotatE" (2019).
 */
export class SelfAdversarialLoss extends LossFunction {
  readonly offset: number;
  readonly temperature: number;
  override readonly weighsEdges: boolean;

  constructor(options: SelfAdversarialLossOptions = {}) {
    super(options);
    const where = 'SelfAdversarialLoss';
    checkOptionNames(where, options, {
      reduction: true,
      labelSmoothing: true,
      offset: true,
      temperature: true,
      subsampling: true,
    });
    this.offset = checkNumber(where, 'offset', options.offset ?? 9);
    this.temperature = checkNumber(where, 'temperature', options.temperature ?? 1, 0);
    this.weighsEdges = options.subsampling === true;
  }

  forward(positive: Tensor, negative: Tensor, weights: Tensor | null = null): Tensor {
    this.check(positive, negative);
    const shares = noGrad(() => softmax(mul(negative, this.temperature), 1));
    const wrong = sum(mul(shares, softplus(add(negative, this.offset))), 1);
    const losses = add(softplus(neg(add(positive, this.offset))), wrong);
    const total = sum(weights === null ? losses : mul(losses, weights));
    return this.share(mul(total, 0.5), Math.max(1, positive.shape[0]));
  }
}
