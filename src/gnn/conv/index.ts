/** Layers on graphs, and the list of those that a configuration can name. */
import { appnpWord } from './appnp.js';
import { gatWord } from './gat-conv.js';
import { gatv2Word } from './gatv2-conv.js';
import { gcnWord } from './gcn-conv.js';
import { ginWord } from './gin-conv.js';
import { graphConvWord } from './graph-conv.js';
import { rgcnWord } from './rgcn-conv.js';
import { sageWord } from './sage-conv.js';
import { sgcWord } from './sg-conv.js';
import { transformerWord } from './transformer-conv.js';

export { APPNP, type APPNPOptions } from './appnp.js';
export type { ConvPlace, ConvProblem, ConvWord } from './conv-word.js';
export { GATConv, type GATConvOptions } from './gat-conv.js';
export { GATv2Conv, type GATv2ConvOptions } from './gatv2-conv.js';
export { GCNConv, type GCNConvOptions } from './gcn-conv.js';
export { GINConv, type GINConvOptions } from './gin-conv.js';
export { GraphConv, type GraphConvOptions } from './graph-conv.js';
export { RGCNConv, type RGCNConvOptions } from './rgcn-conv.js';
export { type SAGEAggregator, SAGEConv, type SAGEConvOptions } from './sage-conv.js';
export { SGConv, type SGConvOptions } from './sg-conv.js';
export { TransformerConv, type TransformerConvOptions } from './transformer-conv.js';

/** By the words of a configuration; GRAPH_SAGE, GAT, GCN and RGCN are Marius's. */
export const convWords = [
  ...([sageWord, gatWord, gcnWord, rgcnWord] as const),
  ...([gatv2Word, ginWord, graphConvWord, transformerWord, sgcWord, appnpWord] as const),
] as const;
