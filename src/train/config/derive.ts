/**
 * Fills in keys that depend on other keys: defaults by task, replacements of unsupported devices and element types,
 * settings implied by filtered evaluation, widths of layers. Every replacement of a value in the file gives a warning.
 */
import { getOptimizerType } from '../../storage/optimizer-types.js';
import { headlineMetric, standardMetrics } from '../run/metric.js';
import { deviceLimits } from './check-device.js';
import type { PluginRecord } from './plugin-record.js';
import type { ParsedConfig } from './schema.js';
import type {
  EvaluationConfig,
  LayerConfig,
  ModelConfig,
  NegativeSamplingConfig,
  OptimizerConfig,
  SkeinConfig,
  StorageConfig,
  TrainingConfig,
} from './types.js';

export interface DeriveContext {
  /** Key paths that the file or an override sets. */
  readonly given: ReadonlySet<string>;
  warn(message: string): void;
}

export function derive(parsed: ParsedConfig, context: DeriveContext): SkeinConfig {
  const { model, training, evaluation, distributed, plugins } = parsed;
  const task = model.learning_task;
  if (distributed?.cache_inputs === true && !canCacheInputs(model.encoder.layers))
    context.warn(
      'distributed.cache_inputs: has no effect, because the rows that the first graph layer fetches change in every step: GAT, GATV2 and TRANSFORMER project features before the exchange, and dropout or layers before it change them.',
    );
  const metrics = evaluation.metrics.length === 0 ? standardMetrics(task) : [...new Set(evaluation.metrics)];
  return {
    model: deriveModel(parsed, context),
    storage: deriveStorage(parsed, context),
    training: {
      ...training,
      candidates: candidatesOf(parsed, context),
      negative_sampling: resolveFiltered('training', training.negative_sampling, context),
      early_stopping:
        training.early_stopping === null
          ? null
          : {
              ...training.early_stopping,
              metric: training.early_stopping.metric.toLowerCase() || headlineMetric(task, metrics),
            },
    } satisfies TrainingConfig,
    evaluation: {
      ...evaluation,
      negative_sampling: resolveFiltered('evaluation', evaluation.negative_sampling, context),
      metrics,
    } satisfies EvaluationConfig,
    distributed,
    ...(plugins.length === 0 ? {} : { plugins: plugins as readonly PluginRecord[] }),
  };
}

/** Returns the nodes that queries are compared with; with a partition buffer only those in memory are available. */
function candidatesOf(
  { training, storage }: ParsedConfig,
  { given }: DeriveContext,
): TrainingConfig['candidates'] {
  if (training.form === 'NEGATIVES' || given.has('training.candidates')) return training.candidates;
  const isBuffered = [storage.embeddings, storage.features].some(({ type }) => type === 'PARTITION_BUFFER');
  return isBuffered ? 'RESIDENT' : training.candidates;
}

/** Returns whether the first graph layer fetches unchanged features. */
function canCacheInputs(stages: readonly (readonly LayerConfig[])[]): boolean {
  const first = stages.findIndex((stage) => stage.some(({ type }) => type === 'GNN'));
  return (stages[first] ?? []).some((layer, j) => {
    const input = stages[first - 1]?.[j];
    if (layer.type !== 'GNN' || input?.type !== 'FEATURE') return false;
    const isPlain =
      !input.bias && input.activation === 'NONE' && input.norm === 'NONE' && input.dropout === 0;
    return isPlain && !['GAT', 'GATV2', 'TRANSFORMER'].includes(layer.options.type);
  });
}

function deriveModel({ model, training }: ParsedConfig, { given, warn }: DeriveContext): ModelConfig {
  const nodes = model.learning_task === 'NODE_CLASSIFICATION';
  const encoder = model.encoder;
  const layers = resolveWidths(encoder.layers, warn);
  const widths = layers.flat().map((layer) => (layer.type === 'EMBEDDING' ? layer.output_dim : 0));
  const dense = model.dense_optimizer;
  const sparse = rowOptimizer(model.sparse_optimizer, training.form, warn);
  return {
    ...model,
    random_seed: given.has('model.random_seed') ? model.random_seed : drawSeed(),
    encoder: {
      ...encoder,
      embedding_dim: widths.reduce((sum, width) => sum + width, 0),
      layers,
      eval_neighbor_sampling:
        encoder.eval_neighbor_sampling.length === 0
          ? encoder.train_neighbor_sampling
          : encoder.eval_neighbor_sampling,
    },
    decoder:
      nodes && !given.has('model.decoder.type')
        ? { type: 'NODE', optimizer: model.decoder.optimizer, options: {} }
        : model.decoder,
    loss:
      nodes && !given.has('model.loss.type')
        ? { type: 'CROSS_ENTROPY', options: { reduction: model.loss.options.reduction, label_smoothing: 0 } }
        : model.loss,
    regularizer: given.has('model.regularizer.relation_coef')
      ? model.regularizer
      : { ...model.regularizer, relation_coef: model.regularizer.coef },
    // As in Marius, the node table uses the dense learning rate if no sparse optimiser is given.
    sparse_optimizer: given.has('model.sparse_optimizer')
      ? sparse
      : ({
          ...sparse,
          options: { ...sparse.options, learning_rate: dense.options.learning_rate },
        } as typeof sparse),
  };
}

/**
 * Turns off the options that do not work on the node table. With negatives it is updated row by row, so options that touch
 * every row in each step, or count steps per row, are not available.
 */
function rowOptimizer(
  optimizer: OptimizerConfig,
  form: TrainingConfig['form'],
  warn: DeriveContext['warn'],
): OptimizerConfig {
  const { denseOnly, allRowsOnly } = getOptimizerType(optimizer.type);
  const options: Record<string, unknown> = { ...optimizer.options };
  for (const [key, value] of Object.entries({ ...denseOnly, ...(form === 'NEGATIVES' ? allRowsOnly : {}) })) {
    if (options[key] === value) continue;
    const advice =
      key === 'weight_decay'
        ? ' with training.form NEGATIVES, which updates only the rows of a batch; model.regularizer penalises large rows'
        : '';
    warn(`model.sparse_optimizer.options.${key}: has no effect on the node table${advice}.`);
    options[key] = value;
  }
  return { type: optimizer.type, options } as unknown as OptimizerConfig;
}

function drawSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/**
 * Fills in input_dim from the previous stage, and output_dim of concatenations; keeps the values of the file. A REDUCTION
 * reads the whole previous stage, so a different input_dim, which some files of Marius have, is replaced with a warning.
 */
function resolveWidths(
  stages: readonly (readonly LayerConfig[])[],
  warn: DeriveContext['warn'],
): LayerConfig[][] {
  const resolved: LayerConfig[][] = [];
  for (const [i, stage] of stages.entries()) {
    const before = resolved.at(-1);
    const total = before?.reduce((sum, layer) => sum + Math.max(layer.output_dim, 0), 0) ?? -1;
    resolved.push(
      stage.map((layer, j) => {
        if (['EMBEDDING', 'FEATURE', 'TEXT'].includes(layer.type) || before === undefined) return layer;
        const incoming = layer.type === 'GNN' && before[j] !== undefined ? before[j].output_dim : total;
        const isReplaced =
          layer.type === 'REDUCTION' && layer.input_dim !== -1 && layer.input_dim !== incoming;
        if (isReplaced)
          warn(
            `model.encoder.layers[${i}][${j}].input_dim: the previous stage has ${incoming} columns, not ${layer.input_dim}; ${incoming} is used.`,
          );
        const input_dim = isReplaced || layer.input_dim === -1 ? incoming : layer.input_dim;
        const concatenates = layer.type === 'REDUCTION' && layer.options.type === 'CONCAT';
        const adds = layer.type === 'REDUCTION' && layer.options.type === 'SUM';
        const width = concatenates ? input_dim : adds ? before[0].output_dim : -1;
        const output_dim = layer.output_dim === -1 ? width : layer.output_dim;
        return { ...layer, input_dim, output_dim };
      }),
    );
  }
  return resolved;
}

/** Returns the device. A configuration for CUDA that cannot run on webgpu runs on the cpu, with a warning. */
function deviceType(parsed: ParsedConfig, warn: DeriveContext['warn']): StorageConfig['device_type'] {
  const { device_type: type } = parsed.storage;
  if (type !== 'cuda') return type;
  const [first] = deviceLimits(parsed);
  if (first === undefined) return type;
  warn(`storage.device_type: ${first.key} ${first.got} does not run on webgpu; training runs on the cpu.`);
  return 'cpu';
}

function deriveStorage(parsed: ParsedConfig, { given, warn }: DeriveContext): StorageConfig {
  const { storage } = parsed;
  const device = deviceType(parsed, warn);
  if (storage.device_ids.length > 0)
    warn(
      `storage.device_ids: has no effect${device === 'cpu' ? ' on the cpu' : ', only one device is used'}.`,
    );
  const { filtered, negatives_per_positive: negatives } = parsed.training.negative_sampling;
  const { form } = parsed.training;
  if (parsed.training.bucket_partitions > 0 && form !== 'NEGATIVES')
    warn(`training.bucket_partitions: has no effect with training.form ${form}.`);
  else if (parsed.training.bucket_partitions > 0 && (filtered || negatives === -1))
    warn('training.bucket_partitions: has no effect if all nodes are negatives.');
  else if (parsed.training.bucket_partitions > 0 && parsed.model.learning_task !== 'LINK_PREDICTION')
    warn('training.bucket_partitions: has no effect for NODE_CLASSIFICATION.');
  else if (parsed.training.bucket_partitions > 0 && storage.embeddings.type !== 'HOST_MEMORY')
    warn(
      `training.bucket_partitions: has no effect with storage.embeddings.type ${storage.embeddings.type}: it orders edges for rows in memory.`,
    );
  if (parsed.distributed?.features === 'spread' && storage.features.type !== 'HOST_MEMORY')
    warn(`distributed.features: has no effect with storage.features.type ${storage.features.type}.`);
  if (storage.device_cache_size !== null && device === 'cpu')
    warn('storage.device_cache_size: has no effect on the cpu.');
  const table = <T extends { readonly options: { readonly dtype: string } }>(name: string, value: T) => {
    if (value.options.dtype !== 'float64') return value;
    warn(`storage.${name}.options.dtype: double is not supported; rows are float32.`);
    return { ...value, options: { ...value.options, dtype: 'float32' } };
  };
  for (const name of ['edges', 'nodes'] as const)
    if (storage[name].options.dtype === 'int64' && given.has(`storage.${name}.options.dtype`))
      warn(`storage.${name}.options.dtype: int64 files are read, but ids are held in memory as int32.`);
  return {
    ...storage,
    device_type: device,
    device_ids: [],
    embeddings: clipCapacity(
      table('embeddings', resolveDeviceTable(storage.embeddings, device)) as StorageConfig['embeddings'],
      'embeddings',
      given,
    ),
    features: clipCapacity(
      table('features', storage.features) as StorageConfig['features'],
      'features',
      given,
    ),
  };
}

/** Replaces DEVICE_MEMORY by HOST_MEMORY if the run computes on the cpu. */
function resolveDeviceTable<T extends { readonly type: string }>(
  table: T,
  device: StorageConfig['device_type'],
): T {
  return table.type === 'DEVICE_MEMORY' && device === 'cpu' ? { ...table, type: 'HOST_MEMORY' } : table;
}

/** Limits the default buffer capacity to the number of partitions. A capacity in the file is checked, not changed. */
function clipCapacity<T extends StorageConfig['features'] | StorageConfig['embeddings']>(
  table: T,
  name: string,
  given: ReadonlySet<string>,
): T {
  if (table.type !== 'PARTITION_BUFFER' || given.has(`storage.${name}.options.buffer_capacity`)) return table;
  const { num_partitions, buffer_capacity } = table.options;
  return {
    ...table,
    options: { ...table.options, buffer_capacity: Math.min(num_partitions, buffer_capacity) },
  };
}

/** Applies the settings that `filtered` implies: all nodes, in one chunk. Other values are replaced, as in Marius. */
function resolveFiltered<S extends NegativeSamplingConfig>(
  where: 'training' | 'evaluation',
  sampling: S,
  { given, warn }: DeriveContext,
): S {
  if (!sampling.filtered) return sampling;
  const implied = { num_chunks: 1, negatives_per_positive: -1, degree_fraction: 0 };
  for (const [key, value] of Object.entries(implied) as [keyof typeof implied, number][]) {
    const path = `${where}.negative_sampling.${key}`;
    if (given.has(path) && sampling[key] !== value)
      warn(
        `${path}: filtered means all nodes, so ${value} is used instead of ${JSON.stringify(sampling[key])}.`,
      );
  }
  return { ...sampling, ...implied };
}
