/**
 * Schema of the sections that a temporal run has in addition to TGL's (sampling, memory, gnn, train): dataset, training,
 * evaluation, labels, storage and distributed, with the key names of graph configurations where they mean the same.
 */
import { z } from 'zod';
import {
  choice,
  countOr,
  field,
  flag,
  fraction,
  integer,
  list,
  positive,
  positiveOr,
  type ReadonlyOutput,
  section,
  text,
  withExpected,
} from '../../../util/schema/fields.js';
import { distributedSection } from '../../config/schema-distributed.js';

const column = () =>
  z.preprocess((value) => (typeof value === 'number' ? String(value) : value), text('the name of a column'));

const columns = section({
  src: field(column(), '', 'the source'),
  dst: field(column(), '', 'the destination'),
  time: field(column(), '', 'the time'),
  label: field(column(), '', 'the label'),
  type: field(column(), '', 'the type'),
  features: field(
    list(column(), 'a list of columns').nullable(),
    null,
    'the feature columns; null: all other columns',
  ),
});

const dataset = z.preprocess(
  (value) => (typeof value === 'string' ? { name: value } : value),
  section({
    name: field(text('the name of a dataset'), '', 'wikipedia, collegemsg, mathoverflow; or give path'),
    path: field(text('a file or folder'), '', 'a custom stream'),
    query: field(text('SQL'), '', 'instead of path: SQL whose result is the stream'),
    database: field(
      text('an address without a password'),
      '',
      'the database of query, such as postgres://user@host/name; default: DuckDB, over files',
    ),
    format: field(
      choice(['auto', 'jodie', 'tgn', 'tgl', 'snap', 'tgb', 'csv']),
      'auto',
      'file format; auto: detected from its name and first line',
    ),
    columns: field(columns, {}, 'the meaning of csv columns, each given by name or by index from 0'),
    header: field(
      z.preprocess(
        (value) => (typeof value === 'boolean' ? String(value) : value),
        choice(['auto', 'true', 'false']),
      ),
      'auto',
      'whether the first line of a csv names its columns; auto: detected from its content',
    ),
    node_types: field(
      list(text('the name of a type of node'), 'a list of one or two names').nullable(),
      null,
      'one name: sources and destinations share one set of ids; two: each has its own ids; null: decided by the column names',
    ),
    directed: field(flag(), false, 'whether only the destination of an event gets its source as a neighbour'),
    sort: field(flag(), false, 'sort events that are not in order of time instead of rejecting them'),
    types_as_features: field(flag(), false, 'prepend the one-hot type of an event to its features'),
    random_node_features: field(
      integer(0),
      0,
      'width of fixed random features for nodes that have none; 0: none',
    ),
    train_share: field(fraction(), 0.7, 'quantile of the event times at which the training split ends'),
    validation_share: field(fraction(), 0.15, 'fraction of the event times after it for validation'),
    new_node_share: field(
      fraction(),
      0.1,
      'fraction of the nodes that are kept out of training, to test on unseen nodes',
    ),
  }),
);

const amountText = 'a whole number from 1 to 100000, or -1 (the default of the negatives)';

const checkpoint = section({
  interval_batches: field(countOr('none'), -1, 'batches between checkpoints; -1: none'),
  minutes: field(positiveOr('none'), -1, 'minutes between checkpoints; -1: none'),
  save_best: field(flag(), true, 'keep the model of the epoch with the best validation metric and test it'),
});

const training = section({
  random_seed: field(integer(0, 2 ** 32 - 1), 1, 'seed of initial values, negatives and sampling'),
  negatives: field(integer(1), 1, 'negative destinations per event'),
  historical_negatives: field(
    integer(0),
    0,
    'more negatives per event: earlier destinations of its source, filled up with random ones',
  ),
  loss: field(
    choice(['bce', 'softmax']),
    'bce',
    'bce: events against negatives, one by one; softmax: an event among its negatives, where the random ones stand for all destinations',
  ),
  tie_groups: field(
    flag(),
    true,
    'keep events with equal times in one batch; otherwise the second half of them sees the first',
  ),
  patience: field(
    countOr('never'),
    -1,
    'evaluations without a better evaluation.metric before training ends; -1: never',
  ),
  max_grad_norm: field(positiveOr('none'), -1, 'gradients are scaled down to this norm; -1: off'),
  resume_training: field(flag(), false, 'resume the run in storage.model_dir'),
  checkpoint: field(checkpoint, {}, 'when checkpoints are written'),
  logs_per_epoch: field(
    integer(0),
    10,
    'maximum number of progress lines per epoch when the output is not a terminal; 0: none',
  ),
});

const evaluation = section({
  negatives: field(
    choice(['random', 'historical', 'inductive', 'all', 'tgb', 'file']),
    'random',
    'negative destinations: any of the stream, earlier partners of the source, partners in later events only, every destination, those of the Temporal Graph Benchmark, or those of its files; all and tgb leave out destinations that the source meets at the same time',
  ),
  amount: field(
    withExpected(
      integer(-1, 100_000).refine((value) => value !== 0, amountText),
      amountText,
    ),
    -1,
    'negative destinations per event; -1: 1, or with tgb every destination; ignored for all',
  ),
  negatives_path: field(
    text('a folder'),
    '',
    'with negatives file: the folder of <name>_val_ns.pkl and <name>_test_ns.pkl of the benchmark, also with _v2',
  ),
  metric: field(
    text('the name of a metric'),
    'auto',
    'the metric of the best epoch and of training.patience: ap, auc, ap_batch, auc_batch, mrr or hits@k, also with new_node_ in front; auto: ap, or mrr if pooled is false',
  ),
  pooled: field(
    z.preprocess(
      (value) => (typeof value === 'boolean' ? String(value) : value),
      choice(['auto', 'true', 'false']),
    ),
    'auto',
    'whether ap and auc are computed, which keeps and sorts all scores; auto: with up to 100 negatives per event',
  ),
  cadence: field(
    choice(['moment', 'batch', 'both']),
    'moment',
    'when events become visible to scores: moment: when a later event is scored (node memory: after their batch); batch: after their batch; both: moment, and with the prefix frozen_ the metrics of batch',
  ),
  batch_size: field(
    countOr('as in training'),
    -1,
    'events per step; events of one step do not see each other in node memory, with cadence batch not at all',
  ),
  epochs_per_eval: field(integer(1), 1, 'epochs between validations'),
  score_every: field(
    integer(1),
    1,
    'score the events of one in so many batches; the others are observed only, so that scores stay the same',
  ),
});

const labels = section({
  epochs: field(
    integer(0),
    0,
    'epochs of training a classifier of event labels on the trained model; 0: none',
  ),
  batch_size: field(integer(1), 200, 'labelled events per step'),
  lr: field(positive(), 0.001, 'learning rate'),
  dim_hidden: field(countOr('as wide as embeddings'), -1, 'width of the hidden layer'),
  dropout: field(fraction(), 0.1, 'fraction of the hidden units that are dropped'),
  patience: field(
    countOr('never'),
    10,
    'epochs without a better validation metric before training ends; -1: never',
  ),
});

const storage = section({
  model_dir: field(z.string().nullable(), null, 'the run directory; default: first free runs/model_<i>'),
  log_level: field(
    choice(['error', 'warn', 'info', 'debug', 'trace']),
    'info',
    'lowest level written to log.txt',
  ),
});

/** The sections that are not TGL's. */
export const runSections = {
  protocol: field(
    choice(['none', 'tgb']),
    'none',
    'tgb: the split, the destinations, the negatives and the metric of the Temporal Graph Benchmark (tgbl-*), as defaults of dataset and evaluation',
  ),
  dataset: field(dataset, {}, 'the stream of events'),
  training: field(training, {}, 'training'),
  evaluation: field(evaluation, {}, 'evaluation'),
  labels: field(labels, {}, 'classification of event sources, if the stream has labels'),
  storage: field(storage, {}, 'the run directory and its log'),
  distributed: field(distributedSection(), null, 'how several workers divide the run'),
} as const;

export const temporalRunSchema = section(runSections);

/** The resolved sections of a temporal run that are not TGL's, with every default filled in. */
export type TemporalRunSections = ReadonlyOutput<typeof temporalRunSchema>;
