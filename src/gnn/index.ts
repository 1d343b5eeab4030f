/** Graph layers and models. */
export { convRegistry, getConvType, hopsOfStage, registerConvLayer } from './conv/conv-registry.js';
export * from './conv/index.js';
export { type CorrectAndSmoothOptions, correctAndSmooth } from './correct-and-smooth.js';
export * from './decoders/index.js';
export { GraphBatch } from './graph-batch.js';
export {
  type HeteroAggregate,
  HeteroConv,
  type RelationLayer,
  type TypedRows,
} from './hetero/hetero-conv.js';
export { HGTConv, type HGTConvOptions, type HGTTypes } from './hetero/hgt-conv.js';
export { type InferOptions, inferLayerwise } from './infer-layerwise.js';
export type { Features, NodeInput, NodePair } from './input.js';
export { JumpingKnowledge, type JumpingMode } from './jumping-knowledge.js';
export { GAT, type GATOptions } from './models/gat.js';
export { GCN, type GCNOptions } from './models/gcn.js';
export { GIN, type GINOptions } from './models/gin.js';
export { GINGraphClassifier, type GINGraphClassifierOptions } from './models/gin-graph-classifier.js';
export { GraphSAGE, type GraphSAGEOptions } from './models/graph-sage.js';
export { type EdgeData, LayeredModel, type ModelOptions } from './models/layered-model.js';
export { RGCN, type RGCNOptions } from './models/rgcn.js';
export {
  type ChunkedLossOptions,
  type ChunkedSide,
  type Comparison,
  chunkedScores,
  chunkedSoftmaxLoss,
  chunkedSoftmaxLossSides,
  complexProduct,
  type EdgeSide,
  edgeSoftmaxLoss,
  type NegativeMask,
  negativeMask,
  normalizeRows,
  pairScores,
} from './ops/index.js';
export { AttentionalPool, globalMaxPool, globalMeanPool, globalSumPool } from './pooling.js';
export { propagate } from './propagation.js';
export * from './ranking/index.js';
export { SIGN, type SIGNOptions, signFeatures } from './sign.js';
