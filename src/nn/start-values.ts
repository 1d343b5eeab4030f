/**
 * Start values by the words of a configuration (`init: { type: GLOROT_UNIFORM }`). A word gives a distribution; the same
 * distribution fills a tensor from a generator and a range of a large table from the numbers of its elements, so that a
 * table's values do not depend on how it is partitioned.
 */
import { kernels } from '../native/index.js';
import type { Tensor } from '../tensor/index.js';
import { InternalError } from '../util/errors.js';
import type { Random } from '../util/philox.js';
import {
  type Chosen,
  number,
  positive,
  recordOf,
  type Settings,
  type ValuesOf,
  type Word,
} from '../util/settings.js';
import * as init from './init.js';

/** Where values come from. */
export type Distribution =
  | { readonly kind: 'uniform'; readonly bound: number }
  | { readonly kind: 'normal'; readonly mean: number; readonly std: number }
  | { readonly kind: 'constant'; readonly value: number };

interface StartWord<W extends string, S extends Settings> extends Word<W, S> {
  /** @param fanSum input and output width of the matrix together. */
  readonly distribution: (options: ValuesOf<S>, fanSum: number) => Distribution;
}

const startWord = <const W extends string, S extends Settings>(record: StartWord<W, S>): StartWord<W, S> =>
  record;

const constant = (value: number): Distribution => ({ kind: 'constant', value });

export const startWords = [
  startWord({
    word: 'GLOROT_UNIFORM',
    settings: {},
    distribution: (_, fanSum) => ({ kind: 'uniform', bound: Math.sqrt(6 / fanSum) }),
  }),
  startWord({
    word: 'GLOROT_NORMAL',
    settings: {},
    distribution: (_, fanSum) => ({ kind: 'normal', mean: 0, std: Math.sqrt(2 / fanSum) }),
  }),
  startWord({
    word: 'UNIFORM',
    settings: { scale_factor: positive(1, 'values lie in ±scale_factor') },
    distribution: ({ scale_factor }) => ({ kind: 'uniform', bound: scale_factor }),
  }),
  startWord({
    word: 'NORMAL',
    settings: {
      mean: number(0, 'mean of the values'),
      std: number(1, 'their standard deviation', { min: 0 }),
    },
    distribution: ({ mean, std }) => ({ kind: 'normal', mean, std }),
  }),
  startWord({
    word: 'CONSTANT',
    settings: { constant: number(0, 'the value') },
    distribution: (options) => constant(options.constant),
  }),
  startWord({ word: 'ZEROS', settings: {}, distribution: () => constant(0) }),
  startWord({ word: 'ONES', settings: {}, distribution: () => constant(1) }),
] as const;

export type StartValues = Chosen<(typeof startWords)[number]>;

function distributionOf({ type, options }: StartValues, fanSum: number): Distribution {
  return recordOf(startWords, type).distribution(options as never, fanSum);
}

/** Fills `t`. Fans are the last two axes: a stack of matrices is filled as each of them. A vector has none, and stays 0. */
export function fillTensor(t: Tensor, start: StartValues, random: Random): Tensor {
  if (t.rank < 2 && start.type.startsWith('GLOROT')) return init.zeros(t);
  const [rows, columns] = t.rank < 2 ? [1, 1] : t.shape.slice(-2);
  const from = distributionOf(start, rows + columns);
  switch (from.kind) {
    case 'uniform':
      return init.uniform(t, { random, lo: -from.bound, hi: from.bound });
    case 'normal':
      return init.normal(t, { random, mean: from.mean, std: from.std });
    case 'constant':
      return init.constant(t, from.value);
    default:
      throw new InternalError(`fillTensor: no way to draw ${JSON.stringify(from)}`);
  }
}

/** Fills `out` with elements first … of the sequence that fills a whole table. */
export function fillRange(
  out: Float32Array,
  start: StartValues,
  { first, fanSum, random }: { readonly first: number; readonly fanSum: number; readonly random: Random },
): void {
  const from = distributionOf(start, fanSum);
  if (from.kind === 'uniform')
    kernels().randomUniform(out, out.length, -from.bound, from.bound, random.key, first);
  else if (from.kind === 'normal')
    kernels().randomNormal(out, out.length, from.mean, from.std, random.key, 4 * first);
  else out.fill(from.value);
}
