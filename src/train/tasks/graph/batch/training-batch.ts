/**
 * One step's data: edges or nodes, negatives, sampled neighbours, and the rows of all nodes involved. `BatchSource` draws
 * a batch first and reads its rows later; each stage returns a new batch and no field changes. The sampled neighbourhood has
 * a cursor that encoding advances layer by layer, so a batch with graph layers is encoded once.
 *
 * Ids of edges, negatives and `uniqueNodeIndices` are local ids of the resident partitions (global ids when all of the
 * node table is resident). `srcRows`, `dstRows` and the rows of negatives index the encoded nodes of this batch.
 */
import type { QueryRows } from '../../../../gnn/decoders/query-rows.js';
import type { NegativeMask } from '../../../../gnn/ops/chunked-softmax-loss.js';
import type { IdLists } from '../../../../gnn/ops/id-lists.js';
import type { SampleTime } from '../../../../sample/index.js';
import type { LayerGraph } from '../../../../sample/layer-graph.js';
import type { EdgeList } from '../../../../sample/one-hop-sampler.js';
import type { Tile } from '../../../../storage/trained-rows.js';
import type { Tensor, TensorDevice } from '../../../../tensor/index.js';
import { unscoped } from '../../../../tensor/scope.js';
import type { Cursor } from '../../../task.js';
import type { Candidates } from '../../links/candidates.js';
import type { TextRows } from '../model/text-bags.js';
import type { BatchShare } from './batch-share.js';
import type { BatchSource } from './batch-source.js';

/** Negative nodes shared by the edges of each chunk: [chunks, count] ids; `mask` lists positions to leave out, by edge. */
export interface Negatives {
  readonly ids: Int32Array;
  readonly chunks: number;
  readonly mask?: NegativeMask | null;
}

/** Data for ranking against all nodes: their rows in tiles, and the true ends to leave out (with `filtered`). */
export interface EvaluationData {
  readonly tiles: () => AsyncIterable<Tile>;
  readonly trueSources: IdLists | null;
  readonly trueDestinations: IdLists | null;
  /** The candidates of each relation; null or absent: all nodes. */
  readonly candidates?: Candidates | null;
}

/** The fields of a batch. */
export type BatchData = Omit<TrainingBatch, 'with' | 'withEmbeddings' | 'on' | 'gradient' | 'dispose'>;

export class TrainingBatch {
  /** Whether the batch is trained on or evaluated. */
  readonly train: boolean;
  /** Step and epoch of the batch, which determine the draws of samplers and dropout. */
  readonly at: Required<SampleTime> = { epoch: 0, step: 0 };
  /** The cursor at which the epoch continues after this batch. */
  readonly after: Cursor | null = null;
  /** Index of the first edge (or node) among the active ones. */
  readonly startIndex: number = 0;
  /** Edges or nodes of the whole batch. */
  readonly batchSize: number = 0;
  /** The source of a batch to evaluate; its model encodes all nodes there. */
  readonly source: BatchSource | null = null;

  readonly src: Int32Array | null = null;
  readonly dst: Int32Array | null = null;
  readonly relations: Int32Array | null = null;
  /** Weights of the edges in the loss, of mean 1 over the whole batch; null: all are 1. */
  readonly edgeWeights: Float32Array | null = null;
  readonly srcNegatives: Negatives | null = null;
  readonly dstNegatives: Negatives | null = null;
  /** Whole negative edges (POS_AND_NEG) in place of negative nodes; the same number for each edge, those of the first edge first. */
  readonly negativeEdges: EdgeList | null = null;
  /** Set when other workers have the rest of the batch: edges and negatives are this worker's alone. */
  readonly share: BatchShare | null = null;
  /** Nodes of the whole batch, which may repeat, where this is a worker's share and neighbours are sampled. */
  readonly allNodes: Int32Array | null = null;
  /**
   * The queries of a batch of one-against-all training, in place of edges: their entities and answers index
   * `uniqueNodeIndices`, which are all resident nodes.
   */
  readonly queries: readonly QueryRows[] | null = null;
  /** Nodes of a node-classification batch. */
  readonly rootNodes: Int32Array | null = null;
  /** Set when the batch is ranked against all nodes instead of sampled negatives. */
  readonly evaluation: EvaluationData | null = null;

  /** Every node whose rows this batch needs, once. */
  readonly uniqueNodeIndices: Int32Array | null = null;
  readonly uniqueNodeEmbeddings: Tensor | null = null;
  readonly uniqueNodeFeatures: Tensor | null = null;
  readonly uniqueNodeText: TextRows | null = null;
  readonly uniqueNodeLabels: Int32Array | null = null;
  /** Whether `uniqueNodeEmbeddings` are rows that the encoder computed. */
  readonly isEncoded: boolean = false;
  /** Whether the features outlive the batch. */
  readonly keepsFeatures: boolean = false;
  /** The sampled neighbourhood that the encoder follows. */
  readonly gnnGraph: LayerGraph | null = null;
  /** The batch's nodes in a graph that is sharded over workers, which the encoder follows in place of a sample. */
  readonly shardedGraph: LayerGraph | null = null;

  /** Rows of the encoded nodes for the ends of the edges and the negatives. */
  readonly srcRows: Int32Array | null = null;
  readonly dstRows: Int32Array | null = null;
  readonly srcNegativeRows: Int32Array | null = null;
  readonly dstNegativeRows: Int32Array | null = null;
  readonly negativeEdgeRows: Pick<EdgeList, 'src' | 'dst'> | null = null;

  constructor(data: Partial<BatchData> & Pick<BatchData, 'train'>) {
    this.train = data.train;
    Object.assign(this, data);
  }

  /** Returns a batch with other values of some fields. */
  with(data: Partial<BatchData>): TrainingBatch {
    return new TrainingBatch({ ...this, ...data });
  }

  /** Returns a batch with rows read for it, by which the loss is differentiated in training. */
  withEmbeddings(rows: Tensor, isEncoded = false): TrainingBatch {
    return this.with({ uniqueNodeEmbeddings: this.train ? rows.setRequiresGrad() : rows, isEncoded });
  }

  /** Returns a batch with its rows on the device, where a model computes; null: the CPU. */
  on(device: TensorDevice | null): TrainingBatch {
    const { uniqueNodeEmbeddings: embeddings, uniqueNodeFeatures: features } = this;
    if (device === null) return this;
    const move = (rows: Tensor | null): Tensor | null =>
      rows === null ? null : unscoped(() => rows.to(device));
    const moved = { uniqueNodeEmbeddings: move(embeddings), uniqueNodeFeatures: move(features) };
    if (moved.uniqueNodeEmbeddings === embeddings && moved.uniqueNodeFeatures === features) return this;
    return this.with(moved);
  }

  /** Returns the gradient of the embeddings, zeros where the loss does not depend on them; null without embeddings. */
  gradient(): Float32Array | Promise<Float32Array> | null {
    const rows = this.uniqueNodeEmbeddings;
    if (rows === null) return null;
    const { grad } = rows;
    if (grad === null) return new Float32Array(rows.size);
    return rows.device === null
      ? (grad.dataSync() as Float32Array)
      : grad.data().then((values) => values as Float32Array);
  }

  /** Releases the rows. */
  dispose(): void {
    const { uniqueNodeEmbeddings: rows, uniqueNodeFeatures: features } = this;
    // A gradient in memory may still be read by the caller; device memory is counted.
    if (rows !== null && rows.device !== null) rows.ownGrad?.dispose();
    rows?.dispose();
    if (!this.keepsFeatures) features?.dispose();
  }
}

/** The ids of a batch from which its distinct nodes are found. */
export type NodeLists = Pick<
  BatchData,
  'src' | 'dst' | 'srcNegatives' | 'dstNegatives' | 'negativeEdges' | 'rootNodes'
>;

/** The distinct nodes of a batch, and rows among them. */
export type FoundNodes = Pick<
  BatchData,
  'uniqueNodeIndices' | 'srcRows' | 'dstRows' | 'srcNegativeRows' | 'dstNegativeRows' | 'negativeEdgeRows'
>;

/**
 * Finds the distinct nodes of the edges and negatives, in order of appearance, and the row of each end among them.
 *
 * @param scratch −1 for every id, and again afterwards; saves an allocation per batch.
 */
export function findNodes(lists: NodeLists, scratch?: Int32Array): FoundNodes {
  const { src, dst, srcNegatives, dstNegatives, negativeEdges, rootNodes } = lists;
  const given = [
    ...[src, dst, srcNegatives?.ids, dstNegatives?.ids],
    ...[negativeEdges?.src, negativeEdges?.dst, rootNodes],
  ].filter((list) => list !== null && list !== undefined);
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
  const found = {
    srcRows: rowsOf(src),
    dstRows: rowsOf(dst),
    srcNegativeRows: rowsOf(srcNegatives?.ids),
    dstNegativeRows: rowsOf(dstNegatives?.ids),
    negativeEdgeRows:
      negativeEdges === null
        ? null
        : { src: rowsOf(negativeEdges.src) as Int32Array, dst: rowsOf(negativeEdges.dst) as Int32Array },
  };
  rowsOf(rootNodes);
  for (let i = 0; i < count; i++) map[unique[i]] = -1;
  return { ...found, uniqueNodeIndices: unique.subarray(0, count) };
}

/** A map without nodes, for all ids of the lists. */
function emptyMap(lists: readonly Int32Array[]): Int32Array {
  let most = -1;
  for (const ids of lists) for (const id of ids) most = Math.max(most, id);
  return new Int32Array(most + 1).fill(-1);
}
