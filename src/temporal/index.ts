/** Temporal graphs: memory and mail of nodes, models, negatives, metrics, baselines. Runs in browsers. */

export * from './baselines/index.js';
export type { TemporalBatch } from './batch.js';
export * from './config/index.js';
export type { EventStream } from './event-stream.js';
export * from './layers/index.js';
export { TemporalLoader, type TemporalLoaderOptions } from './loader.js';
export * from './mailbox/index.js';
export * from './metrics/index.js';
export * from './models/index.js';
export * from './negatives/index.js';
export { type OnlineOptions, OnlineScorer } from './online.js';
export * from './partition/index.js';
export { type TemporalModel, TemporalRuntime, type TemporalRuntimeOptions } from './runtime.js';
export type { TemporalState } from './temporal-state.js';
export * from './updaters/index.js';
