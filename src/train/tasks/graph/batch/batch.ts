/**
 * One step's data: edges or nodes, negatives, sampled neighbours, parameters of all nodes involved, and later their
 * gradients. It is filled by `GraphBatcher`, used by `Model`, and cleared when its updates are applied.
 *
 * `embeddingsToDevice` puts rows where the model computes, `embeddingsToHost` brings loss and gradients back: the only
 * step that waits for a device. Row numbers and labels stay here; kernels take them along.
 *
 * Ids of edges, negatives and `uniqueNodeIndices` are rows of the resident part of the node table (the global ids when
 * all of it is resident). `srcRows`, `dstRows` and the rows of negatives index the encoded nodes of this batch.
 */
import type { NegativeMask } from '../../../../gnn/index.js';
import type { GNNGraph, LayerGraph, SampleTime } from '../../../../sample/index.js';
import type { Tile } from '../../../../storage/index.js';
import { asTensor } from '../../../../storage/memory-embeddings.js';
import { findDevice } from '../../../../tensor/device.js';
import {
  type DeviceLike,
  gatherRows,
  reshape,
  type Tensor,
  type TensorDevice,
} from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import { expected, StateError, ValueError } from '../../../../util/errors.js';
import type { Cursor } from '../../../task.js';
import type { IdLists } from '../../links/filter-index.js';
import type { BatchShare } from './batch-share.js';

/** Where a batch is on its way. */
export type BatchStatus =
  | 'Waiting'
  | 'AccumulatedIndices'
  | 'LoadedEmbeddings'
  | 'TransferredToDevice'
  | 'PreparedForCompute'
  | 'ComputedGradients'
  | 'AccumulatedGradients'
  | 'TransferredToHost'
  | 'Done';

/** Negative nodes shared by the edges of each chunk: [chunks, count] ids; `mask` lists positions to leave out, by edge. */
export interface Negatives {
  readonly ids: Int32Array;
  readonly chunks: number;
  readonly mask?: NegativeMask | null;
}

/** What evaluation against all nodes needs: their rows in tiles, and the true ends to leave out (with `filtered`). */
export interface EvaluationData {
  readonly tiles: () => AsyncIterable<Tile>;
  readonly trueSources: IdLists | null;
  readonly trueDestinations: IdLists | null;
}

export class Batch {
  /** Whether the batch is trained on or evaluated. */
  readonly train: boolean;
  /** −1 is this machine's processor, 0 the graphics processor. */
  deviceId = -1;
  status: BatchStatus = 'Waiting';
  /** Which batch of which epoch; decides what samplers draw and dropout drops. */
  at: Required<SampleTime> = { epoch: 0, step: 0 };
  /** Where the epoch continues after it. */
  after: Cursor | null = null;
  /** First edge (or node) among those that are active, and how many. */
  startIndex = 0;
  batchSize = 0;

  src: Int32Array | null = null;
  dst: Int32Array | null = null;
  relations: Int32Array | null = null;
  srcNegatives: Negatives | null = null;
  dstNegatives: Negatives | null = null;
  /** Set when other workers have the rest of the batch: edges and negatives are this worker's alone. */
  share: BatchShare | null = null;
  /** Nodes of the whole batch, which may repeat, where this is a worker's share and neighbours are sampled. */
  allNodes: Int32Array | null = null;
  /** Nodes of a node-classification batch. */
  rootNodes: Int32Array | null = null;
  /** Set when the batch is ranked against all nodes instead of sampled negatives. */
  evaluation: EvaluationData | null = null;

  /** Every node whose parameters this batch needs, once. */
  uniqueNodeIndices: Int32Array | null = null;
  uniqueNodeEmbeddings: Tensor | null = null;
  uniqueNodeFeatures: Tensor | null = null;
  uniqueNodeLabels: Int32Array | null = null;
  gnnGraph: GNNGraph | null = null;
  /** What the encoder follows in place of a sample: the batch's nodes in a graph spread over workers. */
  shardedGraph: LayerGraph | null = null;
  /** What the encoder made of the nodes: one row per target. */
  encodedUniques: Tensor | null = null;

  /** Rows of `encodedUniques` for the ends of the edges and the negatives. */
  srcRows: Int32Array | null = null;
  dstRows: Int32Array | null = null;
  srcNegativeRows: Int32Array | null = null;
  dstNegativeRows: Int32Array | null = null;

  srcPosEmbeddings: Tensor | null = null;
  dstPosEmbeddings: Tensor | null = null;
  relationEmbeddings: Tensor | null = null;
  srcNegEmbeddings: Tensor | null = null;
  dstNegEmbeddings: Tensor | null = null;

  /** The loss of the step; on a device known after `embeddingsToHost`. */
  loss: number | null = null;
  /** The loss as the device has it, until it is read. */
  lossOnDevice: Tensor | null = null;
  /** Gradient of `uniqueNodeEmbeddings`, after `accumulateGradients`; on a device after `embeddingsToHost`. */
  uniqueNodeGradients: Float32Array | null = null;
  /** What Adagrad with a state of zeros would add to the rows and to their state; only when a learning rate was given. */
  uniqueNodeUpdates: Float32Array | null = null;
  uniqueNodeStateUpdates: Float32Array | null = null;
  #asked: { readonly learningRate: number; readonly state: Float32Array | null } | null = null;

  constructor(train: boolean) {
    this.train = train;
  }

  /**
   * Finds the distinct nodes of the edges and negatives, in order of appearance, and the row of each among them.
   *
   * @param scratch −1 for every id, and so again afterwards; saves making one for each batch.
   */
  localSample(scratch?: Int32Array): void {
    const lists = [this.src, this.dst, this.srcNegatives?.ids, this.dstNegatives?.ids, this.rootNodes];
    const given = lists.filter((list) => list !== null && list !== undefined);
    const map = scratch ?? emptyMap(given);
    const unique = new Int32Array(given.reduce((sum, list) => sum + list.length, 0));
    let count = 0;
    const rowsOf = (ids: Int32Array | null | undefined): Int32Array | null => {
      if (ids === null || ids === undefined) return null;
      const rows = new Int32Array(ids.length);
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i];
        let row = map[id];
        if (row < 0) {
          row = count;
          map[id] = row;
          unique[count++] = id;
        }
        rows[i] = row;
      }
      return rows;
    };
    this.srcRows = rowsOf(this.src);
    this.dstRows = rowsOf(this.dst);
    this.srcNegativeRows = rowsOf(this.srcNegatives?.ids);
    this.dstNegativeRows = rowsOf(this.dstNegatives?.ids);
    rowsOf(this.rootNodes);
    this.uniqueNodeIndices = unique.subarray(0, count);
    for (let i = 0; i < count; i++) map[unique[i]] = -1;
    this.status = 'AccumulatedIndices';
  }

  /**
   * Hands the rows to a device: −1 is this machine's processor, 0 or `webgpu` the graphics processor.
   *
   * @example
   * batch.embeddingsToDevice('webgpu');
   */
  embeddingsToDevice(to: number | DeviceLike = -1): void {
    if (typeof to === 'number' && to !== -1 && to !== 0)
      throw new ValueError(
        expected(
          'Batch.embeddingsToDevice',
          '-1 (cpu) or 0 (webgpu)',
          'deviceId',
          to,
          'There is one device.',
        ),
      );
    const device =
      to === -1 ? null : findDevice('Batch.embeddingsToDevice', typeof to === 'number' ? 'webgpu' : to);
    this.deviceId = device === null ? -1 : 0;
    if (device !== null) {
      this.uniqueNodeEmbeddings = moved(this.uniqueNodeEmbeddings, device);
      this.uniqueNodeFeatures = moved(this.uniqueNodeFeatures, device);
    }
    this.status = 'TransferredToDevice';
  }

  /**
   * Looks up the rows that decoders work on. Negatives are [chunks, count, width].
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
   * Takes the gradient of the embeddings. With a learning rate also the additive form of one Adagrad step from the state
   * given: updates −lr·g/(√(state + g²) + 1e-10) and g² for the state.
   */
  accumulateGradients(learningRate?: number, state: Float32Array | null = null): void {
    const embeddings = this.uniqueNodeEmbeddings;
    if (embeddings === null) return;
    this.status = 'AccumulatedGradients';
    this.#asked = learningRate === undefined ? null : { learningRate, state };
    if (embeddings.device !== null) return;
    const gradient = embeddings.grad;
    this.#setGradients(
      gradient === null ? new Float32Array(embeddings.size) : (gradient.dataSync() as Float32Array),
    );
  }

  #setGradients(values: Float32Array): void {
    this.uniqueNodeGradients = values;
    if (this.#asked === null) return;
    const { learningRate, state } = this.#asked;
    const squares = values.map((g) => g * g);
    this.uniqueNodeStateUpdates = squares;
    this.uniqueNodeUpdates = values.map(
      (g, i) => (-learningRate * g) / (Math.sqrt((state?.[i] ?? 0) + squares[i]) + 1e-10),
    );
  }

  /**
   * Brings the loss and the gradients back from the device.
   *
   * @param gradients false leaves those of rows there, where the table is on the device too.
   */
  async embeddingsToHost(gradients = true): Promise<void> {
    const [loss, rows] = [this.lossOnDevice, this.uniqueNodeEmbeddings];
    this.status = 'TransferredToHost';
    const fetchRows = gradients && rows !== null && rows.device !== null && this.train;
    if (loss === null && !fetchRows) return;
    // Both reads start before either is awaited.
    const values = Promise.all([loss?.data(), fetchRows ? rows.grad?.data() : undefined]);
    const [value, gradient] = await values;
    if (value !== undefined) this.loss = value[0];
    loss?.dispose();
    this.lossOnDevice = null;
    if (fetchRows) this.#setGradients((gradient as Float32Array | undefined) ?? new Float32Array(rows.size));
  }

  /** Takes rows that were read for this batch, where the table has them; the loss is differentiated by them. */
  setEmbeddings(given: Tensor | Float32Array, width = 1): void {
    const rows = given instanceof Float32Array ? asTensor(given, width) : given;
    // Memory of a device is counted.
    if (this.uniqueNodeEmbeddings?.device) this.uniqueNodeEmbeddings.dispose();
    this.uniqueNodeEmbeddings = this.train ? rows.setRequiresGrad() : rows;
    if (rows.device !== null) this.deviceId = 0;
    this.status = 'LoadedEmbeddings';
  }

  setFeatures(given: Tensor | Float32Array, width = 1): void {
    if (this.uniqueNodeFeatures?.device) this.uniqueNodeFeatures.dispose();
    this.uniqueNodeFeatures = given instanceof Float32Array ? asTensor(given, width) : given;
  }

  /** Forgets all data. */
  clear(): void {
    // In memory somebody may still read the gradient; a device's is counted.
    if (this.deviceId !== -1) this.uniqueNodeEmbeddings?.ownGrad?.dispose();
    this.uniqueNodeEmbeddings?.dispose();
    this.uniqueNodeFeatures?.dispose();
    this.lossOnDevice?.dispose();
    const empty = new Batch(this.train);
    const { at, deviceId } = this;
    Object.assign(this, empty, { at, deviceId, status: 'Done' });
    this.#asked = null;
  }
}

/** The rows on a device, in place of those that were not; what is there already stays. */
function moved(rows: Tensor | null, device: TensorDevice): Tensor | null {
  if (rows === null) return null;
  const there = unscoped(() => rows.to(device));
  if (there !== rows) rows.dispose();
  return there;
}

/** A map that knows no node, for all ids of the lists. */
function emptyMap(lists: readonly Int32Array[]): Int32Array {
  let most = -1;
  for (const ids of lists) for (const id of ids) most = Math.max(most, id);
  return new Int32Array(most + 1).fill(-1);
}
