/** The losses by name, and custom ones. */
import { checkSettings } from '../../util/check-settings.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../../util/registry.js';
import {
  type ConfigType,
  choice,
  flag,
  fraction,
  number,
  type Settings,
  type ValuesOf,
} from '../../util/settings.js';
import { BPRLoss } from './bpr-loss.js';
import {
  BCEAfterSigmoidLoss,
  BCEWithLogitsLoss,
  CrossEntropyLoss,
  type LogisticLossOptions,
  LossFunction,
  type LossFunctionOptions,
  MSELoss,
  RankingLoss,
  type RankingLossOptions,
  SoftmaxCrossEntropy,
  SoftPlusLoss,
} from './link-losses.js';
import { SelfAdversarialLoss, type SelfAdversarialLossOptions } from './self-adversarial-loss.js';

/** A loss that a configuration can name: `model.loss: { type: RANKING, options: { margin: 1 } }`. */
interface LossType<N extends string, S extends Settings> extends ConfigType<N, S> {
  /** Whether it is also a loss of classes, or of edges only. */
  readonly forClasses: boolean;
  readonly make: (options: LinkLossOptions) => LossFunction;
}

const lossType = <const N extends string, S extends Settings>(record: LossType<N, S>): LossType<N, S> =>
  record;

/** The options of all built-in losses. */
export type LinkLossOptions = Omit<
  RankingLossOptions & LogisticLossOptions & SelfAdversarialLossOptions,
  'labelSmoothing'
> & { readonly label_smoothing?: number };

const plainSettings = { reduction: choice(['SUM', 'MEAN'], 'SUM', 'over the rows of a batch') };

const smoothedSettings = {
  ...plainSettings,
  label_smoothing: fraction(
    0,
    'training.form ONE_VS_ALL and K_VS_ALL: fraction of the labels of answers that is distributed over all candidates; K_VS_ALL has the form of LibKGE',
    { ours: true },
  ),
};

const plainLoss = <const N extends string>(
  name: N,
  Loss: new (options: LossFunctionOptions) => LossFunction,
  more: { readonly forClasses?: boolean; readonly aliases?: readonly string[] } = {},
) =>
  lossType({
    ...{ name, settings: smoothedSettings, forClasses: true, ...more },
    make: ({ reduction = 'SUM', label_smoothing: labelSmoothing = 0 }) =>
      new Loss({ reduction, labelSmoothing }),
  });

const logisticSettings = {
  ...smoothedSettings,
  offset: number(0, 'added to the scores of edges; distances need one above 0', { ours: true }),
  negatives: choice(
    ['SUM', 'MEAN'],
    'SUM',
    "over an edge's negatives; MEAN divides their loss by their number",
    {
      ours: true,
    },
  ),
};

const logisticLoss = <const N extends string>(
  name: N,
  Loss: new (options: LogisticLossOptions) => LossFunction,
) =>
  lossType({
    ...{ name, settings: logisticSettings, forClasses: true },
    make: ({ reduction = 'SUM', label_smoothing: labelSmoothing = 0, offset = 0, negatives = 'SUM' }) =>
      new Loss({ reduction, labelSmoothing, offset, negatives }),
  });

/** All built-in losses. */
export const lossTypes = [
  plainLoss('SOFTMAX_CE', SoftmaxCrossEntropy, { forClasses: false, aliases: ['softmax'] }),
  lossType({
    name: 'RANKING',
    settings: { ...plainSettings, margin: number(0.1, 'by how much a true edge must score higher') },
    forClasses: false,
    make: ({ reduction = 'SUM', margin = 0.1 }) => new RankingLoss({ reduction, margin }),
  }),
  plainLoss('CROSS_ENTROPY', CrossEntropyLoss),
  logisticLoss('BCE_AFTER_SIGMOID', BCEAfterSigmoidLoss),
  logisticLoss('BCE_WITH_LOGITS', BCEWithLogitsLoss),
  plainLoss('MSE', MSELoss),
  logisticLoss('SOFTPLUS', SoftPlusLoss),
  lossType({
    name: 'SELF_ADVERSARIAL',
    settings: {
      ...plainSettings,
      offset: number(9, 'added to the scores: distances below it are taken for true edges', { ours: true }),
      temperature: number(1, 'how much a negative with a higher score weighs more; 0: all weigh the same', {
        min: 0,
        ours: true,
      }),
      subsampling: flag(
        false,
        'weigh edges by 1/√(#(head, relation) + #(relation, tail)), so that frequent ones weigh less',
        {
          ours: true,
        },
      ),
    },
    forClasses: false,
    make: ({ reduction = 'SUM', offset = 9, temperature = 1, subsampling = false }) =>
      new SelfAdversarialLoss({ reduction, offset, temperature, subsampling }),
  }),
  lossType({
    ...{ name: 'BPR', settings: plainSettings, forClasses: false },
    make: ({ reduction = 'SUM' }) => new BPRLoss({ reduction }),
  }),
] as const;

export type LossName = (typeof lossTypes)[number]['name'];

/** The registry of losses: the built-in and custom ones. */
export const lossRegistry = new Registry<(typeof lossTypes)[number]>({
  ...{ key: 'model.loss.type', builtIn: lossTypes, reserved: 'type' },
});

/** Creates the loss of a type. */
export function lossFunction(type: LossName, options: Partial<LinkLossOptions> = {}): LossFunction {
  const found = lossRegistry.get(type, 'lossFunction', 'type');
  const names = ['reduction', 'margin', ...Object.keys(found.settings)].map((key) => [key, true]);
  checkOptionNames<object>('lossFunction', options, Object.fromEntries(names) as Record<string, true>);
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
