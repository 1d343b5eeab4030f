/** Temporal graphs: state of nodes, models, negatives, metrics, baselines. Runs in browsers. */
export { type EventStream, type TemporalPart, temporalParts } from './event-stream.js';
export * from './metrics/index.js';
export * from './negatives/index.js';
