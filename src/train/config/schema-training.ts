/** Schema, defaults and documentation of the `training` and `evaluation` sections. */
import { z } from 'zod';
import {
  choice,
  countOr,
  didYouMean,
  field,
  flag,
  fraction,
  integer,
  list,
  number,
  positive,
  positiveOr,
  section,
  text,
  timeSpan,
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

const negativeFields = () => ({
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
  known_ends: field(flag(), false, {
    doc: "also use the known ends of the chunk's edges as negatives, among them the end of the edge itself: a model with features or text learns that a node is not its own neighbour; implies self_filter; no effect if all nodes are negatives",
    ours: true,
  }),
});

const trainingNegatives = () =>
  section({
    ...negativeFields(),
    known_filter: field(flag(), false, {
      doc: 'mask drawn negatives that form a training edge, as RotatE does; implies self_filter and local_filter_mode ALL; false, as in Marius: they compete with true edges',
      ours: true,
    }),
    candidates: field(choice(['ALL', 'SEEN']), 'ALL', {
      doc: 'nodes that negatives are drawn from: all, or those that training edges have at that end (all nodes of these types in a dataset with node types), so that items are compared with items',
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
    doc: 'metric that must improve; loss: of the validation set in node classification, of training otherwise',
    ours: true,
    shown: 'mrr, or accuracy for node classification',
  }),
  patience: field(integer(1), 3, { doc: 'evaluations without improvement before training ends', ours: true }),
  min_delta: field(number(0), 0, { doc: 'smallest change that is an improvement', ours: true }),
  min_epochs: field(integer(0), 0, { doc: 'epochs before training may end early', ours: true }),
  min_value: field(number().nullable(), null, {
    doc: 'training ends if the metric has not reached this value after min_epochs',
    ours: true,
    shown: 'none',
  }),
});

const schedule = section({
  type: field(choice(['CONSTANT', 'LINEAR', 'COSINE', 'STEP', 'EXPONENTIAL', 'PLATEAU']), 'CONSTANT', {
    doc: 'change of the learning rates over the epochs; PLATEAU lowers them when the metric of early_stopping stops improving',
    ours: true,
  }),
  warmup_epochs: field(integer(0), 0, { doc: 'epochs in which the rates rise from 0', ours: true }),
  final_factor: field(number(0, 1), 0, { doc: 'factor at the end of LINEAR and COSINE', ours: true }),
  gamma: field(positive(), 0.1, {
    doc: 'factor per step of STEP and per epoch of EXPONENTIAL',
    ours: true,
  }),
  step_epochs: field(integer(1), 10, { doc: 'epochs between steps of STEP', ours: true }),
  factor: field(fraction(), 0.95, { doc: 'factor per step of PLATEAU', ours: true }),
  patience: field(integer(0), 5, {
    doc: 'PLATEAU: evaluations without improvement before a step',
    ours: true,
  }),
  threshold: field(number(0), 1e-4, {
    doc: 'PLATEAU: smallest improvement, relative to the best value',
    ours: true,
  }),
});

export const trainingSchema = section({
  batch_size: field(
    integer(1),
    1000,
    'edges or nodes per step; directed edges with ONE_VS_ALL, queries with K_VS_ALL',
  ),
  form: field(choice(['NEGATIVES', 'ONE_VS_ALL', 'K_VS_ALL']), 'NEGATIVES', {
    doc: 'link prediction: NEGATIVES compares each edge with negative_sampling; ONE_VS_ALL and K_VS_ALL compare each query (a node and a relation, in both directions) with all nodes. The loss is a sum or mean (model.loss) over directed edges with ONE_VS_ALL, over queries with K_VS_ALL; LibKGE divides the sum of both directions by edges, which is twice the mean over directed edges, so its unweighted penalties are halved here',
    ours: true,
  }),
  max_answers: field(countOr('all'), 16, {
    doc: 'ONE_VS_ALL: answers of a query that share one row of scores; 1: a row per directed edge; -1: all. It changes which edges meet in a batch, not the loss of an epoch',
    ours: true,
  }),
  filter_known: field(flag(), false, {
    doc: 'ONE_VS_ALL: an answer does not compete with the other training answers of its query',
    ours: true,
  }),
  candidates: field(choice(['ALL', 'RESIDENT']), 'ALL', {
    doc: 'ONE_VS_ALL and K_VS_ALL: nodes that queries are compared with; RESIDENT: those in memory',
    ours: true,
    shown: 'ALL, or RESIDENT with a partition buffer',
  }),
  negative_sampling: field(trainingNegatives(), {}, 'negatives of link prediction, with the form NEGATIVES'),
  bucket_partitions: field(integer(-1, 4096), -1, {
    doc: 'link prediction with all rows in memory: order training edges by buckets between this many partitions of the nodes; 0: random order; -1: random order up to 1 GiB of rows and optimiser state, chosen by size above',
    ours: true,
    shown: 'chosen by size',
  }),
  num_epochs: field(integer(1), 10, 'passes over the training set'),
  time_limit: field(timeSpan().nullable(), null, {
    doc: 'time of training and evaluation, for example 30m, 45s or 1.5h. The number of epochs that fit is measured on the first batches, once, and recorded as time_limit_epochs; training also ends before an epoch that would exceed the limit',
    ours: true,
    shown: 'none',
  }),
  time_limit_epochs: field(integer(1).nullable(), null, {
    doc: 'most epochs, as time_limit has determined them. A file that has this key trains that many epochs whatever they take',
    ours: true,
    shown: 'none, or measured with time_limit',
  }),
  restore_best: field(flag().nullable(), null, {
    doc: 'at the end, test and save the model with the best validation metric, not the last one',
    ours: true,
    shown: 'true with early_stopping or checkpoint.save_best',
  }),
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
    negative_sampling: field(section(negativeFields()), {}, 'negatives that a true edge is ranked against'),
    pipeline: field(pipeline(), {}, 'overlap of loading and computing'),
    epochs_per_eval: field(integer(1), 1, 'epochs between evaluations on the validation set'),
    max_edges: field(countOr('all'), -1, {
      doc: 'validate on at most this many edges, the same random ones every time; the test set is always whole; -1: all',
      ours: true,
    }),
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
