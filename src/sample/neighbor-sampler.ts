/**
 * Neighbour sampling over several hops (Hamilton, Ying, Leskovec: "Inductive representation learning on large graphs",
 * NeurIPS 2017), each node drawing once per batch.
 *
 * @example
 * const sampler = new NeighborSampler(graph, { fanouts: [15, 10, 5], seed: 1 });
 * const batch = sampler.sample(seeds, { epoch: 0, step: 3 });
 * let h = gatherRows(x, batch.nodeIds);
 * for (const [i, block] of batch.blocks.entries()) h = layers[i].forward(block, h);
 * // h: [batch.numSeeds, classes]
 */
import type { Graph } from '../graph/index.js';
import { asyncKernels, kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkNumber, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { Batch } from './batch.js';
import { checkFlag, checkOneType, checkOptions } from './checks.js';
import { type HopSettings, NeighborWorkspace } from './neighbor-workspace.js';
import { DrawKeys, purposes, type Sampler, type SampleTime, wordThreshold } from './sampler.js';
import { type Direction, type SampleWeights, SamplingGraph } from './sampling-graph.js';

export const strategies = ['uniform', 'dropout'] as const;

export interface NeighborSamplerOptions {
  /** Neighbours per node and hop, the hop next to the seeds first; −1 = all. */
  readonly fanouts: readonly number[];
  /** Draw with replacement: `fanout` draws for every node that has neighbours. */
  readonly replace?: boolean;
  /**
   * Edges that lead to neighbours: those into a node (default), out of it, or both. Messages come from the neighbour.
   */
  readonly direction?: Direction;
  /** The relative probability of each edge among those of its node. Edges of weight 0 are never drawn. */
  readonly weights?: SampleWeights;
  /** Give every seed separate rows: nodes are not shared between the trees of two seeds. */
  readonly disjoint?: boolean;
  /** 'uniform' (default) or 'dropout': every edge is dropped with probability `rate` (fan-outs must be −1). */
  readonly strategy?: (typeof strategies)[number];
  readonly rate?: number;
  readonly seed?: number;
}

const name = 'NeighborSampler';

export class NeighborSampler implements Sampler<Ids, Batch> {
  readonly #graph: SamplingGraph;
  readonly #settings: HopSettings;
  readonly #keys: DrawKeys;
  readonly #free: NeighborWorkspace[] = [];

  constructor(graph: Graph, options: NeighborSamplerOptions) {
    checkOptionNames('NeighborSampler', options, {
      fanouts: true,
      replace: true,
      direction: true,
      weights: true,
      disjoint: true,
      strategy: true,
      rate: true,
      seed: true,
    });
    checkOneType(name, graph);
    checkOptions(name, options);
    this.#settings = {
      fanouts: checkFanouts(name, options.fanouts),
      drops: dropWords(options),
      replace: checkFlag(name, 'replace', options.replace, false),
      disjoint: checkFlag(name, 'disjoint', options.disjoint, false),
    };
    this.#graph = new SamplingGraph(name, graph, options.direction, options.weights);
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
  }

  get numHops(): number {
    return this.#settings.fanouts.length;
  }

  sample(seeds: Ids, at?: SampleTime): Batch {
    const ids = checkIds(name, 'seeds', seeds, this.#graph.numNodes);
    const time = this.#keys.at(at);
    const rows = new Int32Array(ids.length);
    const work = this.#open(ids.length);
    for (;;) {
      const needed = kernels().sampleNeighbors(work.call(ids, rows, time));
      if (needed === 0) return this.#close(work, rows);
      work.grow(needed);
    }
  }

  async sampleAsync(seeds: Ids, at?: SampleTime): Promise<Batch> {
    const ids = checkIds(name, 'seeds', seeds, this.#graph.numNodes).slice();
    const time = this.#keys.at(at);
    const rows = new Int32Array(ids.length);
    const work = this.#open(ids.length);
    for (;;) {
      const needed = await asyncKernels.sampleNeighbors(work.call(ids, rows, time));
      if (needed === 0) return this.#close(work, rows);
      work.grow(needed);
    }
  }

  #open(numSeeds: number): NeighborWorkspace {
    const work = this.#free.pop() ?? new NeighborWorkspace(name, this.#graph, this.#settings);
    work.prepare(numSeeds);
    return work;
  }

  #close(work: NeighborWorkspace, seedRows: Int32Array): Batch {
    const batch = new Batch(work.take(seedRows), this.#graph);
    this.#free.push(work);
    return batch;
  }
}

/** Checks fan-outs and converts them for the kernels. */
export function checkFanouts(where: string, fanouts: readonly number[]): Int32Array {
  if (!Array.isArray(fanouts) && !ArrayBuffer.isView(fanouts))
    throw new ValueError(expected(where, 'a list of numbers', 'fanouts', fanouts));
  if (fanouts.length > 255)
    throw new ValueError(expected(where, 'at most 255 hops', 'fanouts', `${fanouts.length} hops`));
  return Int32Array.from(fanouts, (k, hop) => {
    if (Number.isInteger(k) && k >= -1 && k < 2 ** 31) return k;
    const advice = 'Set the neighbours per node of this hop; -1 takes all.';
    throw new ValueError(
      expected(where, `a whole number from -1 to ${2 ** 31 - 1}`, `fanouts[${hop}]`, k, advice),
    );
  });
}

function dropWords(options: NeighborSamplerOptions): Uint32Array | null {
  const strategy = options.strategy ?? 'uniform';
  if (!strategies.includes(strategy))
    throw new ValueError(expected(name, strategies.join(' or '), 'strategy', strategy));
  if (strategy === 'uniform') {
    if (options.rate === undefined) return null;
    throw new ValueError(expected(name, "strategy 'dropout' with a rate", 'strategy', strategy));
  }
  const rate = checkNumber(name, 'rate', options.rate, 0, 1);
  if (options.weights !== undefined || options.replace === true || options.fanouts.some((k) => k !== -1)) {
    throw new ValueError(
      `${name}: expected fan-outs of −1, and neither weights nor replace, for strategy 'dropout', got others. Use strategy 'uniform' for these.`,
    );
  }
  return new Uint32Array(options.fanouts.length).fill(wordThreshold(rate));
}
