/**
 * A classifier of labels that change with time, on the embeddings of a frozen model, as TGN and TGL evaluate dynamic
 * labels: two dense layers, trained on the labelled events of the training split and selected by those of validation.
 */
import { Adam, bceWithLogits, crossEntropy } from '../../../nn/index.js';
import { averagePrecision, rocAuc } from '../../../temporal/index.js';
import { NodeClassifier } from '../../../temporal/models/node-classifier.js';
import {
  backward,
  fromTypedArray,
  gatherRows,
  manualSeed,
  noGrad,
  reshape,
  scope,
  type Tensor,
} from '../../../tensor/index.js';
import { expected, ShapeError, StateError, ValueError } from '../../../util/errors.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { Random } from '../../../util/philox.js';
import { fit } from '../../fit.js';
import type { Batches, HeldOut, Metrics, SavedState, SplitName, StepLoss, Task } from '../../task.js';
import { classificationMetrics } from '../nodes/classification-metrics.js';

/** Embeddings of events' sources and their labels, in order of time. */
export interface LabelledEvents {
  /** [events · width], row by row. */
  readonly embeddings: Float32Array;
  readonly width: number;
  /** Classes 0, 1, …; −1 or NaN: unknown. */
  readonly labels: ArrayLike<number>;
  /** The first event of the validation split. */
  readonly trainEnd: number;
  /** The first event of the test split. */
  readonly validationEnd: number;
}

export interface LabelHeadOptions {
  readonly epochs: number;
  readonly batchSize?: number;
  readonly lr?: number;
  /** Default: the width of the embeddings. */
  readonly dimHidden?: number;
  readonly dropout?: number;
  /** Epochs without a better validation metric before training ends. Default: no early stopping. */
  readonly patience?: number;
  readonly seed?: number;
}

export interface LabelHeadResult {
  readonly head: NodeClassifier;
  /** The epoch of the returned head. */
  readonly epoch: number;
  /** accuracy, macro_f1 and count; with two classes also auc and ap of the second. Empty without labels. */
  readonly validation: Metrics;
  readonly test: Metrics;
}

interface Prepared {
  readonly x: Tensor;
  readonly labels: Int32Array;
  readonly numClasses: number;
  /** Labelled events of each split. */
  readonly rows: Readonly<Record<'train' | 'validation' | 'test', Int32Array>>;
}

/** Trains a head. Returns null if `stop` ended training. */
export async function trainLabelHead(
  data: LabelledEvents,
  options: LabelHeadOptions & { readonly stop: () => boolean },
): Promise<LabelHeadResult | null>;
export async function trainLabelHead(
  data: LabelledEvents,
  options: LabelHeadOptions,
): Promise<LabelHeadResult>;
export async function trainLabelHead(
  data: LabelledEvents,
  options: LabelHeadOptions & { readonly stop?: () => boolean },
): Promise<LabelHeadResult | null> {
  checkOptionNames('trainLabelHead', options, {
    epochs: true,
    batchSize: true,
    lr: true,
    dimHidden: true,
    dropout: true,
    patience: true,
    seed: true,
    stop: true,
  });
  const { epochs, seed = 1, patience = Number.POSITIVE_INFINITY, stop = () => false } = options;
  const prepared = prepare(data);
  manualSeed(seed);
  const task = new LabelTask(prepared, newHead(data.width, prepared.numClasses, options), options);
  const { stopped, best } = await fit(task, {
    ...{ epochs, patience, best: 'memory' },
    request: () => (stop() ? 'stop' : 'continue'),
  });
  if (stopped === 'interrupted') return null;
  const { model: head } = task;
  return {
    ...{ head, epoch: best?.epoch ?? 0 },
    validation: evaluateHead(head, prepared, 'validation'),
    test: evaluateHead(head, prepared, 'test'),
  };
}

/** Rows of labelled events. */
interface LabelBatch {
  readonly rows: Int32Array;
}

class LabelTask implements Task<LabelBatch> {
  readonly items = 'events';
  readonly headline = 'score';
  readonly model: NodeClassifier;
  readonly optimizer: Adam;
  readonly batches: Readonly<Record<SplitName, Batches<LabelBatch>>>;
  readonly #data: Prepared;

  constructor(data: Prepared, head: NodeClassifier, options: LabelHeadOptions) {
    const { lr = 1e-3, batchSize = 200, seed = 1 } = options;
    this.model = head;
    this.optimizer = new Adam(head.parameters(), { lr });
    this.#data = data;
    const { train, validation, test } = data.rows;
    const inOrder = (rows: Int32Array): Batches<LabelBatch> => batchesOf(rows, batchSize, (all) => all);
    this.batches = {
      train: batchesOf(train, batchSize, (rows, epoch) =>
        shuffle(rows, new Random(seed, labelStream).split(epoch + 1)),
      ),
      validation: inOrder(validation),
      test: inOrder(test),
    };
  }

  startEpoch(): void {
    this.model.train();
  }

  train({ rows }: LabelBatch): StepLoss {
    const { x, labels } = this.#data;
    return scope(() => {
      this.optimizer.zeroGrad();
      const loss = lossOf(this.model.forward(gatherRows(x, rows)), pick(labels, rows));
      backward(loss);
      this.optimizer.step();
      return { loss: loss.item() * rows.length, items: rows.length };
    });
  }

  /** Evaluates the training split if the split has no labels. */
  async evaluate(split: HeldOut): Promise<Metrics> {
    const metrics = evaluateHead(this.model, this.#data, this.#data.rows[split].length > 0 ? split : 'train');
    const { auc, accuracy } = metrics;
    return { ...metrics, score: Number.isFinite(auc) ? auc : accuracy };
  }

  async snapshot(): Promise<SavedState> {
    return { tensors: {}, state: {} };
  }

  async restore(): Promise<void> {}

  async close(): Promise<void> {}
}

function batchesOf(
  rows: Int32Array,
  batchSize: number,
  order: (rows: Int32Array, epoch: number) => Int32Array,
): Batches<LabelBatch> {
  return {
    numItems: rows.length,
    async *epoch(epoch) {
      const ordered = order(rows, epoch);
      for (let at = 0; at < ordered.length; at += batchSize)
        yield { rows: ordered.slice(at, at + batchSize) };
    },
  };
}

/** Returns a head for labels of `numClasses` classes; for two classes it has one output. */
export function newHead(
  width: number,
  numClasses: number,
  { dimHidden = width, dropout = 0 }: Pick<LabelHeadOptions, 'dimHidden' | 'dropout'> = {},
): NodeClassifier {
  return new NodeClassifier(width, { dimHidden, dropout, numClasses: numClasses === 2 ? 1 : numClasses });
}

/** Returns the metrics of a trained head on a split. */
export function evaluateLabels(
  head: NodeClassifier,
  data: LabelledEvents,
  split: 'validation' | 'test',
): Metrics {
  return evaluateHead(head, prepare(data), split);
}

/** Returns the number of classes of labels, at least two. */
export function countClasses(labels: ArrayLike<number>): number {
  let most = 1;
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i];
    if (Number.isNaN(label) || label === -1) continue;
    if (!Number.isInteger(label) || label < 0 || label > 9999) {
      const wanted = 'classes from 0 to 9999 (−1: unknown)';
      throw new ValueError(expected('labels', wanted, 'a label', `${label} at event ${i}`));
    }
    most = Math.max(most, label);
  }
  return most + 1;
}

function prepare({ embeddings, width, labels, trainEnd, validationEnd }: LabelledEvents): Prepared {
  const count = labels.length;
  if (embeddings.length !== count * width)
    throw new ShapeError(
      expected('labels', `${count} rows of ${width} numbers`, 'embeddings', `${embeddings.length} numbers`),
    );
  const numClasses = countClasses(labels);
  const known = Int32Array.from({ length: count }, (_, i) => (Number.isNaN(labels[i]) ? -1 : labels[i]));
  const between = (from: number, to: number): Int32Array =>
    Int32Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i).filter((i) => known[i] !== -1);
  const rows = {
    train: between(0, trainEnd),
    validation: between(trainEnd, validationEnd),
    test: between(validationEnd, count),
  };
  if (rows.train.length === 0)
    throw new StateError(
      `labels: expected labelled events among the ${trainEnd} events of the training split, got none. Raise dataset.train_share, or set labels.epochs to 0.`,
    );
  return { x: fromTypedArray(embeddings, [count, width]), labels: known, numClasses, rows };
}

function lossOf(logits: Tensor, labels: Int32Array): Tensor {
  if (logits.shape[1] > 1) return crossEntropy(logits, labels);
  return bceWithLogits(reshape(logits, [labels.length]), fromTypedArray(Float32Array.from(labels)));
}

function evaluateHead(
  head: NodeClassifier,
  { x, labels, rows, numClasses }: Prepared,
  split: keyof Prepared['rows'],
) {
  const chosen = rows[split];
  if (chosen.length === 0) return {} as Metrics;
  head.eval();
  const logits = noGrad(() => scope(() => Float32Array.from(head.forward(gatherRows(x, chosen)).dataSync())));
  const truth = pick(labels, chosen);
  const width = logits.length / chosen.length;
  const predicted = Int32Array.from(chosen, (_, i) =>
    width === 1 ? Number(logits[i] > 0) : largest(logits.subarray(i * width, (i + 1) * width)),
  );
  const { accuracy, macroF1, count } = classificationMetrics(truth, predicted, numClasses);
  const ranked =
    width === 1 ? { auc: rocAuc(logits, truth), ap: averagePrecision(logits, truth) } : ({} as Metrics);
  return { ...ranked, accuracy, macro_f1: macroF1, count } as Metrics;
}

const pick = (labels: Int32Array, rows: Int32Array): Int32Array =>
  Int32Array.from(rows, (row) => labels[row]);

const largest = (values: Float32Array): number => values.indexOf(Math.max(...values));

function shuffle(rows: Int32Array, random: Random): Int32Array {
  const order = rows.slice();
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** The random stream of these draws, separate from others with the same seed. */
const labelStream = 0x6c61626c;
