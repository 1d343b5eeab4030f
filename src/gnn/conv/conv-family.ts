/** The graph layers that a configuration can name: those of `index.ts`, and those of users. */
import type { Module } from '../../nn/index.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { Settings } from '../../util/settings.js';
import { WordFamily } from '../../util/words.js';
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
  checkOptionNames(where, record, {
    ...{ word: true, aliases: true, doc: true, settings: true },
    ...{ check: true, weighsEdges: true, hops: true, make: true, run: true },
  });
  return convFamily.register(where, record as never, ['make', 'run']);
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
