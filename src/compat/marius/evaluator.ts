/** The document's evaluators: facades over `GraphTask.evaluate`, which returns the metrics of the model's reporter. */
import { GraphTask, type Metrics, type Model } from '../../train/index.js';
import { checkBatcherAndModel } from './checks.js';
import type { GraphBatcher } from './graph-batcher.js';

export abstract class Evaluator {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  /** Called after every batch with the edges or nodes so far, and of all. */
  onProgress: ((done: number, total: number) => void) | null = null;
  readonly #task: GraphTask;

  /** @param evaluateAhead read the next batch while one is evaluated; the result is the same. */
  constructor(graphBatcher: GraphBatcher, model: Model, evaluateAhead: boolean) {
    checkBatcherAndModel(new.target.name, graphBatcher, model);
    this.graphBatcher = graphBatcher;
    this.model = model;
    this.#task = new GraphTask({ model, source: graphBatcher.source, evaluateAhead });
  }

  /** Returns metrics on the validation set or the test set, none when it is empty. The set is the training set afterwards. */
  evaluate(validation = false): Promise<Metrics> {
    const report = this.onProgress ?? (() => {});
    return this.#task.evaluate(validation ? 'validation' : 'test', report);
  }
}

export class SynchronousEvaluator extends Evaluator {
  constructor(graphBatcher: GraphBatcher, model: Model) {
    super(graphBatcher, model, false);
  }
}

/** Reads the next batch while one is evaluated. */
export class PipelineEvaluator extends Evaluator {
  constructor(graphBatcher: GraphBatcher, model: Model) {
    super(graphBatcher, model, true);
  }
}
