/** Models over batches of events. */
export { NodeClassifier, type NodeClassifierHeadOptions } from './node-classifier.js';
export { GeneralModel, type GeneralModelSizes } from './general-model.js';
export type { TemporalOutput } from './output.js';
