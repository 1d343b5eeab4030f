/**
 * Start values that a configuration can name (`init: { type: GLOROT_UNIFORM }`). A type gives a distribution, which
 * fills a tensor from a generator, or a range of a large table from the indices of its elements, so that the values of
 * a table do not depend on how it is partitioned.
 */
import { kernels } from '../native/index.js';
import type { Tensor } from '../tensor/index.js';
import { InternalError } from '../util/errors.js';
import type { Random } from '../util/philox.js';
import {
  type Chosen,
  type ConfigType,
  getRecord,
  number,
  positive,
  type Settings,
  type ValuesOf,
} from '../util/settings.js';
import * as init from './init.js';

export type Distribution =
  | { readonly kind: 'uniform'; readonly lo: number; readonly hi: number }
  | { readonly kind: 'normal'; readonly mean: number; readonly std: number }
  | { readonly kind: 'constant'; readonly value: number };

interface InitType<N extends string, S extends Settings> extends ConfigType<N, S> {
  /** @param fanSum the sum of the matrix's input and output width. */
  readonly distribution: (options: ValuesOf<S>, fanSum: number) => Distribution;
}

const initType = <const N extends string, S extends Settings>(record: InitType<N, S>): InitType<N, S> =>
  record;

const constant = (value: number): Distribution => ({ kind: 'constant', value });
const within = (lo: number, hi: number): Distribution => ({ kind: 'uniform', lo, hi });

export const initTypes = [
  initType({
    name: 'GLOROT_UNIFORM',
    settings: {},
    distribution: (_, fanSum) => within(-Math.sqrt(6 / fanSum), Math.sqrt(6 / fanSum)),
  }),
  initType({
    name: 'GLOROT_NORMAL',
    settings: {},
    distribution: (_, fanSum) => ({ kind: 'normal', mean: 0, std: Math.sqrt(2 / fanSum) }),
  }),
  initType({
    name: 'UNIFORM',
    settings: {
      scale_factor: positive(1, 'values are in scale_factor · [low, high]'),
      low: number(-1, 'lower bound before scaling', { ours: true }),
      high: number(1, 'upper bound before scaling, above low', { ours: true }),
    },
    distribution: ({ scale_factor, low, high }) => within(scale_factor * low, scale_factor * high),
  }),
  initType({
    name: 'NORMAL',
    settings: {
      mean: number(0, 'mean of the values'),
      std: number(1, 'their standard deviation', { min: 0 }),
    },
    distribution: ({ mean, std }) => ({ kind: 'normal', mean, std }),
  }),
  initType({
    name: 'CONSTANT',
    settings: { constant: number(0, 'the value') },
    distribution: (options) => constant(options.constant),
  }),
  initType({ name: 'ZEROS', settings: {}, distribution: () => constant(0) }),
  initType({ name: 'ONES', settings: {}, distribution: () => constant(1) }),
] as const;

export type StartValues = Chosen<(typeof initTypes)[number]>;

function distributionOf({ type, options }: StartValues, fanSum: number): Distribution {
  return getRecord(initTypes, type).distribution(options as never, fanSum);
}

/**
 * Fills `t`. The fans are the last two axes: each matrix of a stack is filled alike. A vector has none and becomes 0.
 */
export function fillTensor(t: Tensor, start: StartValues, random: Random): Tensor {
  if (t.rank < 2 && start.type.startsWith('GLOROT')) return init.zeros(t);
  const [rows, columns] = t.rank < 2 ? [1, 1] : t.shape.slice(-2);
  const from = distributionOf(start, rows + columns);
  switch (from.kind) {
    case 'uniform':
      return init.uniform(t, { random, lo: from.lo, hi: from.hi });
    case 'normal':
      return init.normal(t, { random, mean: from.mean, std: from.std });
    case 'constant':
      return init.constant(t, from.value);
    default:
      throw new InternalError(`fillTensor: cannot draw ${JSON.stringify(from)}`);
  }
}

/** Fills `out` with the elements from `first` on of the sequence that fills a whole table. */
export function fillRange(
  out: Float32Array,
  start: StartValues,
  { first, fanSum, random }: { readonly first: number; readonly fanSum: number; readonly random: Random },
): void {
  const from = distributionOf(start, fanSum);
  if (from.kind === 'uniform') kernels().randomUniform(out, out.length, from.lo, from.hi, random.key, first);
  else if (from.kind === 'normal')
    kernels().randomNormal(out, out.length, from.mean, from.std, random.key, 4 * first);
  else out.fill(from.value);
}
