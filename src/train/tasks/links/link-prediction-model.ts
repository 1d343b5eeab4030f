/**
 * Link prediction: an encoder gives rows of nodes, a decoder scores edges with them, true edges against corrupted ones or
 * queries against all nodes.
 */

import type { DecoderInput, InputDropout } from '../../../gnn/decoders/edge-decoder.js';
import { edgeInput } from '../../../gnn/decoders/edge-input.js';
import { edgeObjective, type LinkObjective } from '../../../gnn/decoders/edge-objective.js';
import { queryLossOf } from '../../../gnn/decoders/query-objective.js';
import type { EdgeDecoder, LossFunction, Regularizer } from '../../../gnn/index.js';
import type { NegativeMask } from '../../../gnn/ops/chunked-softmax-loss.js';
import { add, mul, noGrad, scope, type Tensor } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { Random } from '../../../util/philox.js';
import { LinkPredictionReporter } from '../../run/index.js';
import type { Baseline, HeldOut, Metrics } from '../../task.js';
import {
  type BatchShare,
  edgesBetween,
  maskBetween,
  resultPosition,
  type ShareSegment,
} from '../graph/batch/batch-share.js';
import type { BatchSource } from '../graph/batch/batch-source.js';
import type { Negatives, TrainingBatch } from '../graph/batch/training-batch.js';
import type { Encoder } from '../graph/model/encoder.js';
import type { Featurizer } from '../graph/model/featurizer.js';
import { fetched, Model } from '../graph/model/model.js';
import { countingBaseline } from './counting-baseline.js';
import { rankAgainstAll } from './rank-against-all.js';
import type { RecommendationEvaluation } from './recommend/recommendation-evaluation.js';

/** The random stream of corrupted relations, distinct from all others of the same seed. */
const relationStream = 34;

/** The random stream of dropout in the decoder. */
const dropoutStream = 35;

export class LinkPredictionModel extends Model {
  readonly decoder: EdgeDecoder;
  readonly lossFunction: LossFunction;
  readonly regularizer: Regularizer | null;
  /** Terms in addition to the loss and the regulariser's penalty. */
  objective: LinkObjective = { penalty: null, relationPrediction: 0 };
  readonly reporter: LinkPredictionReporter;
  /** Metrics of recommended lists; null without any. */
  recommendation: RecommendationEvaluation | null = null;
  /** The seed of corrupted relations (CORRUPT_REL) and of dropout in the decoder. */
  seed = 0;
  /** Whether a query counts once, whatever the number of its answers (K_VS_ALL); otherwise each answer does. */
  wholeQueries = false;

  constructor(
    encoder: Encoder,
    decoder: EdgeDecoder,
    loss: LossFunction,
    regularizer: Regularizer | null = null,
    featurizer: Featurizer | null = null,
    reporter: LinkPredictionReporter | null = null,
  ) {
    super(encoder, featurizer);
    this.decoder = decoder;
    this.lossFunction = loss;
    this.regularizer = regularizer;
    this.reporter = reporter ?? new LinkPredictionReporter();
  }

  /** Returns scores of the batch's edges [B] and of the corrupted ones [B, n]: destinations replaced, then sources. */
  override forward(
    batch: TrainingBatch,
    train: boolean,
  ): [Tensor, Tensor | null, Tensor | null, Tensor | null] {
    return this.#scores(batch, train, null);
  }

  #scores(
    batch: TrainingBatch,
    train: boolean,
    segment: ShareSegment | null,
  ): [Tensor, Tensor | null, Tensor | null, Tensor | null] {
    const input = this.input(batch, this.#rows(batch, train), segment, train);
    const { rhsPos, rhsNeg, lhsPos, lhsNeg } = this.decoder.forward(input, this.lossFunction.maskedScore);
    return [rhsPos, rhsNeg, lhsPos, lhsNeg];
  }

  override get lossIsMean(): boolean {
    return this.lossFunction.reduction === 'MEAN';
  }

  protected override trainBatch(batch: TrainingBatch): number | Tensor {
    return scope(() => {
      this.encoderOptimizer?.zeroGrad();
      batch.uniqueNodeEmbeddings?.zeroGrad();
      const loss = this.#loss(batch);
      loss?.backward();
      // The sum over workers is in flight while gradients are reduced.
      const whole = this.workers?.startSum([loss?.item() ?? 0]);
      this.step();
      return whole === undefined ? this.lossOf(loss) : whole()[0];
    });
  }

  /** Returns the loss of the batch, or of this worker's share of it; null when it has no edges. */
  #loss(batch: TrainingBatch): Tensor | null {
    const { share, queries } = batch;
    if (queries !== null)
      return queryLossOf(this.decoder, this.#rows(batch, true), queries, {
        ...{ loss: this.lossFunction, regularizer: this.regularizer, wholeQueries: this.wholeQueries },
        ...{ ...this.objective, random: this.stepRandom(batch) },
      });
    if (share === null) return this.#lossOf(batch, this.#rows(batch, true), null);
    if (share.segments.length === 0) return null;
    const rows = this.#rows(batch, true);
    const losses = share.segments.map((segment) => {
      const loss = this.#lossOf(batch, rows, segment);
      // A mean over the segment is weighted by the segment's fraction of the batch.
      return this.lossIsMean ? mul(loss, (segment.to - segment.from) / share.total) : loss;
    });
    return losses.reduce((sum, loss) => add(sum, loss));
  }

  #lossOf(batch: TrainingBatch, rows: Tensor, segment: ShareSegment | null): Tensor {
    const input = this.input(batch, rows, segment, true);
    const loss = edgeObjective(this.decoder, input, this.lossFunction, this.objective);
    return this.#regularized(loss, input, batch, segment);
  }

  #regularized(
    loss: Tensor,
    input: DecoderInput,
    batch: TrainingBatch,
    segment: ShareSegment | null,
  ): Tensor {
    if (this.regularizer === null) return loss;
    const relations = this.decoder.relationRows(input.relations ?? null);
    const penalty = this.regularizer.forward(input.src, input.dst, relations);
    if (segment === null || !this.lossIsMean) return add(loss, penalty);
    // The penalty is a sum even when the loss is a mean: it must not shrink with the segment.
    return add(loss, mul(penalty, (batch.share as BatchShare).total / (segment.to - segment.from)));
  }

  override async evaluate(given: TrainingBatch): Promise<void> {
    const batch = await this.#withEncodedRows(given);
    try {
      if (batch.evaluation !== null) await rankAgainstAll(this.decoder, batch, this.reporter);
      else await this.#rankNegatives(batch);
    } finally {
      if (batch !== given) batch.dispose();
    }
  }

  /** Encodes all nodes if the batch has raw embeddings and the encoder computes other rows. */
  async #withEncodedRows(batch: TrainingBatch): Promise<TrainingBatch> {
    if (batch.isEncoded || batch.gnnGraph !== null || this.comparesEmbeddings) return batch;
    const { source } = batch;
    if (source === null)
      throw new StateError(
        `${this.constructor.name}.evaluate: expected encoded rows for a model that compares what its encoder computes, got a batch without a source to encode. Take the batch from a BatchSource, or set isEncoded.`,
      );
    if (source.storage.encodedNodes === null) await this.encodeForEvaluation(source);
    return (await source.read(batch)).on(this.device);
  }

  async #rankNegatives(batch: TrainingBatch): Promise<void> {
    for (const segment of batch.share === null ? [null] : batch.share.segments) {
      const scores = noGrad(() => scope(() => this.#scores(batch, false, segment)));
      const [rhsPos, rhsNeg, lhsPos, lhsNeg] = await Promise.all(
        scores.map(async (t) => (t === null ? null : fetched(t))),
      );
      const relations = between(batch.relations, segment) ?? undefined;
      const details = (direction: 'tail' | 'head') => ({
        direction,
        ...(relations === undefined ? {} : { relations }),
        ...resultPosition(batch, direction, segment?.from),
      });
      if (rhsPos !== null && rhsNeg !== null) this.reporter.addResult(rhsPos, rhsNeg, details('tail'));
      if (lhsPos !== null && lhsNeg !== null) this.reporter.addResult(lhsPos, lhsNeg, details('head'));
      for (const t of scores) t?.dispose();
    }
  }

  override get evaluatesBatches(): boolean {
    return this.recommendation === null || this.reporter.metrics.length > 0;
  }

  override async evaluateSplit(
    source: BatchSource,
    split: HeldOut,
    onProgress?: (fraction: number) => void,
  ): Promise<Metrics> {
    return this.recommendation?.ofModel(this, source, split, onProgress) ?? {};
  }

  override startEvaluation(): void {
    this.eval();
    this.reporter.clear();
  }

  override finishEvaluation(): Readonly<Record<string, number>> {
    if (this.workers !== null) this.reporter.shareResults(this.workers);
    return this.reporter.results();
  }

  override async baselines(source: BatchSource, split: HeldOut): Promise<readonly Baseline[]> {
    const counted = this.evaluatesBatches ? await countingBaseline(source, this, split) : null;
    const popular = (await this.recommendation?.popularity(this.workers, source, split)) ?? null;
    return [popular, counted].filter((baseline) => baseline !== null);
  }

  override async encodeForEvaluation(source: BatchSource): Promise<void> {
    if (this.comparesEmbeddings) return;
    await this.encoder.encodeFullGraph(source.evaluationNeighbors, source.storage);
  }

  /** Returns the decoder's input for a batch, or for a segment of a share, whose nodes have these rows. */
  input(
    batch: TrainingBatch,
    rows: Tensor,
    segment: ShareSegment | null = null,
    train = false,
  ): DecoderInput {
    if (batch.srcRows === null || batch.dstRows === null)
      throw new StateError('LinkPredictionModel: expected a batch of edges, got a batch without edges.');
    const { srcNegatives, dstNegatives, negativeEdgeRows } = batch;
    const all = dstNegatives?.chunks ?? srcNegatives?.chunks ?? 1;
    const chunks = segment?.chunks ?? all;
    const ends = {
      src: between(batch.srcRows, segment) as Int32Array,
      dst: between(batch.dstRows, segment) as Int32Array,
    };
    const common = {
      relations: between(batch.relations, segment),
      weights: between(batch.edgeWeights, segment),
      chunks,
    };
    const { method } = this.decoder;
    if (negativeEdgeRows !== null && method !== 'POS_AND_NEG')
      throw new StateError(
        `LinkPredictionModel: expected a decoder with the method POS_AND_NEG for negative edges, got ${method}. Set decoder.method, or return node ids from getNegatives.`,
      );
    if (method === 'CORRUPT_REL')
      return edgeInput(rows, ends, { ...common, relationNegatives: this.#relations(batch, all, segment) });
    const dst = chunksOf(batch.dstNegativeRows, all, segment);
    if (method === 'POS_AND_NEG') {
      const edges =
        negativeEdgeRows === null
          ? negativeEdges(ends.src, common.relations, dst, chunks)
          : givenEdges(batch, negativeEdgeRows, segment);
      return edgeInput(rows, ends, { ...common, negativeEdges: edges });
    }
    return edgeInput(rows, ends, {
      ...common,
      srcNegatives: chunksOf(batch.srcNegativeRows, all, segment),
      dstNegatives: dst,
      srcMask: maskOf(srcNegatives, segment),
      dstMask: maskOf(dstNegatives, segment),
      dropout: train ? this.#dropout(batch, rows.shape[0], segment) : null,
    });
  }

  /** Returns the decoder's dropout for a batch, or for a segment of a share; null if it has none. */
  #dropout(batch: TrainingBatch, numRows: number, segment: ShareSegment | null): InputDropout | null {
    const { entityDropout, relationDropout } = this.decoder;
    if (entityDropout === 0 && relationDropout === 0) return null;
    const [src, dst] = [batch.src as Int32Array, batch.dst as Int32Array];
    const rowIds = new Int32Array(numRows);
    const assign = (rows: Int32Array | null, ids: Int32Array | undefined): void =>
      rows?.forEach((row, i) => {
        rowIds[row] = ids?.[i] ?? 0;
      });
    assign(batch.srcRows, src);
    assign(batch.dstRows, dst);
    assign(batch.srcNegativeRows, batch.srcNegatives?.ids);
    assign(batch.dstNegativeRows, batch.dstNegatives?.ids);
    const first = batch.share?.from ?? 0;
    return {
      random: this.stepRandom(batch),
      edgeIds: between(
        Int32Array.from(src, (_, i) => first + i),
        segment,
      ) as Int32Array,
      srcIds: between(src, segment) as Int32Array,
      dstIds: between(dst, segment) as Int32Array,
      rowIds,
    };
  }

  /** Returns the generator of dropout masks of a batch's step. */
  protected stepRandom({ at: { epoch, step } }: TrainingBatch): Random {
    return new Random(this.seed, dropoutStream).split(epoch).split(step);
  }

  /** Returns the rows that the decoder compares; in evaluation they may be encoded already. */
  #rows(batch: TrainingBatch, train: boolean): Tensor {
    if (
      !train &&
      batch.gnnGraph === null &&
      batch.uniqueNodeFeatures === null &&
      batch.uniqueNodeEmbeddings !== null
    )
      return batch.uniqueNodeEmbeddings;
    return this.encode(batch, train);
  }

  /** Draws corrupted relations of the whole batch, so that they are the same for any number of workers. */
  #relations(batch: TrainingBatch, chunks: number, segment: ShareSegment | null): Int32Array {
    const count = (batch.dstNegativeRows?.length ?? chunks) / chunks;
    const { epoch, step } = batch.at;
    const random = new Random(this.seed, relationStream).split(epoch).split(step);
    const total = this.decoder.numRelations;
    const whole = batch.share?.totalChunks ?? chunks;
    const drawn = Int32Array.from({ length: whole * count }, () => random.nextInt(Math.max(1, total)));
    if (segment === null) return drawn;
    const first = (batch.share?.firstChunk ?? 0) + segment.firstChunk;
    return drawn.subarray(first * count, (first + segment.chunks) * count);
  }
}

/** Returns the values of the edges of a segment. */
function between<A extends Int32Array | Float32Array>(
  values: A | null,
  segment: ShareSegment | null,
): A | null {
  return values === null || segment === null ? values : (values.subarray(segment.from, segment.to) as A);
}

/** Returns the negatives of a segment, of `all` chunks. */
function chunksOf(ids: Int32Array | null, all: number, segment: ShareSegment | null): Int32Array | null {
  if (ids === null || segment === null) return ids;
  const count = ids.length / all;
  return ids.subarray(segment.firstChunk * count, (segment.firstChunk + segment.chunks) * count);
}

function maskOf(negatives: Negatives | null, segment: ShareSegment | null): NegativeMask | null {
  const mask = negatives?.mask ?? null;
  return mask === null || segment === null ? mask : maskBetween(mask, segment.from, segment.to);
}

/** Returns the negative edges that a sampler drew, by rows of the batch. */
function givenEdges(
  { src, negativeEdges: edges }: TrainingBatch,
  rows: { readonly src: Int32Array; readonly dst: Int32Array },
  segment: ShareSegment | null,
) {
  const given = { ...rows, relations: edges?.relations ?? null };
  const total = src?.length ?? 0;
  const { from, to } = segment ?? { from: 0, to: total };
  const { relations = null, ...ends } = edgesBetween(given, Math.max(1, total), from, to);
  return { ...ends, relations };
}

/** Returns every edge with each of its chunk's negative destinations. */
function negativeEdges(
  src: Int32Array,
  relations: Int32Array | null,
  negatives: Int32Array | null,
  chunks: number,
) {
  if (negatives === null) return null;
  const n = negatives.length / chunks;
  const perChunk = Math.ceil(src.length / chunks);
  const total = src.length * n;
  const edgeOf = (i: number): number => Math.floor(i / n);
  return {
    src: Int32Array.from({ length: total }, (_, i) => src[edgeOf(i)]),
    dst: Int32Array.from(
      { length: total },
      (_, i) => negatives[Math.floor(edgeOf(i) / perChunk) * n + (i % n)],
    ),
    relations: relations === null ? null : Int32Array.from({ length: total }, (_, i) => relations[edgeOf(i)]),
  };
}
