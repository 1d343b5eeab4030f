/**
 * Link prediction: an encoder gives rows of nodes, a decoder scores edges with them, true edges against corrupted ones.
 */

import { edgeInput } from '../../../gnn/decoders/edge-input.js';
import { linkLoss } from '../../../gnn/decoders/link-loss.js';
import type {
  DecoderInput,
  EdgeDecoder,
  LossFunction,
  NegativeMask,
  Regularizer,
} from '../../../gnn/index.js';
import { add, mul, noGrad, scope, type Tensor } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { Random } from '../../../util/philox.js';
import { LinkPredictionReporter } from '../../run/index.js';
import type { Batch, Negatives } from '../graph/batch/batch.js';
import { type BatchPiece, type BatchShare, maskBetween, resultPlace } from '../graph/batch/batch-share.js';
import type { GraphBatcher } from '../graph/batch/graph-batcher.js';
import { type Encoder, GeneralEncoder } from '../graph/model/encoder.js';
import type { Featurizer } from '../graph/model/featurizer.js';
import { fetched, Model } from '../graph/model/model.js';
import { rankAgainstAll } from './rank-against-all.js';

/** Draws of corrupted relations, apart from all others of the same seed. */
const relationStream = 34;

export class LinkPredictionModel extends Model {
  readonly decoder: EdgeDecoder;
  readonly lossFunction: LossFunction;
  readonly regularizer: Regularizer | null;
  readonly reporter: LinkPredictionReporter;
  /** Decides which relations replace true ones (CORRUPT_REL). */
  seed = 0;

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

  /** Scores of the batch's edges [B] and of the corrupted ones [B, n]: destinations replaced, then sources. */
  override forward(batch: Batch, train: boolean): [Tensor, Tensor | null, Tensor | null, Tensor | null] {
    return this.#scores(batch, train, null);
  }

  #scores(
    batch: Batch,
    train: boolean,
    piece: BatchPiece | null,
  ): [Tensor, Tensor | null, Tensor | null, Tensor | null] {
    batch.encodedUniques = this.#rows(batch, train);
    const input = this.input(batch, batch.encodedUniques, piece);
    const { rhsPos, rhsNeg, lhsPos, lhsNeg } = this.decoder.forward(input, this.lossFunction.maskedScore);
    return [rhsPos, rhsNeg, lhsPos, lhsNeg];
  }

  override get lossIsMean(): boolean {
    return this.lossFunction.reduction === 'MEAN';
  }

  protected override trainBatch(batch: Batch): number {
    return scope(() => {
      this.encoderOptimizer?.zeroGrad();
      batch.uniqueNodeEmbeddings?.zeroGrad();
      const loss = this.#loss(batch);
      loss?.backward();
      const own = this.noteLoss(batch, loss);
      const whole = this.workers?.startSum([own]);
      this.step();
      batch.status = 'ComputedGradients';
      batch.loss = whole?.()[0] ?? batch.loss;
      return batch.loss ?? own;
    });
  }

  /** The loss of the batch, or this worker's part of it; null when it has no edges. */
  #loss(batch: Batch): Tensor | null {
    const { share } = batch;
    if (share === null) return this.#lossOf(batch, this.#rows(batch, true), null);
    if (share.pieces.length === 0) return null;
    const rows = this.#rows(batch, true);
    const parts = share.pieces.map((piece) => {
      const loss = this.#lossOf(batch, rows, piece);
      // A mean over the piece counts with the piece's part of the batch.
      return this.lossIsMean ? mul(loss, (piece.to - piece.from) / share.total) : loss;
    });
    return parts.reduce((sum, part) => add(sum, part));
  }

  #lossOf(batch: Batch, rows: Tensor, piece: BatchPiece | null): Tensor {
    const input = this.input(batch, rows, piece);
    const loss = linkLoss(this.decoder, input, this.lossFunction);
    if (this.regularizer === null) return loss;
    const relations = this.decoder.relationRows(input.relations ?? null);
    const penalty = this.regularizer.forward(input.src, input.dst, relations);
    if (piece === null || !this.lossIsMean) return add(loss, penalty);
    // The penalty is a sum, also beside a mean: it must not shrink with the piece.
    return add(loss, mul(penalty, (batch.share as BatchShare).total / (piece.to - piece.from)));
  }

  override async evaluate(batch: Batch): Promise<void> {
    if (batch.evaluation !== null) {
      await rankAgainstAll(this.decoder, batch, this.reporter);
      return;
    }
    for (const piece of batch.share === null ? [null] : batch.share.pieces) {
      const scores = noGrad(() => scope(() => this.#scores(batch, false, piece)));
      batch.encodedUniques = null;
      const [rhsPos, rhsNeg, lhsPos, lhsNeg] = await Promise.all(
        scores.map(async (t) => (t === null ? null : fetched(t))),
      );
      const relations = between(batch.relations, piece) ?? undefined;
      const details = (direction: 'tail' | 'head') => ({
        direction,
        ...(relations === undefined ? {} : { relations }),
        ...resultPlace(batch, direction, piece?.from),
      });
      if (rhsPos !== null && rhsNeg !== null) this.reporter.addResult(rhsPos, rhsNeg, details('tail'));
      if (lhsPos !== null && lhsNeg !== null) this.reporter.addResult(lhsPos, lhsNeg, details('head'));
      for (const t of scores) t?.dispose();
    }
  }

  override startEvaluation(): void {
    this.eval();
    this.reporter.clear();
  }

  override finishEvaluation(): Readonly<Record<string, number>> {
    if (this.workers !== null) this.reporter.shareResults(this.workers);
    return this.reporter.results();
  }

  override async encodeForEvaluation(batcher: GraphBatcher): Promise<void> {
    if (this.encoder instanceof GeneralEncoder && this.encoder.isIdentity && this.featurizer === null) return;
    await this.encoder.encodeFullGraph(batcher.evaluationNeighborSampler, batcher.graphStorage);
  }

  /** What the decoder gets of a batch, or of a piece of it, whose nodes have these rows. */
  input(batch: Batch, rows: Tensor, piece: BatchPiece | null = null): DecoderInput {
    if (batch.srcRows === null || batch.dstRows === null)
      throw new StateError('LinkPredictionModel: expected a batch of edges, got one without.');
    const { srcNegatives, dstNegatives } = batch;
    const all = dstNegatives?.chunks ?? srcNegatives?.chunks ?? 1;
    const chunks = piece?.chunks ?? all;
    const ends = {
      src: between(batch.srcRows, piece) as Int32Array,
      dst: between(batch.dstRows, piece) as Int32Array,
    };
    const common = { relations: between(batch.relations, piece), chunks };
    const { method } = this.decoder;
    if (method === 'CORRUPT_REL')
      return edgeInput(rows, ends, { ...common, relationNegatives: this.#relations(batch, all, piece) });
    const dst = chunksOf(batch.dstNegativeRows, all, piece);
    if (method === 'POS_AND_NEG')
      return edgeInput(rows, ends, {
        ...common,
        negativeEdges: negativeEdges(ends.src, common.relations, dst, chunks),
      });
    return edgeInput(rows, ends, {
      ...common,
      srcNegatives: chunksOf(batch.srcNegativeRows, all, piece),
      dstNegatives: dst,
      srcMask: maskOf(srcNegatives, piece),
      dstMask: maskOf(dstNegatives, piece),
    });
  }

  /** In evaluation rows may be encoded already. */
  #rows(batch: Batch, train: boolean): Tensor {
    if (
      !train &&
      batch.gnnGraph === null &&
      batch.uniqueNodeFeatures === null &&
      batch.uniqueNodeEmbeddings !== null
    )
      return batch.uniqueNodeEmbeddings;
    return this.encode(batch, train);
  }

  /** Drawn for the whole batch, whoever has a part of it. */
  #relations(batch: Batch, chunks: number, piece: BatchPiece | null): Int32Array {
    const count = (batch.dstNegativeRows?.length ?? chunks) / chunks;
    const { epoch, step } = batch.at;
    const random = new Random(this.seed, relationStream).split(epoch).split(step);
    const total = this.decoder.numRelations;
    const whole = batch.share?.totalChunks ?? chunks;
    const drawn = Int32Array.from({ length: whole * count }, () => random.nextInt(Math.max(1, total)));
    if (piece === null) return drawn;
    const first = (batch.share?.firstChunk ?? 0) + piece.firstChunk;
    return drawn.subarray(first * count, (first + piece.chunks) * count);
  }
}

/** What belongs to the edges of a piece. */
function between(values: Int32Array | null, piece: BatchPiece | null): Int32Array | null {
  return values === null || piece === null ? values : values.subarray(piece.from, piece.to);
}

/** The negatives of a piece, of `all` chunks. */
function chunksOf(ids: Int32Array | null, all: number, piece: BatchPiece | null): Int32Array | null {
  if (ids === null || piece === null) return ids;
  const count = ids.length / all;
  return ids.subarray(piece.firstChunk * count, (piece.firstChunk + piece.chunks) * count);
}

function maskOf(negatives: Negatives | null, piece: BatchPiece | null): NegativeMask | null {
  const mask = negatives?.mask ?? null;
  return mask === null || piece === null ? mask : maskBetween(mask, piece.from, piece.to);
}

/** Every edge with each of its chunk's negative destinations. */
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
