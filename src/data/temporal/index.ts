/** Files of events in time. */
export {
  loadTemporalDataset,
  type TemporalDatasetName,
  temporalDatasetNames,
} from './load-temporal-dataset.js';
export type { EventArrays, NodeLabels, TemporalData } from './temporal-data.js';
