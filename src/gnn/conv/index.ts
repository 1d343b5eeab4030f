/** Layers on graphs, and the list of those that a configuration can name. */
import { appnpType } from './appnp.js';
import { gatType } from './gat-conv.js';
import { gatv2Type } from './gatv2-conv.js';
import { gcnType } from './gcn-conv.js';
import { ginType } from './gin-conv.js';
import { graphConvType } from './graph-conv.js';
import { lightGcnType } from './light-gcn.js';
import { rgcnType } from './rgcn-conv.js';
import { sageType } from './sage-conv.js';
import { sgcType } from './sg-conv.js';
import { transformerType } from './transformer-conv.js';

export { APPNP, type APPNPOptions } from './appnp.js';
export type { ConvContext, ConvType } from './conv-type.js';
export { GATConv, type GATConvOptions } from './gat-conv.js';
export { GATv2Conv, type GATv2ConvOptions } from './gatv2-conv.js';
export { GCNConv, type GCNConvOptions } from './gcn-conv.js';
export { GINConv, type GINConvOptions } from './gin-conv.js';
export { GraphConv, type GraphConvOptions } from './graph-conv.js';
export { LightGCN, type LightGCNOptions } from './light-gcn.js';
export { RGCNConv, type RGCNConvOptions } from './rgcn-conv.js';
export { type SAGEAggregator, SAGEConv, type SAGEConvOptions } from './sage-conv.js';
export { SGConv, type SGConvOptions } from './sg-conv.js';
export { TransformerConv, type TransformerConvOptions } from './transformer-conv.js';

/** All built-in graph layers; GRAPH_SAGE, GAT, GCN and RGCN are Marius's. */
export const convTypes = [
  ...([sageType, gatType, gcnType, rgcnType] as const),
  ...([gatv2Type, ginType, graphConvType, transformerType, sgcType, appnpType, lightGcnType] as const),
] as const;
