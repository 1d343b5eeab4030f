/**
 * The results of `loadDataset`, by kind: graphs with classified nodes, facts, entities of an RDF graph, events in time.
 */
import { Graph, SparseMatrix } from '../graph/index.js';
import { fromTypedArray, type Tensor } from '../tensor/index.js';
import type { EntityData } from './formats/entity-classification.js';
import type { NodeData, NodeSplits } from './node-data.js';
import type { EventNodes } from './temporal/event-nodes.js';

/** A graph whose nodes have features and classes. */
export interface NodeDataset {
  readonly kind: 'nodes';
  readonly name: string;
  readonly graph: Graph;
  /** [nodes, features]; sparse if the files are. Data without features get one column per node. */
  readonly features: Tensor | SparseMatrix;
  /** Class of each node; −1 if unknown. */
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** null if the data have no fixed split; see `randomNodeSplit`. */
  readonly splits: NodeSplits | null;
  readonly classNames?: readonly string[];
}

/** Facts of one split, by number. */
export interface FactArrays {
  readonly src: Int32Array;
  readonly rel: Int32Array;
  readonly dst: Int32Array;
}

/** A knowledge graph, split for link prediction. Names are numbered in order of appearance over train, valid, test. */
export interface KnowledgeDataset {
  readonly kind: 'facts';
  readonly name: string;
  readonly entities: readonly string[];
  readonly relations: readonly string[];
  readonly train: FactArrays;
  readonly valid: FactArrays;
  readonly test: FactArrays;
}

/** An RDF graph with some classified entities. */
export interface EntityDataset extends EntityData {
  readonly kind: 'entities';
  readonly name: string;
}

/** Events src[i] → dst[i] at time[i], in order of time. */
export interface TemporalDataset {
  readonly kind: 'events';
  readonly name: string;
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
  readonly time: Float64Array;
  /** Type of each event as an index into `typeNames`; null if there is one type only. */
  readonly type: Int32Array | null;
  readonly typeNames: readonly string[] | null;
  /** Ids in the file; null if they are the node number, or the node number + 1. */
  readonly names: readonly string[] | null;
  /** Mapping between the node ids of the file and node numbers. */
  readonly nodes: EventNodes;
  /** In bipartite data, nodes below this number are sources and the others destinations; null otherwise. */
  readonly numSources: number | null;
  /** [events · featureWidth], row by row; null if the files have none. */
  readonly features: Float32Array | null;
  readonly featureWidth: number;
  /** Label of each event; null if the files have none. */
  readonly labels: Float32Array | null;
}

export type Dataset = NodeDataset | KnowledgeDataset | EntityDataset | TemporalDataset;

/** Builds the graph and the feature matrix from the result of a reader. */
export function makeNodeDataset(name: string, data: NodeData): NodeDataset {
  const { numNodes, src, dst } = data.edges;
  return {
    kind: 'nodes',
    name,
    graph: Graph.fromEdges(src, dst, { numNodes }),
    features: makeFeatures(data.features, numNodes),
    labels: data.labels,
    numClasses: data.numClasses,
    splits: data.splits,
    ...(data.classNames === undefined ? {} : { classNames: data.classNames }),
  };
}

function makeFeatures(features: NodeData['features'], numNodes: number): Tensor | SparseMatrix {
  if (features === null) {
    const offsets = Int32Array.from({ length: numNodes + 1 }, (_, i) => i);
    return SparseMatrix.fromCsr(offsets, offsets.slice(0, numNodes), null, [numNodes, numNodes]);
  }
  if (!('indices' in features)) return fromTypedArray(features.values, features.shape);
  return SparseMatrix.fromCsr(features.offsets, features.indices, features.values, features.shape);
}
