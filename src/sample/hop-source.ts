/**
 * Sources of edges for layered samplers: edges in one direction, in memory or on other workers; and hops of a worker's
 * share of a batch, whose nodes draw what they would draw in the whole batch.
 */
import type { BlockParent } from '../graph/block.js';
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
  type NodeRowIndex,
  sampleHop,
} from './hop-runner.js';
import type { DrawTime } from './sampler.js';
import type { SamplingGraph } from './sampling-graph.js';

export type { HopDraw };

/** Positions of drawn edges, by the node that drew. */
export interface DrawnSlots {
  readonly offsets: Int32Array;
  readonly slots: Int32Array;
}

/** Edges in one direction that hops are drawn from, local or remote. */
export interface HopSource extends BlockParent {
  readonly numNodes: number;
  /** Draws a hop, and appends new neighbours to `rows`: `draw` followed by `take`. */
  hop(draw: HopDraw, rows: NodeRowIndex): HopSteps<HopEdges>;
  /** Draws edge positions. */
  draw(draw: HopDraw): HopSteps<DrawnSlots>;
  /** Reads the edges at drawn positions, and appends new neighbours to `rows`. */
  take(drawn: DrawnSlots, rows: NodeRowIndex): HopSteps<HopEdges>;
  /** Joins the edges of all hops of a sample. */
  join(hops: readonly HopEdges[]): DenseSide;
}

/** The sources of a graph that is not a `Graph` in memory. */
export interface HopSources {
  readonly incoming: HopSource | null;
  readonly outgoing: HopSource | null;
  readonly relations: DrawnRelations | null;
}

/** Draws edge positions from the start of each node's edges; the edges themselves are not read. */
export function* drawSlots(
  where: string,
  starts: Int32Array,
  { frontier, rule, time, tag }: HopDraw,
): HopSteps<DrawnSlots> {
  const most = checkEdgeCount(where, mostEdges(starts, frontier, rule));
  const offsets = new Int32Array(frontier.length + 1);
  const slots = allocate(where, most, 'fanouts and seeds');
  const call: KernelArguments<'drawNeighbors'> = {
    offsets: starts,
    weights: null,
    nodes: frontier,
    count: frontier.length,
    firstNode: 0,
    fanout: rule.fanout,
    drop: rule.drop,
    replace: rule.replace,
    key: time.key,
    step: time.step,
    tag,
    localOffsets: offsets,
    positions: slots,
    capacity: most,
  };
  yield {
    now: () => void kernels().drawNeighbors(call),
    later: async () => void (await asyncKernels.drawNeighbors(call)),
  };
  return { offsets, slots: slots.subarray(0, offsets[frontier.length]) };
}

/** Edges of a graph in memory. */
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

  hop(draw: HopDraw, rows: NodeRowIndex): HopSteps<HopEdges> {
    return sampleHop(this.#where, this.#graph, draw, rows);
  }

  draw(draw: HopDraw): HopSteps<DrawnSlots> {
    return drawSlots(this.#where, this.#graph.offsets, draw);
  }

  // biome-ignore lint/correctness/useYield: what is there is at hand
  *take({ offsets, slots }: DrawnSlots, rows: NodeRowIndex): HopSteps<HopEdges> {
    return { offsets, slots, indices: rows.add(this.#graph.neighborsOf(slots)) };
  }

  join(hops: readonly HopEdges[]): DenseSide {
    return { graph: this.#graph, edges: joinHops(this.#where, hops) };
  }
}

/** A source with the number of its direction, which separates the draws of a hop. */
export type SidedSource = readonly [source: HopSource, side: number];

/** The input from which the hops of a whole batch are found. */
export interface WholeBatch {
  readonly targets: Int32Array;
  readonly rules: readonly HopRule[];
  readonly time: DrawTime;
  /** An empty list, which belongs to the result. */
  readonly rows: NodeRowIndex;
}

/**
 * The hop of the whole batch at which each node is found. A node draws once, by the rule of that hop: in a share of the
 * batch it may be found later, and must draw the same. The last two hops need not be drawn for that.
 */
export class BatchHops {
  readonly #rows: NodeRowIndex;
  readonly #ends: readonly number[];

  private constructor(rows: NodeRowIndex, ends: readonly number[]) {
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

  /** Returns the hop of a node that the share finds at `hop`. */
  of(node: number, hop: number): number {
    const row = this.#rows.map[node];
    if (row < 0) return hop;
    let found = 0;
    while (row >= this.#ends[found]) found++;
    return found;
  }
}

/** A hop of a worker's share of a batch. */
export interface ShareHop {
  readonly frontier: Int32Array;
  /** The number of the hop, from 0. */
  readonly hop: number;
  /** Rules of all hops. */
  readonly rules: readonly HopRule[];
  readonly time: DrawTime;
  /** New neighbours are appended. */
  readonly rows: NodeRowIndex;
  /** The hops of the whole batch. */
  readonly batch: BatchHops;
}

/** Draws a hop of a share, each node by the rule of the hop at which the whole batch finds it. */
export function* shareHop(
  [source, side]: SidedSource,
  { frontier, hop, rules, time, rows, batch }: ShareHop,
): HopSteps<HopEdges> {
  const drawAt = (at: number, nodes: Int32Array): HopDraw => ({
    frontier: nodes,
    rule: rules[at],
    time,
    tag: hopTag(at, side),
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
