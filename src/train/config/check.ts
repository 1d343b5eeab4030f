/** Checks keys against each other and reports all problems, not only the first. check-dataset.ts checks against the data. */
import { lossRegistry } from '../../gnn/decoders/loss-types.js';
import { type ConfigProblem, problem } from '../../util/schema/problem.js';
import { findMetric, metricText } from '../run/metric.js';
import { checkDecoder } from './check-decoder.js';
import { checkDevice } from './check-device.js';
import { checkForm } from './check-form.js';
import { checkEncoder } from './check-layers.js';
import { checkObjective } from './check-objective.js';
import type { PartitionBufferConfig, SkeinConfig } from './types.js';

/** Returns all problems. `statedWidth` is the embedding_dim in the file, or -1 if there is none. */
export function checkConfig(config: SkeinConfig, statedWidth: number): ConfigProblem[] {
  return [
    ...checkEncoder(config),
    ...checkTask(config),
    ...checkDecoder(config),
    ...checkModel(config, statedWidth),
    ...checkStorage(config),
    ...checkDevice(config),
    ...checkTraining(config),
    ...checkForm(config),
    ...checkObjective(config),
  ];
}

function checkTask({ model, training, evaluation }: SkeinConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const nodes = model.learning_task === 'NODE_CLASSIFICATION';
  if (nodes !== (model.decoder.type === 'NODE')) {
    const what = nodes
      ? 'NODE, since the task is NODE_CLASSIFICATION,'
      : 'an edge decoder, since the task is LINK_PREDICTION,';
    problems.push(
      problem(
        'model.decoder.type',
        what,
        model.decoder.type,
        nodes ? 'Write NODE.' : 'Write for example DISTMULT.',
      ),
    );
  }
  if (nodes && !lossRegistry.get(model.loss.type).forClasses)
    problems.push(
      problem(
        'model.loss.type',
        'a classification loss',
        model.loss.type,
        'It is a loss of edges; write CROSS_ENTROPY.',
      ),
    );
  if (!nodes && training.full_batch)
    problems.push(
      problem(
        'training.full_batch',
        'false for LINK_PREDICTION',
        true,
        'Only node classification trains on the whole graph.',
      ),
    );
  if (nodes && 'offset' in model.loss.options && model.loss.options.offset !== 0)
    problems.push(
      problem(
        'model.loss.options.offset',
        '0, since model.learning_task is NODE_CLASSIFICATION,',
        model.loss.options.offset,
        'It shifts the scores of edges; remove the key.',
      ),
    );
  for (const [i, name] of evaluation.metrics.entries())
    if (findMetric(name)?.task !== model.learning_task) {
      const advice = `Use ${metricText(model.learning_task)}.`;
      problems.push(
        problem(['evaluation', 'metrics', i], `a metric of ${model.learning_task}`, name, advice),
      );
    }
  const { filtered, negatives_per_positive: count } = evaluation.negative_sampling;
  if (evaluation.candidates === 'SEEN' && !filtered && count !== -1)
    problems.push(
      problem(
        'evaluation.candidates',
        `ALL with evaluation.negative_sampling.negatives_per_positive ${JSON.stringify(count)}`,
        'SEEN',
        'Sampled negatives are drawn from all nodes; set evaluation.negative_sampling.filtered: true.',
      ),
    );
  return problems;
}

function checkModel({ model }: SkeinConfig, statedWidth: number): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const { encoder } = model;
  if (model.dense_optimizer.type === 'ROW_ADAGRAD') {
    const advice =
      'It has one sum per row of the node table; use it as model.sparse_optimizer, and ADAGRAD here.';
    problems.push(
      problem('model.dense_optimizer.type', 'an optimiser of dense parameters', 'ROW_ADAGRAD', advice),
    );
  }
  if (statedWidth !== -1 && statedWidth !== encoder.embedding_dim) {
    const what = `the ${encoder.embedding_dim} that the EMBEDDING layers add up to`;
    problems.push(problem('model.encoder.embedding_dim', what, statedWidth, 'Remove the key.'));
  }
  return problems;
}

/** Whether the loss weighs training edges by how often their queries occur. */
export const subsamples = ({ model: { loss } }: SkeinConfig): boolean =>
  'subsampling' in loss.options && loss.options.subsampling === true;

function checkStorage(config: SkeinConfig): ConfigProblem[] {
  const { storage, training } = config;
  const problems: ConfigProblem[] = [];
  const { embeddings, features } = storage;
  for (const name of ['embeddings', 'features'] as const) {
    const table = storage[name];
    if (table.type !== 'PARTITION_BUFFER') continue;
    problems.push(...checkBuffer(`storage.${name}`, table));
    const { num_partitions: partitions, buffer_capacity: capacity } = table.options;
    for (const filter of ['filtered', 'known_filter'] as const) {
      if (!training.negative_sampling[filter] || capacity >= partitions) continue;
      const key = `training.negative_sampling.${filter}`;
      const advice = 'Known edges of nodes on disk cannot be filtered out; remove it, or use HOST_MEMORY.';
      problems.push(problem(key, `false with storage.${name}.type PARTITION_BUFFER`, true, advice));
    }
    if (training.negative_sampling.candidates === 'SEEN' && capacity < partitions) {
      const advice = 'Seen nodes on disk cannot be drawn; remove it, or use HOST_MEMORY.';
      const what = `ALL with storage.${name}.type PARTITION_BUFFER`;
      problems.push(problem('training.negative_sampling.candidates', what, 'SEEN', advice));
    }
    if (subsamples(config) && capacity < partitions) {
      const advice = 'Edges of nodes on disk cannot be counted; remove it, or use HOST_MEMORY.';
      const what = `false with storage.${name}.type PARTITION_BUFFER`;
      problems.push(problem('model.loss.options.subsampling', what, true, advice));
    }
    if (training.full_batch) {
      const advice = 'The whole graph must be in memory; use HOST_MEMORY, or full_batch: false.';
      problems.push(
        problem(`storage.${name}.type`, 'HOST_MEMORY with training.full_batch', table.type, advice),
      );
    }
  }
  if (features.type === 'FLAT_FILE' && features.options.hot_cache_size > 0) {
    const { hot_policy: policy } = features.options;
    if (storage.edges.type === 'FLAT_FILE' && policy !== 'SIEVE') {
      const advice = 'The other policies read all edges; use SIEVE, or edges in HOST_MEMORY.';
      const what = 'SIEVE with storage.edges.type FLAT_FILE';
      problems.push(problem('storage.features.options.hot_policy', what, policy, advice));
    }
  }
  if (embeddings.type === 'PARTITION_BUFFER' && features.type === 'PARTITION_BUFFER') {
    for (const key of ['num_partitions', 'buffer_capacity'] as const)
      if (embeddings.options[key] !== features.options[key]) {
        const what = `the ${embeddings.options[key]} of storage.embeddings`;
        const advice = 'Embeddings and features of a node are swapped together; make the two equal.';
        problems.push(problem(`storage.features.options.${key}`, what, features.options[key], advice));
      }
  }
  return problems;
}

function checkBuffer(where: string, { options }: PartitionBufferConfig): ConfigProblem[] {
  const { num_partitions: partitions, buffer_capacity: capacity, fine_to_coarse_ratio: ratio } = options;
  const key = (name: string): string => `${where}.options.${name}`;
  if (capacity > partitions) {
    const advice = `Lower buffer_capacity, raise num_partitions, or use type: HOST_MEMORY.`;
    return [problem(key('buffer_capacity'), `at most num_partitions, ${partitions},`, capacity, advice)];
  }
  if (options.edge_bucket_ordering === 'CUSTOM' || options.node_partition_ordering === 'CUSTOM') {
    const name =
      options.edge_bucket_ordering === 'CUSTOM' ? 'edge_bucket_ordering' : 'node_partition_ordering';
    return [
      problem(
        key(name),
        'a computed ordering',
        'CUSTOM',
        'A custom list of buffer states can only be passed in a program.',
      ),
    ];
  }
  if (capacity === partitions) return [];
  const problems: ConfigProblem[] = [];
  for (const [name, value] of [
    ['num_partitions', partitions],
    ['buffer_capacity', capacity],
  ] as const)
    if (value % ratio !== 0) {
      const advice = 'Partitions are swapped in groups of that size; choose a multiple of it.';
      problems.push(problem(key(name), `a multiple of fine_to_coarse_ratio ${ratio}`, value, advice));
    }
  const most = capacity / ratio - 2;
  if (problems.length === 0 && most < 0) {
    const advice = 'Two groups of partitions must fit in the buffer; lower it or raise buffer_capacity.';
    return [problem(key('fine_to_coarse_ratio'), `at most ${Math.floor(capacity / 2)}`, ratio, advice)];
  }
  if (problems.length === 0 && options.num_cache_partitions > most) {
    const advice = 'Two groups of the buffer must be free for swaps; lower it or raise buffer_capacity.';
    problems.push(
      problem(key('num_cache_partitions'), `at most ${most}`, options.num_cache_partitions, advice),
    );
  }
  return problems;
}

function checkTraining({ model, training, evaluation }: SkeinConfig): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const stopping = training.early_stopping;
  if (stopping !== null && stopping.metric !== 'loss' && !evaluation.metrics.includes(stopping.metric)) {
    const what = `loss or one of evaluation.metrics (${evaluation.metrics.join(', ')})`;
    problems.push(
      problem(
        'training.early_stopping.metric',
        what,
        stopping.metric,
        'Add it to evaluation.metrics, or use one of these.',
      ),
    );
  }
  if (model.learning_task === 'NODE_CLASSIFICATION' && evaluation.max_edges > 0)
    problems.push(
      problem(
        'evaluation.max_edges',
        '-1 for model.learning_task NODE_CLASSIFICATION',
        evaluation.max_edges,
        'It samples edges; remove it.',
      ),
    );
  if (training.resume_training && training.resume_from_checkpoint !== '') {
    const advice =
      'resume_training continues a run, resume_from_checkpoint starts a new one; keep one of them.';
    problems.push(
      problem(
        'training.resume_from_checkpoint',
        'nothing with resume_training',
        training.resume_from_checkpoint,
        advice,
      ),
    );
  }
  const schedule = training.learning_rate_schedule;
  if (schedule.warmup_epochs > 0 && schedule.warmup_epochs >= training.num_epochs) {
    const what = `fewer than training.num_epochs, ${training.num_epochs},`;
    const key = 'training.learning_rate_schedule.warmup_epochs';
    problems.push(problem(key, what, schedule.warmup_epochs, 'Shorten the warm-up or train longer.'));
  }
  return problems;
}
