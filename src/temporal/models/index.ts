/** Models over batches of events, and those in discrete time. */
export * from '../snapshots/index.js';
export { GeneralModel, type GeneralModelSizes } from './general-model.js';
export { NodeClassifier, type NodeClassifierHeadOptions } from './node-classifier.js';
export type { TemporalOutput } from './output.js';
