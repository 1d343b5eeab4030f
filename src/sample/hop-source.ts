/**
 * Where layered samplers draw from: edges in one direction, in memory or elsewhere; and hops of a share of a batch, whose
 * nodes draw what they would draw in the whole batch.
 */
import type { BlockParent } from '../graph/index.js';
import { asyncKernels, type KernelArguments, kernels } from '../native/index.js';
import { allocate, checkEdgeCount } from './checks.js';
import type { DenseSide, DrawnRelations } from './dense-sample.js';
import {
  type HopDraw,
  type HopEdges,
  type HopRule,
  type HopSteps,
  hopTag,
  joinHops,
  mostEdges,
  type NodeRows,
  sampleHop,
} from './hop-runner.js';
import type { DrawTime } from './sampler.js';
import type { SamplingGraph } from './sampling-graph.js';

export type { HopDraw };

/** Places of drawn edges, by the node that drew. */
export interface DrawnSlots {
  readonly offsets: Int32Array;
  readonly slots: Int32Array;
}

/** Edges in one direction that hops are drawn from, wherever they lie. */
export interface HopSource extends BlockParent {
  readonly numNodes: number;
  /** Draws a hop, and appends the neighbours that are new to `rows`: `draw` and `take` in one. */
  hop(draw: HopDraw, rows: NodeRows): HopSteps<HopEdges>;
  /** Finds where the drawn edges are. */
  draw(draw: HopDraw): HopSteps<DrawnSlots>;
  /** Finds what is there, and appends the neighbours that are new to `rows`. */
  take(drawn: DrawnSlots, rows: NodeRows): HopSteps<HopEdges>;
  /** The edges of all hops of a sample together. */
  join(hops: readonly HopEdges[]): DenseSide;
}

/** A graph by what samplers ask of it, where it is no `Graph` in memory. */
export interface HopSources {
  readonly incoming: HopSource | null;
  readonly outgoing: HopSource | null;
  readonly relations: DrawnRelations | null;
}

/** Draws by where each node's edges begin; what is there is not looked at. */
export function* drawSlots(
  where: string,
  starts: Int32Array,
  { frontier, rule, time, tag }: HopDraw,
): HopSteps<DrawnSlots> {
  const most = checkEdgeCount(where, mostEdges(starts, frontier, rule));
  const offsets = new Int32Array(frontier.length + 1);
  const slots = allocate(where, most, 'fanouts and seeds');
  const call: KernelArguments<'drawNeighbors'> = {
    ...{ offsets: starts, weights: null, nodes: frontier, count: frontier.length, firstNode: 0 },
    ...{ fanout: rule.fanout, drop: rule.drop, replace: rule.replace },
    ...{ key: time.key, step: time.step, tag },
    ...{ localOffsets: offsets, slots, capacity: most },
  };
  yield {
    now: () => void kernels().drawNeighbors(call),
    later: async () => void (await asyncKernels.drawNeighbors(call)),
  };
  return { offsets, slots: slots.subarray(0, offsets[frontier.length]) };
}

/** A graph in memory. */
export class MemorySource implements HopSource {
  readonly #where: string;
  readonly #graph: SamplingGraph;

  constructor(where: string, graph: SamplingGraph) {
    this.#where = where;
    this.#graph = graph;
  }

  get numNodes(): number {
    return this.#graph.numNodes;
  }

  normDegrees(selfLoops: boolean): { readonly src: Float64Array } {
    return this.#graph.graph.normDegrees(selfLoops);
  }

  hop(draw: HopDraw, rows: NodeRows): HopSteps<HopEdges> {
    return sampleHop(this.#where, this.#graph, draw, rows);
  }

  draw(draw: HopDraw): HopSteps<DrawnSlots> {
    return drawSlots(this.#where, this.#graph.offsets, draw);
  }

  // biome-ignore lint/correctness/useYield: what is there is at hand
  *take({ offsets, slots }: DrawnSlots, rows: NodeRows): HopSteps<HopEdges> {
    return { offsets, slots, indices: rows.add(this.#graph.neighborsOf(slots)) };
  }

  join(hops: readonly HopEdges[]): DenseSide {
    return { graph: this.#graph, edges: joinHops(this.#where, hops) };
  }
}

/** A source with the number that its direction has among the draws of a hop. */
export type SidedSource = readonly [source: HopSource, side: number];

/** What the hops of a whole batch are found from. */
export interface WholeBatch {
  readonly targets: Int32Array;
  readonly rules: readonly HopRule[];
  readonly time: DrawTime;
  /** An empty list, which belongs to the result. */
  readonly rows: NodeRows;
}

/**
 * At which hop of the whole batch each node is found. A node draws once, by the rule of that hop: in a share of the batch it
 * may be found later, and must draw the same. The last two hops need not be drawn for that.
 */
export class BatchHops {
  readonly #rows: NodeRows;
  readonly #ends: readonly number[];

  private constructor(rows: NodeRows, ends: readonly number[]) {
    this.#rows = rows;
    this.#ends = ends;
  }

  static *of(
    sources: readonly SidedSource[],
    { targets, rules, time, rows }: WholeBatch,
  ): HopSteps<BatchHops> {
    rows.add(targets);
    const ends = [0, rows.count];
    for (let hop = 0; hop + 2 < rules.length; hop++) {
      const frontier = rows.ids.slice(ends[hop], ends[hop + 1]);
      for (const [source, side] of sources)
        yield* source.hop({ frontier, rule: rules[hop], time, tag: hopTag(hop, side) }, rows);
      ends.push(rows.count);
    }
    return new BatchHops(rows, ends.slice(1));
  }

  /** The hop of a node that the share finds at `hop`. */
  of(node: number, hop: number): number {
    const row = this.#rows.map[node];
    if (row < 0) return hop;
    let found = 0;
    while (row >= this.#ends[found]) found++;
    return found;
  }
}

/** A hop of a share of a batch. */
export interface ShareHop {
  readonly frontier: Int32Array;
  /** The number of the hop, from 0. */
  readonly hop: number;
  /** Those of all hops. */
  readonly rules: readonly HopRule[];
  readonly time: DrawTime;
  /** Neighbours that are new are appended. */
  readonly rows: NodeRows;
  /** The hops of the whole batch. */
  readonly batch: BatchHops;
}

/** Draws a hop of a share, each node by the rule of the hop at which the whole batch finds it. */
export function* shareHop(
  [source, side]: SidedSource,
  { frontier, hop, rules, time, rows, batch }: ShareHop,
): HopSteps<HopEdges> {
  const drawAt = (at: number, nodes: Int32Array): HopDraw => ({
    ...{ frontier: nodes, rule: rules[at], time, tag: hopTag(at, side) },
  });
  const hops = frontier.map((node) => batch.of(node, hop));
  const found = [...new Set(hops)];
  if (found.length <= 1) {
    const [at = hop] = found;
    return yield* source.hop(drawAt(at, frontier), rows);
  }
  const offsets = new Int32Array(frontier.length + 1);
  const parts = new Map<number, { readonly drawn: DrawnSlots; next: number }>();
  for (const at of found) {
    const nodes = frontier.filter((_, i) => hops[i] === at);
    parts.set(at, { drawn: yield* source.draw(drawAt(at, nodes)), next: 0 });
  }
  const places = frontier.map((_, i) => (parts.get(hops[i]) as { next: number }).next++);
  const of = (i: number): Int32Array => {
    const { drawn } = parts.get(hops[i]) as { drawn: DrawnSlots };
    return drawn.slots.subarray(drawn.offsets[places[i]], drawn.offsets[places[i] + 1]);
  };
  for (let i = 0; i < frontier.length; i++) offsets[i + 1] = offsets[i] + of(i).length;
  const slots = new Int32Array(offsets[frontier.length]);
  for (let i = 0; i < frontier.length; i++) slots.set(of(i), offsets[i]);
  return yield* source.take({ offsets, slots }, rows);
}
