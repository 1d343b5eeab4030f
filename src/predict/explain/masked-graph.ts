/**
 * A graph whose messages are multiplied by a mask: 1 leaves an edge as it is, 0 takes its message out of a sum or mean. Among
 * messages whose greatest or least is taken, an edge with a mask of exactly 0 does not take part, and another factor draws
 * the message towards 0, which may then win or lose against others. Degrees and the normalisation of attention stay those
 * of the whole graph, as in GNNExplainer. Self loops that a layer adds are not masked. The gradient of the mask is how much
 * each edge matters.
 */
import type { AggregateOptions, AttentionOptions, ReduceName } from '../../graph/index.js';
import { LocalGraph } from '../../graph/local-graph.js';
import type { RowsOf } from '../../graph/message-graph.js';
import {
  add,
  concat,
  dropout,
  gatherRows,
  leakyRelu,
  mul,
  ones,
  reshape,
  type Tensor,
  type TensorDevice,
} from '../../tensor/index.js';

export class MaskedGraph extends LocalGraph {
  readonly #graph: LocalGraph;
  /** One factor per edge, by edge id: [E]. */
  readonly #mask: Tensor;
  #positions: Tensor | null = null;
  #looped: MaskedGraph | null = null;

  constructor(graph: LocalGraph, mask: Tensor) {
    super(graph.adjacency, graph.dstOffset, null, null, graph.addedLoops);
    this.#graph = graph;
    this.#mask = mask;
  }

  /** The mask in position order, [E]. */
  #factors(): Tensor {
    this.#positions ??= reshape(super.toPositions(reshape(this.#mask, [this.numEdges, 1])), [this.numEdges]);
    return this.#positions;
  }

  /** Multiplies a factor per edge, of any number of columns, by the mask. */
  #masked(weight: Tensor | null): Tensor {
    const factors = this.#factors();
    if (weight === null) return factors;
    return mul(weight, reshape(factors, [this.numEdges, ...weight.shape.slice(1).map(() => 1)]));
  }

  override aggregate(x: Tensor, options: AggregateOptions = {}): Tensor {
    const weight = this.#masked(options.weight ?? null);
    const left = isExtreme(options.reduce) ? this.#withoutZeros() : null;
    if (left === null) return super.aggregate(x, { ...options, weight });
    return left.graph.aggregate(x, { ...options, weight: gatherRows(weight, left.positions) });
  }

  override aggregateEdges(positionRows: Tensor, reduce: ReduceName = 'sum'): Tensor {
    const rows = this.#masked(positionRows);
    const left = isExtreme(reduce) ? this.#withoutZeros() : null;
    if (left === null) return super.aggregateEdges(rows, reduce);
    return left.graph.aggregateEdges(gatherRows(rows, left.positions), reduce);
  }

  /** Returns the graph of the edges whose factors are not 0 and their positions; null if that is every edge. */
  #withoutZeros(): { readonly graph: LocalGraph; readonly positions: Int32Array } | null {
    const factors = this.#factors().contiguous().dataSync();
    const { offsets } = this.adjacency;
    const positions = Int32Array.from(factors.keys()).filter((position) => factors[position] !== 0);
    if (positions.length === factors.length) return null;
    const starts = new Int32Array(offsets.length);
    for (let v = 0, at = 0; v < offsets.length; v++) {
      while (at < positions.length && positions[at] < offsets[v]) at++;
      starts[v] = at;
    }
    return { graph: this.#graph.regroup(starts, positions), positions };
  }

  /** Computes attention step by step: the pass that does all in one has no input for a mask. */
  override attention(
    value: Tensor,
    srcScore: Tensor,
    dstScore: Tensor,
    options: AttentionOptions = {},
  ): Tensor {
    const { slope = 0.2, edgeScore = null, dropout: dropped = 0 } = options;
    const ends = add(this.srcToEdges(srcScore), this.dstToEdges(dstScore));
    const scores = leakyRelu(edgeScore === null ? ends : add(ends, edgeScore), slope);
    const weights = this.edgeSoftmax(scores);
    return this.aggregate(value, { weight: dropped > 0 ? dropout(weights, dropped) : weights });
  }

  override withSelfLoops(): MaskedGraph {
    if (this.#looped === null) {
      const graph = this.#graph.withSelfLoops();
      const added = graph.numEdges - this.numEdges;
      const mask = added === 0 ? this.#mask : concat([this.#mask, ones([added])], 0);
      this.#looped = new MaskedGraph(graph, mask);
    }
    return this.#looped;
  }

  override regroup(offsets: Int32Array, order: Int32Array): MaskedGraph {
    const mask = gatherRows(reshape(this.#factors(), [this.numEdges, 1]), order);
    return new MaskedGraph(this.#graph.regroup(offsets, order), reshape(mask, [order.length]));
  }

  override normDegrees(selfLoops: boolean) {
    return this.#graph.normDegrees(selfLoops);
  }

  override positionWeights(dtype: 'f32' | 'f64', device: TensorDevice | null = null): Tensor | null {
    return this.#graph.positionWeights(dtype, device);
  }

  override get dstIds(): Int32Array | null {
    return this.#graph.dstIds;
  }

  override get parentEdgeIds(): Int32Array | null {
    return this.#graph.parentEdgeIds;
  }

  override positionSources(): Int32Array {
    return this.#graph.positionSources();
  }

  override rowIds(rows: RowsOf): Int32Array | null {
    return this.#graph.rowIds(rows);
  }
}

function isExtreme(reduce: ReduceName | undefined): boolean {
  return reduce === 'max' || reduce === 'min';
}
