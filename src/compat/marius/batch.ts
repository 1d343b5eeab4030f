/**
 * The document's batch: a `TrainingBatch` whose fields are set, updated and cleared as it passes through a training or
 * evaluation loop.
 *
 * `embeddingsToDevice` moves rows to the device of the model, `embeddingsToHost` brings gradients back: the only step that
 * waits for a device. Row numbers and labels stay on the host.
 */

import type { IdLists } from '../../gnn/ops/id-lists.js';
import type { EdgeList } from '../../sample/one-hop-sampler.js';
import { findDevice } from '../../tensor/device.js';
import { type DeviceLike, gatherRows, reshape, type Tensor } from '../../tensor/index.js';
import { type Negatives, TrainingBatch } from '../../train/index.js';
import { type EvaluationData, findNodes } from '../../train/tasks/graph/batch/training-batch.js';
import { expected, StateError, ValueError } from '../../util/errors.js';
import { checkRowValues } from './checks.js';
import { GNNGraph } from './gnn-graph.js';

/** The last step that a batch has passed. */
export type BatchStatus =
  | 'Waiting'
  | 'AccumulatedIndices'
  | 'LoadedEmbeddings'
  | 'TransferredToDevice'
  | 'PreparedForCompute'
  | 'AccumulatedGradients'
  | 'TransferredToHost'
  | 'Done';

export class Batch extends TrainingBatch {
  declare at: TrainingBatch['at'];
  declare startIndex: number;
  declare batchSize: number;
  declare src: Int32Array | null;
  declare dst: Int32Array | null;
  declare relations: Int32Array | null;
  declare srcNegatives: Negatives | null;
  declare dstNegatives: Negatives | null;
  declare negativeEdges: EdgeList | null;
  declare rootNodes: Int32Array | null;
  declare evaluation: EvaluationData | null;
  declare uniqueNodeIndices: Int32Array | null;
  declare uniqueNodeEmbeddings: Tensor | null;
  declare uniqueNodeFeatures: Tensor | null;
  declare uniqueNodeLabels: Int32Array | null;
  declare isEncoded: boolean;
  declare gnnGraph: GNNGraph | null;

  /** −1 is the CPU, 0 the GPU. */
  deviceId = -1;
  status: BatchStatus = 'Waiting';
  /** The encoder's result: one row per target. */
  encodedUniques: Tensor | null = null;
  srcPosEmbeddings: Tensor | null = null;
  dstPosEmbeddings: Tensor | null = null;
  relationEmbeddings: Tensor | null = null;
  srcNegEmbeddings: Tensor | null = null;
  dstNegEmbeddings: Tensor | null = null;
  /** True sources and destinations of each edge, to leave out of filtered ranks; null without filter. */
  srcNegFilterEval: readonly Int32Array[] | null = null;
  dstNegFilterEval: readonly Int32Array[] | null = null;
  /** Gradient of `uniqueNodeEmbeddings`, after `accumulateGradients`; on a device after `embeddingsToHost`. */
  uniqueNodeGradients: Float32Array | null = null;
  /** The rows' and the state's change by one Adagrad step; only when `accumulateGradients` was given a learning rate. */
  uniqueNodeUpdates: Float32Array | null = null;
  uniqueNodeStateUpdates: Float32Array | null = null;
  #step: { readonly learningRate: number; readonly state: Float32Array | null } | null = null;

  constructor(train: boolean) {
    super({ train });
  }

  /** Makes a document's batch of one that a source drew and read; `numNodesInMemory`: nodes of the graph it was drawn from. */
  static of(drawn: TrainingBatch, numNodesInMemory: number): Batch {
    const batch = new Batch(drawn.train);
    const sample = drawn.gnnGraph;
    Object.assign(batch, drawn, {
      gnnGraph: sample === null ? null : GNNGraph.of(sample as GNNGraph['sample'], numNodesInMemory),
      srcNegFilterEval: listsOf(drawn.evaluation?.trueSources),
      dstNegFilterEval: listsOf(drawn.evaluation?.trueDestinations),
    });
    const rows = batch.uniqueNodeEmbeddings;
    batch.deviceId = rows !== null && rows.device !== null ? 0 : -1;
    batch.status = rows === null ? 'AccumulatedIndices' : 'LoadedEmbeddings';
    return batch;
  }

  /** Finds the distinct nodes of the edges and negatives, in order of appearance, and the row of each among them. */
  localSample(): void {
    Object.assign(this, findNodes(this));
    this.status = 'AccumulatedIndices';
  }

  /** Takes the rows of the nodes; the loss is differentiated by them in training. */
  setEmbeddings(given: Tensor | Float32Array, width = 1): void {
    const rows = checkRowValues('Batch.setEmbeddings', given, width);
    if (this.uniqueNodeEmbeddings?.device) this.uniqueNodeEmbeddings.dispose();
    this.uniqueNodeEmbeddings = this.train ? rows.setRequiresGrad() : rows;
    if (rows.device !== null) this.deviceId = 0;
    this.status = 'LoadedEmbeddings';
  }

  setFeatures(given: Tensor | Float32Array, width = 1): void {
    const rows = checkRowValues('Batch.setFeatures', given, width);
    if (this.uniqueNodeFeatures?.device) this.uniqueNodeFeatures.dispose();
    this.uniqueNodeFeatures = rows;
  }

  /**
   * Moves the rows to a device: −1 is the CPU, 0 or `webgpu` the GPU.
   *
   * @example
   * batch.embeddingsToDevice('webgpu');
   */
  embeddingsToDevice(to: number | DeviceLike = -1): void {
    const where = 'Batch.embeddingsToDevice';
    if (typeof to === 'number' && to !== -1 && to !== 0)
      throw new ValueError(expected(where, '-1 (cpu) or 0 (webgpu)', 'deviceId', to, 'There is one device.'));
    const device = to === -1 ? null : findDevice(where, typeof to === 'number' ? 'webgpu' : to);
    this.deviceId = device === null ? -1 : 0;
    const { uniqueNodeEmbeddings: embeddings, uniqueNodeFeatures: features } = this;
    const moved = this.on(device);
    this.uniqueNodeEmbeddings = moved.uniqueNodeEmbeddings;
    this.uniqueNodeFeatures = moved.uniqueNodeFeatures;
    if (embeddings !== this.uniqueNodeEmbeddings) embeddings?.dispose();
    if (features !== this.uniqueNodeFeatures) features?.dispose();
    this.status = 'TransferredToDevice';
  }

  /**
   * Looks up the rows that decoders compare. Negatives are [chunks, count, width].
   *
   * @param relations a table of relations, for `relationEmbeddings`.
   */
  prepareBatch(relations: Tensor | null = null): void {
    const rows = this.encodedUniques ?? this.uniqueNodeEmbeddings;
    if (rows === null)
      throw new StateError(
        'Batch.prepareBatch: expected encoded nodes or embeddings, got neither. Encode the batch first.',
      );
    const pick = (ids: Int32Array | null): Tensor | null => (ids === null ? null : gatherRows(rows, ids));
    const pickChunks = (ids: Int32Array | null, negatives: Negatives | null): Tensor | null => {
      if (ids === null || negatives === null) return null;
      const { chunks } = negatives;
      return reshape(gatherRows(rows, ids), [chunks, ids.length / chunks, rows.shape[1]]);
    };
    this.srcPosEmbeddings = pick(this.srcRows);
    this.dstPosEmbeddings = pick(this.dstRows);
    this.relationEmbeddings =
      relations === null || this.relations === null ? null : gatherRows(relations, this.relations);
    this.srcNegEmbeddings = pickChunks(this.srcNegativeRows, this.srcNegatives);
    this.dstNegEmbeddings = pickChunks(this.dstNegativeRows, this.dstNegatives);
    this.status = 'PreparedForCompute';
  }

  /**
   * Takes the gradient of the embeddings. With a learning rate also the additive form of one Adagrad step from the given
   * state: −lr·g/(√(state + g²) + 1e-10) for the rows and g² for the state.
   */
  accumulateGradients(learningRate?: number, state: Float32Array | null = null): void {
    if (this.uniqueNodeEmbeddings === null) return;
    this.status = 'AccumulatedGradients';
    this.#step = learningRate === undefined ? null : { learningRate, state };
    if (this.uniqueNodeEmbeddings.device === null) this.#setGradients(this.gradient() as Float32Array);
  }

  #setGradients(values: Float32Array): void {
    this.uniqueNodeGradients = values;
    if (this.#step === null) return;
    const { learningRate, state } = this.#step;
    const squares = values.map((g) => g * g);
    this.uniqueNodeStateUpdates = squares;
    this.uniqueNodeUpdates = values.map(
      (g, i) => (-learningRate * g) / (Math.sqrt((state?.[i] ?? 0) + squares[i]) + 1e-10),
    );
  }

  /** Reads the gradients back from the device. */
  async embeddingsToHost(): Promise<void> {
    this.status = 'TransferredToHost';
    const rows = this.uniqueNodeEmbeddings;
    if (!this.train || rows === null || rows.device === null) return;
    this.#setGradients((await this.gradient()) as Float32Array);
  }

  /** Clears all tensor data. */
  clear(): void {
    this.dispose();
    this.gnnGraph?.clear();
    const { at, deviceId } = this;
    Object.assign(this, new Batch(this.train), { at, deviceId, status: 'Done' });
    this.#step = null;
  }
}

/** One list per edge. */
export function listsOf(lists: IdLists | null | undefined): Int32Array[] | null {
  if (lists === null || lists === undefined) return null;
  const { offsets, ids } = lists;
  return Array.from({ length: offsets.length - 1 }, (_, i) => ids.subarray(offsets[i], offsets[i + 1]));
}
