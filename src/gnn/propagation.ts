/**
 * The normalised adjacency D̂^(−½) Â D̂^(−½) of GCN, SGC and APPNP, without building it: factors for both ends and, if
 * the graph has weights, for the edges. Computed once per graph and cached as long as the graph lives.
 *
 * On a block, sources have the degrees of the whole graph and destinations those of the block, so that full
 * neighbourhoods give exactly the full-graph result and sampled ones an average over the sample.
 */
import { Block, LocalGraph, type MessageGraph } from '../graph/index.js';
import type { FloatArray } from '../native/index.js';
import type { FloatDType, Tensor } from '../tensor/index.js';
import { unscoped } from '../tensor/scope.js';

interface Normalisation {
  /** The graph to pass messages on: with explicit self loops if some exist already. */
  readonly graph: MessageGraph;
  /** Edge factors, in memory. */
  readonly weight: Tensor | null;
  readonly srcScale: FloatArray;
  readonly dstScale: FloatArray;
  /** Whether every destination has an implied self loop that is not an edge. */
  readonly self: boolean;
}

const kept = new WeakMap<MessageGraph, Map<string, Normalisation>>();

/** Computes Â x with symmetric normalisation: x [Ns, F] to [Nd, F]. */
export function propagate(graph: MessageGraph, x: Tensor, selfLoops = true): Tensor {
  const norm = normalisation(graph, x.dtype as FloatDType, selfLoops);
  const { srcScale, dstScale, self } = norm;
  const { device } = x;
  const weight =
    norm.weight === null || device === null
      ? norm.weight
      : norm.graph.positionWeights(x.dtype as FloatDType, device);
  return norm.graph.aggregate(x, { weight, srcScale, dstScale, self });
}

function normalisation(graph: MessageGraph, dtype: FloatDType, selfLoops: boolean): Normalisation {
  const key = `${dtype}${selfLoops}`;
  let byKind = kept.get(graph);
  if (byKind === undefined) {
    byKind = new Map();
    kept.set(graph, byKind);
  }
  let norm = byKind.get(key);
  if (norm === undefined) {
    norm = unscoped(() => makeNormalisation(graph, dtype, selfLoops));
    byKind.set(key, norm);
  }
  return norm;
}

function makeNormalisation(graph: MessageGraph, dtype: FloatDType, selfLoops: boolean): Normalisation {
  const degrees = graph.normDegrees(selfLoops);
  const explicit = selfLoops && (graph.hasSelfLoops() || parentHasLoops(graph));
  const used = explicit ? graph.withSelfLoops() : graph;
  return {
    graph: used,
    weight: used.positionWeights(dtype),
    srcScale: inverseRoots(degrees.src, dtype),
    dstScale: inverseRoots(degrees.dst, dtype),
    self: selfLoops && !explicit,
  };
}

/**
 * Returns whether the whole graph has self loops as edges. Such a loop is added last, an implied one first; a block
 * follows its whole graph, so that both give the same bits.
 */
function parentHasLoops(graph: MessageGraph): boolean {
  return graph instanceof Block && graph.parent instanceof LocalGraph && graph.parent.hasSelfLoops();
}

/** Returns d^(−½), and 0 for nodes without edges. */
function inverseRoots(degrees: Float64Array, dtype: FloatDType): FloatArray {
  const roots = dtype === 'f32' ? new Float32Array(degrees.length) : new Float64Array(degrees.length);
  for (let i = 0; i < roots.length; i++) roots[i] = degrees[i] > 0 ? 1 / Math.sqrt(degrees[i]) : 0;
  return roots;
}
