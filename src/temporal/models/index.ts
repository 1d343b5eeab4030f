/** Models over batches of events. */

export { GeneralModel, type GeneralModelSizes } from './general-model.js';
export { NodeClassifier, type NodeClassifierHeadOptions } from './node-classifier.js';
export type { TemporalOutput } from './output.js';
