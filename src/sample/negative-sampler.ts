/**
 * Unconnected nodes for training on edges: random endpoints for given nodes, uniform or partly by degree, optionally
 * never an endpoint of a true edge.
 *
 * Negative j of position i depends on (seed, epoch, step, i, j), so equal nodes in one batch get different negatives.
 */
import type { Graph } from '../graph/index.js';
import { asyncKernels, type KernelArguments, kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { allocateProduct, checkFlag, checkOneType, checkOptions } from './checks.js';
import { DrawKeys, purposes, type Sampler, type SampleTime, wordThreshold } from './sampler.js';
import { SamplingGraph } from './sampling-graph.js';

export interface NegativeSamplerOptions {
  /** Negatives per node (default 1). */
  readonly count?: number;
  /** The endpoint to replace: 'dst' (default) draws destinations for given sources, 'src' the reverse. */
  readonly corrupt?: 'dst' | 'src';
  /** The fraction that is drawn in proportion to degree: as an endpoint of a random edge. */
  readonly degreeFraction?: number;
  /** Never return a node that is connected to the given one. */
  readonly filter?: boolean;
  readonly seed?: number;
}

const name = 'NegativeSampler';
const sharedTag = 1;

export class NegativeSampler implements Sampler<Ids, Int32Array> {
  /** Negatives per node. */
  readonly count: number;
  readonly #graph: SamplingGraph;
  readonly #sorted: Int32Array | null = null;
  readonly #byDegree: number;
  readonly #keys: DrawKeys;

  constructor(graph: Graph, options: NegativeSamplerOptions = {}) {
    checkOptionNames('NegativeSampler', options, {
      count: true,
      corrupt: true,
      degreeFraction: true,
      filter: true,
      seed: true,
    });
    checkOptions(name, options);
    this.count = checkInteger(name, 'count', options.count ?? 1, 0, 2 ** 24 - 1);
    const fraction = checkNumber(name, 'degreeFraction', options.degreeFraction ?? 0, 0, 1);
    const corrupt = options.corrupt ?? 'dst';
    if (corrupt !== 'dst' && corrupt !== 'src')
      throw new ValueError(expected(name, "'dst' or 'src'", 'corrupt', corrupt));
    checkOneType(name, graph);
    this.#graph = new SamplingGraph(name, graph, corrupt === 'dst' ? 'out' : 'in');
    const { offsets, indices, numNodes } = this.#graph;
    this.#byDegree = indices.length === 0 ? 0 : wordThreshold(fraction);
    if (checkFlag(name, 'filter', options.filter, false)) {
      this.#sorted = new Int32Array(indices.length);
      kernels().sortRows(offsets, indices, this.#sorted, numNodes);
    }
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.negatives);
  }

  /** Returns negatives of each node: [nodes, count]. */
  sample(nodes: Ids, at?: SampleTime): Int32Array {
    const call = this.#call(nodes, at);
    kernels().sampleNegatives(call);
    return checkFound(call);
  }

  async sampleAsync(nodes: Ids, at?: SampleTime): Promise<Int32Array> {
    const call = this.#call(nodes, at);
    await asyncKernels.sampleNegatives(call);
    return checkFound(call);
  }

  /** Returns negatives that all edges of a chunk share, unfiltered: [chunks, count]. */
  sampleShared(chunks: number, count: number, at?: SampleTime): Int32Array {
    checkInteger(name, 'chunks', chunks, 0, 2 ** 31 - 1);
    checkInteger(name, 'count', count, 0, 2 ** 24 - 1);
    const { indices, numNodes } = this.#graph;
    if (numNodes === 0 && chunks * count > 0) throw new ValueError(expected(name, 'nodes', 'graph', 'none'));
    const { key, step } = this.#keys.at(at);
    const out = allocateProduct(name, { chunks, count });
    if (out.length === 0) return out;
    kernels().sampleNegatives({
      offsets: null,
      sorted: null,
      population: indices,
      populationSize: indices.length,
      nodes: new Int32Array(chunks),
      count: chunks,
      perNode: count,
      byDegree: this.#byDegree,
      numNodes,
      key,
      step,
      tag: sharedTag,
      out,
    });
    return out;
  }

  #call(nodes: Ids, at: SampleTime | undefined): KernelArguments<'sampleNegatives'> {
    const { offsets, indices, numNodes } = this.#graph;
    const ids = checkIds(name, 'nodes', nodes, numNodes).slice();
    const { key, step } = this.#keys.at(at);
    const out = allocateProduct(name, { nodes: ids.length, count: this.count });
    return {
      offsets,
      sorted: this.#sorted,
      population: indices,
      populationSize: indices.length,
      nodes: ids,
      count: ids.length,
      perNode: this.count,
      byDegree: this.#byDegree,
      numNodes,
      key,
      step,
      tag: 0,
      out,
    };
  }
}

function checkFound({ nodes, perNode, out }: KernelArguments<'sampleNegatives'>): Int32Array {
  const missing = out.indexOf(-1);
  if (missing < 0) return out;
  const node = nodes[Math.floor(missing / perNode)];
  throw new ValueError(
    `${name}: expected a node that is not connected to node ${node}, got one that is connected to all. Use filter: false.`,
  );
}
