/**
 * The common base of graphs: structure is an `Adjacency`, data are frames, and message passing uses the kernels in
 * `ops/`. `Graph` and `Block` have all nodes and edges in this process; a distributed graph overrides what needs other
 * workers.
 */
import { deviceConstant } from '../tensor/device-constants.js';
import { fromTypedArray, type Ids, slice, type Tensor, type TensorDevice } from '../tensor/index.js';
import { checkIds } from '../tensor/ops/common.js';
import { StateError } from '../util/errors.js';
import type { Adjacency } from './adjacency.js';
import type { Message, NodeFunction, Reduce, ReduceName, UserMessage } from './fn.js';
import { type Frame, makeFrame, withFramesRestored } from './frame.js';
import type { AggregateOptions, AttentionOptions, MessageGraph, RowsOf } from './message-graph.js';
import { applyEdges, applyNodes, updateAll } from './message-passing.js';
import { aggregate } from './ops/aggregate.js';
import { attention } from './ops/attention.js';
import { aggregateEdges, dstToEdges, srcToEdges, toEdgeIds, toPositions } from './ops/edge-rows.js';
import { additiveScores, dotScores, edgeSoftmax } from './ops/scores.js';

export interface Frames {
  readonly src: Frame;
  readonly dst: Frame;
}

/** Returns the degrees of `nodes`, in their order; by default those of all. */
export function selectDegrees(where: string, all: Int32Array, nodes: Ids | undefined): Int32Array {
  if (nodes === undefined) return all;
  return checkIds(where, 'nodes', nodes, all.length).map((node) => all[node]);
}

export abstract class LocalGraph implements MessageGraph {
  readonly adjacency: Adjacency;
  readonly srcdata: Frame;
  readonly dstdata: Frame;
  readonly edata: Frame;
  /** The row of the sources at which the destinations begin; null if destinations are other nodes. */
  readonly dstOffset: number | null;
  /**
   * The destinations to which `withSelfLoops` added a loop; the ids of those edges follow all others, in this order.
   */
  readonly addedLoops: Int32Array | null;
  /** Weights in position order. */
  protected readonly weights: Float32Array | null;
  #selfLoops: boolean | null = null;
  #positionIds: Int32Array | null = null;
  readonly #degrees: [Float64Array | null, Float64Array | null] = [null, null];

  constructor(
    adjacency: Adjacency,
    dstOffset: number | null,
    weights: Float32Array | null,
    frames: Frames | null,
    addedLoops: Int32Array | null = null,
  ) {
    this.adjacency = adjacency;
    this.dstOffset = dstOffset;
    this.weights = weights;
    this.addedLoops = addedLoops;
    this.srcdata = frames?.src ?? makeFrame('srcdata', adjacency.numSrc);
    this.dstdata = frames?.dst ?? makeFrame('dstdata', adjacency.numDst);
    this.edata = makeFrame('edata', adjacency.numEdges);
  }

  get numSrcNodes(): number {
    return this.adjacency.numSrc;
  }

  get numDstNodes(): number {
    return this.adjacency.numDst;
  }

  get numEdges(): number {
    return this.adjacency.numEdges;
  }

  get ndata(): Frame {
    if (this.srcdata === this.dstdata) return this.srcdata;
    throw new StateError(
      'ndata: sources and destinations are different nodes here. Use srcdata and dstdata.',
    );
  }

  updateAll(message: Message | UserMessage, reduce: Reduce, apply?: NodeFunction): void {
    updateAll(this, message, reduce);
    if (apply !== undefined) applyNodes(this, apply);
  }

  applyEdges(message: Message | UserMessage): void {
    applyEdges(this, message);
  }

  localScope<T>(fn: () => T): T {
    return withFramesRestored([...new Set([this.srcdata, this.dstdata, this.edata])], fn);
  }

  inDegrees(nodes?: Ids): Int32Array {
    return selectDegrees('inDegrees', this.adjacency.inDegrees(), nodes);
  }

  outDegrees(nodes?: Ids): Int32Array {
    return selectDegrees('outDegrees', this.adjacency.outDegrees(), nodes);
  }

  dstRows(x: Tensor): Tensor {
    const { dstOffset, numSrcNodes, numDstNodes } = this;
    if (dstOffset === null) {
      throw new StateError(
        'dstRows: the destinations are not among the sources. Pass a pair [source rows, destination rows] to the layer.',
      );
    }
    if (dstOffset === 0 && numDstNodes === numSrcNodes) return x;
    return slice(x, dstOffset, dstOffset + numDstNodes);
  }

  toPositions(edgeRows: Tensor): Tensor {
    return toPositions(this.adjacency, edgeRows);
  }

  toEdgeIds(positionRows: Tensor): Tensor {
    return toEdgeIds(this.adjacency, positionRows);
  }

  aggregate(x: Tensor, options: AggregateOptions = {}): Tensor {
    return aggregate(this.adjacency, x, options, this.dstOffset);
  }

  /** Always false: all rows are in this process, so there is nothing to cache. */
  keepsRows(_x: Tensor): boolean {
    return false;
  }

  aggregateEdges(positionRows: Tensor, reduce: ReduceName = 'sum'): Tensor {
    return aggregateEdges(this.adjacency, positionRows, reduce);
  }

  srcToEdges(x: Tensor): Tensor {
    return srcToEdges(this.adjacency, x);
  }

  dstToEdges(x: Tensor): Tensor {
    return dstToEdges(this.adjacency, x);
  }

  dotScores(src: Tensor, dst: Tensor): Tensor {
    return dotScores(this.adjacency, src, dst);
  }

  additiveScores(src: Tensor, dst: Tensor, a: Tensor, edge: Tensor | null, slope: number): Tensor {
    return additiveScores(this.adjacency, src, dst, a, edge, slope);
  }

  edgeSoftmax(scores: Tensor): Tensor {
    return edgeSoftmax(this.adjacency, scores);
  }

  attention(value: Tensor, srcScore: Tensor, dstScore: Tensor, options: AttentionOptions = {}): Tensor {
    return attention(this.adjacency, value, srcScore, dstScore, options, () => this.rowIds('positions'));
  }

  positionWeights(dtype: 'f32' | 'f64', device: TensorDevice | null = null): Tensor | null {
    if (this.weights === null) return null;
    if (device !== null) return deviceConstant(device, this.weights);
    return fromTypedArray(dtype === 'f32' ? this.weights : Float64Array.from(this.weights));
  }

  hasSelfLoops(): boolean {
    if (this.#selfLoops === null) {
      const { offsets, indices, numDst } = this.adjacency;
      const shift = this.dstOffset;
      let found = false;
      for (let v = 0; shift !== null && v < numDst && !found; v++) {
        for (let p = offsets[v]; p < offsets[v + 1]; p++) if (indices[p] === v + shift) found = true;
      }
      this.#selfLoops = found;
    }
    return this.#selfLoops;
  }

  /** Returns sizes and fields as text. */
  toString(): string {
    const fields = (name: string, frame: Frame): string =>
      Object.keys(frame).length === 0
        ? ''
        : `; ${name}: ${Object.entries(frame)
            .map(([key, t]) => `${key} [${t.shape.join(', ')}]`)
            .join(', ')}`;
    const square = this.srcdata === this.dstdata;
    const nodes = square ? `${this.numDstNodes} nodes` : `${this.numSrcNodes} → ${this.numDstNodes} nodes`;
    const data = square
      ? fields('ndata', this.srcdata)
      : fields('srcdata', this.srcdata) + fields('dstdata', this.dstdata);
    return `${this.constructor.name}(${nodes}, ${this.numEdges} edges${data}${fields('edata', this.edata)})`;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }

  get dstIds(): Int32Array | null {
    return null;
  }

  get parentEdgeIds(): Int32Array | null {
    return null;
  }

  positionSources(): Int32Array {
    return this.adjacency.indices;
  }

  rowIds(rows: RowsOf): Int32Array | null {
    if (rows !== 'positions') return this.nodeRowIds(rows);
    this.#positionIds ??= this.#findEdgeRowIds();
    return this.#positionIds;
  }

  /** Returns the ids of sources or destinations in the whole graph; null if they are 0, 1, 2, …. */
  protected nodeRowIds(_rows: 'src' | 'dst'): Int32Array | null {
    return null;
  }

  /** Returns the ids of edges in the whole graph, by edge id, without added loops. */
  protected edgeRowIds(): Int32Array | null {
    return null;
  }

  #findEdgeRowIds(): Int32Array | null {
    const { adjacency, addedLoops } = this;
    const { edgeIds, numEdges } = adjacency;
    const known = this.edgeRowIds();
    if (addedLoops === null && (known === null || edgeIds === null)) return known ?? edgeIds;
    const nodes = this.rowIds('dst');
    const given = numEdges - (addedLoops?.length ?? 0);
    const ids = new Int32Array(numEdges);
    for (let position = 0; position < numEdges; position++) {
      const edge = edgeIds === null ? position : edgeIds[position];
      if (edge < given) ids[position] = known === null ? edge : known[edge];
      else {
        const v = (addedLoops as Int32Array)[edge - given];
        ids[position] = -1 - (nodes === null ? v : nodes[v]);
      }
    }
    return ids;
  }

  abstract regroup(offsets: Int32Array, order: Int32Array): LocalGraph;
  abstract withSelfLoops(): LocalGraph;
  abstract normDegrees(selfLoops: boolean): { readonly src: Float64Array; readonly dst: Float64Array };

  /** Returns the weighted in-degrees; with `selfLoops`, plus 1 where a destination has no self loop. */
  protected weightedInDegrees(selfLoops: boolean): Float64Array {
    const cached = this.#degrees[selfLoops ? 1 : 0];
    if (cached !== null) return cached;
    const { offsets, indices, numDst } = this.adjacency;
    const degrees = new Float64Array(numDst);
    for (let v = 0; v < numDst; v++) {
      let total = 0;
      let loop = !selfLoops;
      const own = this.dstOffset === null ? -1 : v + this.dstOffset;
      for (let p = offsets[v]; p < offsets[v + 1]; p++) {
        total += this.weights === null ? 1 : this.weights[p];
        if (indices[p] === own) loop = true;
      }
      degrees[v] = loop ? total : total + 1;
    }
    this.#degrees[selfLoops ? 1 : 0] = degrees;
    return degrees;
  }
}
