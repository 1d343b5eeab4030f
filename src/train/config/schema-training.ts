/** Schema, defaults and documentation of the `training` and `evaluation` sections. */
import { z } from 'zod';
import {
  choice,
  countOr,
  didYouMean,
  field,
  flag,
  integer,
  list,
  number,
  positive,
  positiveOr,
  section,
  text,
  withExpected,
} from '../../util/schema/fields.js';
import { findMetric, metricList, metricSpellings, metricText, standardMetrics } from '../run/metric.js';

/** A number of negatives for both ends of an edge, or one number for each. */
const negativeCounts = () => {
  const text =
    'a whole number of at least 1, or -1 (all nodes), or { src, dst } with one of at least 1 for each end';
  const count = z
    .number(text)
    .int(text)
    .min(1, text)
    .max(2 ** 31 - 1, text);
  return withExpected(
    z.union([z.literal(-1), count, z.strictObject({ src: count, dst: count })], text),
    text,
  );
};

const negativeSampling = () =>
  section({
    num_chunks: field(integer(1), 1, 'number of chunks of a batch, each with separate negatives'),
    negatives_per_positive: field(
      negativeCounts(),
      1000,
      'negative nodes per edge; -1: all nodes but the true one; { src, dst }: for each end, an extension of Marius',
    ),
    degree_fraction: field(number(0, 1), 0, 'fraction of the negatives drawn by degree'),
    filtered: field(
      flag(),
      false,
      'use all nodes as negatives except those that form a known edge; implies num_chunks 1, negatives_per_positive -1, degree_fraction 0',
    ),
    local_filter_mode: field(
      choice(['DEG', 'ALL']),
      'DEG',
      'negatives that are masked if they form an edge of the batch: those drawn by degree, or all',
    ),
    self_filter: field(flag(), false, {
      doc: 'mask drawn negatives that are the true end of their edge; false, as in Marius: they compete with it',
      ours: true,
    }),
  });

const pipeline = () =>
  section({
    sync: field(
      flag(),
      true,
      'process one batch after the other; false: overlap loading, computing and updating',
    ),
    staleness_bound: field(integer(1), 16, 'number of batches in flight if sync is false; 1 equals sync'),
  });

const checkpoint = section({
  interval: field(countOr('none'), -1, 'epochs between checkpoints; -1: none'),
  minutes: field(positiveOr('none'), -1, {
    doc: 'minutes between checkpoints; -1: none',
    ours: true,
  }),
  interval_batches: field(countOr('none'), -1, { doc: 'batches between checkpoints; -1: none', ours: true }),
  save_best: field(flag(), false, 'keep the model with the best validation metric as well'),
});

const earlyStopping = section({
  metric: field(text('a metric of the validation set, or loss'), '', {
    doc: 'metric that must improve',
    ours: true,
    shown: 'mrr, or accuracy for node classification',
  }),
  patience: field(integer(1), 3, { doc: 'evaluations without improvement before training ends', ours: true }),
  min_delta: field(number(0), 0, { doc: 'smallest change that is an improvement', ours: true }),
});

const schedule = section({
  type: field(choice(['CONSTANT', 'LINEAR', 'COSINE', 'STEP', 'EXPONENTIAL']), 'CONSTANT', {
    doc: 'change of the learning rates over the epochs',
    ours: true,
  }),
  warmup_epochs: field(integer(0), 0, { doc: 'epochs in which the rates rise from 0', ours: true }),
  final_factor: field(number(0, 1), 0, { doc: 'factor at the end of LINEAR and COSINE', ours: true }),
  gamma: field(positive(), 0.1, {
    doc: 'factor per step of STEP and per epoch of EXPONENTIAL',
    ours: true,
  }),
  step_epochs: field(integer(1), 10, { doc: 'epochs between steps of STEP', ours: true }),
});

export const trainingSchema = section({
  batch_size: field(integer(1), 1000, 'edges or nodes per step'),
  negative_sampling: field(negativeSampling(), {}, 'negatives of link prediction'),
  bucket_partitions: field(integer(-1, 4096), -1, {
    doc: 'link prediction with all rows in memory: order training edges by buckets between this many partitions of the nodes; 0: random order; -1: random order up to 1 GiB of rows and optimiser state, chosen by size above',
    ours: true,
    shown: 'chosen by size',
  }),
  num_epochs: field(integer(1), 10, 'passes over the training set'),
  pipeline: field(pipeline(), {}, 'overlap of loading, computing and updating'),
  logs_per_epoch: field(
    integer(0),
    10,
    'maximum number of progress lines per epoch when the output is not a terminal; 0: none',
  ),
  save_model: field(flag(), true, 'save the trained model'),
  checkpoint: field(checkpoint, {}, 'when checkpoints are written'),
  resume_training: field(flag(), false, 'resume the run in model_dir from its last checkpoint'),
  resume_from_checkpoint: field(text('a checkpoint directory'), '', {
    doc: 'start a new run from this checkpoint',
    shown: 'none',
  }),
  early_stopping: field(
    z.preprocess((v) => (v === true ? {} : v), earlyStopping.nullable()),
    null,
    {
      doc: 'end training when the validation metric no longer improves',
      ours: true,
      shown: 'off',
    },
  ),
  learning_rate_schedule: field(schedule, {}, { doc: 'learning rates over time', ours: true }),
  full_batch: field(flag(), false, {
    doc: 'node classification on the whole graph, one step per epoch',
    ours: true,
  }),
});

const metric = () => {
  const { names, pattern } = metricSpellings();
  // The metadata goes into the JSON Schema only; the transformation checks the value.
  const given = z.string(metricText()).meta({ anyOf: [{ enum: names }, { pattern }] });
  return withExpected(
    given.transform((value, context) => {
      const found = findMetric(value);
      if (found !== undefined) return found.name;
      const message = metricText() + didYouMean(value, metricList());
      context.addIssue({ code: 'custom', message, input: value });
      return z.NEVER;
    }),
    metricText(),
  );
};

/** Lists the standard metrics of a task, grouped by name: `mrr, hits@1, 3, 5`. */
const shownMetrics = (task: 'LINK_PREDICTION' | 'NODE_CLASSIFICATION'): string =>
  standardMetrics(task).reduce((text, name) => {
    const [stem, k] = name.split('@');
    const next = k !== undefined && text.includes(`${stem}@`) ? k : name;
    return text === '' ? next : `${text}, ${next}`;
  }, '');

/** Returns the schema with all metrics that are registered now. */
export const evaluationSchema = () =>
  section({
    batch_size: field(integer(1), 1000, 'edges or nodes scored at a time'),
    negative_sampling: field(negativeSampling(), {}, 'negatives that a true edge is ranked against'),
    pipeline: field(pipeline(), {}, 'overlap of loading and computing'),
    epochs_per_eval: field(integer(1), 1, 'epochs between evaluations on the validation set'),
    checkpoint_dir: field(text('a checkpoint directory'), '', {
      doc: 'evaluate this checkpoint instead of the final model',
      shown: 'none',
    }),
    candidates: field(choice(['ALL', 'SEEN']), 'ALL', {
      doc: 'nodes that an end is ranked among: all, or those seen at that end of the relation in training (all nodes of these types in a dataset with node types)',
      ours: true,
    }),
    ties: field(choice(['OPTIMISTIC', 'REALISTIC', 'PESSIMISTIC']), 'REALISTIC', {
      doc: 'rank of an edge among equal scores: best, mean or worst (as in Marius)',
      ours: true,
    }),
    metrics: field(list(metric(), 'a list of metrics'), [], {
      doc: 'metrics to report',
      ours: true,
      shown: `${shownMetrics('LINK_PREDICTION')}; ${shownMetrics('NODE_CLASSIFICATION')} for node classification`,
    }),
  });
