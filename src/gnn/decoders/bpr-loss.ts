/** The pairwise loss of recommenders: what a user chose must score above what the user did not choose. */
import { mul, softplus, sub, sum, type Tensor, unsqueeze } from '../../tensor/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import { LossFunction, type LossFunctionOptions } from './link-losses.js';

/**
 * meanⱼ −log σ(p − nⱼ) of each edge: Rendle et al., "BPR: Bayesian personalized ranking from implicit feedback" (UAI 2009).
 * The mean over negatives keeps the scale of the loss independent of their number.
 */
export class BPRLoss extends LossFunction {
  constructor(options: LossFunctionOptions = {}) {
    super(options);
    checkOptionNames('BPRLoss', options, { reduction: true, labelSmoothing: true });
  }

  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    const [edges, count] = negative.shape;
    // −log σ(x) = softplus(−x), which does not overflow.
    const total = sum(softplus(sub(negative, unsqueeze(positive, 1))));
    return this.share(mul(total, 1 / Math.max(1, count)), Math.max(1, edges));
  }
}
