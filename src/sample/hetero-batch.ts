/**
 * A sampled neighbourhood with several kinds of nodes and edges. As in a `Batch`, nodes of each type are in the order of
 * hops with the seeds first, and the structures of all layers are prefixes of one per relation.
 */

import { findEdgeType } from '../graph/hetero-graph.js';
import {
  Adjacency,
  Block,
  type EdgeType,
  type EdgeTypeName,
  Graph,
  type LocalGraph,
} from '../graph/index.js';
import type { HopEdges } from './hop-runner.js';
import type { SamplingGraph } from './sampling-graph.js';

/** One layer: the edges of each relation between the rows of its node types. */
export interface HeteroBlock {
  readonly edgeTypes: readonly EdgeType[];
  /** Rows that come in and rows that are computed, by node type; the latter are the first of the former. */
  readonly numSrc: Readonly<Record<string, number>>;
  readonly numDst: Readonly<Record<string, number>>;
  /** By triple, 'src,relation,dst', or the relation's name where that is unambiguous. */
  relation(type: EdgeTypeName): LocalGraph;
  /** The triple that a name stands for. */
  canonical(type: EdgeTypeName): EdgeType;
}

export interface SampledRelation {
  readonly type: EdgeType;
  readonly graph: SamplingGraph;
  readonly edges: HopEdges;
}

export interface HeteroParts {
  readonly nodeIds: Readonly<Record<string, Int32Array>>;
  readonly seedRows: Readonly<Record<string, Int32Array>>;
  readonly nodesPerHop: Readonly<Record<string, readonly number[]>>;
  readonly relations: readonly SampledRelation[];
  readonly hops: number;
}

export class HeteroBatch {
  /** Global ids of the rows of each type, seeds first. */
  readonly nodeIds: Readonly<Record<string, Int32Array>>;
  /** The row of each seed as it was given. */
  readonly seedRows: Readonly<Record<string, Int32Array>>;
  /** How many rows of each type the seeds and each hop added. */
  readonly nodesPerHop: Readonly<Record<string, readonly number[]>>;
  readonly #parts: HeteroParts;
  #blocks: readonly HeteroBlock[] | null = null;

  /** @internal Made by HeteroNeighborSampler. */
  constructor(parts: HeteroParts) {
    this.nodeIds = parts.nodeIds;
    this.seedRows = parts.seedRows;
    this.nodesPerHop = parts.nodesPerHop;
    this.#parts = parts;
  }

  get numHops(): number {
    return this.#parts.hops;
  }

  /** The edge of the relation behind each of its sampled edges, by destination row. */
  edgeIds(type: EdgeTypeName): Int32Array {
    const { graph, edges } = find(this.#parts.relations, type);
    return graph.edgeIds(edges.slots);
  }

  /** One per layer, the outermost first. */
  get blocks(): readonly HeteroBlock[] {
    this.#blocks ??= Array.from({ length: this.numHops }, (_, i) => this.#layer(this.numHops - i));
    return this.#blocks;
  }

  /** Rows of a type within the first `hops` hops. */
  #rows(type: string, hops: number): number {
    return this.nodesPerHop[type].slice(0, hops + 1).reduce((a, b) => a + b, 0);
  }

  /** The block over the edges of the first `hops` hops. */
  #layer(hops: number): HeteroBlock {
    const counts = (upTo: number): Record<string, number> =>
      Object.fromEntries(Object.keys(this.nodesPerHop).map((type) => [type, this.#rows(type, upTo)]));
    const numSrc = counts(hops);
    const numDst = counts(hops - 1);
    const made = this.#parts.relations.map((sampled) => ({
      type: sampled.type,
      graph: this.#relation(sampled, numSrc[sampled.type[0]], numDst[sampled.type[2]]),
    }));
    return {
      edgeTypes: made.map(({ type }) => type),
      numSrc,
      numDst,
      relation: (type) => find(made, type).graph,
      canonical: (type) => find(made, type).type,
    };
  }

  #relation({ type, graph, edges }: SampledRelation, numSrc: number, numDst: number): LocalGraph {
    const offsets = edges.offsets.subarray(0, numDst + 1);
    const indices = edges.indices.subarray(0, offsets[numDst]);
    const slots = edges.slots.subarray(0, offsets[numDst]);
    const weights = graph.weightsOf(slots);
    if (type[0] !== type[2]) return new Graph(Adjacency.trusted(offsets, indices, numSrc), true, weights);
    return Block.trusted(offsets, indices, numSrc, {
      srcIds: this.nodeIds[type[0]].subarray(0, numSrc),
      parentEdgeIds: () => graph.edgeIds(slots),
      rowIds: () => graph.rowIds(slots),
      weights,
      parent: graph.graph,
    });
  }
}

function find<T extends { readonly type: EdgeType }>(list: readonly T[], type: EdgeTypeName): T {
  const types = list.map((each) => each.type);
  return list[types.indexOf(findEdgeType('HeteroBatch', types, type))];
}
