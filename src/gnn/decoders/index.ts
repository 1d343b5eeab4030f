/** Decoders of edges: relation operators, comparators, losses, regularisers. */
export {
  Comparator,
  type ComparatorType,
  CosineCompare,
  comparators,
  DotCompare,
  L1Compare,
  L2Compare,
} from './comparator.js';
export * from './decoders.js';
export {
  type DecoderInput,
  type DecoderMethod,
  type Direction,
  decoderMethods,
  EdgeDecoder,
  /** As the source calls it. */
  EdgeDecoder as Decoder,
  type EdgeDecoderOptions,
  type EdgeScores,
  type Side,
} from './edge-decoder.js';
export { type EdgeEnds, edgeInput } from './edge-input.js';
export { linkLoss } from './link-loss.js';
export * from './link-losses.js';
export { type N3Options, N3Regularizer, NormRegularizer, Regularizer } from './regularizer.js';
export * from './relation-operator.js';
