/**
 * A graph with several kinds of nodes and edges. An edge type is a triple (source type, relation, destination type);
 * its edges are a `Graph`, and relations share the frames of their node types.
 *
 * @example
 * const g = HeteroGraph.fromEdges(
 *   { author: 10, paper: 20 },
 *   { 'author,writes,paper': [src, dst], 'paper,cites,paper': [a, b] },
 * );
 * g.nodes('author').h = x;
 * g.relation('writes').updateAll(fn.copyU('h', 'm'), fn.mean('m', 'h'));
 */
import { add, type Ids, maximum, minimum, mul, type Tensor } from '../tensor/index.js';
import { concatInt32 } from '../util/arrays.js';
import { checkInteger, expected, ValueError } from '../util/errors.js';
import type { Message, Reduce, ReduceName, UserMessage } from './fn.js';
import { type Frame, makeFrame, withFramesRestored } from './frame.js';
import { Graph, type GraphOptions } from './graph.js';
import type { MessageGraph } from './message-graph.js';

/** Source type, relation, destination type. */
export type EdgeType = readonly [string, string, string];

/** An edge type as a triple, as 'src,relation,dst', or by its relation where that is unambiguous. */
export type EdgeTypeName = EdgeType | string;

export interface HomogeneousGraph {
  readonly graph: Graph;
  /** The type of each node, as an index in `nodeTypes`; nodes of one type are consecutive. */
  readonly nodeType: Int32Array;
  /** The relation of each edge, as an index in `edgeTypes`. */
  readonly edgeType: Int32Array;
  /** The id of the first node of each type. */
  readonly nodeOffsets: Readonly<Record<string, number>>;
}

export class HeteroGraph {
  readonly nodeTypes: readonly string[];
  readonly edgeTypes: readonly EdgeType[];
  readonly #counts: ReadonlyMap<string, number>;
  readonly #frames = new Map<string, Frame>();
  readonly #relations = new Map<string, Graph>();

  private constructor(counts: ReadonlyMap<string, number>, edges: readonly (readonly [EdgeType, Graph])[]) {
    this.#counts = counts;
    this.nodeTypes = [...counts.keys()];
    this.edgeTypes = edges.map(([type]) => type);
    for (const [type, nodes] of counts) this.#frames.set(type, makeFrame(`nodes('${type}')`, nodes));
    for (const [type, graph] of edges) {
      const frames = { src: this.nodes(type[0]), dst: this.nodes(type[2]) };
      const bipartite = type[0] !== type[2];
      const weights = graph.positionWeights('f32')?.dataSync<Float32Array>() ?? null;
      this.#relations.set(type.join(), new Graph(graph.adjacency, bipartite, weights, frames));
    }
  }

  /** Makes a graph from the number of nodes of each type and the edge lists of each triple. */
  static fromEdges(
    numNodes: Readonly<Record<string, number>>,
    edges: Readonly<Record<string, readonly [Ids, Ids] | { src: Ids; dst: Ids; edgeWeight?: Float32Array }>>,
  ): HeteroGraph {
    const where = 'HeteroGraph.fromEdges';
    const counts = new Map<string, number>();
    for (const [type, count] of Object.entries(numNodes)) {
      if (type === '' || type.includes(','))
        throw new ValueError(expected(where, 'names without commas', 'node types', type));
      counts.set(type, checkInteger(where, `numNodes.${type}`, count, 0, 2 ** 31 - 1));
    }
    const relations = Object.entries(edges).map(([name, list]) => {
      const type = parseTriple(where, name, counts);
      const { src, dst, edgeWeight } = 'src' in list ? list : { src: list[0], dst: list[1] };
      const [numSrc, numDst] = [counts.get(type[0]) as number, counts.get(type[2]) as number];
      const sides: GraphOptions = type[0] === type[2] ? { numNodes: numSrc } : { numSrc, numDst };
      const graph = Graph.fromEdges(src, dst, edgeWeight === undefined ? sides : { ...sides, edgeWeight });
      return [type, graph] as const;
    });
    return new HeteroGraph(counts, relations);
  }

  numNodes(type?: string): number {
    if (type === undefined) return [...this.#counts.values()].reduce((sum, n) => sum + n, 0);
    return this.#counts.get(this.#checkType(type)) as number;
  }

  numEdges(type?: EdgeTypeName): number {
    if (type !== undefined) return this.relation(type).numEdges;
    return this.edgeTypes.reduce((sum, each) => sum + this.relation(each).numEdges, 0);
  }

  /** Returns the data of one node type. */
  nodes(type: string): Frame {
    return this.#frames.get(this.#checkType(type)) as Frame;
  }

  /** Returns the edges of one type, as a graph with the frames of its node types. */
  relation(type: EdgeTypeName): Graph {
    return this.#relations.get(this.canonical(type).join()) as Graph;
  }

  /** Returns the triple of an edge type's name. */
  canonical(type: EdgeTypeName): EdgeType {
    return findEdgeType('HeteroGraph', this.edgeTypes, type);
  }

  #checkType(type: string): string {
    if (this.#counts.has(type)) return type;
    const known = this.nodeTypes.join(', ');
    throw new ValueError(
      expected('HeteroGraph', 'a known node type', 'the node type', type, `Known: ${known}.`),
    );
  }

  /** Runs `fn` and then removes the fields that it set. */
  localScope<T>(fn: () => T): T {
    const edgeFrames = this.edgeTypes.map((type) => this.relation(type).edata);
    return withFramesRestored([...this.#frames.values(), ...edgeFrames], fn);
  }

  /**
   * Passes messages along each relation; the results of several relations into one node type are combined by `across`.
   * Every reduction must set the same field for the relations that share a destination type.
   */
  multiUpdateAll(
    steps: Readonly<Record<string, readonly [Message | UserMessage, Reduce]>>,
    across: ReduceName = 'sum',
  ): void {
    multiUpdateAll(this, steps, across);
  }

  /** Returns the number of nodes of a type; all of them can be sources and destinations. */
  numSrcNodes(type: string): number {
    return this.numNodes(type);
  }

  numDstNodes(type: string): number {
    return this.numNodes(type);
  }

  /**
   * Joins the edges of several types into one node type in one graph, whose sources are those of each type in turn.
   * Edge ids follow each other in the same order.
   */
  joinRelations(types: readonly EdgeTypeName[]): Graph {
    const src: Int32Array[] = [];
    const dst: Int32Array[] = [];
    let sources = 0;
    for (const type of types) {
      const edges = this.relation(type).edges();
      const start = sources;
      src.push(edges.src.map((node) => node + start));
      dst.push(edges.dst);
      sources += this.numNodes(this.canonical(type)[0]);
    }
    const sides = { numSrc: sources, numDst: this.numNodes(this.canonical(types[0])[2]) };
    return Graph.fromEdges(concatInt32(src), concatInt32(dst), sides);
  }

  /** Adds the relation `rev_<name>` in the other direction for every edge type. */
  withReverseRelations(prefix = 'rev_'): HeteroGraph {
    const relations: [EdgeType, Graph][] = this.edgeTypes.map((type) => [type, this.relation(type)]);
    for (const [src, name, dst] of this.edgeTypes) {
      const graph = this.relation([src, name, dst]);
      const edges = graph.edges();
      const sides: GraphOptions =
        src === dst
          ? { numNodes: this.numNodes(src) }
          : { numSrc: this.numNodes(dst), numDst: this.numNodes(src) };
      const weight = graph.edgeWeight;
      const options = weight === null ? sides : { ...sides, edgeWeight: weight };
      relations.push([[dst, `${prefix}${name}`, src], Graph.fromEdges(edges.dst, edges.src, options)]);
    }
    return new HeteroGraph(this.#counts, relations);
  }

  /** Returns one graph of all nodes and edges, with their types. */
  toHomogeneous(): HomogeneousGraph {
    const offsets: Record<string, number> = Object.create(null);
    let nodes = 0;
    for (const [type, count] of this.#counts) {
      offsets[type] = nodes;
      nodes += count;
    }
    const nodeType = new Int32Array(nodes);
    this.nodeTypes.forEach((type, i) => {
      nodeType.fill(i, offsets[type], offsets[type] + this.numNodes(type));
    });
    const total = this.numEdges();
    const src = new Int32Array(total);
    const dst = new Int32Array(total);
    const edgeType = new Int32Array(total);
    let at = 0;
    this.edgeTypes.forEach((type, r) => {
      const edges = this.relation(type).edges();
      for (let i = 0; i < edges.src.length; i++, at++) {
        src[at] = edges.src[i] + offsets[type[0]];
        dst[at] = edges.dst[i] + offsets[type[2]];
        edgeType[at] = r;
      }
    });
    const graph = Graph.fromEdges(src, dst, { numNodes: nodes });
    return { graph, nodeType, edgeType, nodeOffsets: offsets };
  }
}

/** Graphs by edge type whose results are combined per node type. */
export interface Relations {
  canonical(type: EdgeTypeName): EdgeType;
  relation(type: EdgeTypeName): MessageGraph;
}

/** @see HeteroGraph.multiUpdateAll */
export function multiUpdateAll(
  graph: Relations,
  steps: Readonly<Record<string, readonly [Message | UserMessage, Reduce]>>,
  across: ReduceName,
): void {
  const results = new Map<string, { into: Frame; field: string; tensors: Tensor[] }>();
  for (const [name, [message, reduce]] of Object.entries(steps)) {
    const type = graph.canonical(name);
    const relation = graph.relation(type);
    const result = relation.localScope(() => {
      relation.updateAll(message, reduce);
      return relation.dstdata[reduce.out];
    });
    const key = `${type[2]}\n${reduce.out}`;
    const entry = results.get(key) ?? { into: relation.dstdata, field: reduce.out, tensors: [] };
    entry.tensors.push(result);
    results.set(key, entry);
  }
  for (const { into, field, tensors } of results.values()) into[field] = combine(tensors, across);
}

/** Returns the edge type that a triple or the name of a relation denotes. */
export function findEdgeType(where: string, types: readonly EdgeType[], type: EdgeTypeName): EdgeType {
  const name = typeof type === 'string' ? type : type.join();
  const whole = name.split(',').length === 3;
  const found = types.filter((each) => (whole ? each.join() === name : each[1] === name));
  if (found.length === 1) return found[0];
  const known = types.map((each) => each.join()).join(' | ');
  const what = found.length === 0 ? 'a known edge type' : 'an unambiguous edge type (give the whole triple)';
  throw new ValueError(expected(where, what, 'the edge type', name, `Known: ${known}.`));
}

function parseTriple(where: string, name: string, counts: ReadonlyMap<string, number>): EdgeType {
  const parts = name.split(',');
  if (parts.length !== 3 || parts.some((part) => part === ''))
    throw new ValueError(expected(where, "'source type,relation,destination type'", 'an edge type', name));
  const [src, relation, dst] = parts;
  for (const type of [src, dst]) {
    if (!counts.has(type))
      throw new ValueError(
        expected(where, `node types of numNodes (${[...counts.keys()].join(', ')})`, name, type),
      );
  }
  return [src, relation, dst];
}

function combine(tensors: readonly Tensor[], across: ReduceName): Tensor {
  const join = { sum: add, mean: add, max: maximum, min: minimum }[across];
  if (join === undefined)
    throw new ValueError(expected('multiUpdateAll', 'sum, mean, max or min', 'across', across));
  const total = tensors.reduce((a, b) => join(a, b));
  return across === 'mean' ? mul(total, 1 / tensors.length) : total;
}
