/** Datasets: file readers, a catalogue, preprocessing, generators, splits. Needs Node.js. */
export { parseNpy } from '../tensor/npy.js';
export type { NumpyArray, NumpyData } from '../tensor/numpy-array.js';
export {
  type CatalogueEntry,
  type CatalogueFile,
  catalogue,
  type DatasetName,
  datasetNames,
} from './catalogue.js';
export {
  type EntityDataset,
  type FactArrays,
  type KnowledgeDataset,
  makeNodeDataset,
  type NodeDataset,
  type TemporalDataset,
} from './dataset.js';
export type { EdgeArrays } from './edges.js';
export * from './formats/index.js';
export {
  type BlockModelOptions,
  barabasiAlbert,
  type ErdosRenyiOptions,
  erdosRenyi,
  grid,
  stochasticBlockModel,
} from './generators.js';
export { type KarateClub, karateClub } from './karate-club.js';
export { type LinkSplit, type LinkSplitOptions, type LinkSplits, randomLinkSplit } from './link-split.js';
export { type DatasetOf, type LoadOptions, loadDataset } from './load-dataset.js';
export type { CsrArrays, DenseArrays, NodeData, NodeSplits } from './node-data.js';
export * from './prepare/index.js';
export { type RelationalGraph, relationalGraph } from './relational-graph.js';
export { type RmatOptions, rmat } from './rmat.js';
export * from './temporal/index.js';
export {
  connectedComponents,
  largestConnectedComponent,
  type NodeSplitOptions,
  normalizeFeatures,
  randomNodeSplit,
} from './transforms.js';
export type { Triples } from './triples.js';
export { loadWordNet, type WordNet, type WordNetOptions } from './wordnet.js';
