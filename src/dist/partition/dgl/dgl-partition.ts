/**
 * One partition of DGL's `partition_graph`: its graph without the halo, in global ids, with node and edge features. As
 * in SAR, an edge belongs to the partition of its destination and only inner edges are used; unlike SAR, edge features
 * are kept.
 */
import { dirname } from 'node:path';
import { readWholeFile } from '../../../storage/atomic-file.js';
import { inFile } from '../../../storage/safetensors-file.js';
import type { Tensor } from '../../../tensor/index.js';
import { FormatError } from '../../../util/errors.js';
import { checkContent } from '../check-content.js';
import { fileInDirectory, formatError, isObject, type Manifest } from '../manifest.js';
import type { IdRange, PartitionBook } from '../partition-book.js';
import { type PartitionContent, typeOfKey } from '../partition-content.js';
import { takeRows } from '../rows.js';
import { type DglArray, toFlags, toIds, toTensor } from './dgl-array.js';
import { DglBytes } from './dgl-bytes.js';
import { type DglGraph, readGraph, readTensorFile } from './dgl-graph.js';

export async function readDglPartition(manifest: Manifest, part: number): Promise<PartitionContent> {
  const { path, book } = manifest;
  const entry = manifest.json[`part-${part}`];
  if (!isObject(entry)) throw formatError(path, `part-${part}`, 'names of files', entry);
  if (entry['part_graph'] === undefined && entry['part_graph_graphbolt'] !== undefined)
    throw formatError(
      path,
      `part-${part}`,
      'part_graph',
      'part_graph_graphbolt, a PyTorch pickle',
      'Partition again without use_graphbolt.',
    );
  const open = async (key: string): Promise<DglBytes> => {
    const file = fileInDirectory(dirname(path), path, `part-${part}.${key}`, entry[key]);
    return new DglBytes(file, await readWholeFile(file));
  };
  const graphFile = await open('part_graph');
  const graph = readGraph(graphFile);
  const nodes = innerNodes(graphFile, graph, book, part);
  const edges = innerEdges(graphFile, graph, nodes.ids, book, part);
  const features = async (key: string, orders: readonly Int32Array[]): Promise<Record<string, Tensor>> => {
    if (entry[key] === undefined) return {};
    const file = await open(key);
    const names = key === 'node_feats' ? book.nodeTypeNames : book.edgeTypeNames;
    return readFeatures(file, names, orders);
  };
  const content: PartitionContent = {
    part,
    src: edges.src,
    dst: edges.dst,
    nodeFeatures: await features('node_feats', nodes.orders),
    edgeFeatures: await features('edge_feats', edges.orders),
    originalNodeIds: null,
    originalEdgeIds: null,
  };
  return inFile(graphFile.path, () => {
    checkContent(book, content);
    return content;
  });
}

interface InnerNodes {
  /** Global ids of all nodes in the file, including the halo. */
  readonly ids: Int32Array;
  /** By type: rows of the file in the order of global ids. */
  readonly orders: readonly Int32Array[];
}

function innerNodes(file: DglBytes, graph: DglGraph, book: PartitionBook, part: number): InnerNodes {
  const ids = toIds(requireArray(file, graph.nodeData, '_ID', 'nodes'), 'node ids', book.numNodes());
  const inner = innerFlags(graph.nodeData.get('inner_node'), graph.numNodes);
  const orders = rowOrders(
    file,
    'node',
    ids,
    inner,
    book.nodeRange(part),
    rangesOfPartition(book.nodeMap, part),
  );
  checkTypes(file, graph.nodeData.get('_TYPE'), { ids, inner, types: book.toTypeIds(ids).types }, 'node');
  return { ids, orders };
}

function innerEdges(
  file: DglBytes,
  graph: DglGraph,
  nodeIds: Int32Array,
  book: PartitionBook,
  part: number,
): { src: Int32Array; dst: Int32Array; orders: readonly Int32Array[] } {
  const inner = innerFlags(graph.edgeData.get('inner_edge'), graph.src.length);
  // Halo edges belong to other partitions; their ids are not checked.
  const ids = toIds(requireArray(file, graph.edgeData, '_ID', 'edges'), 'edge ids', book.numEdges(), inner);
  const range = book.edgeRange(part);
  const orders = rowOrders(file, 'edge', ids, inner, range, rangesOfPartition(book.edgeMap, part));
  if (ids.length > 0 && book.numEdges() > 0)
    checkTypes(
      file,
      graph.edgeData.get('_TYPE'),
      { ids, inner, types: book.toEdgeTypeIds(ids).types },
      'edge',
    );
  const src = new Int32Array(range.end - range.start);
  const dst = new Int32Array(range.end - range.start);
  for (let e = 0; e < ids.length; e++) {
    if (inner[e] === 0) continue;
    src[ids[e] - range.start] = nodeIds[graph.src[e]];
    dst[ids[e] - range.start] = nodeIds[graph.dst[e]];
  }
  return { src, dst, orders };
}

function rangesOfPartition(map: PartitionBook['nodeMap'], part: number): IdRange[] {
  return map.map((ranges) => ranges[part]);
}

function requireArray(
  file: DglBytes,
  data: ReadonlyMap<string, DglArray>,
  name: string,
  what: string,
): DglArray {
  const array = data.get(name);
  if (array !== undefined) return array;
  throw new FormatError(
    `${file.path}: expected data ${name} of ${what}, got ${[...data.keys()].join(', ') || 'none'}. Use the graph file of a partition.`,
    { path: file.path },
  );
}

/** Returns the inner flags; a graph of a single partition may lack them. */
function innerFlags(array: DglArray | undefined, count: number): Uint8Array {
  return array === undefined ? new Uint8Array(count).fill(1) : toFlags(array, 'inner flags');
}

/**
 * Files list the rows of a type in the order of local ids; returns them in the order of global ids. The inner nodes or
 * edges must be exactly those of the partition.
 */
function rowOrders(
  file: DglBytes,
  what: string,
  ids: Int32Array,
  inner: Uint8Array,
  range: IdRange,
  types: readonly IdRange[],
): Int32Array[] {
  // The position of each id among the inner ones of its type, + 1.
  const rows = new Int32Array(range.end - range.start);
  const typeOf = new Int32Array(range.end - range.start);
  types.forEach(({ start, end }, t) => {
    typeOf.fill(t, start - range.start, end - range.start);
  });
  const next = new Int32Array(types.length);
  let count = 0;
  const mismatch = (got: string): FormatError =>
    new FormatError(
      `${file.path}: expected inner ${what}s ${range.start} to ${range.end - 1}, each once, got ${got}. Use the JSON that was written with these files.`,
      { path: file.path },
    );
  for (let i = 0; i < ids.length; i++) {
    if (inner[i] === 0) continue;
    const row = ids[i] - range.start;
    if (row < 0 || row >= rows.length) throw mismatch(`${what} ${ids[i]}`);
    if (rows[row] > 0) throw mismatch(`${what} ${ids[i]} again`);
    rows[row] = ++next[typeOf[row]];
    count++;
  }
  if (count !== rows.length) throw mismatch(`${count} of them`);
  return types.map(({ start, end }) => rows.slice(start - range.start, end - range.start).map((r) => r - 1));
}

/** Throws if the types of inner nodes or edges in the file differ from those of the ranges. */
function checkTypes(
  file: DglBytes,
  stated: DglArray | undefined,
  known: { readonly ids: Int32Array; readonly inner: Uint8Array; readonly types: Int32Array },
  what: string,
): void {
  if (stated === undefined) return;
  const { ids, inner, types } = known;
  const found = toIds(stated, `${what} types`, 2 ** 31, inner);
  const wrong = found.findIndex((type, i) => inner[i] === 1 && type !== types[i]);
  if (wrong < 0) return;
  const at = stated.offset + (wrong * stated.bits) / 8;
  throw file.bad(at, `type ${types[wrong]} of ${what} ${ids[wrong]}, according to the JSON`, found[wrong]);
}

function readFeatures(
  file: DglBytes,
  types: readonly string[],
  orders: readonly Int32Array[],
): Record<string, Tensor> {
  const features: Record<string, Tensor> = {};
  for (const [name, array] of readTensorFile(file)) {
    // DGL stores relation types as a feature for its own bookkeeping.
    if (name.includes('reltype')) continue;
    const key = fullKey(file, name, types);
    const order = orders[types.indexOf(typeOfKey(key))];
    if (array.shape.length === 0 || array.shape[0] !== order.length)
      throw file.bad(array.offset, `${order.length} rows of ${name}`, `shape [${array.shape.join(', ')}]`);
    if (Object.hasOwn(features, key)) throw file.bad(array.offset, `${key} once`, name);
    const rows = toTensor(array, name);
    const sorted = order.every((row, i) => row === i);
    features[key] = sorted ? rows : takeRows(rows, order);
    if (!sorted) rows.dispose();
  }
  return features;
}

/** Returns 'type/name' for keys that lack the type, or name only the relation. */
function fullKey(file: DglBytes, name: string, types: readonly string[]): string {
  if (types.includes(typeOfKey(name))) return name;
  if (!name.includes('/') && types.length === 1) return `${types[0]}/${name}`;
  const relation = typeOfKey(name);
  const found = types.filter((type) => type.split(':')[1] === relation);
  if (found.length === 1) return found[0] + name.slice(relation.length);
  throw new FormatError(
    `${file.path}: expected one of ${types.join(', ')} before '/' in the name of a feature, got ${JSON.stringify(name)}.`,
    { path: file.path },
  );
}
