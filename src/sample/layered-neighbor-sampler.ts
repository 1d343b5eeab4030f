/**
 * Layered sampling in the DENSE form of MariusGNN: one rule per layer, incoming and outgoing edges drawn separately.
 *
 * Unlike Marius, UNIFORM draws without replacement by default, DROPOUT works for any graph, and the sample
 * depends on (seed, epoch, step, hop, node) alone. With incoming edges only, it draws what `NeighborSampler` draws.
 *
 * @example
 * const sampler = new LayeredNeighborSampler(graph, { layers: [{ type: 'UNIFORM', maxNeighbors: 10 }, -1] });
 * const dense = sampler.sample(targets, { step: 0 }).performMap();
 * let h = gatherRows(x, dense.nodeIds);
 * h = first.forward(dense.block(), h);
 * h = second.forward(dense.prepareForNextLayer().block(), h); // [targets, …]
 */
import type { BlockParent } from '../graph/block.js';
import type { Graph } from '../graph/index.js';
import { kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { checkInteger, checkNumber, expected, ShapeError, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkFlag, checkOneType, checkOptions } from './checks.js';
import {
  DenseSample,
  type DenseSide,
  type DrawnEdges,
  type DrawnRelations,
  type EdgeRelations,
} from './dense-sample.js';
import {
  type HopEdges,
  type HopRule,
  type HopSteps,
  hopTag,
  NodeRowIndex,
  runHops,
  runHopsAsync,
} from './hop-runner.js';
import { BatchHops, type HopSource, type HopSources, MemorySource, shareHop } from './hop-source.js';
import {
  DrawKeys,
  type DrawTime,
  purposes,
  type Sampler,
  type SampleTime,
  wordThreshold,
} from './sampler.js';
import { SamplingGraph } from './sampling-graph.js';

/** How a layer draws. A number is UNIFORM with that many neighbours, −1 is ALL. */
export type LayerSampling =
  | number
  | { readonly type: 'ALL' }
  | { readonly type: 'UNIFORM'; readonly maxNeighbors: number; readonly replace?: boolean }
  | { readonly type: 'DROPOUT'; readonly rate: number };

export interface LayeredNeighborSamplerOptions {
  /** One per layer, the one next to the targets first. */
  readonly layers: readonly LayerSampling[];
  /** Follow edges into a node (default true). */
  readonly incoming?: boolean;
  /** Follow edges out of a node (default true). */
  readonly outgoing?: boolean;
  /** The relation of each edge of the graph, for layers that use it. */
  readonly relations?: EdgeRelations | null;
  readonly seed?: number;
}

const name = 'LayeredNeighborSampler';

export class LayeredNeighborSampler implements Sampler<Ids, DenseSample> {
  readonly #in: HopSource | null;
  readonly #out: HopSource | null;
  readonly #parent: BlockParent;
  readonly #relations: DrawnRelations | null;
  readonly #numNodes: number;
  readonly #rules: readonly HopRule[];
  readonly #keys: DrawKeys;
  readonly #free: NodeRowIndex[] = [];

  /** @param graph the sampled graph; `HopSources` have their own relations, so `relations` is not passed with them. */
  constructor(graph: Graph | HopSources, options: LayeredNeighborSamplerOptions) {
    checkOptionNames('LayeredNeighborSampler', options, {
      layers: true,
      incoming: true,
      outgoing: true,
      relations: true,
      seed: true,
    });
    const { layers } = checkOptions(name, options);
    if (!Array.isArray(layers)) throw new ValueError(expected(name, 'a list of layers', 'layers', layers));
    if (layers.length > 255)
      throw new ValueError(expected(name, 'at most 255 layers', 'layers', `${layers.length} layers`));
    this.#rules = layers.map(toRule);
    const follows = {
      incoming: checkFlag(name, 'incoming', options.incoming, true),
      outgoing: checkFlag(name, 'outgoing', options.outgoing, true),
    };
    const sources = isSources(graph) ? graph : sourcesOf(graph, options.relations ?? null, follows);
    this.#in = follows.incoming ? sources.incoming : null;
    this.#out = follows.outgoing ? sources.outgoing : null;
    this.#relations = sources.relations;
    if (isSources(graph)) checkSources(sources, follows, options.relations);
    const sides = [this.#in, this.#out].filter((side) => side !== null);
    if (sides.length === 0)
      throw new ValueError(expected(name, 'incoming or outgoing edges', 'incoming and outgoing', 'neither'));
    this.#numNodes = sides[0].numNodes;
    this.#parent = degreesOf(sides);
    this.#keys = new DrawKeys(name, options.seed ?? 0, purposes.neighbors);
  }

  /**
   * @param batch all targets, if `targets` are a share of them: each node draws what it would draw in the whole batch.
   */
  sample(targets: Ids, at?: SampleTime, batch?: Ids): DenseSample {
    const ids = checkIds(name, 'targets', targets, this.#numNodes);
    return runHops(this.#steps(ids, this.#keys.at(at), this.#whole(batch)));
  }

  async sampleAsync(targets: Ids, at?: SampleTime, batch?: Ids): Promise<DenseSample> {
    const ids = checkIds(name, 'targets', targets, this.#numNodes).slice();
    return runHopsAsync(this.#steps(ids, this.#keys.at(at), this.#whole(batch)));
  }

  /** Returns null if a share draws like the whole batch anyway. */
  #whole(batch: Ids | undefined): Int32Array | null {
    if (batch === undefined || this.#rules.length < 2) return null;
    return checkIds(name, 'batch', batch, this.#numNodes).slice();
  }

  *#steps(targets: Int32Array, time: DrawTime, whole: Int32Array | null): HopSteps<DenseSample> {
    const rows = this.#free.pop() ?? new NodeRowIndex(this.#numNodes);
    const all = whole === null ? null : (this.#free.pop() ?? new NodeRowIndex(this.#numNodes));
    try {
      const targetRows = rows.add(targets);
      // Nodes by hop, the targets first; those of each later hop are sorted.
      const parts = [rows.ids.slice(0, rows.count)];
      const sides = [this.#in, this.#out].flatMap((source, side) =>
        source === null ? [] : [{ pair: [source, side] as const, hops: [] as HopEdges[] }],
      );
      const batch =
        whole === null || all === null
          ? null
          : yield* BatchHops.of(
              sides.map(({ pair }) => pair),
              { targets: whole, rules: this.#rules, time, rows: all },
            );
      for (const [hop, rule] of this.#rules.entries()) {
        const frontier = parts[hop];
        const before = rows.count;
        for (const { pair, hops } of sides) {
          const [source, side] = pair;
          hops.push(
            batch === null
              ? yield* source.hop({ frontier, rule, time, tag: hopTag(hop, side) }, rows)
              : yield* shareHop(pair, { frontier, hop, rules: this.#rules, time, rows, batch }),
          );
        }
        parts.push(rows.ids.slice(before, rows.count).sort());
      }
      const joined = (source: HopSource | null): DenseSide | null => {
        const found = sides.find(({ pair }) => pair[0] === source);
        return found === undefined ? null : found.pair[0].join(found.hops.reverse());
      };
      return new DenseSample({
        ...layOut(parts, rows),
        incoming: joined(this.#in),
        outgoing: joined(this.#out),
        targetRows,
        parent: this.#parent,
        relations: this.#relations,
      });
    } finally {
      for (const list of all === null ? [rows] : [rows, all]) {
        list.clear();
        this.#free.push(list);
      }
    }
  }
}

function isSources(graph: Graph | HopSources): graph is HopSources {
  return typeof graph === 'object' && graph !== null && 'incoming' in graph && 'outgoing' in graph;
}

function sourcesOf(
  graph: Graph,
  relations: EdgeRelations | null,
  follows: { readonly incoming: boolean; readonly outgoing: boolean },
): HopSources {
  checkOneType(name, graph);
  if (relations !== null && relations.ids.length !== graph.numEdges)
    throw new ShapeError(expected(name, `${graph.numEdges} relations`, 'relations', relations.ids.length));
  const source = (direction: 'in' | 'out') =>
    new MemorySource(name, new SamplingGraph(name, graph, direction));
  return {
    incoming: follows.incoming ? source('in') : null,
    outgoing: follows.outgoing ? source('out') : null,
    relations: relations === null ? null : { count: relations.count, of: relationLookup(relations.ids) },
  };
}

function relationLookup(relations: Int32Array): DrawnRelations['of'] {
  return (edges: DrawnEdges, slots: Int32Array) => {
    const ids = edges.edgeIds(slots);
    const out = new Int32Array(ids.length);
    kernels().gatherRows(relations, ids, out, ids.length, 4);
    return out;
  };
}

/** Returns degrees over the directions that are followed; an added self loop counts once. */
function degreesOf(sides: readonly BlockParent[]): BlockParent {
  if (sides.length === 1) return sides[0];
  const known = new Map<boolean, { src: Float64Array }>();
  return {
    normDegrees(selfLoops) {
      let degrees = known.get(selfLoops);
      if (degrees === undefined) {
        const other = sides[1].normDegrees(false).src;
        degrees = { src: sides[0].normDegrees(selfLoops).src.map((degree, v) => degree + other[v]) };
        known.set(selfLoops, degrees);
      }
      return degrees;
    },
  };
}

/** Orders the hops, the farthest first, and finds the final row of every node. */
function layOut(
  parts: readonly Int32Array[],
  rows: NodeRowIndex,
): { nodeIds: Int32Array; hopOffsets: Int32Array; position: Int32Array } {
  const nodeIds = new Int32Array(rows.count);
  const position = new Int32Array(rows.count);
  const hopOffsets = new Int32Array(parts.length + 1);
  let start = 0;
  for (const [i, part] of parts.toReversed().entries()) {
    hopOffsets[i] = start;
    nodeIds.set(part, start);
    for (let j = 0; j < part.length; j++) position[rows.map[part[j]]] = start + j;
    start += part.length;
  }
  hopOffsets[parts.length] = start;
  return { nodeIds, hopOffsets, position };
}

function toRule(layer: LayerSampling, index: number): HopRule {
  const at = `layers[${index}]`;
  if (typeof layer === 'number') {
    return { fanout: checkInteger(name, at, layer, -1, 2 ** 31 - 1), drop: 0, replace: false };
  }
  switch (layer?.type) {
    case 'ALL':
      return { fanout: -1, drop: 0, replace: false };
    case 'UNIFORM': {
      const fanout = checkInteger(name, `${at}.maxNeighbors`, layer.maxNeighbors, 0, 2 ** 31 - 1);
      return { fanout, drop: 0, replace: checkFlag(name, `${at}.replace`, layer.replace, false) };
    }
    case 'DROPOUT':
      return {
        fanout: -1,
        drop: wordThreshold(checkNumber(name, `${at}.rate`, layer.rate, 0, 1)),
        replace: false,
      };
    default:
      throw new ValueError(expected(name, 'ALL, UNIFORM, DROPOUT or a number', at, layer));
  }
}

/** Throws if a direction is followed that the sources do not have. */
function checkSources(
  { incoming, outgoing }: HopSources,
  follows: { readonly incoming: boolean; readonly outgoing: boolean },
  relations: unknown,
): void {
  for (const [direction, source] of Object.entries({ incoming, outgoing }))
    if (follows[direction as 'incoming' | 'outgoing'] && source === null)
      throw new ValueError(
        expected(name, `false, as the graph was read without ${direction} edges,`, direction, true),
      );
  if (relations !== undefined && relations !== null)
    throw new ValueError(
      expected(name, 'no relations with a graph that has its own', 'relations', relations),
    );
}
