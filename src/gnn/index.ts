/** Graph layers and models. */
export { APPNP, type APPNPOptions } from './conv/appnp.js';
export { GATConv, type GATConvOptions } from './conv/gat-conv.js';
export { GATv2Conv, type GATv2ConvOptions } from './conv/gatv2-conv.js';
export { GCNConv, type GCNConvOptions } from './conv/gcn-conv.js';
export { GINConv, type GINConvOptions } from './conv/gin-conv.js';
export { GraphConv, type GraphConvOptions } from './conv/graph-conv.js';
export { type SAGEAggregator, SAGEConv, type SAGEConvOptions } from './conv/sage-conv.js';
export { SGConv, type SGConvOptions } from './conv/sg-conv.js';
export type { Features, NodeInput, NodePair } from './input.js';
export { propagate } from './propagation.js';
