/** Runs: their directory, what they report, and how they are watched and stopped. */

export { LinkPredictionReporter } from '../tasks/links/link-prediction-reporter.js';
export { NodeClassificationReporter } from '../tasks/nodes/node-classification-reporter.js';
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
export { Output } from './output.js';
export { ProgressReporter, type ProgressReporterOptions } from './progress-reporter.js';
export { type RecommendationMetricsOptions, recommendationMetrics } from './recommendation-metrics.js';
export { Reporter } from './reporter.js';
export type { RunResult } from './run-plan.js';
