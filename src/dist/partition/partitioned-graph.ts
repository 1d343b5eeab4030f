/**
 * A partitioned graph in memory: new ids, the maps between them and the original ones, and the data of each worker.
 *
 * New ids are numbered partition by partition, by type within each, by original id within each type; an edge belongs to
 * the partition of its destination. Nothing is copied until a partition is requested.
 *
 * @example
 * const partition = partitionGraph(graph, { parts: 4 });
 * const split = partitionData(graph, partition, { nodeFeatures: { features, labels } });
 * const own = split.forWorker(comm.rank, comm.size);
 */
import { type Graph, HeteroGraph, SparseMatrix } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import { fromTypedArray, Tensor } from '../../tensor/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { type FlatGraph, flattenGraph } from './flat-graph.js';
import { type GraphPartitionStats, measurePartition } from './measure-partition.js';
import { type IdRange, PartitionBook } from './partition-book.js';
import { joinPartitions, type PartitionContent } from './partition-content.js';
import type { PartitionData } from './partition-data.js';
import { takeRows } from './rows.js';

/** One row per node or edge; sparse matrices become dense partition by partition. */
export type FeatureRows = Tensor | SparseMatrix;

export interface PartitionDataOptions {
  /** 'name' on a graph of one type, 'type/name' on others; in addition to the fields of the graph. */
  readonly nodeFeatures?: Readonly<Record<string, FeatureRows>>;
  /** 'name', or 'src:relation:dst/name'. Edge weights become the field 'weight'. */
  readonly edgeFeatures?: Readonly<Record<string, FeatureRows>>;
  /** The number of partitions, if the last ones are empty and `parts` is a bare list. */
  readonly parts?: number;
}

/** Partitions a graph by `parts`: the partition of every node, those of one type after those of the other. */
export function partitionData(
  graph: Graph | HeteroGraph,
  parts: Int32Array | { readonly parts: Int32Array; readonly numParts: number },
  options: PartitionDataOptions = {},
): PartitionedGraph {
  checkOptionNames('partitionData', options, { nodeFeatures: true, edgeFeatures: true, parts: true });
  const flat = flattenGraph('partitionData', graph);
  const list = parts instanceof Int32Array ? parts : parts.parts;
  if (list.length !== flat.numNodes)
    throw new ShapeError(expected('partitionData', `${flat.numNodes} parts`, 'parts', list.length));
  const most = list.reduce((max, part) => Math.max(max, part), 0) + 1;
  const numParts = checkInteger(
    'partitionData',
    'the number of partitions',
    options.parts ?? (parts instanceof Int32Array ? most : parts.numParts),
    most,
  );
  list.forEach((part, v) => {
    if (part < 0) throw new ValueError(expected('partitionData', 'parts from 0', 'parts', `${part} at ${v}`));
  });
  const { nodes, edges } = graphFields(graph, flat);
  return new PartitionedGraph(
    flat,
    list,
    numParts,
    checkFields(flat.nodeTypeNames, flat.nodeOffsets, { ...nodes, ...options.nodeFeatures }),
    checkFields(flat.edgeTypeNames, flat.edgeOffsets, { ...edges, ...options.edgeFeatures }),
  );
}

export class PartitionedGraph {
  readonly book: PartitionBook;
  readonly numParts: number;
  /** The original id of every node, within its type, by new id. */
  readonly originalNodeIds: Int32Array;
  readonly originalEdgeIds: Int32Array;
  readonly #graph: FlatGraph;
  readonly #parts: Int32Array;
  /** New ids by index in the flat graph. */
  readonly #newNodes: Int32Array;
  readonly #newEdges: Int32Array;
  /** Indices in the flat graph by new edge id. */
  readonly #edgeOrder: Int32Array;
  readonly #nodeFeatures: Readonly<Record<string, FeatureRows>>;
  readonly #edgeFeatures: Readonly<Record<string, FeatureRows>>;

  /** @internal Use `partitionData`. */
  constructor(
    graph: FlatGraph,
    parts: Int32Array,
    numParts: number,
    nodeFeatures: Readonly<Record<string, FeatureRows>>,
    edgeFeatures: Readonly<Record<string, FeatureRows>>,
  ) {
    this.#graph = graph;
    this.#parts = parts;
    this.numParts = numParts;
    const { nodeTypeNames, edgeTypeNames, nodeOffsets, edgeOffsets, dst } = graph;
    const nodes = numberByPartition(parts, nodeOffsets, numParts);
    const edges = numberByPartition(
      dst.map((v) => parts[v]),
      edgeOffsets,
      numParts,
    );
    this.book = new PartitionBook({ nodeTypeNames, edgeTypeNames, nodeMap: nodes.map, edgeMap: edges.map });
    this.#newNodes = invert(nodes.order);
    this.#newEdges = invert(edges.order);
    this.#edgeOrder = edges.order;
    this.originalNodeIds = toTypeIds(nodes.order, nodes.map, nodeOffsets);
    this.originalEdgeIds = toTypeIds(edges.order, edges.map, edgeOffsets);
    this.#nodeFeatures = nodeFeatures;
    this.#edgeFeatures = edgeFeatures;
  }

  /** Returns the new id of every node of a type, by original id. */
  globalNodeIds(type = this.book.nodeTypeNames[0]): Int32Array {
    const t = this.book.nodeType(type);
    return this.#newNodes.subarray(this.#graph.nodeOffsets[t], this.#graph.nodeOffsets[t + 1]);
  }

  /** Returns the new id of every edge of a type, by original id. */
  globalEdgeIds(type = this.book.edgeTypeNames[0]): Int32Array {
    const t = this.book.edgeType(type);
    return this.#newEdges.subarray(this.#graph.edgeOffsets[t], this.#graph.edgeOffsets[t + 1]);
  }

  /** Returns the cost and the balance of the partitioning. */
  stats(): GraphPartitionStats {
    return measurePartition(this.#graph, this.#parts, this.numParts);
  }

  /** Returns the data of worker `rank` of `workers`; as many workers as partitions by default. */
  forWorker(rank: number, workers = this.numParts): PartitionData {
    const { start, end } = this.book.workerParts(rank, workers);
    const contents = Array.from({ length: end - start }, (_, i) => this.content(start + i));
    return joinPartitions(this.book, contents, { rank, workers });
  }

  /** Returns the data of every worker. */
  forWorkers(workers = this.numParts): PartitionData[] {
    return Array.from({ length: workers }, (_, rank) => this.forWorker(rank, workers));
  }

  /** Returns one partition. @internal */
  content(part: number): PartitionContent {
    const { book } = this;
    const nodes = book.nodeRange(part);
    const edges = book.edgeRange(part);
    const order = this.#edgeOrder.subarray(edges.start, edges.end);
    const { src, dst } = this.#graph;
    return {
      part,
      src: order.map((e) => this.#newNodes[src[e]]),
      dst: order.map((e) => this.#newNodes[dst[e]]),
      nodeFeatures: rowsOf(this.#nodeFeatures, book.nodeTypeNames, book.nodeMap, part, this.originalNodeIds),
      edgeFeatures: rowsOf(this.#edgeFeatures, book.edgeTypeNames, book.edgeMap, part, this.originalEdgeIds),
      originalNodeIds: this.originalNodeIds.slice(nodes.start, nodes.end),
      originalEdgeIds: this.originalEdgeIds.slice(edges.start, edges.end),
    };
  }
}

/** Sorts nodes or edges by (partition, type, index); `offsets` are the first index of each type. */
function numberByPartition(
  parts: Int32Array,
  offsets: Int32Array,
  numParts: number,
): { order: Int32Array; map: IdRange[][] } {
  const types = offsets.length - 1;
  const keys = new Int32Array(parts.length);
  for (let t = 0; t < types; t++)
    for (let i = offsets[t]; i < offsets[t + 1]; i++) keys[i] = parts[i] * types + t;
  const starts = new Int32Array(numParts * types + 1);
  const order = new Int32Array(parts.length);
  kernels().groupByKey(keys, starts, order, keys.length, numParts * types);
  const map = Array.from({ length: types }, (_, t) =>
    Array.from({ length: numParts }, (_, p) => ({
      start: starts[p * types + t],
      end: starts[p * types + t + 1],
    })),
  );
  return { order, map };
}

function invert(order: Int32Array): Int32Array {
  const positions = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) positions[order[i]] = i;
  return positions;
}

function toTypeIds(order: Int32Array, map: readonly (readonly IdRange[])[], offsets: Int32Array): Int32Array {
  const ids = order.slice();
  map.forEach((ranges, type) => {
    if (offsets[type] === 0) return;
    for (const { start, end } of ranges) for (let i = start; i < end; i++) ids[i] -= offsets[type];
  });
  return ids;
}

function rowsOf(
  features: Readonly<Record<string, FeatureRows>>,
  types: readonly string[],
  map: readonly (readonly IdRange[])[],
  part: number,
  originalIds: Int32Array,
): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(features).map(([key, values]) => {
      const { start, end } = map[types.findIndex((type) => key.startsWith(`${type}/`))][part];
      const ids = originalIds.subarray(start, end);
      const rows = values instanceof Tensor ? takeRows(values, ids) : values.gatherRows(ids).toDense();
      return [key, rows];
    }),
  );
}

/** Returns the fields of the graph itself, and the weights of its edges. */
function graphFields(
  graph: Graph | HeteroGraph,
  { nodeTypeNames, edgeTypeNames }: FlatGraph,
): { nodes: Record<string, Tensor>; edges: Record<string, Tensor> } {
  const nodes: Record<string, Tensor> = {};
  const edges: Record<string, Tensor> = {};
  const hetero = graph instanceof HeteroGraph;
  for (const type of nodeTypeNames) {
    const frame = hetero ? graph.nodes(type) : graph.ndata;
    for (const [name, value] of Object.entries(frame)) nodes[`${type}/${name}`] = value;
  }
  edgeTypeNames.forEach((type, r) => {
    const relation = hetero ? graph.relation(graph.edgeTypes[r]) : graph;
    for (const [name, value] of Object.entries(relation.edata)) edges[`${type}/${name}`] = value;
    const weight = relation.edgeWeight;
    if (weight !== null) edges[`${type}/weight`] ??= fromTypedArray(weight.slice());
  });
  return { nodes, edges };
}

/** Checks and completes names 'type/name' of fields, which have one row per node or edge of the type. */
function checkFields(
  types: readonly string[],
  offsets: Int32Array,
  fields: Readonly<Record<string, FeatureRows>>,
): Record<string, FeatureRows> {
  return Object.fromEntries(
    Object.entries(fields).map(([given, value]) => {
      const key = types.length === 1 && !given.startsWith(`${types[0]}/`) ? `${types[0]}/${given}` : given;
      const type = types.findIndex((name) => key.startsWith(`${name}/`));
      if (type < 0)
        throw new ValueError(
          expected('partitionData', `a name that begins with ${types.join('/, ')}/`, 'a field', given),
        );
      const rows = value instanceof SparseMatrix ? value.rows : value.shape[0];
      const count = offsets[type + 1] - offsets[type];
      if (rows !== count)
        throw new ShapeError(expected('partitionData', `${count} rows`, `the field ${key}`, rows));
      return [key, value];
    }),
  );
}
