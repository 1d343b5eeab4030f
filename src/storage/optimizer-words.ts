/**
 * Optimisers as words of a configuration: `dense_optimizer: { type: ADAM, options: { learning_rate: 0.01 } }`. One record has
 * both forms of an optimiser: for the dense parameters of a model, and for the rows of a table.
 */
import { Adagrad, Adam, type BaseOptions, Optimizer, SGD } from '../nn/index.js';
import type { Tensor } from '../tensor/index.js';
import { checkSettings } from '../util/check-settings.js';
import { ConfigError, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import {
  type Chosen,
  flag,
  number,
  positive,
  type Settings,
  share,
  type ValuesOf,
  type Word,
} from '../util/settings.js';
import { checkMade, checkRecord, WordFamily } from '../util/words.js';
import { type RowOptimizer, rowAdagrad, rowAdam, rowSGD } from './row-optimizer.js';

export type AnyOptimizer = Optimizer<BaseOptions>;

interface OptimizerWord<W extends string, S extends Settings> extends Word<W, S> {
  readonly dense: (params: readonly Tensor[], options: ValuesOf<S>) => AnyOptimizer;
  readonly rows: (options: ValuesOf<S>) => RowOptimizer;
  /** Options that rows do not have, since they would touch every row in each step, with the value that means "off". */
  readonly denseOnly: Readonly<Partial<ValuesOf<S>>>;
  /** Options that the kernels of a device do not have, with the value that means "off". */
  readonly hostOnly: Readonly<Partial<ValuesOf<S>>>;
}

function optimizerWord<const W extends string, S extends Settings>(
  record: Omit<OptimizerWord<W, S>, 'dense'> & {
    readonly dense: (params: readonly Tensor[], options: ValuesOf<S>) => unknown;
  },
): OptimizerWord<W, S> {
  return record as OptimizerWord<W, S>;
}

const learningRate = positive(0.1, 'step size');
const weightDecay = number(0, 'weight decay, added to the gradient', { min: 0 });

/** By the words of a configuration. */
export const optimizerWords = [
  optimizerWord({
    word: 'SGD',
    settings: { learning_rate: learningRate },
    dense: (params, { learning_rate: lr }) => new SGD(params, { lr }),
    rows: (options) => rowSGD({ learningRate: options.learning_rate }),
    denseOnly: {},
    hostOnly: {},
  }),
  optimizerWord({
    word: 'ADAGRAD',
    settings: {
      learning_rate: learningRate,
      eps: number(1e-10, 'added to the root of the summed squares', { min: 0 }),
      init_value: number(0, 'the summed squares at the start', { min: 0 }),
      lr_decay: number(0, 'the rate is divided by 1 + steps · lr_decay', { min: 0 }),
      weight_decay: weightDecay,
    },
    dense: (params, { learning_rate: lr, eps, init_value, lr_decay, weight_decay }) =>
      new Adagrad(params, {
        ...{ lr, eps },
        initialAccumulator: init_value,
        lrDecay: lr_decay,
        weightDecay: weight_decay,
      }),
    rows: (options) =>
      rowAdagrad({
        learningRate: options.learning_rate,
        eps: options.eps,
        initialValue: options.init_value,
        learningRateDecay: options.lr_decay,
        weightDecay: options.weight_decay,
      }),
    denseOnly: { weight_decay: 0, lr_decay: 0 },
    hostOnly: {},
  }),
  optimizerWord({
    word: 'ADAM',
    settings: {
      learning_rate: learningRate,
      amsgrad: flag(false, 'keep the largest second moment'),
      beta_1: share(0.9, 'decay of the first moment'),
      beta_2: share(0.999, 'decay of the second moment'),
      eps: number(1e-8, 'added to the root of the second moment', { min: 0 }),
      weight_decay: weightDecay,
    },
    dense: (params, { learning_rate: lr, beta_1, beta_2, eps, weight_decay, amsgrad }) =>
      new Adam(params, { ...{ lr, eps, amsgrad }, betas: [beta_1, beta_2], weightDecay: weight_decay }),
    rows: ({ learning_rate: rate, beta_1, beta_2, eps, weight_decay }) =>
      rowAdam({ learningRate: rate, betas: [beta_1, beta_2], eps, weightDecay: weight_decay }),
    denseOnly: { amsgrad: false, weight_decay: 0 },
    hostOnly: { amsgrad: false },
  }),
] as const;

/** The optimiser that a configuration names, with its options. */
export type OptimizerChoice = Chosen<(typeof optimizerWords)[number]>;

type AnyWord = OptimizerWord<string, Settings>;

/** These, and those of users. */
export const optimizerFamily = new WordFamily<(typeof optimizerWords)[number]>({
  taken: ['DEFAULT'],
  ...{ key: 'model.dense_optimizer.type', builtIn: optimizerWords, reserved: 'type' },
});

/** The record of a word; its options are those of the configuration. */
export function optimizerNamed(word: string): AnyWord {
  return optimizerFamily.named(word) as unknown as AnyWord;
}

/** An optimiser of dense parameters. */
export function denseOptimizer(params: readonly Tensor[], { type, options }: OptimizerChoice): AnyOptimizer {
  return optimizerNamed(type).dense(params, options as never);
}

/** An optimiser of the rows of a table. */
export function rowOptimizer({ type, options }: OptimizerChoice): RowOptimizer {
  return optimizerNamed(type).rows(options as never);
}

/** An optimiser of a user's own, for configurations. */
export interface OwnOptimizer<S extends Settings = Settings> {
  readonly word: string;
  /** Options beside `learning_rate`. */
  readonly settings?: S;
  readonly dense: (
    params: readonly Tensor[],
    options: { readonly learning_rate: number } & ValuesOf<S>,
  ) => Optimizer<BaseOptions>;
  /** Its form for the rows of a table; without one it cannot be `model.sparse_optimizer`. */
  readonly rows?: (options: { readonly learning_rate: number } & ValuesOf<S>) => RowOptimizer;
}

/**
 * Makes an optimiser known to configurations, as `model.dense_optimizer: { type: MINE }`.
 *
 * @returns takes it out again.
 * @example
 * registerOptimizer({ word: 'MINE', dense: (params, { learning_rate: lr }) => new MyOptimizer(params, { lr }) });
 */
export function registerOptimizer<S extends Settings>(given: OwnOptimizer<S>): () => void {
  const where = 'registerOptimizer';
  checkRecord(where, given);
  checkOptionNames(where, given, { word: true, settings: true, dense: true, rows: true });
  const { word, settings = {}, dense } = given;
  checkSettings(where, settings);
  if (given.rows !== undefined && typeof given.rows !== 'function')
    throw new ValueError(expected(where, 'a function', 'rows', given.rows));
  const checked: typeof dense = (params, options) => {
    const made = dense(params, options);
    return checkMade(where, `dense() of ${word}`, 'an Optimizer', made instanceof Optimizer, made);
  };
  const rows =
    checkedRows(where, given) ??
    (() => {
      throw new ConfigError(
        `model.sparse_optimizer.type: expected an optimiser that has a form for rows, got ${word}. Use ADAGRAD, or register ${word} with rows.`,
      );
    });
  const record = {
    ...{ word, settings: { learning_rate: learningRate, ...settings }, rows },
    dense: typeof dense === 'function' ? checked : dense,
  };
  return optimizerFamily.register(where, { ...record, denseOnly: {}, hostOnly: {} } as never, [
    ...(['dense', 'rows'] as const),
  ]);
}

const rowMethods = ['columns', 'init', 'step', 'stepAsync', 'stepArrays', 'state', 'restore'] as const;

function checkedRows<S extends Settings>(
  where: string,
  { word, rows }: OwnOptimizer<S>,
): OwnOptimizer<S>['rows'] {
  if (rows === undefined) return undefined;
  return (options) => {
    const made = rows(options);
    const lacking = rowMethods.find((name) => typeof made?.[name] !== 'function');
    const what = `a RowOptimizer${lacking === undefined ? '' : ` with the method ${lacking}`}`;
    return checkMade(where, `rows() of ${word}`, what, lacking === undefined, made);
  };
}
