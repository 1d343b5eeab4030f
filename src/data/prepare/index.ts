/** Prepared directories: what training reads, and how input becomes one. */
export { sortByBucket } from './bucket-sort.js';
export {
  type DatasetFingerprint,
  datasetFingerprint,
  differingFiles,
} from './dataset-fingerprint.js';
export type { FileRecord, PreparedDetails, PreparedStats } from './dataset-yaml.js';
export {
  type ExportFormat,
  type ExportOptions,
  exportFiles,
  exportFormats,
  exportTable,
  type RowProvider,
} from './export-table.js';
export { flatRows, type NamedTable, openFlatTables } from './flat-tables.js';
export { readGlosses } from './glosses.js';
export type { OnNote, OnPrepareProgress, PrepareProgress } from './graph-source.js';
export { mappingText } from './mapping-file.js';
export { IdentityNames, MappedNames, type NameTable, TypedNames } from './name-table.js';
export { type NewNodes, type NewNodesOptions, readNewNodes } from './new-nodes.js';
export type { EncodedColumn, NodeEncoding } from './node-encoding.js';
export {
  catalogueName,
  type PrepareDatasetOptions,
  prepareDataset,
  preparedFolder,
} from './prepare-dataset.js';
export { type GraphPart, type PrepareGraphOptions, prepareGraph } from './prepare-graph.js';
export { type EdgeFile, PreparedDataset, type PreparedSplit } from './prepared-dataset.js';
export {
  type CancelSignal,
  type PreprocessContext,
  type PreprocessOptions,
  type PreprocessResult,
  preprocess,
} from './preprocess.js';
export type { EdgeColumns } from './preprocess-options.js';
export { type RawEdgeNames, readRawEdges } from './raw-edges.js';
