/**
 * Evaluation over the validation or test set: the model adds each batch's result to its reporter, whose metrics are the
 * outcome. An encoder that follows edges first encodes all nodes, so that edges can be ranked against all of them.
 */
import type { Batch } from '../batch/batch.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import type { Model } from '../model/model.js';

export type Metrics = Readonly<Record<string, number>>;

export abstract class Evaluator {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  /** Called after every batch with the edges or nodes so far, and of all. */
  onProgress: ((done: number, total: number) => void) | null = null;
  #done = 0;

  constructor(graphBatcher: GraphBatcher, model: Model) {
    this.graphBatcher = graphBatcher;
    this.model = model;
  }

  /** Metrics on the validation set, or on the test set; empty when the set is. The set is the training set afterwards. */
  async evaluate(validation = false): Promise<Metrics> {
    const { graphBatcher: batcher, model } = this;
    if (validation) batcher.setValidationSet();
    else batcher.setTestSet();
    try {
      if (!batcher.hasNextBatch()) return {};
      await batcher.loadStorage();
      model.startEvaluation();
      this.#done = 0;
      await model.encodeForEvaluation(batcher);
      await this.runBatches();
      return model.finishEvaluation();
    } finally {
      batcher.graphStorage.setEncodedNodes(null);
      batcher.setTrainSet();
    }
  }

  protected abstract runBatches(): Promise<void>;

  /** One batch, where the model is. */
  protected async evaluateBatch(batch: Batch): Promise<void> {
    batch.embeddingsToDevice(this.model.device ?? -1);
    if (batch.awaitsParameters) await this.graphBatcher.loadGPUParameters(batch);
    await this.model.evaluate(batch);
    this.#done += batch.batchSize;
    batch.clear();
    this.onProgress?.(this.#done, this.graphBatcher.numItems);
  }
}

export class SynchronousEvaluator extends Evaluator {
  protected override async runBatches(): Promise<void> {
    while (this.graphBatcher.hasNextBatch()) {
      const batch = await this.graphBatcher.getBatch();
      await this.evaluateBatch(batch);
    }
  }
}

/** Reads the next batch while one is evaluated. The result is the same. */
export class PipelineEvaluator extends Evaluator {
  protected override async runBatches(): Promise<void> {
    const next = (): Promise<Batch> | null => {
      if (!this.graphBatcher.hasNextBatch()) return null;
      const batch = this.graphBatcher.getBatch();
      batch.catch(() => undefined);
      return batch;
    };
    let coming = next();
    while (coming !== null) {
      const batch = await coming;
      coming = next();
      await this.evaluateBatch(batch);
    }
  }
}
