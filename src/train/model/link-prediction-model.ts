/**
 * Link prediction: an encoder gives rows of nodes, a decoder scores edges with them, true edges against corrupted ones.
 */
import {
  type DecoderInput,
  type EdgeDecoder,
  edgeInput,
  type LossFunction,
  linkLoss,
  type Regularizer,
} from '../../gnn/index.js';
import { add, noGrad, scope, type Tensor } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import { Random } from '../../util/philox.js';
import type { Batch } from '../batch/batch.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import { LinkPredictionReporter } from '../run/index.js';
import { type Encoder, GeneralEncoder } from './encoder.js';
import type { Featurizer } from './featurizer.js';
import { Model } from './model.js';
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
    batch.encodedUniques = this.#rows(batch, train);
    const input = this.input(batch, batch.encodedUniques);
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
      const rows = this.#rows(batch, true);
      const input = this.input(batch, rows);
      let loss = linkLoss(this.decoder, input, this.lossFunction);
      if (this.regularizer !== null) {
        const relations = this.decoder.relationRows(batch.relations);
        loss = add(loss, this.regularizer.forward(input.src, input.dst, relations));
      }
      loss.backward();
      this.step();
      batch.status = 'ComputedGradients';
      return loss.item();
    });
  }

  override async evaluate(batch: Batch): Promise<void> {
    if (batch.evaluation !== null) {
      await rankAgainstAll(this.decoder, batch, this.reporter);
      return;
    }
    noGrad(() =>
      scope(() => {
        const [rhsPos, rhsNeg, lhsPos, lhsNeg] = this.forward(batch, false);
        const relations = batch.relations ?? undefined;
        const details = relations === undefined ? {} : { relations };
        if (rhsNeg !== null) this.reporter.addResult(rhsPos, rhsNeg, { ...details, direction: 'tail' });
        if (lhsPos !== null && lhsNeg !== null)
          this.reporter.addResult(lhsPos, lhsNeg, { ...details, direction: 'head' });
        batch.encodedUniques = null;
      }),
    );
  }

  override startEvaluation(): void {
    this.eval();
    this.reporter.clear();
  }

  override finishEvaluation(): Readonly<Record<string, number>> {
    return this.reporter.results();
  }

  override async encodeForEvaluation(batcher: GraphBatcher): Promise<void> {
    if (this.encoder instanceof GeneralEncoder && this.encoder.isIdentity && this.featurizer === null) return;
    await this.encoder.encodeFullGraph(batcher.evaluationNeighborSampler, batcher.graphStorage);
  }

  /** What the decoder gets of a batch whose nodes have these rows. */
  input(batch: Batch, rows: Tensor): DecoderInput {
    const { srcRows, dstRows, relations } = batch;
    if (srcRows === null || dstRows === null)
      throw new StateError('LinkPredictionModel: expected a batch of edges, got one without.');
    const chunks = batch.dstNegatives?.chunks ?? batch.srcNegatives?.chunks ?? 1;
    const ends = { src: srcRows, dst: dstRows };
    const common = { relations, chunks };
    const { method } = this.decoder;
    if (method === 'CORRUPT_REL')
      return edgeInput(rows, ends, { ...common, relationNegatives: this.#relations(batch, chunks) });
    if (method === 'POS_AND_NEG')
      return edgeInput(rows, ends, { ...common, negativeEdges: negativeEdges(batch, chunks) });
    return edgeInput(rows, ends, {
      ...common,
      srcNegatives: batch.srcNegativeRows,
      dstNegatives: batch.dstNegativeRows,
      srcMask: batch.srcNegatives?.mask ?? null,
      dstMask: batch.dstNegatives?.mask ?? null,
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

  #relations(batch: Batch, chunks: number): Int32Array {
    const count = (batch.dstNegativeRows?.length ?? chunks) / chunks;
    const { epoch, step } = batch.at;
    const random = new Random(this.seed, relationStream).split(epoch).split(step);
    const total = this.decoder.numRelations;
    return Int32Array.from({ length: chunks * count }, () => random.nextInt(Math.max(1, total)));
  }
}

/** Every edge with each of its chunk's negative destinations. */
function negativeEdges(batch: Batch, chunks: number) {
  const { srcRows, relations, dstNegativeRows } = batch;
  if (srcRows === null || dstNegativeRows === null) return null;
  const n = dstNegativeRows.length / chunks;
  const perChunk = Math.ceil(srcRows.length / chunks);
  const total = srcRows.length * n;
  const edgeOf = (i: number): number => Math.floor(i / n);
  return {
    src: Int32Array.from({ length: total }, (_, i) => srcRows[edgeOf(i)]),
    dst: Int32Array.from(
      { length: total },
      (_, i) => dstNegativeRows[Math.floor(edgeOf(i) / perChunk) * n + (i % n)],
    ),
    relations: relations === null ? null : Int32Array.from({ length: total }, (_, i) => relations[edgeOf(i)]),
  };
}
