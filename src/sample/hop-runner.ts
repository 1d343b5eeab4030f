/**
 * Sampling hop by hop over several relations: growing lists of nodes, and one kernel call per hop and relation.
 *
 * A sampler is written once, as a generator that yields the work it waits for, mostly kernel calls; it runs on the
 * calling thread or on the thread pool.
 */
import { asyncKernels, type KernelArguments, kernels } from '../native/index.js';
import { allocate, checkEdgeCount } from './checks.js';
import type { DrawTime } from './sampler.js';
import type { SamplingGraph } from './sampling-graph.js';

/** Work that a sampler waits for: run on the calling thread, or asynchronously. */
export interface PendingWork {
  now(): void;
  later(): Promise<void>;
}

export type HopSteps<T> = Generator<PendingWork, T, void>;

export function runHops<T>(steps: HopSteps<T>): T {
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) step.value.now();
  return step.value;
}

export async function runHopsAsync<T>(steps: HopSteps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    try {
      await step.value.later();
    } catch (error) {
      // The sampler releases its resources.
      steps.throw(error);
      throw error;
    }
    step = steps.next();
  }
  return step.value;
}

/** Nodes of one type in order of appearance, and the row of each. Used by one batch at a time. */
export class NodeRowIndex {
  /** The row of each node of the graph, −1 for those not in the list. */
  readonly map: Int32Array;
  #ids = new Int32Array(64);
  count = 0;

  constructor(numNodes: number) {
    this.map = new Int32Array(numNodes).fill(-1);
  }

  get ids(): Int32Array {
    return this.#ids;
  }

  /** Reserves room for `more` nodes. */
  reserve(more: number): void {
    if (this.count + more <= this.#ids.length) return;
    const grown = new Int32Array(Math.max(this.count + more, 2 * this.#ids.length));
    grown.set(this.#ids.subarray(0, this.count));
    this.#ids = grown;
  }

  /** Adds seeds, equal ones once, and returns the row of each. */
  add(seeds: Int32Array): Int32Array {
    this.reserve(seeds.length);
    return seeds.map((id) => {
      if (this.map[id] < 0) {
        this.map[id] = this.count;
        this.#ids[this.count++] = id;
      }
      return this.map[id];
    });
  }

  /** Empties the list for the next batch. */
  clear(): void {
    for (let i = 0; i < this.count; i++) this.map[this.#ids[i]] = -1;
    this.count = 0;
  }
}

export interface HopRule {
  /** −1 = all. */
  readonly fanout: number;
  /** Edges whose random word is below are dropped; 0 = none. */
  readonly drop: number;
  readonly replace: boolean;
}

/** Edges of one hop by destination of the frontier. */
export interface HopEdges {
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  readonly slots: Int32Array;
}

/** One hop to draw: its nodes, its rule, and what its random numbers depend on besides the node. */
export interface HopDraw {
  readonly frontier: Int32Array;
  readonly rule: HopRule;
  readonly time: DrawTime;
  /** Separates the draws of one hop and relation from all others (`hopTag`). */
  readonly tag: number;
}

/** Draws a hop, and appends the sources that are new to `sources`. */
export function* sampleHop(
  where: string,
  graph: SamplingGraph,
  { frontier, rule, time, tag }: HopDraw,
  sources: NodeRowIndex,
): HopSteps<HopEdges> {
  const most = checkEdgeCount(where, mostEdges(graph.offsets, frontier, rule));
  const offsets = new Int32Array(frontier.length + 1);
  const indices = allocate(where, most, 'fanouts and seeds');
  const slots = allocate(where, most, 'fanouts and seeds');
  // Each node is appended once, however often it is drawn; the kernel writes one entry after the last.
  sources.reserve(Math.min(most, sources.map.length - sources.count + 1));
  const call: KernelArguments<'sampleHop'> = {
    offsets: graph.offsets,
    indices: graph.indices,
    weights: graph.sums,
    frontier,
    count: frontier.length,
    fanout: rule.fanout,
    drop: rule.drop,
    replace: rule.replace,
    key: time.key,
    step: time.step,
    tag,
    map: sources.map,
    nodeIds: sources.ids,
    numNodes: sources.count,
    localOffsets: offsets,
    localIndices: indices,
    positions: slots,
    capacity: most,
  };
  yield {
    now: () => {
      sources.count = kernels().sampleHop(call);
    },
    later: async () => {
      sources.count = await asyncKernels.sampleHop(call);
    },
  };
  const edges = offsets[frontier.length];
  return { offsets, indices: indices.subarray(0, edges), slots: slots.subarray(0, edges) };
}

/** Returns the maximum number of edges that these nodes can draw. */
export function mostEdges(offsets: Int32Array, nodes: Int32Array, { fanout, replace }: HopRule): number {
  let total = 0;
  for (let i = 0; i < nodes.length; i++) {
    const degree = offsets[nodes[i] + 1] - offsets[nodes[i]];
    total += fanout < 0 || degree === 0 || (!replace && degree < fanout) ? degree : fanout;
  }
  return total;
}

/** Returns the number that separates the draws of one hop and relation from all others. */
export function hopTag(hop: number, relation: number): number {
  return relation * 256 + hop;
}

/** Joins the edges of several hops into one structure by destination, in the given order. */
export function joinHops(where: string, hops: readonly HopEdges[]): HopEdges {
  const destinations = hops.reduce((sum, hop) => sum + hop.offsets.length - 1, 0);
  const edges = checkEdgeCount(
    where,
    hops.reduce((sum, hop) => sum + hop.indices.length, 0),
  );
  const offsets = new Int32Array(destinations + 1);
  const indices = new Int32Array(edges);
  const slots = new Int32Array(edges);
  let row = 0;
  let edge = 0;
  for (const hop of hops) {
    indices.set(hop.indices, edge);
    slots.set(hop.slots, edge);
    for (let i = 1; i < hop.offsets.length; i++) offsets[++row] = edge + hop.offsets[i];
    edge += hop.indices.length;
  }
  return { offsets, indices, slots };
}
