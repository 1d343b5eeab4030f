/** Runs of temporal models. */
export { EventTask, type EventTaskOptions } from './event-task.js';
export { type LabelHeadOptions, trainLabelHead } from './label-head.js';
export { type OpenedEventRun, onlineScorer } from './open-event-run.js';
export { resolveTemporalConfig, type TemporalRunConfig } from './run-config.js';
export { embedSources } from './run-labels.js';
