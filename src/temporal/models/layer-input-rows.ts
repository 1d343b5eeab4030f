/**
 * Rows of nodes that candidates are scored with: the input of the attention layer, which is memory after mail, and its
 * contribution to hidden rows as a neighbour. They change only with the state of the node and with the parameters, so they are
 * kept: a question after a few events updates the rows of their nodes alone.
 */
import type { TemporalGraph } from '../../graph/index.js';
import { kernels } from '../../native/index.js';
import type { Module } from '../../nn/index.js';
import { fromTypedArray, linear, scope, type Tensor } from '../../tensor/index.js';
import { pack } from '../../tensor/ops/common.js';
import type { TemporalBatch } from '../batch.js';
import { BatchMaker } from '../batch-maker.js';
import type { TemporalAttentionLayer } from '../layers/attention-layer.js';
import type { MomentWeights } from '../layers/moment-weights.js';
import type { SharedMailBox } from '../mailbox/index.js';
import type { GeneralModel } from './general-model.js';

/** Rows of more nodes than fit into this are computed for every question. */
const mostBytes = 2 ** 28;

export interface FoundRows {
  /** Inputs of the layer [*, dimNode]. */
  readonly h: Tensor;
  /** Contributions of a neighbour [*, heads·hidden]. */
  readonly mapped: Tensor;
  /** Row of both of each node. */
  readonly rows: Int32Array;
}

export class LayerInputRows {
  readonly #model: GeneralModel;
  readonly #parameters: readonly Tensor[];
  readonly #dimNode: number;
  readonly #graph: TemporalGraph;
  readonly #maker: BatchMaker;
  #h = new Float32Array(0);
  #mapped = new Float32Array(0);
  #known = new Uint8Array(0);
  /** Checksum of the parameters that the rows were computed with. */
  #sum = 0;

  constructor(
    model: GeneralModel,
    layer: TemporalAttentionLayer,
    graph: TemporalGraph,
    mailbox: SharedMailBox | null,
  ) {
    this.#model = model;
    const modules: readonly (Module | null)[] = [model.memory, layer];
    this.#parameters = modules.flatMap((module) => module?.parameters() ?? []);
    this.#dimNode = layer.sizes.dimNode;
    this.#graph = graph;
    this.#maker = new BatchMaker(graph, mailbox);
    mailbox?.onChange((lists) => {
      if (lists === null) this.#known.fill(0);
      else for (const nodes of lists) for (const node of nodes) this.#known[node] = 0;
    });
  }

  /** @param nodes may repeat. */
  read(nodes: Int32Array, weights: MomentWeights): FoundRows {
    const width = weights.node.shape[0];
    const count = this.#graph.numNodes;
    if (count * (this.#dimNode + width) * 4 > mostBytes) {
      const batch = this.#batch(nodes);
      const h = this.#model.nodeRows(batch);
      return { h, mapped: linear(h, weights.node, weights.nodeBias), rows: batch.nodeOfRow[0] };
    }
    this.#prepare(count, width);
    const missing = nodes.filter((node) => this.#known[node] === 0 && ++this.#known[node] === 1);
    if (missing.length > 0) scope(() => this.#compute(missing, weights, width));
    return {
      h: fromTypedArray(this.#h, [this.#known.length, this.#dimNode]),
      mapped: fromTypedArray(this.#mapped, [this.#known.length, width]),
      rows: nodes,
    };
  }

  /** Makes room, and forgets rows of other parameters. */
  #prepare(count: number, width: number): void {
    let sum = 0;
    for (const { floats } of this.#parameters) {
      const bytes = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
      sum = kernels().crc32(bytes, bytes.length, sum);
    }
    if (this.#known.length < count) {
      this.#known = new Uint8Array(count);
      this.#h = new Float32Array(count * this.#dimNode);
      this.#mapped = new Float32Array(count * width);
    } else if (sum !== this.#sum) this.#known.fill(0);
    this.#sum = sum;
  }

  #compute(nodes: Int32Array, weights: MomentWeights, width: number): void {
    try {
      const batch = this.#batch(nodes);
      const h = this.#model.nodeRows(batch);
      const put = (x: Tensor, to: Float32Array, columns: number): void =>
        kernels().putRows(pack(x), batch.nodes, to, batch.nodes.length, columns * 4);
      put(h, this.#h, this.#dimNode);
      put(linear(h, weights.node, weights.nodeBias), this.#mapped, width);
    } catch (error) {
      for (const node of nodes) this.#known[node] = 0;
      throw error;
    }
  }

  /** Makes a batch of nodes with their state and without events. */
  #batch(nodes: Int32Array): TemporalBatch {
    const none = new Int32Array(0);
    const pairs = { eventRows: none, src: none, dst: none, times: new Float64Array(0), negatives: none };
    const roots = { nodes, times: new Float64Array(nodes.length) };
    return this.#maker.make(pairs, roots, { hops: [], snapshots: [[]] });
  }
}
