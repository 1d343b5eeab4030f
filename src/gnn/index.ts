/** Graph layers and models. */
export { GCNConv, type GCNConvOptions } from './conv/gcn-conv.js';
export { type SAGEAggregator, SAGEConv, type SAGEConvOptions } from './conv/sage-conv.js';
export type { Features, NodeInput, NodePair } from './input.js';
export { propagate } from './propagation.js';
