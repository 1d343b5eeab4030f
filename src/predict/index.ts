/** Trained models opened for use: predictors of every task, and helpers for commands that write predictions. */
export { encodeNewNodes } from './encode-new-nodes.js';
export * from './explain/index.js';
export {
  type EventRecord,
  type EventSource,
  type EventTuple,
  type FitEventsOptions,
  fitEvents,
} from './fit/fit-events.js';
export {
  type FitLinksOptions,
  fitLinks,
  type LinkRecord,
  type LinkSource,
  type LinkTuple,
} from './fit/fit-links.js';
export { type FitNodesOptions, fitNodes, type NodeRecord, type NodeSource } from './fit/fit-nodes.js';
export type { ConfigValue, FitRunOptions } from './fit/fit-run.js';
export { openModel } from './open-model.js';
export { packModel } from './pack-model.js';
export { type PredictedEdges, type PredictedNodes, predictLinks, predictNodes } from './predict-split.js';
export type {
  Ability,
  AppendOptions,
  AppendResult,
  ClassifiedName,
  EdgeName,
  EventOutcome,
  EventStreamPredictor,
  LinkPredictor,
  Name,
  NamedEvent,
  NeighborOptions,
  NewEdge,
  NewNodes,
  NodePredictor,
  Predictor,
  RankedName,
  RankOptions,
  RankQuestion,
  ReadOptions,
  RecommendOptions,
  ScoreOptions,
} from './predictor.js';
export * from './stream/index.js';
