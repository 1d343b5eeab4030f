/** Decoders of edges: relation operators, comparators, losses, regularisers. */
export { BPRLoss } from './bpr-loss.js';
export {
  Comparator,
  CosineCompare,
  DotCompare,
  L1Compare,
  L2Compare,
  ModulusCompare,
  SquaredL2Compare,
} from './comparator.js';
export {
  ComplEx,
  type CustomDecoder,
  DistMult,
  DotDecoder,
  decoderTypes,
  MuRE,
  NoOpNodeDecoder,
  Rescal,
  RotatE,
  RotE,
  registerDecoder,
  TransE,
} from './decoders.js';
export {
  type DecoderMethod,
  type Direction,
  EdgeDecoder,
  type EdgeDecoderOptions,
  type EdgeScores,
} from './edge-decoder.js';
export {
  BCEAfterSigmoidLoss,
  BCEWithLogitsLoss,
  CrossEntropyLoss,
  type LogisticLossOptions,
  LossFunction,
  type LossFunctionOptions,
  MSELoss,
  RankingLoss,
  type RankingLossOptions,
  SoftmaxCrossEntropy,
  SoftPlusLoss,
} from './link-losses.js';
export { type CustomLoss, type LossName, lossFunction, lossTypes, registerLoss } from './loss-types.js';
export { type N3Options, N3Regularizer, NormRegularizer, Regularizer } from './regularizer.js';
export {
  ComplexHadamardOperator,
  HadamardOperator,
  NoOp,
  RelationOperator,
  RotationOperator,
  TranslationOperator,
} from './relation-operator.js';
export { SelfAdversarialLoss, type SelfAdversarialLossOptions } from './self-adversarial-loss.js';
