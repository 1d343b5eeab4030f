/** Storage and models from a configuration and a dataset, and functions on a saved run. */
export { encodeAllNodes } from './encoded-nodes.js';
export { type InitializeStorageOptions, initializeStorage } from './storage/initialize-storage.js';
