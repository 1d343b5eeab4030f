/**
 * Estimates how often each node will be requested while batches are sampled, to decide which rows of a feature table
 * are kept in fast memory.
 *
 * All scores follow the direction that is sampled. The graph is given by the node that draws: `indices` of row v are
 * the nodes that v may draw. So a node is hot if many rows *contain* it; its own number of neighbours is unrelated on a
 * directed graph (row degree, as torch-quiver uses it, is no better than chance there).
 *
 * - push: the probability of being in a batch, pushed along the edges hop by hop from P₀ = batch size / number of
 *   seeds. A node draws once per batch, in the hop after it was found, so only the newly found probability is pushed.
 *   Needs no random numbers and one pass over the edges per hop.
 * - degree: the number of edges that lead to a node. Does not depend on the batches.
 * - presample: the number of sampled batches that contain a node.
 */
import { Graph, SparseMatrix } from '../../graph/index.js';
import { checkInteger, expected, ShapeError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Random } from '../../util/philox.js';
import { checkFanouts, NeighborSampler } from '../neighbor-sampler.js';

const where = 'hotness';

/** Adjacency by the node that draws: row v draws among indices[indptr[v]] … indices[indptr[v + 1] − 1]. */
export interface DrawGraph {
  readonly indptr: Int32Array | Uint32Array | Float64Array;
  readonly indices: Int32Array | Uint32Array;
}

/** The sampled graph: a `Graph` by incoming edges, a matrix by rows. */
export type SampledGraph = Graph | SparseMatrix | DrawGraph;

/** Converts a graph to rows that draw: the sources of a node's incoming edges, or the columns of a matrix. */
export function toDrawGraph(graph: SampledGraph): DrawGraph {
  if (!(graph instanceof Graph || graph instanceof SparseMatrix)) {
    if (ArrayBuffer.isView(graph?.indptr) && ArrayBuffer.isView(graph.indices)) return graph;
    throw new ValueError(expected(where, 'a Graph, a SparseMatrix or { indptr, indices }', 'graph', graph));
  }
  return { indptr: graph.adjacency.offsets, indices: graph.adjacency.indices };
}

export const hotnessPolicies = ['push', 'degree', 'presample'] as const;
export type HotnessPolicy = (typeof hotnessPolicies)[number];

export interface HotnessOptions {
  /** Default push. */
  readonly policy?: HotnessPolicy;
  /** Neighbours per node and hop, the hop next to the seeds first; −1 = all. Default [25, 10]. */
  readonly fanouts?: readonly number[];
  /** Neighbours are drawn with replacement. */
  readonly replace?: boolean;
  /** Nodes that batches start from, each once per epoch, or as often as listed. Default: all. */
  readonly seeds?: Int32Array | Uint32Array | readonly number[];
  /** Default 1024. */
  readonly batchSize?: number;
  /** Batches that `presample` draws. Default 20. */
  readonly batches?: number;
  /** The seed of the random numbers of `presample`. */
  readonly seed?: number;
}

/** Returns a score for every node; only their order matters. */
export function hotness(graph: SampledGraph, options: HotnessOptions = {}): Float64Array {
  checkOptionNames('hotness', options, {
    policy: true,
    fanouts: true,
    replace: true,
    seeds: true,
    batchSize: true,
    batches: true,
    seed: true,
  });
  const drawn = toDrawGraph(graph);
  const policy = options.policy ?? 'push';
  if (policy === 'push') return pushHotness(drawn, options);
  if (policy === 'degree') return degreeHotness(drawn);
  if (policy === 'presample') return presampleHotness(drawn, options);
  throw new ValueError(expected(where, hotnessPolicies.join(', '), 'policy', policy));
}

/** Returns the probability of each node to be in a batch. */
export function pushHotness(graph: DrawGraph, options: HotnessOptions = {}): Float64Array {
  checkOptionNames('pushHotness', options, {
    policy: true,
    fanouts: true,
    replace: true,
    seeds: true,
    batchSize: true,
    batches: true,
    seed: true,
  });
  const { indptr, indices } = graph;
  const n = numNodesOf(graph);
  const fanouts = checkFanouts(where, options.fanouts ?? [25, 10]);
  const probability = startProbability(n, options);
  // Nodes found in the previous hop draw now.
  let newlyFound = probability.slice();
  const logs = new Float64Array(n);
  for (const k of fanouts) {
    logs.fill(0);
    for (let v = 0; v < n; v++) {
      const begin = indptr[v];
      const end = indptr[v + 1];
      if (newlyFound[v] === 0 || begin === end) continue;
      const miss = Math.log1p(-newlyFound[v] * drawProbability(end - begin, k, options.replace === true));
      for (let e = begin; e < end; e++) logs[indices[e]] += miss;
    }
    const next = new Float64Array(n);
    for (let u = 0; u < n; u++) {
      if (logs[u] === 0) continue;
      next[u] = (1 - probability[u]) * -Math.expm1(logs[u]);
      probability[u] = Math.min(1, probability[u] + next[u]);
    }
    newlyFound = next;
  }
  return probability;
}

/** Returns the number of edges along which a node can be drawn. */
export function degreeHotness(graph: DrawGraph): Float64Array {
  const counts = new Float64Array(numNodesOf(graph));
  for (const u of graph.indices) counts[u]++;
  return counts;
}

/** Returns the number of sampled batches that contain each node. */
export function presampleHotness(graph: DrawGraph, options: HotnessOptions = {}): Float64Array {
  checkOptionNames('presampleHotness', options, {
    policy: true,
    fanouts: true,
    replace: true,
    seeds: true,
    batchSize: true,
    batches: true,
    seed: true,
  });
  const n = numNodesOf(graph);
  const batches = checkInteger(where, 'batches', options.batches ?? 20, 1);
  const batchSize = checkInteger(where, 'batchSize', options.batchSize ?? 1024, 1);
  const seeds = options.seeds ?? Int32Array.from({ length: n }, (_, v) => v);
  const order = Int32Array.from(seeds);
  const sampler = new NeighborSampler(toGraph(graph), {
    fanouts: options.fanouts ?? [25, 10],
    replace: options.replace ?? false,
    seed: options.seed ?? 0,
  });
  const counts = new Float64Array(n);
  const perEpoch = Math.max(1, Math.ceil(order.length / batchSize));
  for (let step = 0; step < batches; step++) {
    const at = step % perEpoch;
    if (at === 0) shuffle(order, new Random(options.seed ?? 0).split(step));
    const batch = sampler.sample(order.subarray(at * batchSize, (at + 1) * batchSize), { step });
    for (const v of batch.nodeIds) counts[v]++;
  }
  return counts;
}

function startProbability(n: number, options: HotnessOptions): Float64Array {
  const batchSize = checkInteger(where, 'batchSize', options.batchSize ?? 1024, 1);
  const { seeds } = options;
  if (seeds === undefined) return new Float64Array(n).fill(Math.min(1, batchSize / n));
  const probability = new Float64Array(n);
  for (const v of seeds) {
    if (v < 0 || v >= n) throw new ValueError(expected(where, `ids from 0 to ${n - 1}`, 'seeds', v));
    probability[v] = Math.min(1, probability[v] + batchSize / seeds.length);
  }
  return probability;
}

/** Returns the probability that a node which draws k of its `degree` edges draws a given one. */
function drawProbability(degree: number, k: number, replace: boolean): number {
  if (k < 0) return 1;
  return replace ? 1 - (1 - 1 / degree) ** k : Math.min(1, k / degree);
}

/** Returns the number of rows of the graph, after checking their boundaries. */
export function numNodesOf({ indptr, indices }: DrawGraph): number {
  const n = (indptr?.length ?? 0) - 1;
  if (n < 0 || indptr[0] !== 0 || indptr[n] !== indices?.length)
    throw new ShapeError(
      expected(where, 'row boundaries that end at the number of indices', 'graph', indptr?.[n]),
    );
  return n;
}

/** Returns the graph whose incoming edges are the ones to draw. */
function toGraph({ indptr, indices }: DrawGraph): Graph {
  const offsets = indptr instanceof Uint32Array ? Int32Array.from(indptr) : indptr;
  return Graph.fromCsc(offsets, indices instanceof Int32Array ? indices : Int32Array.from(indices));
}

function shuffle(order: Int32Array, random: Random): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
}
