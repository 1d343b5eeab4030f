/** The registry of graph layers: those of `index.ts`, and custom ones. */
import { Module } from '../../nn/index.js';
import { Tensor } from '../../tensor/index.js';
import { expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { checkRecord, checkResult, Registry } from '../../util/registry.js';
import type { Settings } from '../../util/settings.js';
import type { ConvType } from './conv-type.js';
import { convTypes } from './index.js';

export const convRegistry = new Registry<(typeof convTypes)[number]>({
  ...{ key: 'model.encoder.layers.options.type', builtIn: convTypes, reserved: 'type' },
});

/**
 * Returns the record of a layer, for callers that treat all layers alike: its options are those of the configuration.
 */
export function getConvType(name: string): ConvType {
  return convRegistry.get(name) as unknown as ConvType;
}

/**
 * Registers a graph layer, so that configurations can name it as `options: { type: MINE }` of a GNN layer.
 *
 * @returns a function that removes it.
 * @example
 * registerConvLayer({ name: 'MINE', settings: {}, make: (_, { inFeatures, outFeatures }) => new MyConv(inFeatures,
 * outFeatures), run: (conv, graph, x) => conv.forward(graph, x) });
 */
export function registerConvLayer<S extends Settings, L extends Module>(
  record: ConvType<string, S, L>,
): () => void {
  const where = 'registerConvLayer';
  checkRecord(where, record);
  // Layers cannot have aliases: the schema of their options does not read them.
  checkOptionNames<Omit<ConvType<string, S, L>, 'aliases'>>(where, record, {
    ...{ name: true, doc: true, settings: true },
    ...{ check: true, weighsEdges: true, hops: true, make: true, run: true },
  });
  const { weighsEdges } = record;
  if (weighsEdges !== undefined && typeof weighsEdges !== 'boolean')
    throw new ValueError(expected(where, 'true or false', 'weighsEdges', weighsEdges));
  const optional = (['check', 'hops'] as const).filter((name) => record[name] !== undefined);
  return convRegistry.register(
    where,
    checkedConv(where, record) as never,
    ['make', 'run', ...optional] as never,
  );
}

/**
 * Wraps the functions of a record, so that a wrong result throws. Values that are not functions are left to `register`.
 */
function checkedConv<S extends Settings, L extends Module>(
  where: string,
  record: ConvType<string, S, L>,
): ConvType<string, S, L> {
  const { name, make, run, hops, check } = record;
  const isFunction = (value: unknown): boolean => typeof value === 'function';
  return {
    ...record,
    ...(isFunction(make) && {
      make: (...given: Parameters<typeof make>) => {
        const made = make(...given);
        return checkResult(where, `make() of ${name}`, 'a Module', made instanceof Module, made);
      },
    }),
    ...(isFunction(run) && {
      run: (...given: Parameters<typeof run>) => {
        const made = run(...given);
        return checkResult(where, `run() of ${name}`, 'a tensor', made instanceof Tensor, made);
      },
    }),
    ...(hops !== undefined &&
      isFunction(hops) && {
        hops: (options: Parameters<typeof hops>[0]) => {
          const made = hops(options);
          const fits = Number.isSafeInteger(made) && made >= 1;
          return checkResult(where, `hops() of ${name}`, 'a whole number of at least 1', fits, made);
        },
      }),
    ...(check !== undefined &&
      isFunction(check) && {
        check: (...given: Parameters<typeof check>) => {
          const made = check(...given) ?? null;
          const fits =
            made === null || (typeof made.expected === 'string' && typeof made.advice === 'string');
          return checkResult(where, `check() of ${name}`, 'null, or expected and advice', fits, made);
        },
      }),
  };
}

/** Returns the hops of an encoder's stage: the most of any of its graph layers; 0 if it has none. */
export function hopsOfStage(stage: readonly { readonly type: string; readonly options: unknown }[]): number {
  const hops = stage.map(({ type, options }) => {
    if (type !== 'GNN') return 0;
    const { type: conv } = options as { readonly type: string };
    return getConvType(conv).hops?.(options as never) ?? 1;
  });
  return Math.max(0, ...hops);
}
