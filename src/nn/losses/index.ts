/** Losses and the regulariser. */
export { type CrossEntropyOptions, crossEntropy, softmaxCrossEntropyNegatives } from './cross-entropy.js';
export {
  bceLoss,
  bceWithLogits,
  l1Loss,
  type MarginOptions,
  marginRankingLoss,
  mseLoss,
  normPenalty,
  type PenaltyOptions,
  softplusLoss,
} from './elementwise.js';
export type { LossOptions, Reduction } from './reduction.js';
