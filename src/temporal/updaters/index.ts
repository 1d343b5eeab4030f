/** Memory updaters: what a node's mail makes of its memory. */
export { IdentityMemoryUpdater, MemoryUpdater, type MemoryUpdaterOptions } from './memory-updater.js';
export { GRUMemoryUpdater, RNNMemoryUpdater } from './recurrent-updaters.js';
export { TransformerMemoryUpdater, type TransformerMemoryUpdaterOptions } from './transformer-updater.js';
