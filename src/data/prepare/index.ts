/** Prepared directories: preprocessing, reading and export. */
export type { PreparedStats } from './dataset-yaml.js';
export { type ExportOptions, exportTable } from './export-table.js';
export type { OnNote, OnPrepareProgress } from './graph-source.js';
export type { NameTable } from './name-table.js';
export type { NewNodes } from './new-nodes.js';
export type { NodeEncoding } from './node-encoding.js';
export { type PrepareDatasetOptions, prepareDataset } from './prepare-dataset.js';
export { type EdgeFile, PreparedDataset, type PreparedSplit } from './prepared-dataset.js';
export {
  type PreprocessContext,
  type PreprocessOptions,
  type PreprocessResult,
  preprocess,
} from './preprocess.js';
export type { EdgeColumns } from './preprocess-options.js';
export { type RawEdgeNames, readRawEdges } from './raw-edges.js';
