/**
 * Settings that cannot run on a GPU. With `device_type: webgpu` they are errors; with `cuda`, which files for Marius
 * have, the run falls back to the cpu.
 */
import { getOptimizerType } from '../../storage/optimizer-types.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import type { SkeinConfig } from './types.js';

/** The keys that are checked; parsed and resolved configurations both have them. */
interface DeviceKeys {
  readonly storage: {
    readonly embeddings: { readonly type: string; readonly options: { readonly dtype: string } };
    readonly features: { readonly type: string };
  };
  readonly model: Readonly<
    Pick<SkeinConfig['model'], 'decoder' | 'dense_optimizer' | 'relation_prediction' | 'sparse_optimizer'>
  > & {
    readonly encoder: { readonly layers: readonly (readonly { readonly type: string }[])[] };
  };
  readonly training: { readonly form: SkeinConfig['training']['form'] };
  readonly distributed: unknown;
}

export interface DeviceLimit {
  readonly key: string;
  readonly expected: string;
  readonly got: string;
  readonly advice: string;
}

/** Returns every setting that the device does not support. */
export function deviceLimits({ storage, model, training, distributed }: DeviceKeys): DeviceLimit[] {
  const found: DeviceLimit[] = [];
  for (const name of ['embeddings', 'features'] as const)
    if (storage[name].type === 'PARTITION_BUFFER')
      found.push({
        key: `storage.${name}.type`,
        expected: name === 'embeddings' ? 'HOST_MEMORY or DEVICE_MEMORY' : 'HOST_MEMORY or FLAT_FILE',
        got: 'PARTITION_BUFFER',
        advice: 'Partitions are swapped on the cpu only; use device_type: cpu.',
      });
  if (model.encoder.layers.flat().some((layer) => layer.type === 'TEXT'))
    found.push({
      key: 'model.encoder.layers',
      expected: 'no TEXT layer',
      got: 'one',
      advice: 'Words are gathered on the cpu only; use device_type: cpu.',
    });
  const { type, options: table } = storage.embeddings;
  if (type === 'DEVICE_MEMORY' && (table.dtype === 'float16' || table.dtype === 'bfloat16'))
    found.push({
      key: 'storage.embeddings.options.dtype',
      expected: 'float32 in DEVICE_MEMORY',
      got: table.dtype,
      advice: 'Half precision is available for tables in host memory only.',
    });
  if (type === 'DEVICE_MEMORY' && model.sparse_optimizer.type === 'ROW_ADAGRAD')
    found.push({
      key: 'model.sparse_optimizer.type',
      expected: 'another optimiser in DEVICE_MEMORY',
      got: 'ROW_ADAGRAD',
      advice: 'The GPU has no kernel for it; use ADAGRAD, or embeddings in HOST_MEMORY.',
    });
  const dense = model.dense_optimizer;
  const options = dense.options as Readonly<Record<string, unknown>>;
  for (const [key, off] of Object.entries(getOptimizerType(dense.type).hostOnly))
    if (options[key] !== off)
      found.push({
        key: `model.dense_optimizer.options.${key}`,
        expected: String(off),
        got: String(options[key]),
        advice: 'The GPU has no kernel for it.',
      });
  found.push(...objectiveLimits({ model, training }));
  if (distributed !== null)
    found.push({
      key: 'distributed',
      expected: 'nothing',
      got: 'a section',
      advice: 'Several workers compute on the cpu only.',
    });
  return found;
}

/** Returns the settings of the decoder and of the objective that the device does not support. */
function objectiveLimits({ model, training }: Pick<DeviceKeys, 'model' | 'training'>): DeviceLimit[] {
  const found = decoderLimits(model.decoder);
  if (training.form !== 'NEGATIVES')
    found.push({
      key: 'training.form',
      expected: 'NEGATIVES',
      got: training.form,
      advice: 'Queries are compared with all nodes on the cpu only; use device_type: cpu.',
    });
  if (model.relation_prediction.weight > 0)
    found.push({
      key: 'model.relation_prediction.weight',
      expected: '0',
      got: String(model.relation_prediction.weight),
      advice: 'Relations are predicted on the cpu only; use device_type: cpu.',
    });
  return found;
}

/** Returns the options of a decoder for which the GPU has no kernel. */
function decoderLimits(decoder: SkeinConfig['model']['decoder']): DeviceLimit[] {
  if (decoder.type === 'NODE') return [];
  const { bias, comparator } = decoder.options;
  const advice = 'The GPU has no kernel for it; use device_type: cpu.';
  const key = (name: string): string => `model.decoder.options.${name}`;
  if (bias) return [{ key: key('bias'), expected: 'false', got: 'true', advice }];
  if (comparator !== 'MODULUS') return [];
  return [{ key: key('comparator'), expected: 'another comparator', got: comparator, advice }];
}

export function checkDevice(config: SkeinConfig): ConfigProblem[] {
  if (config.storage.device_type !== 'webgpu') return [];
  return deviceLimits(config).map(({ key, expected, got, advice }) =>
    problem(key, `${expected} with storage.device_type webgpu`, got, advice),
  );
}
