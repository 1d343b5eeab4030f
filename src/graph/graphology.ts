/**
 * Exchange with graphology (https://graphology.github.io), whose graphs are known by their methods alone: programs need no
 * types of that package, and a graph of any version works.
 */
import { fromTypedArray, Tensor } from '../tensor/index.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Graph } from './graph.js';

/** Attributes of a node or an edge. */
type Attributes = Record<string, unknown>;

/** The part of a graphology graph that is read: attributes, and the ends of edges. */
export interface GraphologyGraph {
  readonly order: number;
  readonly size: number;
  forEachNode(visit: (node: string, attributes: Attributes) => void): void;
  forEachEdge(
    visit: (
      edge: string,
      attributes: Attributes,
      source: string,
      target: string,
      sourceAttributes: Attributes,
      targetAttributes: Attributes,
      undirected: boolean,
    ) => void,
  ): void;
}

/** The part of a graphology graph that is written. */
export interface GraphologyTarget {
  readonly multi: boolean;
  mergeNode(node: string, attributes?: Attributes): unknown;
  addEdge(source: string, target: string, attributes?: Attributes): unknown;
  mergeEdge(source: string, target: string, attributes?: Attributes): unknown;
}

/** Whether a value is a graphology graph, or has the methods of one that are used here. */
export function isGraphology(value: unknown): value is GraphologyGraph {
  const graph = value as Partial<GraphologyGraph> | null;
  return (
    typeof graph === 'object' &&
    typeof graph?.forEachNode === 'function' &&
    typeof graph.forEachEdge === 'function'
  );
}

export interface FromGraphologyOptions {
  /** Node attributes that are features, in this order: numbers, booleans, or lists of numbers. Default: none. */
  readonly features?: readonly string[];
  /** Node attribute that is the class; nodes may be without it. */
  readonly label?: string;
  /** Edge attribute that is the weight. */
  readonly weight?: string;
}

/** A graphology graph with numbers for its nodes and edges. */
export interface GraphologyData {
  /** Node i is `names[i]`. An undirected edge is two edges, one in each direction. */
  readonly graph: Graph;
  /** Key of each node. */
  readonly names: readonly string[];
  /** Key of each edge of `graph`. */
  readonly edgeNames: readonly string[];
  /** [nodes, width]; null without the option. */
  readonly features: Tensor | null;
  /** Class of each node as an index into `classNames`, −1 for none; null without the option. */
  readonly labels: Int32Array | null;
  /** Classes in order of first appearance. */
  readonly classNames: readonly string[] | null;
}

const from = 'fromGraphology';

/**
 * Numbers the nodes and edges of a graphology graph, in its order.
 *
 * @example
 * const { graph, features, labels, names } = fromGraphology(network, { features: ['age', 'active'], label: 'team' });
 */
export function fromGraphology(
  network: GraphologyGraph,
  options: FromGraphologyOptions = {},
): GraphologyData {
  checkOptionNames(from, options, { features: true, label: true, weight: true });
  if (!isGraphology(network)) throw new ValueError(expected(from, 'a graphology graph', 'network', network));
  const ids = new Map<string, number>();
  const attributes: Attributes[] = [];
  network.forEachNode((node, values) => {
    ids.set(node, attributes.push(values) - 1);
  });
  const names = [...ids.keys()];
  const edges = readEdges(network, ids, options.weight);
  const { src, dst, weight } = edges;
  const graph = Graph.fromEdges(src, dst, {
    numNodes: names.length,
    ...(options.weight === undefined ? {} : { edgeWeight: weight }),
  });
  const { label, features } = options;
  return {
    ...{ graph, names, edgeNames: edges.names },
    features: features === undefined ? null : readFeatures(names, attributes, features),
    ...(label === undefined ? { labels: null, classNames: null } : readClasses(attributes, label)),
  };
}

function readEdges(
  network: GraphologyGraph,
  ids: ReadonlyMap<string, number>,
  weightName: string | undefined,
): { src: number[]; dst: number[]; weight: number[]; names: string[] } {
  const [src, dst, weight]: number[][] = [[], [], []];
  const names: string[] = [];
  network.forEachEdge((edge, values, source, target, _source, _target, undirected) => {
    const [s, t] = [ids.get(source), ids.get(target)] as [number, number];
    const value = weightName === undefined ? 1 : values[weightName];
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new ValueError(expected(from, 'a finite number', `${weightName} of the edge ${edge}`, value));
    for (const [a, b] of undirected && s !== t
      ? [
          [s, t],
          [t, s],
        ]
      : [[s, t]]) {
      src.push(a);
      dst.push(b);
      weight.push(value);
      names.push(edge);
    }
  });
  return { src, dst, weight, names };
}

function readFeatures(
  names: readonly string[],
  attributes: readonly Attributes[],
  features: readonly string[],
): Tensor {
  const rows = attributes.map((values, i) =>
    features.flatMap((name) => {
      const value = values[name];
      const list =
        Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as number[]) : [value];
      const wrong = list.find((one) => typeof one !== 'boolean' && !Number.isFinite(one));
      if (wrong !== undefined || value === undefined)
        throw new ValueError(
          expected(from, 'finite numbers or booleans', `${name} of the node ${names[i]}`, value),
        );
      return list.map(Number);
    }),
  );
  const width = rows[0]?.length ?? features.length;
  const other = rows.findIndex((row) => row.length !== width);
  if (other >= 0)
    throw new ShapeError(
      `${from}: expected ${width} features, as the first node has, for ${names[other]}, got ${rows[other].length}.`,
    );
  return fromTypedArray(Float32Array.from(rows.flat()), [names.length, width]);
}

function readClasses(
  attributes: readonly Attributes[],
  label: string,
): Pick<GraphologyData, 'labels' | 'classNames'> {
  const classes = new Map<string, number>();
  const labels = Int32Array.from(attributes, (values) => {
    const value = values[label];
    if (value === undefined || value === null || value === '') return -1;
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw new ValueError(expected(from, 'text, a number or a boolean', label, value));
    const name = String(value);
    const known = classes.get(name) ?? classes.size;
    classes.set(name, known);
    return known;
  });
  return { labels, classNames: [...classes.keys()] };
}

/** One value per node or edge: a tensor [n] or [n, width], a typed array, or a list; undefined and null set nothing. */
export type AttributeValues = Tensor | ArrayLike<unknown>;

export interface ToGraphologySource {
  /** Edges to add. Default: none; attributes are written to the nodes alone. */
  readonly graph?: Graph;
  /** Key of each node. Default: its number. */
  readonly names?: readonly string[];
  /** Values of node attributes, by their name: embeddings, classes, scores. */
  readonly attributes?: Readonly<Record<string, AttributeValues>>;
  /** Values of edge attributes, in the order of the edges of `graph`. */
  readonly edgeAttributes?: Readonly<Record<string, AttributeValues>>;
}

const to = 'toGraphology';

/**
 * Writes nodes, edges and attributes into a graphology graph, and returns it. Nodes that exist are kept, and get the
 * attributes. Unless the graph is a multigraph, edges between the same nodes become one.
 *
 * @example
 * toGraphology(network, { names, attributes: { embedding: vectors, team: predicted } });
 */
export function toGraphology<T extends GraphologyTarget>(network: T, source: ToGraphologySource): T {
  checkOptionNames(to, source, { graph: true, names: true, attributes: true, edgeAttributes: true });
  if (typeof network?.mergeNode !== 'function' || typeof network.addEdge !== 'function')
    throw new ValueError(expected(to, 'a graphology graph', 'network', network));
  const { graph, attributes = {}, edgeAttributes = {} } = source;
  if (graph === undefined && Object.keys(edgeAttributes).length > 0)
    throw new ValueError(expected(to, 'a graph with edgeAttributes', 'graph', graph));
  const count = source.names?.length ?? graph?.numNodes;
  if (count === undefined)
    throw new ValueError(expected(to, 'names or a graph', 'source', Object.keys(source)));
  if (graph !== undefined && graph.numNodes !== count)
    throw new ShapeError(`${to}: expected ${graph.numNodes} names, as the graph has nodes, got ${count}.`);
  const names = source.names ?? Array.from({ length: count }, (_, i) => String(i));
  // Everything is checked before the first change.
  const nodeRow = rowReader(attributes, 'attributes', count);
  const edges = graph?.edges();
  const edgeRow = rowReader(edgeAttributes, 'edgeAttributes', edges?.src.length ?? 0);
  for (const [i, name] of names.entries()) network.mergeNode(name, nodeRow(i));
  edges?.src.forEach((s, i) => {
    const [head, tail] = [names[s], names[edges.dst[i]]];
    if (network.multi) network.addEdge(head, tail, edgeRow(i));
    else network.mergeEdge(head, tail, edgeRow(i));
  });
  return network;
}

/** Returns a function from a row to its attributes. */
function rowReader(
  values: Readonly<Record<string, AttributeValues>>,
  what: string,
  count: number,
): (row: number) => Attributes {
  const readers = Object.entries(values).map(([name, column]) => {
    const rows = column instanceof Tensor ? column.shape[0] : column?.length;
    if (rows !== count || (column instanceof Tensor && column.shape.length > 2))
      throw new ShapeError(
        `${to}: expected ${count} values for ${what}.${name}, got ${column instanceof Tensor ? `the shape [${column.shape.join(', ')}]` : rows}.`,
      );
    return [name, column instanceof Tensor ? tensorRows(column) : (row: number) => column[row]] as const;
  });
  return (row) =>
    Object.fromEntries(
      readers
        .map(([name, read]) => [name, read(row)])
        .filter(([, value]) => value !== undefined && value !== null),
    );
}

function tensorRows(tensor: Tensor): (row: number) => unknown {
  const data = tensor.toArray() as unknown[];
  return (row) => data[row];
}
