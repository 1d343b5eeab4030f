/**
 * A sampled neighbourhood with several node and edge types. As in a `Batch`, nodes of each type are in the order of
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
  /** Number of input rows and of computed rows, by node type; the computed ones are the first of the input rows. */
  readonly numSrc: Readonly<Record<string, number>>;
  readonly numDst: Readonly<Record<string, number>>;
  /** Returns a relation by triple, 'src,relation,dst', or the relation's name if it is unambiguous. */
  relation(type: EdgeTypeName): LocalGraph;
  /** Returns the triple of a name. */
  canonical(type: EdgeTypeName): EdgeType;
}

export interface SampledRelation {
  readonly type: EdgeType;
  readonly graph: SamplingGraph;
  readonly edges: HopEdges;
}

export interface HeteroBatchArrays {
  readonly nodeIds: Readonly<Record<string, Int32Array>>;
  readonly seedRows: Readonly<Record<string, Int32Array>>;
  readonly nodesPerHop: Readonly<Record<string, readonly number[]>>;
  readonly relations: readonly SampledRelation[];
  readonly hops: number;
}

export class HeteroBatch {
  /** Global ids of the rows of each type, seeds first. */
  readonly nodeIds: Readonly<Record<string, Int32Array>>;
  /** The row of each given seed. */
  readonly seedRows: Readonly<Record<string, Int32Array>>;
  /** Number of rows of each type that the seeds and each hop added. */
  readonly nodesPerHop: Readonly<Record<string, readonly number[]>>;
  readonly #arrays: HeteroBatchArrays;
  #blocks: readonly HeteroBlock[] | null = null;

  /** @internal Created by HeteroNeighborSampler. */
  constructor(arrays: HeteroBatchArrays) {
    this.nodeIds = arrays.nodeIds;
    this.seedRows = arrays.seedRows;
    this.nodesPerHop = arrays.nodesPerHop;
    this.#arrays = arrays;
  }

  get numHops(): number {
    return this.#arrays.hops;
  }

  /** Returns the edge of the relation for each of its sampled edges, by destination row. */
  edgeIds(type: EdgeTypeName): Int32Array {
    const { graph, edges } = find(this.#arrays.relations, type);
    return graph.edgeIds(edges.slots);
  }

  /** One per layer, the outermost first. */
  get blocks(): readonly HeteroBlock[] {
    this.#blocks ??= Array.from({ length: this.numHops }, (_, i) => this.#layer(this.numHops - i));
    return this.#blocks;
  }

  /** Returns the number of rows of a type within the first `hops` hops. */
  #rows(type: string, hops: number): number {
    return this.nodesPerHop[type].slice(0, hops + 1).reduce((a, b) => a + b, 0);
  }

  /** Returns the block over the edges of the first `hops` hops. */
  #layer(hops: number): HeteroBlock {
    const counts = (upTo: number): Record<string, number> =>
      Object.fromEntries(Object.keys(this.nodesPerHop).map((type) => [type, this.#rows(type, upTo)]));
    const numSrc = counts(hops);
    const numDst = counts(hops - 1);
    const made = this.#arrays.relations.map((sampled) => ({
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
