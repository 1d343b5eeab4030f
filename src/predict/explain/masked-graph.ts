/**
 * A graph whose messages are multiplied by a mask: 1 leaves an edge as it is, 0 takes it out. Self loops that a layer adds are
 * not masked. The gradient of the mask says how much each edge matters.
 */
import type {
  AggregateOptions,
  AttentionOptions,
  Message,
  MessageGraph,
  NodeFunction,
  Reduce,
  ReduceName,
  UserMessage,
} from '../../graph/index.js';
import type { RowsOf } from '../../graph/message-graph.js';
import {
  add,
  concat,
  dropout,
  gatherRows,
  type Ids,
  leakyRelu,
  mul,
  ones,
  reshape,
  type Tensor,
  type TensorDevice,
} from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';

export class MaskedGraph implements MessageGraph {
  readonly #graph: MessageGraph;
  /** One factor per edge, by edge id. */
  readonly #mask: Tensor;
  #positions: Tensor | null = null;
  #looped: MaskedGraph | null = null;

  constructor(graph: MessageGraph, mask: Tensor) {
    this.#graph = graph;
    this.#mask = mask;
  }

  get numSrcNodes() {
    return this.#graph.numSrcNodes;
  }
  get numDstNodes() {
    return this.#graph.numDstNodes;
  }
  get numEdges() {
    return this.#graph.numEdges;
  }
  get srcdata() {
    return this.#graph.srcdata;
  }
  get dstdata() {
    return this.#graph.dstdata;
  }
  get ndata() {
    return this.#graph.ndata;
  }
  get edata() {
    return this.#graph.edata;
  }
  get addedLoops() {
    return this.#graph.addedLoops;
  }
  get parentEdgeIds() {
    return this.#graph.parentEdgeIds;
  }
  get dstIds() {
    return this.#graph.dstIds;
  }

  /** The mask in position order, [E]. */
  #factors(): Tensor {
    this.#positions ??= reshape(this.#graph.toPositions(reshape(this.#mask, [this.numEdges, 1])), [
      this.numEdges,
    ]);
    return this.#positions;
  }

  /** Multiplies a factor per edge, of any number of columns, by the mask. */
  #masked(weight: Tensor | null): Tensor {
    const factors = this.#factors();
    if (weight === null) return factors;
    const columns = [this.numEdges, ...weight.shape.slice(1).map(() => 1)];
    return mul(weight, reshape(factors, columns));
  }

  aggregate(x: Tensor, options: AggregateOptions = {}): Tensor {
    return this.#graph.aggregate(x, { ...options, weight: this.#masked(options.weight ?? null) });
  }

  aggregateEdges(positionRows: Tensor, reduce: ReduceName = 'sum'): Tensor {
    return this.#graph.aggregateEdges(this.#masked(positionRows), reduce);
  }

  /** The one-pass kernel has no place for a mask, so its steps are taken one by one. */
  attention(value: Tensor, srcScore: Tensor, dstScore: Tensor, options: AttentionOptions = {}): Tensor {
    const { slope = 0.2, edgeScore = null, dropout: dropped = 0 } = options;
    const ends = add(this.#graph.srcToEdges(srcScore), this.#graph.dstToEdges(dstScore));
    const scores = leakyRelu(edgeScore === null ? ends : add(ends, edgeScore), slope);
    const weights = this.#graph.edgeSoftmax(scores);
    return this.aggregate(value, { weight: dropped > 0 ? dropout(weights, dropped) : weights });
  }

  withSelfLoops(): MessageGraph {
    if (this.#looped === null) {
      const graph = this.#graph.withSelfLoops();
      const added = graph.numEdges - this.numEdges;
      const mask = added === 0 ? this.#mask : concat([this.#mask, ones([added])], 0);
      this.#looped = new MaskedGraph(graph, mask);
    }
    return this.#looped;
  }

  regroup(offsets: Int32Array, order: Int32Array): MessageGraph {
    const mask = gatherRows(reshape(this.#factors(), [this.numEdges, 1]), order);
    return new MaskedGraph(this.#graph.regroup(offsets, order), reshape(mask, [order.length]));
  }

  updateAll(_message: Message | UserMessage, _reduce: Reduce, _apply?: NodeFunction): void {
    throw unmasked('updateAll');
  }
  applyEdges(_message: Message | UserMessage): void {
    throw unmasked('applyEdges');
  }
  localScope<T>(fn: () => T): T {
    return this.#graph.localScope(fn);
  }
  inDegrees(nodes?: Ids): Int32Array {
    return this.#graph.inDegrees(nodes);
  }
  outDegrees(nodes?: Ids): Int32Array {
    return this.#graph.outDegrees(nodes);
  }
  dstRows(x: Tensor): Tensor {
    return this.#graph.dstRows(x);
  }
  toPositions(edgeRows: Tensor): Tensor {
    return this.#graph.toPositions(edgeRows);
  }
  toEdgeIds(positionRows: Tensor): Tensor {
    return this.#graph.toEdgeIds(positionRows);
  }
  keepsRows(x: Tensor): boolean {
    return this.#graph.keepsRows(x);
  }
  srcToEdges(x: Tensor): Tensor {
    return this.#graph.srcToEdges(x);
  }
  dstToEdges(x: Tensor): Tensor {
    return this.#graph.dstToEdges(x);
  }
  dotScores(src: Tensor, dst: Tensor): Tensor {
    return this.#graph.dotScores(src, dst);
  }
  additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor {
    return this.#graph.additiveScores(src, dst, a, edge, slope);
  }
  edgeSoftmax(scores: Tensor): Tensor {
    return this.#graph.edgeSoftmax(scores);
  }
  normDegrees(selfLoops: boolean) {
    return this.#graph.normDegrees(selfLoops);
  }
  positionWeights(dtype: 'f32' | 'f64', device?: TensorDevice | null): Tensor | null {
    return this.#graph.positionWeights(dtype, device);
  }
  hasSelfLoops(): boolean {
    return this.#graph.hasSelfLoops();
  }
  positionSources(): Int32Array {
    return this.#graph.positionSources();
  }
  rowIds(rows: RowsOf): Int32Array | null {
    return this.#graph.rowIds(rows);
  }
}

function unmasked(name: string): StateError {
  return new StateError(
    `explain: expected layers that pass tensors to the graph (aggregate, attention), got one that calls ${name}. Explain it by occlusion.`,
  );
}
