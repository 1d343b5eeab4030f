/** Datasets: file readers, a catalogue, preprocessing, generators, splits. Needs Node.js. */
export type { NumpyArray } from '../tensor/numpy-array.js';
export { catalogue, type DatasetName, datasetNames } from './catalogue.js';
export {
  type EntityDataset,
  type KnowledgeDataset,
  makeNodeDataset,
  type NodeDataset,
  type TemporalDataset,
} from './dataset.js';
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
export { type LinkSplitOptions, type LinkSplits, randomLinkSplit } from './link-split.js';
export { type DatasetOf, type LoadDatasetOptions, loadDataset } from './load-dataset.js';
export type { NodeSplits } from './node-data.js';
export * from './prepare/index.js';
export { type RelationalGraph, relationalGraph } from './relational-graph.js';
export { type RmatOptions, rmat } from './rmat.js';
export { type ShopChoices, type ShopData, type ShopOptions, shopData } from './shop.js';
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
