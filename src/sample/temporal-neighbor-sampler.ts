/**
 * Neighbours in an event stream: for each (node, time) the events strictly before that time, over several hops.
 *
 * Rows are (node, time) pairs. A neighbour's time is that of the event that led to it, or, with `propTime`, that of the
 * seed (Zhou et al.: "TGL: a general framework for temporal GNN training on billion-scale graphs", VLDB 2022). The
 * draws of a (node, time) depend on (seed, epoch, step, hop) and the pair, not on its row.
 *
 * @example
 * const sampler = new TemporalNeighborSampler(graph, { fanouts: [10, 10], strategy: 'recent' });
 * const { hops } = sampler.sample({ nodes: [3, 7], times: [12.5, 13] });
 * hops[0].eventRows; // events of nodes 3 and 7, oldest first
 */
import { TemporalGraph } from '../graph/index.js';
import { maxTime } from '../graph/temporal-events.js';
import type { TemporalMoment } from '../graph/temporal-graph.js';
import { asyncKernels, kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkFlag, checkOptions } from './checks.js';
import { checkFanouts } from './neighbor-sampler.js';
import { DrawKeys, purposes, type Sampler, type SampleTime } from './sampler.js';
import type { TemporalHop } from './temporal-hop.js';
import {
  type HopRequest,
  HopWork,
  identityHop,
  type TemporalRows,
  type TemporalRules,
} from './temporal-hop-work.js';
import { EventWeights, type TemporalWeights } from './temporal-weights.js';

export const temporalStrategies = ['recent', 'uniform', 'weighted', 'identity'] as const;
export type TemporalStrategy = (typeof temporalStrategies)[number];

export interface TemporalNeighborSamplerOptions {
  /** Events per node and hop, the hop next to the seeds first; −1 = all. */
  readonly fanouts: readonly number[];
  /**
   * 'recent' (default): the last events. 'uniform': drawn with replacement. 'weighted': drawn with replacement by
   * `weights`. All events if they are no more than the fan-out. 'identity': none, rows only.
   */
  readonly strategy?: TemporalStrategy;
  /** Use the time of the seed for neighbours, not that of the event. */
  readonly propTime?: boolean;
  /** Number of time windows, each sampled separately. */
  readonly history?: number;
  /** Length of a window: window i of a row at time t holds the events in [t − (i + 1)·duration, t − i·duration). */
  readonly duration?: number;
  /** For 'weighted': one weight per event row, or a function that returns them if events are appended. */
  readonly weights?: TemporalWeights;
  /** Equal (node, time) pairs share a row. */
  readonly unique?: boolean;
  readonly seed?: number;
}

export interface TemporalSeeds {
  readonly nodes: Ids;
  readonly times: Float64Array | readonly number[];
  /** Only events in rows below this one are visible. Default: all. */
  readonly rowLimit?: number;
}

export interface TemporalSample {
  /**
   * Hop 0 is next to the seeds, whose rows are its destinations; the sources of a hop are the destinations of the next.
   */
  readonly hops: readonly TemporalHop[];
  /** The hops of every window, the latest first; one entry without windows. */
  readonly snapshots: readonly (readonly TemporalHop[])[];
}

const name = 'TemporalNeighborSampler';
/** Beyond this, the random words of a row's draws would repeat. */
const maxDraws = 2 ** 16;

type HopSteps = Generator<HopWork, TemporalSample, number>;

export class TemporalNeighborSampler implements Sampler<TemporalSeeds, TemporalSample> {
  readonly graph: TemporalGraph;
  readonly #fanouts: Int32Array;
  readonly #strategy: TemporalStrategy;
  readonly #history: number;
  readonly #duration: number | null;
  readonly #rules: TemporalRules;
  readonly #weights: EventWeights | null;
  readonly #keys: DrawKeys;

  constructor(graph: TemporalGraph, options: TemporalNeighborSamplerOptions) {
    checkOptionNames('TemporalNeighborSampler', options, {
      fanouts: true,
      strategy: true,
      propTime: true,
      history: true,
      duration: true,
      weights: true,
      unique: true,
      seed: true,
    });
    if (!(graph instanceof TemporalGraph))
      throw new ValueError(expected(name, 'a TemporalGraph', 'graph', graph));
    checkOptions(name, options);
    const strategy = options.strategy ?? 'recent';
    if (!temporalStrategies.includes(strategy))
      throw new ValueError(expected(name, temporalStrategies.join(', '), 'strategy', strategy));
    this.graph = graph;
    this.#strategy = strategy;
    this.#fanouts = checkFanouts(name, options.fanouts);
    if (strategy === 'uniform' || strategy === 'weighted')
      for (const [hop, fanout] of this.#fanouts.entries())
        checkInteger(name, `fanouts[${hop}]`, fanout, -1, maxDraws);
    this.#history = checkInteger(name, 'history', options.history ?? 1, 1, 255);
    this.#duration = checkDuration(options.duration, this.#history);
    if ((strategy === 'weighted') !== (options.weights !== undefined))
      throw new ValueError(
        expected(name, "weights if and only if strategy is 'weighted'", 'weights', options.weights),
      );
    this.#weights = options.weights === undefined ? null : new EventWeights(name, options.weights);
    this.#rules = {
      where: name,
      strategy: Math.max(0, temporalStrategies.indexOf(strategy)),
      propTime: checkFlag(name, 'propTime', options.propTime, false),
      unique: checkFlag(name, 'unique', options.unique, true),
    };
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.temporal);
  }

  get numHops(): number {
    return this.#fanouts.length;
  }

  sample(seeds: TemporalSeeds, at?: SampleTime): TemporalSample {
    const steps = this.#steps(seeds, at);
    let step = steps.next();
    while (step.done !== true) step = steps.next(kernels().sampleTemporalHop(step.value.call()));
    return step.value;
  }

  /** Samples the graph as it is at the call; events appended before the promise settles are ignored. */
  async sampleAsync(seeds: TemporalSeeds, at?: SampleTime): Promise<TemporalSample> {
    const steps = this.#steps(seeds, at);
    let step = steps.next();
    while (step.done !== true) step = steps.next(await asyncKernels.sampleTemporalHop(step.value.call()));
    return step.value;
  }

  /** Yields the kernel calls of a sample and receives their results. Reads seeds and graph before the first. */
  *#steps(seeds: TemporalSeeds, at: SampleTime | undefined): HopSteps {
    const now = this.graph.moment();
    const { nodes, times } = checkSeeds(seeds, now.numNodes);
    const moment = momentBefore(now, seeds.rowLimit);
    const draw = this.#keys.at(at);
    const weights = this.#weights?.upTo(moment.numEvents) ?? null;
    const snapshots: TemporalHop[][] = [];
    for (let window = 0; window < this.#history; window++) {
      const hops: TemporalHop[] = [];
      // The number of events before each row is reused by the next hop.
      let rows: TemporalRows = { nodes, times, cutoffs: new Int32Array(nodes.length).fill(-1) };
      for (const [hop, fanout] of this.#fanouts.entries()) {
        if (this.#strategy === 'identity') {
          hops.push(identityHop(nodes, times));
          continue;
        }
        const request: HopRequest = {
          ...{ moment, weights, rows, fanout, draw, tag: hop + 256 * window },
          from: this.#duration === null ? Infinity : (window + 1) * this.#duration,
          to: this.#duration === null ? 0 : window * this.#duration,
        };
        const work = new HopWork(this.#rules, request);
        while (!work.finish(yield work));
        const done = work.take();
        hops.push(done.hop);
        rows = done.rows;
      }
      snapshots.push(hops);
    }
    return { hops: snapshots[0], snapshots };
  }
}

/** Returns the graph as it was before an event row. */
function momentBefore(moment: TemporalMoment, rowLimit: number | undefined): TemporalMoment {
  if (rowLimit === undefined) return moment;
  checkInteger(name, 'seeds.rowLimit', rowLimit);
  return { ...moment, numEvents: Math.min(moment.numEvents, rowLimit) };
}

function checkSeeds(seeds: TemporalSeeds, numNodes: number): { nodes: Int32Array; times: Float64Array } {
  checkOptions(name, seeds, 'seeds');
  const nodes = checkIds(name, 'seeds.nodes', seeds.nodes, numNodes);
  const given = seeds.times;
  if (!(given instanceof Float64Array) && !Array.isArray(given))
    throw new ValueError(expected(name, 'a Float64Array or an array of numbers', 'seeds.times', given));
  if (given.length !== nodes.length)
    throw new ShapeError(expected(name, `${nodes.length} times, one per node,`, 'seeds.times', given.length));
  const times = new Float64Array(given.length);
  for (let i = 0; i < times.length; i++) {
    const t = given[i];
    if (typeof t !== 'number' || !(Math.abs(t) <= maxTime))
      checkNumber(name, `seeds.times[${i}]`, t, -maxTime, maxTime);
    // Minus zero becomes zero, so that equal times have equal bits.
    times[i] = t + 0;
  }
  return { nodes: nodes.slice(), times };
}

function checkDuration(duration: number | undefined, history: number): number | null {
  if (duration === undefined || (duration === 0 && history === 1)) {
    if (history === 1) return null;
    throw new ValueError(expected(name, `the length of the ${history} windows`, 'duration', duration));
  }
  return checkNumber(name, 'duration', duration, Number.MIN_VALUE);
}
