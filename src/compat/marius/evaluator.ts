/**
 * Marius's evaluators over the validation or test set: the model adds the result of each batch to its reporter, whose
 * metrics are the outcome.
 */
import { type GraphBatcher, GraphTask, type Metrics, type Model } from '../../train/index.js';

export abstract class Evaluator {
  readonly graphBatcher: GraphBatcher;
  readonly model: Model;
  /** Called after every batch with the edges or nodes so far, and of all. */
  onProgress: ((done: number, total: number) => void) | null = null;
  readonly #task: GraphTask;

  /** @param evaluateAhead read the next batch while one is evaluated; the result is the same. */
  constructor(graphBatcher: GraphBatcher, model: Model, evaluateAhead: boolean) {
    this.graphBatcher = graphBatcher;
    this.model = model;
    this.#task = new GraphTask({ model, batcher: graphBatcher, evaluateAhead });
  }

  /** Metrics on the validation set, or on the test set; empty when the set is. The set is the training set afterwards. */
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
