/** From a configuration and a dataset to storage and models, and what can be done with a saved run. */
export { encodeAllNodes } from './encoded-nodes.js';
export { type InitializeStorageOptions, initializeStorage } from './storage/initialize-storage.js';
