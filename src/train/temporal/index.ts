/** Runs of temporal models. */
export { assembleTemporal, type TemporalAssembly } from './assemble.js';
export { type OpenedStream, openStream } from './open-stream.js';
export { isTemporalRun, type OpenedTemporalRun, onlineScorer, openTemporalRun } from './open-temporal-run.js';
export {
  isTemporalConfig,
  loadTemporalConfig,
  resolveTemporalConfig,
  type TemporalRunConfig,
} from './run-config.js';
export {
  judgePart,
  type TemporalRunOptions,
  type TemporalRunResult,
  trainTemporalRun,
} from './train-temporal-run.js';
