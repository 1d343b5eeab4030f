/** Trained tables: in memory, through a partition buffer, on a device. */
export { BufferedColumn, BufferedEmbeddings, BufferedTable } from './buffered-table.js';
export { DeviceEmbeddings } from './device-embeddings.js';
export { MemoryEmbeddings } from './memory-embeddings.js';
export type { DurableRows, Residency, RunTable, TrainedRows } from './trained-rows.js';
