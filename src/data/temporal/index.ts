/** Event files. */
export type { EventColumnNames } from './csv-layout.js';
export type { TemporalFormat } from './event-files.js';
export type { ReadTemporalOptions } from './event-input.js';
export type { OnReadProgress, ReadProgress } from './event-table.js';
export {
  loadTemporalDataset,
  type TemporalDatasetName,
  temporalDatasetNames,
} from './load-temporal-dataset.js';
export {
  type PartitionLoadOptions,
  type PartitionSaveOptions,
  partitionLoad,
  partitionSave,
  type StreamPartitionData,
} from './partition-files.js';
export { readTemporal } from './read-temporal.js';
export type { EventArrays, NodeLabels, TemporalData } from './temporal-data.js';
export { readTgbNegatives, type TgbNegatives } from './tgb-negatives.js';
