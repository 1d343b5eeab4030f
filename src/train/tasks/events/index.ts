/** Runs of temporal models. */
export { assembleTemporal, type PlainAssembly, type TemporalAssembly } from './assemble.js';
export { assembleWorkers } from './assemble-workers.js';
export { type EvaluatedRun, evaluateEventRun } from './evaluate-event-run.js';
export { evaluateEvents } from './evaluate-events.js';
export { EventTask, type EventTaskOptions } from './event-task.js';
export {
  evaluateLabels,
  type LabelHeadOptions,
  type LabelHeadResult,
  type LabelledEvents,
  trainLabelHead,
} from './label-head.js';
export { type OpenedEventRun, onlineScorer } from './open-event-run.js';
export { type OpenedStream, openStream } from './open-stream.js';
export {
  isTemporalConfig,
  loadTemporalConfig,
  ranksMatter,
  renderTemporalConfig,
  resolveTemporalConfig,
  type TemporalRunConfig,
} from './run-config.js';
export { embedSources, evaluateRunLabels, type RunLabels } from './run-labels.js';
export { streamOptions, streamOptionsOf } from './stream-options.js';
export { temporalTemplate } from './temporal-template.js';
