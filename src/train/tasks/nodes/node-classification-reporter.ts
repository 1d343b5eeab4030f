/** Labels with predicted classes, and their metrics. Rows labelled -1 are ignored. */
import type { WorkerGroup } from '../../../dist/index.js';
import type { Tensor } from '../../../tensor/index.js';
import { expected, ShapeError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { ClassificationMetric, metricByName, metricValue, standardMetrics } from '../../run/metric.js';
import { type MetricValues, Reporter } from '../../run/reporter.js';

export interface NodeClassificationReporterOptions {
  /** Default: the columns of the scores, or one more than the highest class. */
  readonly numClasses?: number;
  /** Names as in `evaluation.metrics`, or custom metrics. Default accuracy and macro F1. */
  readonly metrics?: readonly (string | ClassificationMetric)[];
  /** Also report the mean cross entropy as `loss`, if all results are scores. Default false. */
  readonly loss?: boolean;
}

export class NodeClassificationReporter extends Reporter<ClassificationMetric> {
  readonly #numClasses: number | null;
  /** Columns of the scores so far. */
  #columns = 0;
  #labels: Int32Array[] = [];
  #predictions: Int32Array[] = [];
  readonly #withLoss: boolean;
  /** Cross entropy of each row, if it is reported. */
  #losses: Float64Array[] = [];
  #size = 0;

  constructor(options: NodeClassificationReporterOptions = {}) {
    super();
    checkOptionNames('NodeClassificationReporter', options, {
      numClasses: true,
      metrics: true,
      loss: true,
    });
    this.#withLoss = options.loss ?? false;
    const { numClasses = null, metrics = standardMetrics('NODE_CLASSIFICATION') } = options;
    this.#numClasses = numClasses;
    for (const given of metrics) {
      const metric = typeof given === 'string' ? metricByName(given) : given;
      if (!(metric instanceof ClassificationMetric))
        throw new ValueError(
          expected('NodeClassificationReporter', 'metrics of classes', 'metrics', metric.name),
        );
      this.addMetric(metric);
    }
  }

  get numClasses(): number {
    if (this.#numClasses !== null) return this.#numClasses;
    const highest = (most: number, list: Int32Array): number => list.reduce((a, b) => Math.max(a, b), most);
    return Math.max(this.#columns, 1 + [...this.#labels, ...this.#predictions].reduce(highest, -1));
  }

  override get size(): number {
    return this.#size;
  }

  /** The number of results with a label. */
  get labelled(): number {
    return this.#labels.reduce((sum, part) => sum + part.filter((label) => label >= 0).length, 0);
  }

  /**
   * Adds predictions.
   *
   * @param labels the class of each row [B].
   * @param predicted a score per class [B, C] as a tensor, or the class of each row [B].
   */
  addResult(labels: Tensor | ArrayLike<number>, predicted: Tensor | ArrayLike<number>): void {
    const right = Int32Array.from('dataSync' in labels ? (labels.dataSync() as ArrayLike<number>) : labels);
    const classes = 'dataSync' in predicted ? fromTensor(predicted) : Int32Array.from(predicted);
    if (classes.length !== right.length)
      throw new ShapeError(expected('addResult', `${right.length} predictions`, 'predicted', classes.length));
    if ('dataSync' in predicted && predicted.shape.length === 2)
      this.#columns = Math.max(this.#columns, predicted.shape[1]);
    if (this.#withLoss && 'dataSync' in predicted && predicted.shape.length === 2)
      this.#losses.push(crossEntropies(right, predicted));
    this.#labels.push(right);
    this.#predictions.push(classes);
    this.#size += right.length;
  }

  /** Gathers the results of all workers, in their order. Collective. */
  gather(group: WorkerGroup): void {
    const own = {
      labels: joined(this.#labels, this.#size),
      predictions: joined(this.#predictions, this.#size),
      losses: this.#losses,
    };
    this.clear();
    for (const { labels, predictions, losses } of group.gather(own)) {
      this.#labels.push(labels);
      this.#predictions.push(predictions);
      this.#losses.push(...losses);
      this.#size += labels.length;
    }
  }

  override results(): MetricValues {
    const labels = joined(this.#labels, this.#size);
    const predictions = joined(this.#predictions, this.#size);
    const { numClasses } = this;
    const value = (metric: ClassificationMetric): number =>
      metricValue(metric, [labels, predictions], (right, given) => metric.compute(right, given, numClasses));
    const values = Object.fromEntries(this.metrics.map((metric) => [metric.name, value(metric)]));
    const scored = this.#losses.reduce((sum, rows) => sum + rows.length, 0);
    if (!this.#withLoss || scored < this.#size) return values;
    const total = this.#losses.reduce((sum, rows) => rows.reduce((more, loss) => more + loss, sum), 0);
    return { ...values, loss: total / this.labelled };
  }

  override clear(): void {
    this.#labels = [];
    this.#predictions = [];
    this.#losses = [];
    this.#size = 0;
  }
}

/** Returns the cross entropy of each row of scores; 0 for rows without a label. */
function crossEntropies(labels: Int32Array, scores: Tensor): Float64Array {
  const columns = scores.shape[1];
  const data = scores.dataSync() as Float32Array;
  return Float64Array.from(labels, (label, i) => {
    if (label < 0) return 0;
    const row = data.subarray(i * columns, (i + 1) * columns);
    const highest = row.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    const total = row.reduce((sum, score) => sum + Math.exp(score - highest), 0);
    return Math.log(total) + highest - row[label];
  });
}

function joined(parts: readonly Int32Array[], size: number): Int32Array {
  const all = new Int32Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Returns classes as they are, or the best-scored class of each row; the first of equals. */
function fromTensor(tensor: Tensor): Int32Array {
  const data = tensor.dataSync() as ArrayLike<number>;
  if (tensor.shape.length === 1) return Int32Array.from(data);
  if (tensor.shape.length !== 2)
    throw new ShapeError(expected('addResult', 'a tensor of rank 1 or 2', 'predicted', tensor.shape));
  const [rows, columns] = tensor.shape;
  return Int32Array.from({ length: rows }, (_, i) => {
    let best = 0;
    for (let j = 0; j < columns; j++) {
      const score = data[i * columns + j];
      if (Number.isNaN(score))
        throw new ValueError(`addResult: expected numbers for predicted, got NaN at row ${i}.`);
      if (score > data[i * columns + best]) best = j;
    }
    return best;
  });
}
