/**
 * A worker's partition of a heterogeneous graph: one distributed graph per edge type; they share the data of their node
 * types. Layers for heterogeneous graphs take it in place of a `HeteroGraph`.
 *
 * Counts and ids are this worker's; those named `Global` refer to the whole graph.
 */

import { withFramesRestored } from '../../graph/frame.js';
import { findEdgeType, multiUpdateAll } from '../../graph/hetero-graph.js';
import type {
  EdgeType,
  EdgeTypeName,
  Frame,
  Message,
  Reduce,
  ReduceName,
  UserMessage,
} from '../../graph/index.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import type { PartitionBook } from '../partition/partition-book.js';
import type { NodeRange } from '../partition/partition-data.js';
import type { DistributedBlock } from './distributed-block.js';
import type { DistributedGraph } from './distributed-graph.js';
import type { GraphShardManager } from './graph-shard-manager.js';
import type { Traffic } from './row-link.js';

/** Nodes on one side, by type. */
interface TypedNodes {
  /** Global ids in row order. */
  readonly ids: Readonly<Record<string, Int32Array>>;
  readonly frames: Readonly<Record<string, Frame>>;
}

interface HeteroComponents<G> {
  readonly relations: readonly (readonly [EdgeType, G])[];
  readonly src: TypedNodes;
  /** Identical to `src` if sources and destinations are the same nodes. */
  readonly dst: TypedNodes;
  readonly partitionBook: PartitionBook;
  readonly nodeRanges: readonly NodeRange[];
}

export class HeteroDistributedGraph<G extends DistributedGraph = DistributedGraph> {
  readonly nodeTypes: readonly string[];
  readonly edgeTypes: readonly EdgeType[];
  readonly partitionBook: PartitionBook;
  readonly nodeRanges: readonly NodeRange[];
  protected readonly parts: HeteroComponents<G>;
  readonly #relations: ReadonlyMap<string, G>;

  /** @internal Use `constructHeteroGraph` or `constructHeteroMfgs`. */
  constructor(parts: HeteroComponents<G>) {
    this.parts = parts;
    this.nodeTypes = Object.keys(parts.src.ids);
    this.edgeTypes = parts.relations.map(([type]) => type);
    this.partitionBook = parts.partitionBook;
    this.nodeRanges = parts.nodeRanges;
    this.#relations = new Map(parts.relations.map(([type, graph]) => [type.join(), graph]));
  }

  /** Edge types as triples. */
  get canonicalEtypes(): readonly EdgeType[] {
    return this.edgeTypes;
  }

  /** Returns the edges of one type, as a graph whose frames are those of its node types. */
  relation(type: EdgeTypeName): G {
    return this.#relations.get(this.canonical(type).join()) as G;
  }

  /** Returns the triple of a name. */
  canonical(type: EdgeTypeName): EdgeType {
    return findEdgeType(this.constructor.name, this.edgeTypes, type);
  }

  /** Returns the data of a node type, if sources and destinations are the same nodes. */
  nodes(type: string): Frame {
    if (this.parts.src.frames[this.#checkNodeType(type)] === this.parts.dst.frames[type])
      return this.parts.src.frames[type];
    throw new StateError(
      'nodes: expected the same sources and destinations, got different ones. Use srcNodes and dstNodes.',
    );
  }

  srcNodes(type: string): Frame {
    return this.parts.src.frames[this.#checkNodeType(type)];
  }

  dstNodes(type: string): Frame {
    return this.parts.dst.frames[this.#checkNodeType(type)];
  }

  /** Global ids of the sources of a type, in row order. */
  inputNodes(type: string): Int32Array {
    return this.parts.src.ids[this.#checkNodeType(type)];
  }

  /** Global ids of the destinations of a type, in row order. */
  seeds(type: string): Int32Array {
    return this.parts.dst.ids[this.#checkNodeType(type)];
  }

  /** Returns the number of sources, of a type or of all. */
  numSrcNodes(type?: string): number {
    return this.#count(this.parts.src, type);
  }

  numDstNodes(type?: string): number {
    return this.#count(this.parts.dst, type);
  }

  numNodes(type?: string): number {
    for (const each of type === undefined ? this.nodeTypes : [type]) this.nodes(each);
    return this.#count(this.parts.src, type);
  }

  numEdges(type?: EdgeTypeName): number {
    if (type !== undefined) return this.relation(type).numEdges;
    return this.edgeTypes.reduce((sum, each) => sum + this.relation(each).numEdges, 0);
  }

  /** Returns the number of nodes of all workers. */
  numNodesGlobal(type?: string): number {
    return this.partitionBook.numNodes(type);
  }

  numEdgesGlobal(type?: EdgeTypeName): number {
    return this.partitionBook.numEdges(type === undefined ? undefined : this.canonical(type).join(':'));
  }

  /** Runs `fn`; fields set inside are removed afterwards. */
  localScope<T>(fn: () => T): T {
    const { src, dst } = this.parts;
    const frames = new Set([...Object.values(src.frames), ...Object.values(dst.frames)]);
    for (const type of this.edgeTypes) frames.add(this.relation(type).edata);
    return withFramesRestored([...frames], fn);
  }

  /** @see HeteroGraph.multiUpdateAll */
  multiUpdateAll(
    steps: Readonly<Record<string, readonly [Message | UserMessage, Reduce]>>,
    across: ReduceName = 'sum',
  ): void {
    multiUpdateAll(this, steps, across);
  }

  /** Joins the edges of several types into one node type to one graph; sources are those of each type in turn. */
  joinRelations(types: readonly EdgeTypeName[]): G {
    const [first, ...others] = types.map((type) => this.relation(type));
    return first.joinedWith(others);
  }

  to(device: string): this {
    for (const type of this.edgeTypes) this.relation(type).to(device);
    return this;
  }

  traffic(): Traffic {
    return this.relation(this.edgeTypes[0]).traffic();
  }

  toString(): string {
    const nodes = this.nodeTypes.map(
      (type) => `${type} ${this.numSrcNodes(type)} → ${this.numDstNodes(type)}`,
    );
    const edges = this.edgeTypes.map((type) => `${type.join()} ${this.numEdges(type)}`);
    return `${this.constructor.name}(nodes: ${nodes.join(', ')}; edges: ${edges.join(', ')})`;
  }

  #count({ ids }: TypedNodes, type?: string): number {
    if (type !== undefined) return ids[this.#checkNodeType(type)].length;
    return Object.values(ids).reduce((sum, list) => sum + list.length, 0);
  }

  #checkNodeType(type: string): string {
    if (Object.hasOwn(this.parts.src.ids, type)) return type;
    const known = `Known: ${this.nodeTypes.join(', ')}.`;
    throw new ValueError(expected(this.constructor.name, 'a known node type', 'the node type', type, known));
  }
}

export class HeteroGraphShardManager extends HeteroDistributedGraph<GraphShardManager> {
  /** Returns a graph with one block per edge type, which fetches all rows in one exchange. */
  getFullPartitionGraph(deleteShardData = true): HeteroDistributedGraph<DistributedBlock> {
    const relations = this.parts.relations.map(
      ([type, graph]) => [type, graph.getFullPartitionGraph(deleteShardData)] as const,
    );
    return new HeteroDistributedGraph<DistributedBlock>({ ...this.parts, relations });
  }
}
