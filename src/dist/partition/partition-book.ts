/**
 * The location of every node and edge of a partitioned graph. Global ids are numbered partition by partition, and
 * within a partition type by type, so a few ranges describe them (DGL's `node_map` and `edge_map`).
 *
 * The book refers to the partitions of the files. Workers take consecutive partitions: `workerParts` returns which, and
 * `workerNodes` the resulting range of ids. Its memory does not grow with the graph.
 */
import { type Ids, Tensor } from '../../tensor/index.js';
import { evenRange } from '../../util/arrays.js';
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { IdSegments } from './id-segments.js';

/** Ids start … end − 1. */
export interface IdRange {
  readonly start: number;
  readonly end: number;
}

export interface PartitionBookOptions {
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  /** By type, then by partition. */
  readonly nodeMap: readonly (readonly IdRange[])[];
  readonly edgeMap: readonly (readonly IdRange[])[];
}

/** Ids within their types, and the types as indices into the list of names. */
export interface TypeIds {
  readonly types: Int32Array;
  readonly ids: Int32Array;
}

export class PartitionBook {
  readonly numParts: number;
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  /** By type, then by partition. */
  readonly nodeMap: readonly (readonly IdRange[])[];
  readonly edgeMap: readonly (readonly IdRange[])[];
  readonly #nodes: IdSegments;
  readonly #edges: IdSegments;

  constructor(options: PartitionBookOptions) {
    checkOptionNames('PartitionBook', options, {
      nodeTypeNames: true,
      edgeTypeNames: true,
      nodeMap: true,
      edgeMap: true,
    });
    const { nodeTypeNames, edgeTypeNames, nodeMap, edgeMap } = options;
    this.numParts = checkInteger('PartitionBook', 'the number of partitions', nodeMap[0]?.length, 1);
    this.nodeTypeNames = nodeTypeNames;
    this.edgeTypeNames = edgeTypeNames;
    this.#nodes = new IdSegments('nodeMap', nodeMap, nodeTypeNames, this.numParts);
    this.#edges = new IdSegments('edgeMap', edgeMap, edgeTypeNames, this.numParts);
    this.nodeMap = this.#nodes.ranges;
    this.edgeMap = this.#edges.ranges;
  }

  /** Returns the number of nodes of a type, or of all. */
  numNodes(type?: string): number {
    return this.#nodes.count(type === undefined ? undefined : this.nodeType(type));
  }

  numEdges(type?: string): number {
    return this.#edges.count(type === undefined ? undefined : this.edgeType(type));
  }

  /** Returns the partition of each node. */
  partOf(ids: Ids): Int32Array {
    return this.#nodes.partOf('PartitionBook.partOf', asArray(ids));
  }

  /** Returns the partition of each edge: that of its destination. */
  partOfEdges(ids: Ids): Int32Array {
    return this.#edges.partOf('PartitionBook.partOfEdges', asArray(ids));
  }

  /** Returns the global ids of nodes of one type. */
  toGlobal(type: string, ids: Ids): Int32Array {
    return this.#nodes.toGlobal('PartitionBook.toGlobal', this.nodeType(type), asArray(ids));
  }

  /** Returns the types of nodes, and their ids within them. */
  toTypeIds(ids: Ids): TypeIds {
    return this.#nodes.toTypeIds('PartitionBook.toTypeIds', asArray(ids));
  }

  toGlobalEdges(type: string, ids: Ids): Int32Array {
    return this.#edges.toGlobal('PartitionBook.toGlobalEdges', this.edgeType(type), asArray(ids));
  }

  toEdgeTypeIds(ids: Ids): TypeIds {
    return this.#edges.toTypeIds('PartitionBook.toEdgeTypeIds', asArray(ids));
  }

  /** Returns the index of a node type in `nodeTypeNames`. */
  nodeType(name: string): number {
    return indexOfName('a node type', this.nodeTypeNames, name);
  }

  /** Returns the index of an edge type in `edgeTypeNames`. */
  edgeType(name: string): number {
    return indexOfName('an edge type', this.edgeTypeNames, name);
  }

  /** Returns the nodes of partitions first … last − 1 (of one by default). */
  nodeRange(first: number, last = first + 1): IdRange {
    return this.#nodes.rangeOf(first, last);
  }

  edgeRange(first: number, last = first + 1): IdRange {
    return this.#edges.rangeOf(first, last);
  }

  /** Returns the partitions of a worker: consecutive ones, whose number differs by at most one between workers. */
  workerParts(worker: number, workers: number): IdRange {
    const where = 'PartitionBook.workerParts';
    checkInteger(where, 'workers', workers, 1);
    checkInteger(where, 'worker', worker, 0, workers - 1);
    if (workers > this.numParts)
      throw new ValueError(
        expected(
          where,
          `at most ${this.numParts} workers, as many as there are partitions,`,
          'workers',
          workers,
          'Start fewer workers or partition the graph into more partitions.',
        ),
      );
    return evenRange(this.numParts, worker, workers);
  }

  /** Returns the nodes of a worker. */
  workerNodes(worker: number, workers: number): IdRange {
    const { start, end } = this.workerParts(worker, workers);
    return this.nodeRange(start, end);
  }

  workerEdges(worker: number, workers: number): IdRange {
    const { start, end } = this.workerParts(worker, workers);
    return this.edgeRange(start, end);
  }
}

function asArray(ids: Ids): ArrayLike<number> {
  return ids instanceof Tensor ? ids.dataSync() : ids;
}

function indexOfName(what: string, names: readonly string[], name: string): number {
  const index = names.indexOf(name);
  if (index >= 0) return index;
  throw new ValueError(expected('PartitionBook', `one of ${names.join(', ')}`, what, name));
}
