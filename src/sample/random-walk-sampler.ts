/**
 * Random walks: uniform, with restarts, or of second order as in node2vec (Grover and Leskovec, KDD 2016), where the
 * next node is weighted 1/p if it is the previous one, 1 if it is a neighbour of the previous one, 1/q otherwise.
 *
 * Second-order steps are drawn by rejection: at most 255 attempts, which matters only for extreme p and q.
 *
 * @example
 * const walks = new RandomWalkSampler(graph, { length: 20, walks: 10, p: 0.5, q: 2 }).sample(seeds, { epoch: 1, step: 0 });
 * walks.walk(0, 3); // nodes of walk 3 from the first seed
 */
import type { Graph } from '../graph/index.js';
import { asyncKernels, type KernelArguments, kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { allocateProduct, checkOneType, checkOptions } from './checks.js';
import { DrawKeys, purposes, type Sampler, type SampleTime, wordThreshold } from './sampler.js';
import { type Direction, SamplingGraph } from './sampling-graph.js';

export interface RandomWalkSamplerOptions {
  /** Number of steps of a walk. */
  readonly length: number;
  /** Walks from each seed (default 1). */
  readonly walks?: number;
  /** Probability that a step returns to the seed. */
  readonly restart?: number;
  /** Return and in-out parameters of node2vec (default 1). */
  readonly p?: number;
  readonly q?: number;
  /** Walk along edges (default 'out'), against them, or both. */
  readonly direction?: Direction;
  readonly seed?: number;
}

export class Walks {
  /** [seeds, walks, length + 1]; −1 after a node without further edges. */
  readonly nodes: Int32Array;
  readonly numSeeds: number;
  readonly walksPerSeed: number;
  readonly length: number;

  /** @internal */
  constructor(nodes: Int32Array, numSeeds: number, walksPerSeed: number, length: number) {
    this.nodes = nodes;
    this.numSeeds = numSeeds;
    this.walksPerSeed = walksPerSeed;
    this.length = length;
  }

  /** Returns the nodes of one walk, the seed first; shorter if it ended early. */
  walk(seed: number, walk = 0): Int32Array {
    checkInteger('Walks.walk', 'seed', seed, 0, this.numSeeds - 1);
    checkInteger('Walks.walk', 'walk', walk, 0, this.walksPerSeed - 1);
    const start = (seed * this.walksPerSeed + walk) * (this.length + 1);
    const nodes = this.nodes.subarray(start, start + this.length + 1);
    const end = nodes.indexOf(-1);
    return end < 0 ? nodes : nodes.subarray(0, end);
  }
}

const name = 'RandomWalkSampler';

export class RandomWalkSampler implements Sampler<Ids, Walks> {
  readonly #graph: SamplingGraph;
  readonly #sorted: Int32Array | null = null;
  readonly #length: number;
  readonly #walks: number;
  readonly #restart: number;
  /** Thresholds of the random word for accepting a candidate: the previous node, its neighbours, the rest. */
  readonly #thresholds: readonly [number, number, number];
  readonly #keys: DrawKeys;

  constructor(graph: Graph, options: RandomWalkSamplerOptions) {
    checkOptionNames('RandomWalkSampler', options, {
      length: true,
      walks: true,
      restart: true,
      p: true,
      q: true,
      direction: true,
      seed: true,
    });
    checkOneType(name, graph);
    checkOptions(name, options);
    this.#length = checkInteger(name, 'length', options.length, 0, 2 ** 24 - 1);
    this.#walks = checkInteger(name, 'walks', options.walks ?? 1, 1, 2 ** 31 - 1);
    this.#restart = wordThreshold(checkNumber(name, 'restart', options.restart ?? 0, 0, 1));
    const [p, q] = [checkPositive('p', options.p ?? 1), checkPositive('q', options.q ?? 1)];
    const most = Math.max(1 / p, 1, 1 / q);
    const chance = (weight: number) => Math.floor((weight / most) * (2 ** 32 - 1));
    this.#thresholds = [chance(1 / p), chance(1), chance(1 / q)];
    this.#graph = new SamplingGraph(name, graph, options.direction ?? 'out');
    if (p !== 1 || q !== 1) {
      const { offsets, indices, numNodes } = this.#graph;
      this.#sorted = new Int32Array(indices.length);
      kernels().sortRows(offsets, indices, this.#sorted, numNodes);
    }
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.walks);
  }

  sample(seeds: Ids, at?: SampleTime): Walks {
    const call = this.#call(seeds, at);
    kernels().randomWalk(call);
    return this.#finish(call);
  }

  async sampleAsync(seeds: Ids, at?: SampleTime): Promise<Walks> {
    const call = this.#call(seeds, at);
    await asyncKernels.randomWalk(call);
    return this.#finish(call);
  }

  #call(seeds: Ids, at: SampleTime | undefined): KernelArguments<'randomWalk'> {
    const { offsets, indices, numNodes } = this.#graph;
    const starts = checkIds(name, 'seeds', seeds, numNodes).slice();
    const { key, step } = this.#keys.at(at);
    const out = allocateProduct(name, {
      seeds: starts.length,
      walks: this.#walks,
      '(length + 1)': this.#length + 1,
    });
    const [back, near, far] = this.#thresholds;
    return {
      offsets,
      indices,
      sorted: this.#sorted,
      starts,
      count: starts.length,
      walks: this.#walks,
      length: this.#length,
      restart: this.#restart,
      back,
      near,
      far,
      key,
      step,
      out,
    };
  }

  #finish({ out, count }: KernelArguments<'randomWalk'>): Walks {
    return new Walks(out, count, this.#walks, this.#length);
  }
}

function checkPositive(what: string, value: number): number {
  checkNumber(name, what, value, 0);
  if (value === 0) throw new ValueError(expected(name, 'a number above 0', what, value));
  return value;
}
