/** Readers of file formats. */
export { type EdgeList, readEdgeList } from './edge-list.js';
export type { EdgeListOptions } from './edge-list-options.js';
export { type EntityData, readEntityClassification } from './entity-classification.js';
export {
  type Graphml,
  type GraphmlEdge,
  type GraphmlNode,
  type GraphmlValue,
  readGraphml,
} from './graphml.js';
export { MatFile, readMat } from './matlab.js';
export { readNTriples } from './n-triples.js';
export { readNpy } from './npy.js';
export { NpzFile, readNpz } from './npz.js';
export { type OgbOptions, readOgb } from './ogb.js';
export { parsePickle } from './pickle.js';
export { PickleArray, PickleCsr, type PickleValue } from './pickle-objects.js';
export { readPlanetoid } from './planetoid.js';
export { type RdfFormat, type RdfOptions, readRdf } from './rdf.js';
export { readNodeData } from './registry.js';
export { readShchur, type ShchurOptions } from './shchur.js';
export type { TableFormat, TableQuery, TableSource } from './table-source.js';
export { readTorch } from './torch-file.js';
export { readTripleFiles } from './tsv.js';
