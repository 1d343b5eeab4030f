/**
 * The edges a sampler follows, by the node that draws. For incoming edges that is the graph itself, for outgoing ones
 * its reverse, for both a graph with every edge in both directions. Sampled edges keep the ids of the given graph.
 */
import { Graph, reverse } from '../graph/index.js';
import { kernels } from '../native/index.js';
import { Tensor } from '../tensor/index.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';

export const directions = ['in', 'out', 'both'] as const;
export type Direction = (typeof directions)[number];

/** A factor per edge id for the probability of being drawn; 'edgeWeight' uses the weights of the graph. */
export type SampleWeights = Float32Array | Tensor | readonly number[] | 'edgeWeight';

export class SamplingGraph {
  readonly graph: Graph;
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  /** Running sums of integer weights within each row; null if all edges are equal. */
  readonly sums: Uint32Array | null;
  /** Message weights by edge position. */
  readonly messageWeights: Float32Array | null;
  /** Row ids from here on belong to edges followed against their direction. */
  readonly #numEdges: number;

  constructor(where: string, given: Graph, direction: Direction = 'in', weights?: SampleWeights) {
    if (!(given instanceof Graph)) throw new ValueError(expected(where, 'a Graph', 'graph', given));
    if (!directions.includes(direction))
      throw new ValueError(expected(where, directions.join(', '), 'direction', direction));
    this.#numEdges = given.numEdges;
    this.graph = direction === 'in' ? given : direction === 'out' ? reverse(given) : toBothDirections(given);
    const { offsets, indices } = this.graph.adjacency;
    if (!(offsets instanceof Int32Array)) {
      throw new ValueError(expected(where, 'fewer than 2^31 edges', 'graph', `${indices.length} edges`));
    }
    this.offsets = offsets;
    this.indices = indices;
    this.messageWeights = this.graph.positionWeights('f32')?.dataSync<Float32Array>() ?? null;
    this.sums = weights === undefined ? null : this.#runningSums(where, given, weights);
  }

  get numNodes(): number {
    return this.graph.numDstNodes;
  }

  get numEdges(): number {
    return this.graph.numEdges;
  }

  /** Returns the neighbours at these edge positions. */
  neighborsOf(slots: Int32Array): Int32Array {
    const ids = new Int32Array(slots.length);
    kernels().gatherRows(this.indices, slots, ids, slots.length, 4);
    return ids;
  }

  /**
   * Returns ids that distinguish the edges at these positions: edge ids, plus the number of edges for those against
   * their direction.
   */
  rowIds(slots: Int32Array): Int32Array {
    const { edgeIds } = this.graph.adjacency;
    const ids = new Int32Array(slots.length);
    if (edgeIds === null) ids.set(slots);
    else kernels().gatherRows(edgeIds, slots, ids, slots.length, 4);
    return ids;
  }

  /** Returns the edge ids, in the given graph, at these positions. */
  edgeIds(slots: Int32Array): Int32Array {
    const ids = this.rowIds(slots);
    if (this.graph.numEdges !== this.#numEdges) {
      for (let i = 0; i < ids.length; i++) if (ids[i] >= this.#numEdges) ids[i] -= this.#numEdges;
    }
    return ids;
  }

  /** Returns the message weights at these positions; null if the graph has none. */
  weightsOf(slots: Int32Array): Float32Array | null {
    if (this.messageWeights === null) return null;
    const weights = new Float32Array(slots.length);
    kernels().gatherRows(this.messageWeights, slots, weights, slots.length, 4);
    return weights;
  }

  /** Returns integers per row that sum to less than 2^32, at least 1 for every weight above 0. */
  #runningSums(where: string, given: Graph, weights: SampleWeights): Uint32Array {
    const { offsets } = this;
    const values = weightValues(where, given, weights);
    const { edgeIds } = this.graph.adjacency;
    const valueAt = (slot: number) => {
      const id = edgeIds === null ? slot : edgeIds[slot];
      return values[id >= values.length ? id - values.length : id];
    };
    const sums = new Uint32Array(this.indices.length);
    for (let v = 0; v < this.numNodes; v++) {
      const { total, scale } = rowTotal(valueAt, offsets[v], offsets[v + 1]);
      const range = 2 ** 32 - 1 - (offsets[v + 1] - offsets[v]);
      let sum = 0;
      for (let p = offsets[v]; p < offsets[v + 1]; p++) {
        const weight = valueAt(p);
        if (weight > 0) sum += 1 + Math.floor((weight / scale / total) * range);
        // Rounding errors of many quotients may add up to a little more than their sum.
        sums[p] = Math.min(sum, 2 ** 32 - 1);
      }
    }
    return sums;
  }
}

/** Returns the sum of weights divided by `scale`: their maximum if the plain sum overflows, otherwise 1. */
function rowTotal(valueAt: (slot: number) => number, begin: number, end: number) {
  let total = 0;
  let most = 0;
  for (let p = begin; p < end; p++) {
    total += valueAt(p);
    most = Math.max(most, valueAt(p));
  }
  if (total < Infinity) return { total, scale: 1 };
  total = 0;
  for (let p = begin; p < end; p++) total += valueAt(p) / most;
  return { total, scale: most };
}

function weightValues(where: string, graph: Graph, weights: SampleWeights): ArrayLike<number> {
  if (weights === 'edgeWeight' && graph.edgeWeight === null) {
    throw new ValueError(
      `${where}: expected a graph with edge weights for weights 'edgeWeight', got one without. Pass the weights themselves.`,
    );
  }
  const values: ArrayLike<number> =
    weights === 'edgeWeight'
      ? (graph.edgeWeight as Float32Array)
      : weights instanceof Tensor
        ? weights.dataSync()
        : weights;
  if (!Array.isArray(values) && !(ArrayBuffer.isView(values) && 'length' in values))
    throw new ValueError(
      expected(where, "a tensor, an array of numbers or 'edgeWeight'", 'weights', weights),
    );
  if (values.length !== graph.numEdges)
    throw new ShapeError(expected(where, `${graph.numEdges} weights`, 'weights', values.length));
  for (let i = 0; i < values.length; i++) {
    if (!(typeof values[i] === 'number' && values[i] >= 0 && values[i] < Infinity))
      throw new ValueError(
        expected(where, 'finite weights of at least 0', 'weights', `${values[i]} at position ${i}`),
      );
  }
  return values;
}

function toBothDirections(graph: Graph): Graph {
  const { src, dst } = graph.edges();
  const join = (a: Int32Array, b: Int32Array) => {
    const all = new Int32Array(a.length + b.length);
    all.set(a);
    all.set(b, a.length);
    return all;
  };
  const numNodes = graph.numNodes;
  const weight = graph.edgeWeight;
  if (weight === null) return Graph.fromEdges(join(src, dst), join(dst, src), { numNodes });
  const edgeWeight = new Float32Array(2 * weight.length);
  edgeWeight.set(weight);
  edgeWeight.set(weight, weight.length);
  return Graph.fromEdges(join(src, dst), join(dst, src), { numNodes, edgeWeight });
}
