/** Graph layers and models. */
export { registerConvLayer } from './conv/conv-registry.js';
export {
  APPNP,
  type APPNPOptions,
  type ConvContext,
  type ConvType,
  GATConv,
  type GATConvOptions,
  GATv2Conv,
  type GATv2ConvOptions,
  GCNConv,
  type GCNConvOptions,
  GINConv,
  type GINConvOptions,
  GraphConv,
  type GraphConvOptions,
  LightGCN,
  type LightGCNOptions,
  RGCNConv,
  type RGCNConvOptions,
  type SAGEAggregator,
  SAGEConv,
  type SAGEConvOptions,
  SGConv,
  type SGConvOptions,
  TransformerConv,
  type TransformerConvOptions,
} from './conv/index.js';
export { type CorrectAndSmoothOptions, correctAndSmooth } from './correct-and-smooth.js';
export * from './decoders/index.js';
export { GraphBatch } from './graph-batch.js';
export { HeteroConv } from './hetero/hetero-conv.js';
export { HGTConv, type HGTConvOptions } from './hetero/hgt-conv.js';
export { type InferOptions, inferLayerwise } from './infer-layerwise.js';
export type { Features, NodeInput, NodePair } from './input.js';
export { JumpingKnowledge } from './jumping-knowledge.js';
export { GAT, type GATOptions } from './models/gat.js';
export { GCN, type GCNOptions } from './models/gcn.js';
export { GIN, type GINOptions } from './models/gin.js';
export { GINGraphClassifier, type GINGraphClassifierOptions } from './models/gin-graph-classifier.js';
export { GraphSAGE, type GraphSAGEOptions } from './models/graph-sage.js';
export { type EdgeData, LayeredModel, type ModelOptions } from './models/layered-model.js';
export { RGCN, type RGCNOptions } from './models/rgcn.js';
export { AttentionalPool, globalMaxPool, globalMeanPool, globalSumPool } from './pooling.js';
export { propagate } from './propagation.js';
export { SIGN, type SIGNOptions, signFeatures } from './sign.js';
