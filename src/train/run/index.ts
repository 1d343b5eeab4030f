/** Runs: their directory, what they report, and how they are watched and stopped. */

export {
  LinkPredictionReporter,
  type LinkPredictionReporterOptions,
  type RankDetails,
} from '../tasks/links/link-prediction-reporter.js';
export {
  NodeClassificationReporter,
  type NodeClassificationReporterOptions,
} from '../tasks/nodes/node-classification-reporter.js';
export {
  AreaUnderCurve,
  CategoricalAccuracy,
  ClassificationMetric,
  type CustomMetric,
  F1Score,
  HitsAtK,
  MeanRank,
  MeanReciprocalRank,
  Metric,
  RankingMetric,
  registerMetric,
} from './metric.js';
export { Output, type OutputOptions, type Stage } from './output.js';
export { ProgressReporter, type ProgressReporterOptions, type ProgressState } from './progress-reporter.js';
export { type MetricValues, Reporter } from './reporter.js';
export type { RunRecord, TaskKind } from './run-record.js';
export type { RunResult } from './run-session.js';
export { type ProgressView, StatusLine } from './status-line.js';
export type { TextSink } from './terminal.js';
export { type StageSpan, StageTimings } from './timings.js';
