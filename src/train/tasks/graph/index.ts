/** From a configuration and a dataset to storage and models, and what can be done with a saved run. */
export * from './encoded-nodes.js';
export { initializeBatcher, initializeModel, type ModelSizes, type RunSamplers } from './initialize-model.js';
export { openRunTables } from './run-tables.js';
export {
  type InitializedStorage,
  type InitializeStorageOptions,
  initializeSharedStorage,
  initializeStorage,
} from './storage/initialize-storage.js';
export { openDataset } from './storage/open-dataset.js';
