/** Reasons of answers: what `explain` of a predictor takes and returns. */
export type {
  EventExplanation,
  ExplainOptions,
  Explanation,
  Fidelity,
  LinkExplanation,
  NamedEdge,
  NamedPath,
  NodeExplanation,
  Sanity,
  WeightedEdge,
  WeightedEvent,
  WeightedFeature,
  WeightedWord,
} from './explanation.js';
