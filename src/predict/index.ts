/** Trained models opened for use: predictors of every task, and what commands need to write predictions. */
export { encodeNewNodes, newNodeFeatures } from './encode-new-nodes.js';
export { EventPredictor } from './event-predictor.js';
export { GraphPredictor, type Wording } from './graph-predictor.js';
export { openModel, predictorOf } from './open-model.js';
export {
  bestColumns,
  type OtherTestSet,
  type PredictedEdges,
  type PredictedNodes,
  predictLinks,
  predictNodes,
  withTestSet,
} from './predict-split.js';
export type {
  Ability,
  ClassifiedName,
  EdgeName,
  NamedEvent,
  NeighborOptions,
  Predictor,
  RankedName,
  RankOptions,
  RankQuestion,
} from './predictor.js';
export { type LinkQuestion, nearestNodes, type ScoredNode, type TopOptions, topLinks } from './top-nodes.js';
