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
export { Checkpoints } from './checkpoint.js';
export { clock, duration, shortCount } from './durations.js';
export { Interrupt, type InterruptOptions, type StopSignal } from './interrupt.js';
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
  metricByName,
  RankingMetric,
  registerMetric,
} from './metric.js';
export type { MetricsRecord } from './metrics-file.js';
export { Output, type OutputOptions, type Stage, showsProgress } from './output.js';
export { peakRssMb } from './peak-memory.js';
export { prepareProgress } from './prepare-progress.js';
export { ProgressReporter, type ProgressReporterOptions, type ProgressState } from './progress-reporter.js';
export { formatMetric, type MetricValues, metricCell, Reporter } from './reporter.js';
export { withResumeAdvice } from './resume-advice.js';
export { resumeCommand } from './resume-command.js';
export {
  checkRunConfig,
  RunDirectory,
  type RunOptions,
  type RunSettings,
} from './run-directory.js';
export { latestCheckpoint, type RunRecord, type TaskKind } from './run-record.js';
export type { RunResult } from './run-session.js';
export { type ProgressView, StatusLine } from './status-line.js';
export type { TextSink } from './terminal.js';
export { type StageSpan, StageTimings } from './timings.js';
export { type TraceSpan, TraceWriter } from './trace.js';
export { openWorkers, outputOf, withWorkers } from './workers.js';
