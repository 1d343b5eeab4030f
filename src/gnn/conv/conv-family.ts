/** The graph layers that a configuration can name: those of `index.ts`, and those of users. */
import { Module } from '../../nn/index.js';
import { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Settings } from '../../util/settings.js';
import { checkMade, checkRecord, WordFamily } from '../../util/words.js';
import type { ConvWord } from './conv-word.js';
import { convWords } from './index.js';

export const convFamily = new WordFamily<(typeof convWords)[number]>({
  ...{ key: 'model.encoder.layers.options.type', builtIn: convWords, reserved: 'type' },
});

/** The record of a word, for callers that know of no layer in particular: its options are those of the configuration. */
export function convNamed(word: string): ConvWord {
  return convFamily.named(word) as unknown as ConvWord;
}

/**
 * Makes a graph layer known to configurations, as `options: { type: MINE }` of a GNN layer.
 *
 * @returns takes it out again.
 * @example
 * registerConvLayer({ word: 'MINE', settings: {}, make: (_, { into, out }) => new MyConv(into, out), run: (conv, graph, x) => conv.forward(graph, x) });
 */
export function registerConvLayer<S extends Settings, L extends Module>(
  record: ConvWord<string, S, L>,
): () => void {
  const where = 'registerConvLayer';
  checkRecord(where, record);
  // Layers have no other spellings: a configuration would not know them.
  checkOptionNames<Omit<ConvWord<string, S, L>, 'aliases'>>(where, record, {
    ...{ word: true, doc: true, settings: true },
    ...{ check: true, weighsEdges: true, hops: true, make: true, run: true },
  });
  const { weighsEdges } = record;
  if (weighsEdges !== undefined && typeof weighsEdges !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'weighsEdges', weighsEdges));
  const optional = (['check', 'hops'] as const).filter((name) => record[name] !== undefined);
  return convFamily.register(
    where,
    checkedConv(where, record) as never,
    ['make', 'run', ...optional] as never,
  );
}

/** The record with functions that refuse what does not fit, by the word. What is no function is left to `register`. */
function checkedConv<S extends Settings, L extends Module>(
  where: string,
  record: ConvWord<string, S, L>,
): ConvWord<string, S, L> {
  const { word, make, run, hops, check } = record;
  const isFunction = (value: unknown): boolean => typeof value === 'function';
  return {
    ...record,
    ...(isFunction(make) && {
      make: (...given: Parameters<typeof make>) => {
        const made = make(...given);
        return checkMade(where, `make() of ${word}`, 'a Module', made instanceof Module, made);
      },
    }),
    ...(isFunction(run) && {
      run: (...given: Parameters<typeof run>) => {
        const made = run(...given);
        return checkMade(where, `run() of ${word}`, 'a tensor', made instanceof Tensor, made);
      },
    }),
    ...(hops !== undefined &&
      isFunction(hops) && {
        hops: (options: Parameters<typeof hops>[0]) => {
          const made = hops(options);
          const fits = Number.isSafeInteger(made) && made >= 1;
          return checkMade(where, `hops() of ${word}`, 'a whole number of at least 1', fits, made);
        },
      }),
    ...(check !== undefined &&
      isFunction(check) && {
        check: (...given: Parameters<typeof check>) => {
          const made = check(...given) ?? null;
          const fits =
            made === null || (typeof made.expected === 'string' && typeof made.advice === 'string');
          return checkMade(where, `check() of ${word}`, 'null, or expected and advice', fits, made);
        },
      }),
  };
}

/** Hops of a stage of an encoder: of its graph layer that goes farthest; 0 without one. */
export function hopsOfStage(stage: readonly { readonly type: string; readonly options: unknown }[]): number {
  const hops = stage.map(({ type, options }) => {
    if (type !== 'GNN') return 0;
    const { type: word } = options as { readonly type: string };
    return convNamed(word).hops?.(options as never) ?? 1;
  });
  return Math.max(0, ...hops);
}
