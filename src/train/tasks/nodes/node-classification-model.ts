/**
 * Node classification: the encoder's result has one column per class, and each node's label is its target. Nodes without
 * a label (−1) are ignored.
 */
import type { WorkerGroup } from '../../../dist/index.js';
import type { LossFunction, Regularizer } from '../../../gnn/index.js';
import { add, gatherRows, noGrad, scope, type Tensor } from '../../../tensor/index.js';
import { StateError } from '../../../util/errors.js';
import { NodeClassificationReporter } from '../../run/index.js';
import type { Baseline, HeldOut } from '../../task.js';
import type { BatchSource } from '../graph/batch/batch-source.js';
import type { TrainingBatch } from '../graph/batch/training-batch.js';
import type { Encoder } from '../graph/model/encoder.js';
import type { Featurizer } from '../graph/model/featurizer.js';
import { fetched, Model } from '../graph/model/model.js';
import { checkClassIds } from '../graph/storage/check-labels.js';
import { nodeBaselines } from './node-baselines.js';

export class NodeClassificationModel extends Model {
  readonly lossFunction: LossFunction;
  /** A penalty on the trained embeddings of the batch's nodes. */
  readonly regularizer: Regularizer | null;
  readonly reporter: NodeClassificationReporter;

  constructor(
    encoder: Encoder,
    loss: LossFunction,
    regularizer: Regularizer | null = null,
    featurizer: Featurizer | null = null,
    reporter: NodeClassificationReporter | null = null,
  ) {
    super(encoder, featurizer);
    this.lossFunction = loss;
    this.regularizer = regularizer;
    this.reporter = reporter ?? new NodeClassificationReporter();
  }

  /** Returns scores of each class for the batch's nodes. */
  override forward(batch: TrainingBatch, train: boolean): Tensor {
    return this.encode(batch, train);
  }

  override get lossIsMean(): boolean {
    return this.lossFunction.reduction === 'MEAN';
  }

  protected override trainBatch(batch: TrainingBatch): number | Tensor {
    const labels = labelsOf(batch);
    if (this.workers !== null) return this.#trainShared(batch, labels, this.workers);
    return scope(() => {
      this.encoderOptimizer?.zeroGrad();
      batch.uniqueNodeEmbeddings?.zeroGrad();
      let loss = this.lossFunction.classes(this.forward(batch, true), labels);
      const { uniqueNodeEmbeddings: rows } = batch;
      if (this.regularizer !== null && rows !== null) loss = add(loss, this.regularizer.forward(rows, rows));
      loss.backward();
      this.step();
      return this.lossOf(loss);
    });
  }

  /** Runs a step whose nodes are distributed over workers: each adds its share of the loss and of the gradients. */
  #trainShared(batch: TrainingBatch, labels: Int32Array, workers: WorkerGroup): number {
    return scope(() => {
      this.encoderOptimizer?.zeroGrad();
      batch.uniqueNodeEmbeddings?.zeroGrad();
      // On a sharded graph, workers without labelled nodes run backward too: the others wait for their messages.
      const loss = isIdle(batch, labels) ? null : this.#ownLoss(batch, labels);
      loss?.backward();
      this.step();
      return workers.sum([loss?.item() ?? 0])[0];
    });
  }

  #ownLoss(batch: TrainingBatch, labels: Int32Array): Tensor {
    const known = Int32Array.from(labels.keys()).filter((row) => labels[row] >= 0);
    const logits = gatherRows(this.forward(batch, true), known);
    const classes = known.map((row) => labels[row]);
    return this.lossFunction.classes(logits, classes, batch.batchSize);
  }

  override async evaluate(batch: TrainingBatch): Promise<void> {
    const labels = labelsOf(batch);
    if (isIdle(batch, labels)) return;
    const scores = noGrad(() => scope(() => this.forward(batch, false)));
    this.reporter.addResult(labels, await fetched(scores));
    scores.dispose();
  }

  override startEvaluation(): void {
    this.eval();
    this.reporter.clear();
  }

  override finishEvaluation(): Readonly<Record<string, number>> {
    if (this.workers !== null) this.reporter.gather(this.workers);
    return this.reporter.results();
  }

  override baselines({ storage }: BatchSource, split: HeldOut): Promise<readonly Baseline[]> {
    return nodeBaselines(storage, this.reporter, split);
  }

  /** Has no effect: batches sample the neighbours that they need. */
  override async encodeForEvaluation(): Promise<void> {}
}

/** Whether a worker has no nodes in a batch, as where there are more workers than nodes. */
function isIdle({ shardedGraph }: TrainingBatch, labels: Int32Array): boolean {
  return labels.length === 0 && shardedGraph === null;
}

function labelsOf({ uniqueNodeLabels: labels }: TrainingBatch): Int32Array {
  if (labels === null)
    throw new StateError(
      'NodeClassificationModel: expected labels, got a batch without labels. Check the labels of the dataset.',
    );
  return checkClassIds('NodeClassificationModel', 'uniqueNodeLabels', labels);
}
