/** Datasets: readers of the usual files, a catalogue by name, generators, splits. Needs Node. */
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
  type Dataset,
  type EntityDataset,
  type FactArrays,
  type KnowledgeDataset,
  makeNodeDataset,
  type NodeDataset,
  type TemporalDataset,
} from './dataset.js';
export { coalesceEdges, type EdgeArrays, symmetricEdges } from './edges.js';
export { type EdgeList, readEdgeList } from './formats/edge-list.js';
export type { Column, EdgeListOptions } from './formats/edge-list-options.js';
export * from './formats/entity-classification.js';
export { MatFile, readMat } from './formats/matlab.js';
export { readNTriples } from './formats/n-triples.js';
export { readNpy } from './formats/npy.js';
export { NpzFile, readNpz } from './formats/npz.js';
export { type OgbOptions, readOgb } from './formats/ogb.js';
export { parsePickle } from './formats/pickle.js';
export { PickleArray, PickleCsr, type PickleValue } from './formats/pickle-objects.js';
export { readPlanetoid } from './formats/planetoid.js';
export { type NodeFormat, nodeFormats, readNodeData } from './formats/registry.js';
export { readShchur, type ShchurOptions } from './formats/shchur.js';
export { readTorch } from './formats/torch-file.js';
export { readTripleFiles } from './formats/tsv.js';
export {
  type BlockModelOptions,
  barabasiAlbert,
  type ErdosRenyiOptions,
  erdosRenyi,
  grid,
  stochasticBlockModel,
} from './generators.js';
export { type KarateClub, karateClub } from './karate-club.js';
export { type LinkPart, type LinkSplitOptions, type LinkSplits, randomLinkSplit } from './link-split.js';
export { type DatasetOf, datasetCounts, type LoadOptions, loadDataset } from './load-dataset.js';
export type { CsrArrays, DenseArrays, NodeData, NodeSplits } from './node-data.js';
export * from './prepare/index.js';
export { type RelationalGraph, relationalGraph } from './relational-graph.js';
export { type RmatOptions, rmat, rmatEdges } from './rmat.js';
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
