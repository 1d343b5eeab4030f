/** Losses and the regulariser. */
export { type CrossEntropyOptions, crossEntropy } from './cross-entropy.js';
export {
  bceLoss,
  bceWithLogits,
  l1Loss,
  type MarginOptions,
  marginRankingLoss,
  mseLoss,
} from './elementwise.js';
export type { LossOptions, Reduction } from './reduction.js';
