/** Graph layers and models. */
export { APPNP, type APPNPOptions } from './conv/appnp.js';
export { GATConv, type GATConvOptions } from './conv/gat-conv.js';
export { GATv2Conv, type GATv2ConvOptions } from './conv/gatv2-conv.js';
export { GCNConv, type GCNConvOptions } from './conv/gcn-conv.js';
export { GINConv, type GINConvOptions } from './conv/gin-conv.js';
export { GraphConv, type GraphConvOptions } from './conv/graph-conv.js';
export { type SAGEAggregator, SAGEConv, type SAGEConvOptions } from './conv/sage-conv.js';
export { SGConv, type SGConvOptions } from './conv/sg-conv.js';
export { type InferOptions, inferLayerwise } from './infer-layerwise.js';
export type { Features, NodeInput, NodePair } from './input.js';
export { JumpingKnowledge, type JumpingMode } from './jumping-knowledge.js';
export { GAT, type GATOptions } from './models/gat.js';
export { GCN, type GCNOptions } from './models/gcn.js';
export { GIN, type GINOptions } from './models/gin.js';
export { GraphSAGE, type GraphSAGEOptions } from './models/graph-sage.js';
export { type EdgeData, LayeredModel, type ModelOptions } from './models/layered-model.js';
export { propagate } from './propagation.js';
