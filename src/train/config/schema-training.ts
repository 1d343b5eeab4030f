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

const negativeSampling = () =>
  section({
    num_chunks: field(integer(1), 1, 'parts of a batch, each with negatives of its own'),
    negatives_per_positive: field(countOr('all nodes'), 1000, 'wrong nodes for each edge; -1: all nodes'),
    degree_fraction: field(number(0, 1), 0, 'share of them drawn by degree'),
    filtered: field(
      flag(),
      false,
      'all nodes but those that form a known edge; then num_chunks 1, negatives_per_positive -1, degree_fraction 0',
    ),
    local_filter_mode: field(
      choice(['DEG', 'ALL']),
      'DEG',
      'which negatives are masked when they form an edge of the batch',
    ),
  });

const pipeline = () =>
  section({
    sync: field(flag(), true, 'one batch after the other; false: load, compute and update overlap'),
    staleness_bound: field(integer(1), 16, 'batches under way when sync is false; 1 equals sync'),
  });

const checkpoint = section({
  interval: field(countOr('none'), -1, 'epochs between checkpoints; -1: none'),
  minutes: field(positiveOr('none'), -1, {
    doc: 'minutes between checkpoints; -1: none',
    ours: true,
  }),
  interval_batches: field(countOr('none'), -1, { doc: 'batches between checkpoints; -1: none', ours: true }),
  save_best: field(flag(), false, 'also keep the model with the best validation metric'),
});

const earlyStopping = section({
  metric: field(text('a metric of the validation set, or loss'), '', {
    doc: 'the metric that must improve',
    ours: true,
    shown: 'mrr, or accuracy for node classification',
  }),
  patience: field(integer(1), 3, { doc: 'evaluations without improvement before training ends', ours: true }),
  min_delta: field(number(0), 0, { doc: 'how much is an improvement', ours: true }),
});

const schedule = section({
  type: field(choice(['CONSTANT', 'LINEAR', 'COSINE', 'STEP', 'EXPONENTIAL']), 'CONSTANT', {
    doc: 'how the learning rates change over the epochs',
    ours: true,
  }),
  warmup_epochs: field(integer(0), 0, { doc: 'epochs in which the rates rise from 0', ours: true }),
  final_factor: field(number(0, 1), 0, { doc: 'factor at the end of LINEAR and COSINE', ours: true }),
  gamma: field(positive(), 0.1, {
    doc: 'factor of each step of STEP and each epoch of EXPONENTIAL',
    ours: true,
  }),
  step_epochs: field(integer(1), 10, { doc: 'epochs between steps of STEP', ours: true }),
});

export const trainingSchema = section({
  batch_size: field(integer(1), 1000, 'edges or nodes of one step'),
  negative_sampling: field(negativeSampling(), {}, 'the wrong edges of link prediction'),
  bucket_partitions: field(integer(-1, 4096), -1, {
    doc: 'link prediction with all rows in memory: train edges bucket by bucket between this many partitions of the nodes; 0: in random order; -1: 0 up to 1 GiB of rows and optimiser state, chosen above',
    ours: true,
    shown: 'chosen by size',
  }),
  num_epochs: field(integer(1), 10, 'passes over the training set'),
  pipeline: field(pipeline(), {}, 'overlap of loading, computing and updating'),
  logs_per_epoch: field(
    integer(0),
    10,
    'progress lines in each epoch, at most, where there is no terminal; 0: none',
  ),
  save_model: field(flag(), true, 'save the trained model'),
  checkpoint: field(checkpoint, {}, 'when the state is saved during training'),
  resume_training: field(flag(), false, 'go on in model_dir where it stopped'),
  resume_from_checkpoint: field(text('a checkpoint directory'), '', {
    doc: 'start a new run from this checkpoint',
    shown: 'none',
  }),
  early_stopping: field(
    z.preprocess((v) => (v === true ? {} : v), earlyStopping.nullable()),
    null,
    {
      doc: 'end when the validation metric no longer improves',
      ours: true,
      shown: 'off',
    },
  ),
  learning_rate_schedule: field(schedule, {}, { doc: 'learning rates over time', ours: true }),
  full_batch: field(flag(), false, {
    doc: 'node classification on the whole graph, one step an epoch',
    ours: true,
  }),
});

const metric = () => {
  const { names, pattern } = metricSpellings();
  // What meta is given stands in the JSON Schema and checks nothing here: the transformation does.
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

/** The standard metrics of a task, numbers of one word together: `mrr, hits@1, 3, 5`. */
const shownMetrics = (task: 'LINK_PREDICTION' | 'NODE_CLASSIFICATION'): string =>
  standardMetrics(task).reduce((text, name) => {
    const [stem, k] = name.split('@');
    const next = k !== undefined && text.includes(`${stem}@`) ? k : name;
    return text === '' ? next : `${text}, ${next}`;
  }, '');

/** As of the metrics that are known now. */
export const evaluationSchema = () =>
  section({
    batch_size: field(integer(1), 1000, 'edges or nodes scored at a time'),
    negative_sampling: field(negativeSampling(), {}, 'the wrong edges that a right one is ranked among'),
    pipeline: field(pipeline(), {}, 'overlap of loading and computing'),
    epochs_per_eval: field(integer(1), 1, 'epochs between evaluations on the validation set'),
    checkpoint_dir: field(text('a checkpoint directory'), '', {
      doc: 'evaluate this checkpoint instead of the final model',
      shown: 'none',
    }),
    ties: field(choice(['OPTIMISTIC', 'REALISTIC', 'PESSIMISTIC']), 'REALISTIC', {
      doc: 'rank among equal scores: best, middle or worst (as Marius counts)',
      ours: true,
    }),
    metrics: field(list(metric(), 'a list of metrics'), [], {
      doc: 'what is reported',
      ours: true,
      shown: `${shownMetrics('LINK_PREDICTION')}; ${shownMetrics('NODE_CLASSIFICATION')} for node classification`,
    }),
  });
