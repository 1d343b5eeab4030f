/**
 * Optimisers that a configuration can name: `dense_optimizer: { type: ADAM, options: { learning_rate: 0.01 } }`. A
 * record makes both forms of an optimiser: for the dense parameters of a model, and for the rows of a table.
 */
import { Adagrad, Adam, type BaseOptions, Optimizer, SGD } from '../nn/index.js';
import type { Tensor } from '../tensor/index.js';
import { checkSettings } from '../util/check-settings.js';
import { ConfigError, expected, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../util/registry.js';
import {
  type Chosen,
  type ConfigType,
  flag,
  fraction,
  number,
  positive,
  type Settings,
  type ValuesOf,
} from '../util/settings.js';
import { rowAdagrad, rowAdam, rowSGD, rowSumAdagrad } from './built-in-row-optimizers.js';
import type { RowOptimizer } from './row-optimizer.js';

export type AnyOptimizer = Optimizer<BaseOptions>;

interface OptimizerType<N extends string, S extends Settings> extends ConfigType<N, S> {
  readonly dense: (params: readonly Tensor[], options: ValuesOf<S>) => AnyOptimizer;
  readonly rows: (options: ValuesOf<S>) => RowOptimizer;
  /** Options that rows lack, with the value that means "off". */
  readonly denseOnly: Readonly<Partial<ValuesOf<S>>>;
  /**
   * Options that change every row in each step: rows have them where a step updates all rows (`training.form` other than
   * NEGATIVES). With the value that means "off".
   */
  readonly allRowsOnly: Readonly<Partial<ValuesOf<S>>>;
  /** Options that the kernels of a GPU lack, with the value that means "off". */
  readonly hostOnly: Readonly<Partial<ValuesOf<S>>>;
}

function optimizerType<const N extends string, S extends Settings>(
  record: Omit<OptimizerType<N, S>, 'dense'> & {
    readonly dense: (params: readonly Tensor[], options: ValuesOf<S>) => unknown;
  },
): OptimizerType<N, S> {
  return record as OptimizerType<N, S>;
}

const learningRate = positive(0.1, 'step size');
const weightDecay = number(0, 'weight decay, added to the gradient', { min: 0 });

/** All built-in optimisers. */
export const optimizerTypes = [
  optimizerType({
    name: 'SGD',
    settings: { learning_rate: learningRate },
    dense: (params, { learning_rate: lr }) => new SGD(params, { lr }),
    rows: (options) => rowSGD({ learningRate: options.learning_rate }),
    denseOnly: {},
    allRowsOnly: {},
    hostOnly: {},
  }),
  optimizerType({
    name: 'ADAGRAD',
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
    denseOnly: {},
    allRowsOnly: { weight_decay: 0, lr_decay: 0 },
    hostOnly: {},
  }),
  optimizerType({
    name: 'ROW_ADAGRAD',
    settings: {
      learning_rate: learningRate,
      eps: number(1e-10, 'added to the root of the summed squares', { min: 0 }),
      init_value: number(0, 'the summed squares at the start', { min: 0 }),
      weight_decay: weightDecay,
    },
    dense: () => {
      throw new ConfigError(
        'model.dense_optimizer.type: expected an optimiser of dense parameters, got ROW_ADAGRAD. It has one sum per row of the node table; use it as model.sparse_optimizer, and ADAGRAD here.',
      );
    },
    rows: (options) =>
      rowSumAdagrad({
        learningRate: options.learning_rate,
        eps: options.eps,
        initialValue: options.init_value,
        weightDecay: options.weight_decay,
      }),
    denseOnly: {},
    allRowsOnly: { weight_decay: 0 },
    hostOnly: {},
  }),
  optimizerType({
    name: 'ADAM',
    settings: {
      learning_rate: learningRate,
      amsgrad: flag(false, 'keep the largest second moment'),
      beta_1: fraction(0.9, 'decay of the first moment'),
      beta_2: fraction(0.999, 'decay of the second moment'),
      eps: number(1e-8, 'added to the root of the second moment', { min: 0 }),
      weight_decay: weightDecay,
    },
    dense: (params, { learning_rate: lr, beta_1, beta_2, eps, weight_decay, amsgrad }) =>
      new Adam(params, { ...{ lr, eps, amsgrad }, betas: [beta_1, beta_2], weightDecay: weight_decay }),
    rows: ({ learning_rate: rate, beta_1, beta_2, eps, weight_decay }) =>
      rowAdam({ learningRate: rate, betas: [beta_1, beta_2], eps, weightDecay: weight_decay }),
    denseOnly: { amsgrad: false },
    allRowsOnly: { weight_decay: 0 },
    hostOnly: { amsgrad: false },
  }),
] as const;

/** The optimiser that a configuration names, with its options. */
export type OptimizerChoice = Chosen<(typeof optimizerTypes)[number]>;

type AnyOptimizerType = OptimizerType<string, Settings>;

/** The registry of optimisers: the built-in and custom ones. */
export const optimizerRegistry = new Registry<(typeof optimizerTypes)[number]>({
  taken: ['DEFAULT'],
  ...{ key: 'model.dense_optimizer.type', builtIn: optimizerTypes, reserved: 'type' },
});

/** Returns the record of a type; its options are those of the configuration. */
export function getOptimizerType(name: string): AnyOptimizerType {
  return optimizerRegistry.get(name) as unknown as AnyOptimizerType;
}

/** Makes an optimiser of dense parameters. */
export function denseOptimizer(params: readonly Tensor[], { type, options }: OptimizerChoice): AnyOptimizer {
  return getOptimizerType(type).dense(params, options as never);
}

/** Makes an optimiser of the rows of a table. */
export function rowOptimizer({ type, options }: OptimizerChoice): RowOptimizer {
  return getOptimizerType(type).rows(options as never);
}

/** A custom optimiser for `registerOptimizer`. */
export interface CustomOptimizer<S extends Settings = Settings> {
  readonly name: string;
  /** Options in addition to `learning_rate`. */
  readonly settings?: S;
  readonly dense: (
    params: readonly Tensor[],
    options: { readonly learning_rate: number } & ValuesOf<S>,
  ) => Optimizer<BaseOptions>;
  /** Makes the form for the rows of a table; `model.sparse_optimizer` requires it. */
  readonly rows?: (options: { readonly learning_rate: number } & ValuesOf<S>) => RowOptimizer;
}

/**
 * Registers an optimiser, so that configurations can name it as `model.dense_optimizer: { type: MINE }`.
 *
 * @returns a function that removes it.
 * @example
 * registerOptimizer({ name: 'MINE', dense: (params, { learning_rate: lr }) => new MyOptimizer(params, { lr }) });
 */
export function registerOptimizer<S extends Settings>(given: CustomOptimizer<S>): () => void {
  const where = 'registerOptimizer';
  checkRecord(where, given);
  checkOptionNames(where, given, { name: true, settings: true, dense: true, rows: true });
  const { name, settings = {}, dense } = given;
  checkSettings(where, settings);
  if (given.rows !== undefined && typeof given.rows !== 'function')
    throw new ValueError(expected(where, 'a function', 'rows', given.rows));
  const checked: typeof dense = (params, options) => {
    const made = dense(params, options);
    return checkResult(where, `dense() of ${name}`, 'an Optimizer', made instanceof Optimizer, made);
  };
  const rows =
    checkedRows(where, given) ??
    (() => {
      throw new ConfigError(
        `model.sparse_optimizer.type: expected an optimiser that has a form for rows, got ${name}. Use ADAGRAD, or register ${name} with rows.`,
      );
    });
  const record = {
    ...{ name, settings: { learning_rate: learningRate, ...settings }, rows },
    dense: typeof dense === 'function' ? checked : dense,
  };
  return optimizerRegistry.register(
    where,
    { ...record, denseOnly: {}, allRowsOnly: {}, hostOnly: {} } as never,
    [...(['dense', 'rows'] as const)],
  );
}

const rowMethods = ['columns', 'init', 'step', 'stepAsync', 'stepArrays', 'state', 'restore'] as const;

function checkedRows<S extends Settings>(
  where: string,
  { name, rows }: CustomOptimizer<S>,
): CustomOptimizer<S>['rows'] {
  if (rows === undefined) return undefined;
  return (options) => {
    const made = rows(options);
    const lacking = rowMethods.find((method) => typeof made?.[method] !== 'function');
    const what = `a RowOptimizer${lacking === undefined ? '' : ` with the method ${lacking}`}`;
    return checkResult(where, `rows() of ${name}`, what, lacking === undefined, made);
  };
}
