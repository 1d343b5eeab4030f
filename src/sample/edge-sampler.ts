/**
 * Batches for training on edges: given edges, negatives for them, and the sampled neighbourhood of all their endpoints.
 *
 * The edges to be predicted are removed from the sampled neighbourhood, because a model that sees them learns to look
 * them up. They are removed after sampling, so a node may have fewer neighbours than its fan-out.
 *
 * @example
 * const sampler = new EdgeSampler(graph, { fanouts: [10, 5], negatives: { count: 4 }, exclude: 'reverse', seed: 1 });
 * const { batch, src, dst, negatives } = sampler.sample(edgeIds, { step: 0 });
 * // h = encoder(batch): score h[src] with h[dst], and h[negatives.src] with h[negatives.dst]
 */
import type { Graph } from '../graph/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import type { Batch } from './batch.js';
import { checkOneType, checkOptions } from './checks.js';
import { NegativeSampler, type NegativeSamplerOptions } from './negative-sampler.js';
import { NeighborSampler, type NeighborSamplerOptions } from './neighbor-sampler.js';
import type { Sampler, SampleTime } from './sampler.js';

const exclusions = ['self', 'reverse', 'none'] as const;

export interface EdgeSamplerOptions extends Omit<NeighborSamplerOptions, 'disjoint'> {
  readonly negatives?: Omit<NegativeSamplerOptions, 'seed'>;
  /**
   * Edges removed from the neighbourhood: the given edges and others between the same two nodes in that direction
   * ('self', default), in both directions ('reverse'), or none ('none').
   */
  readonly exclude?: (typeof exclusions)[number];
}

/** Edge ids of the graph, or pairs of nodes that need not be edges. */
export type EdgeSeeds = Ids | { readonly src: Ids; readonly dst: Ids };

/** Pairs as rows of the batch. */
export interface RowPairs {
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

export interface EdgeSample extends RowPairs {
  /** The neighbourhood of all endpoints. */
  readonly batch: Batch;
  /** `count` negatives for each edge, in the order of the edges; empty without negatives. */
  readonly negatives: RowPairs;
}

interface Pairs {
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

const name = 'EdgeSampler';

export class EdgeSampler implements Sampler<EdgeSeeds, EdgeSample> {
  readonly #edges: Pairs;
  readonly #numNodes: number;
  readonly #neighbors: NeighborSampler;
  readonly #negatives: NegativeSampler | null;
  readonly #corrupt: 'dst' | 'src';
  readonly #exclude: (typeof exclusions)[number];

  constructor(graph: Graph, options: EdgeSamplerOptions) {
    checkOptionNames('EdgeSampler', options, {
      fanouts: true,
      replace: true,
      direction: true,
      weights: true,
      strategy: true,
      rate: true,
      seed: true,
      negatives: true,
      exclude: true,
    });
    checkOneType(name, graph);
    const { negatives, exclude, ...neighbors } = checkOptions(name, options);
    if (negatives !== undefined) checkOptions(name, negatives, 'negatives');
    this.#exclude = exclude ?? 'self';
    if (!exclusions.includes(this.#exclude))
      throw new ValueError(expected(name, exclusions.join(', '), 'exclude', exclude));
    this.#neighbors = new NeighborSampler(graph, neighbors);
    const seed = options.seed ?? 0;
    this.#negatives = negatives === undefined ? null : new NegativeSampler(graph, { ...negatives, seed });
    this.#corrupt = negatives?.corrupt ?? 'dst';
    this.#edges = graph.edges();
    this.#numNodes = graph.numNodes;
  }

  sample(seeds: EdgeSeeds, at?: SampleTime): EdgeSample {
    const pairs = this.#pairs(seeds);
    const drawn = this.#negatives?.sample(pairs[this.#fixedEnd()], at) ?? new Int32Array(0);
    return this.#finish(pairs, drawn, this.#neighbors.sample(collectEndpoints(pairs, drawn), at));
  }

  async sampleAsync(seeds: EdgeSeeds, at?: SampleTime): Promise<EdgeSample> {
    const pairs = this.#pairs(seeds);
    const drawn = (await this.#negatives?.sampleAsync(pairs[this.#fixedEnd()], at)) ?? new Int32Array(0);
    return this.#finish(pairs, drawn, await this.#neighbors.sampleAsync(collectEndpoints(pairs, drawn), at));
  }

  /** The endpoint that negatives keep. */
  #fixedEnd(): 'src' | 'dst' {
    return this.#corrupt === 'dst' ? 'src' : 'dst';
  }

  #pairs(seeds: EdgeSeeds): Pairs {
    if (typeof seeds !== 'object' || seeds === null)
      throw new ValueError(expected(name, 'edge ids or { src, dst }', 'seeds', seeds));
    if ('src' in seeds && 'dst' in seeds) {
      const src = checkIds(name, 'src', seeds.src, this.#numNodes).slice();
      const dst = checkIds(name, 'dst', seeds.dst, this.#numNodes).slice();
      if (src.length !== dst.length)
        throw new ShapeError(expected(name, `${src.length} ids (as src)`, 'dst', dst.length));
      return { src, dst };
    }
    const ids = checkIds(name, 'edge ids', seeds, this.#edges.src.length);
    return { src: ids.map((id) => this.#edges.src[id]), dst: ids.map((id) => this.#edges.dst[id]) };
  }

  #finish(pairs: Pairs, drawn: Int32Array, batch: Batch): EdgeSample {
    const n = pairs.src.length;
    const rows = batch.seedRows;
    const src = rows.slice(0, n);
    const dst = rows.slice(n, 2 * n);
    const corrupted = rows.slice(2 * n);
    const perEdge = n === 0 ? 0 : drawn.length / n;
    const own = this.#corrupt === 'dst' ? src : dst;
    const kept = corrupted.map((_, i) => own[Math.floor(i / perEdge)]);
    const negatives = this.#corrupt === 'dst' ? { src: kept, dst: corrupted } : { src: corrupted, dst: kept };
    return { batch: this.#removeTargets(batch, { src, dst }), src, dst, negatives };
  }

  /** Removes the edges to be predicted; messages may run along edges or against them, so both orders are looked up. */
  #removeTargets(batch: Batch, { src, dst }: RowPairs): Batch {
    if (this.#exclude === 'none') return batch;
    const ids = batch.nodeIds;
    const hidden = new Map<number, Set<number>>();
    const hide = (u: number, v: number): void => {
      const others = hidden.get(u);
      if (others === undefined) hidden.set(u, new Set([v]));
      else others.add(v);
    };
    for (let i = 0; i < src.length; i++) {
      hide(ids[src[i]], ids[dst[i]]);
      if (this.#exclude === 'reverse') hide(ids[dst[i]], ids[src[i]]);
    }
    const { edgeIds } = batch;
    const edges = this.#edges;
    return batch.filterEdges((e) => hidden.get(edges.src[edgeIds[e]])?.has(edges.dst[edgeIds[e]]) !== true);
  }
}

/** Returns all endpoints as seeds: sources, destinations, negatives. */
function collectEndpoints(pairs: Pairs, drawn: Int32Array): Int32Array {
  const n = pairs.src.length;
  const all = new Int32Array(2 * n + drawn.length);
  all.set(pairs.src);
  all.set(pairs.dst, n);
  all.set(drawn, 2 * n);
  return all;
}
