/** Runs of temporal models. */
export { assembleTemporal, type PlainAssembly, type TemporalAssembly } from './assemble.js';
export { assembleWorkers } from './assemble-workers.js';
export { describeTemporalRun } from './describe-temporal-run.js';
export { judgePart } from './judge-part.js';
export { type JudgedRun, judgeTemporalRun } from './judge-run.js';
export {
  judgeLabels,
  type LabelHeadOptions,
  type LabelHeadResult,
  type LabelledEvents,
  trainLabelHead,
} from './label-head.js';
export { type OpenedStream, openStream } from './open-stream.js';
export {
  isTemporalRun,
  type OpenedTemporalRun,
  type OpenTemporalOptions,
  onlineScorer,
  openTemporalRun,
} from './open-temporal-run.js';
export {
  isTemporalConfig,
  loadTemporalConfig,
  ranksMatter,
  renderTemporalConfig,
  resolveTemporalConfig,
  type TemporalRunConfig,
} from './run-config.js';
export { embedSources, judgeRunLabels, type RunLabels } from './run-labels.js';
export { streamOptions, streamOptionsOf } from './stream-options.js';
export { temporalTemplate } from './temporal-template.js';
export {
  type TemporalRunOptions,
  type TemporalRunResult,
  trainTemporalRun,
} from './train-temporal-run.js';
