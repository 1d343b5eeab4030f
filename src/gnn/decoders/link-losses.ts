/**
 * Losses of positive scores [B] against negative scores [B, n], by Marius's names. SUM adds everything; MEAN divides by
 * B, RANKING's by B·n, and element-wise losses by B·(1 + n).
 *
 * To write a custom loss, extend `LossFunction`.
 */
import { bceLoss, bceWithLogits, crossEntropy, marginRankingLoss, mseLoss } from '../../nn/index.js';
import { softmaxCrossEntropyNegatives } from '../../nn/losses/cross-entropy.js';
import { softplusLoss } from '../../nn/losses/elementwise.js';
import {
  concat,
  fromTypedArray,
  type Ids,
  mul,
  reshape,
  sigmoid,
  Tensor,
  unsqueeze,
} from '../../tensor/index.js';
import { toDeviceOf } from '../../tensor/move.js';
import { checkIds } from '../../tensor/ops/common.js';
import { formatShape } from '../../tensor/shape.js';
import { checkSettings } from '../../util/check-settings.js';
import { checkNumber, expected, ShapeError, StateError, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../../util/registry.js';
import { type ConfigType, choice, number, type Settings, type ValuesOf } from '../../util/settings.js';

export type LossReduction = 'SUM' | 'MEAN';

export interface LossFunctionOptions {
  /** Reduction over edges (default SUM). */
  readonly reduction?: LossReduction;
}

type Elementwise = (prediction: Tensor, target: Tensor, options: { reduction: 'sum' | 'mean' }) => Tensor;

export abstract class LossFunction {
  readonly reduction: LossReduction;
  /** The score of a masked negative, which adds nothing to the loss. */
  readonly maskedScore: number = -1e9;

  constructor(options: LossFunctionOptions = {}) {
    const reduction = options.reduction ?? 'SUM';
    if (reduction !== 'SUM' && reduction !== 'MEAN')
      throw new ValueError(expected(new.target.name, 'SUM or MEAN', 'reduction', reduction));
    this.reduction = reduction;
  }

  /** Returns the loss of positive [B] and negative scores [B, n]: a scalar. */
  abstract forward(positive: Tensor, negative: Tensor): Tensor;

  /**
   * Returns the loss of class scores [N, C] and labels: a scalar.
   *
   * @param rows the divisor of MEAN if these rows are a worker's share of the batch.
   */
  classes(_logits: Tensor, _labels: Ids, _rows?: number): Tensor {
    throw new StateError(
      `${this.constructor.name}: expected a loss for classes, got one for edges only. Use CROSS_ENTROPY.`,
    );
  }

  protected get how(): { reduction: 'sum' | 'mean' } {
    return { reduction: this.reduction === 'SUM' ? 'sum' : 'mean' };
  }

  /** Turns the sum over some rows into their contribution to the loss of all. */
  protected share(sum: Tensor, count: number): Tensor {
    return this.reduction === 'SUM' ? sum : mul(sum, 1 / count);
  }

  /** Throws unless the scores are [B] and [B, n] of one batch. */
  protected check(positive: Tensor, negative: Tensor): void {
    const where = this.constructor.name;
    for (const [name, t] of Object.entries({ positive, negative }))
      if (!(t instanceof Tensor)) throw new ValueError(expected(where, 'a tensor', name, t));
    if (positive.rank !== 1)
      throw new ShapeError(expected(where, 'shape [B]', 'positive', formatShape(positive.shape)));
    if (negative.rank !== 2 || negative.shape[0] !== positive.shape[0]) {
      const want = `shape [${positive.shape[0]}, n]`;
      throw new ShapeError(expected(where, want, 'negative', formatShape(negative.shape)));
    }
  }
}

/** Σ log(eᵖ + Σ eⁿ) − p */
export class SoftmaxCrossEntropy extends LossFunction {
  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return softmaxCrossEntropyNegatives(positive, negative, this.how);
  }
}

/** SoftmaxCrossEntropy on scores; cross entropy on classes. */
export class CrossEntropyLoss extends LossFunction {
  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return softmaxCrossEntropyNegatives(positive, negative, this.how);
  }

  override classes(logits: Tensor, labels: Ids, rows?: number): Tensor {
    if (rows === undefined) return crossEntropy(logits, labels, this.how);
    return this.share(crossEntropy(logits, labels, { reduction: 'sum' }), rows);
  }
}

export interface RankingLossOptions extends LossFunctionOptions {
  /** Margin (default 0.1). */
  readonly margin?: number;
}

/** Σ max(0, n − p + margin) */
export class RankingLoss extends LossFunction {
  readonly margin: number;

  constructor(options: RankingLossOptions = {}) {
    super(options);
    checkOptionNames('RankingLoss', options, { reduction: true, margin: true });
    this.margin = checkNumber('RankingLoss', 'margin', options.margin ?? 0.1);
  }

  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    return marginRankingLoss(unsqueeze(positive, 1), negative, { ...this.how, margin: this.margin });
  }
}

/** Compares each score with 1 for positives and 0 for negatives; classes with one-hot rows. */
abstract class ElementLoss extends LossFunction {
  protected abstract readonly elements: Elementwise;

  forward(positive: Tensor, negative: Tensor): Tensor {
    this.check(positive, negative);
    const edges = positive.shape[0];
    const scores = concat([positive, reshape(negative, [negative.size])]);
    const labels = scores.dtype === 'f64' ? new Float64Array(scores.size) : new Float32Array(scores.size);
    return this.elements(scores, toDeviceOf(fromTypedArray(labels.fill(1, 0, edges)), scores), this.how);
  }

  override classes(logits: Tensor, labels: Ids, ofRows?: number): Tensor {
    const [rows, count] = logits.shape;
    const ids = checkIds(this.constructor.name, 'labels', labels, count);
    if (ids.length !== rows)
      throw new ShapeError(expected(this.constructor.name, `${rows} labels`, 'labels', ids.length));
    const target = logits.dtype === 'f64' ? new Float64Array(logits.size) : new Float32Array(logits.size);
    for (const [row, id] of ids.entries()) target[row * count + id] = 1;
    const targets = toDeviceOf(fromTypedArray(target, [rows, count]), logits);
    if (ofRows === undefined) return this.elements(logits, targets, this.how);
    return this.share(this.elements(logits, targets, { reduction: 'sum' }), ofRows * count);
  }
}

/** Binary cross entropy of the sigmoid of each score; BCE_WITH_LOGITS is equal without loss of precision. */
export class BCEAfterSigmoidLoss extends ElementLoss {
  protected readonly elements: Elementwise = (x, target, how) => bceLoss(sigmoid(x), target, how);
}

/** Binary cross entropy of each score before the sigmoid. */
export class BCEWithLogitsLoss extends ElementLoss {
  protected readonly elements: Elementwise = bceWithLogits;
}

/** Σ (score − label)² */
export class MSELoss extends ElementLoss {
  override readonly maskedScore = 0;
  protected readonly elements: Elementwise = mseLoss;
}

/** Σ log(1 + exp(−(2·label − 1)·score)) */
export class SoftPlusLoss extends ElementLoss {
  protected readonly elements: Elementwise = softplusLoss;
}

/** A loss that a configuration can name: `model.loss: { type: RANKING, options: { margin: 1 } }`. */
interface LossType<N extends string, S extends Settings> extends ConfigType<N, S> {
  /** Whether it is also a loss of classes, or of edges only. */
  readonly forClasses: boolean;
  readonly make: (options: RankingLossOptions) => LossFunction;
}

const lossType = <const N extends string, S extends Settings>(record: LossType<N, S>): LossType<N, S> =>
  record;

const plainSettings = { reduction: choice(['SUM', 'MEAN'], 'SUM', 'over the rows of a batch') };

const plainLoss = <const N extends string>(
  name: N,
  Loss: new (options: LossFunctionOptions) => LossFunction,
  more: { readonly forClasses?: boolean; readonly aliases?: readonly string[] } = {},
) =>
  lossType({
    ...{ name, settings: plainSettings, forClasses: true, ...more },
    make: ({ reduction = 'SUM' }) => new Loss({ reduction }),
  });

/** All built-in losses. */
export const lossTypes = [
  plainLoss('SOFTMAX_CE', SoftmaxCrossEntropy, { forClasses: false, aliases: ['softmax'] }),
  lossType({
    name: 'RANKING',
    settings: { ...plainSettings, margin: number(0.1, 'by how much a true edge must score higher') },
    forClasses: false,
    make: (options) => new RankingLoss(options),
  }),
  plainLoss('CROSS_ENTROPY', CrossEntropyLoss),
  plainLoss('BCE_AFTER_SIGMOID', BCEAfterSigmoidLoss),
  plainLoss('BCE_WITH_LOGITS', BCEWithLogitsLoss),
  plainLoss('MSE', MSELoss),
  plainLoss('SOFTPLUS', SoftPlusLoss),
] as const;

export type LossName = (typeof lossTypes)[number]['name'];

/** The registry of losses: the built-in and custom ones. */
export const lossRegistry = new Registry<(typeof lossTypes)[number]>({
  ...{ key: 'model.loss.type', builtIn: lossTypes, reserved: 'type' },
});

/** Creates the loss of a type. */
export function lossFunction(type: LossName, options: RankingLossOptions = {}): LossFunction {
  const found = lossRegistry.get(type, 'lossFunction', 'type');
  const own = Object.fromEntries(Object.keys(found.settings).map((key) => [key, true]));
  checkOptionNames('lossFunction', options, { reduction: true, margin: true, ...own });
  return found.make(options);
}

/** A custom loss for `registerLoss`. */
export interface CustomLoss<S extends Settings = Settings> {
  readonly name: string;
  /** Options in addition to `reduction`. */
  readonly settings?: S;
  /** Whether it is also a loss of classes, or of edges only (the default). */
  readonly forClasses?: boolean;
  readonly make: (options: LossFunctionOptions & ValuesOf<S>) => LossFunction;
}

/**
 * Registers a loss, so that configurations can name it as `model.loss: { type: MINE }`.
 *
 * @returns a function that removes it.
 * @example
 * registerLoss({ name: 'MINE', make: ({ reduction = 'SUM' }) => new MyLoss({ reduction }) });
 */
export function registerLoss<S extends Settings>(given: CustomLoss<S>): () => void {
  const where = 'registerLoss';
  checkRecord(where, given);
  checkOptionNames(where, given, { name: true, settings: true, forClasses: true, make: true });
  const { name, settings = {}, forClasses = false, make } = given;
  if (typeof forClasses !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'forClasses', forClasses));
  checkSettings(where, settings);
  const checked = (options: LossFunctionOptions & ValuesOf<S>): LossFunction => {
    const made = make(options);
    const fits = made instanceof LossFunction && typeof made.forward === 'function';
    return checkResult(where, `make() of ${name}`, 'a LossFunction with the method forward', fits, made);
  };
  const record = {
    ...{ name, settings: { ...plainSettings, ...settings }, forClasses },
    make: typeof make === 'function' ? checked : make,
  };
  return lossRegistry.register(where, record as never, ['make']);
}
