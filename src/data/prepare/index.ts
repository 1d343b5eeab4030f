/** Prepared directories: preprocessing, reading and export. */
export { type ExportOptions, exportTable } from './export-table.js';
export { type PrepareDatasetOptions, prepareDataset } from './prepare-dataset.js';
export { PreparedDataset } from './prepared-dataset.js';
export { type PreprocessOptions, type PreprocessResult, preprocess } from './preprocess.js';
export { readRawEdges } from './raw-edges.js';
