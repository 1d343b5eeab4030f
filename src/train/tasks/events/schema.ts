/**
 * What a temporal run has beside TGL's sections (sampling, memory, gnn, train): dataset, evaluation, storage and training,
 * with the names that the other configurations use for the same things.
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
  section,
  text,
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
    'these alone are features; null: all others',
  ),
});

const dataset = z.preprocess(
  (value) => (typeof value === 'string' ? { name: value } : value),
  section({
    name: field(text('the name of a dataset'), '', 'wikipedia, collegemsg, mathoverflow; or give path'),
    path: field(text('a file or folder'), '', 'a stream of your own'),
    format: field(
      choice(['auto', 'jodie', 'tgn', 'tgl', 'snap', 'csv']),
      'auto',
      'how the file is written; auto: from its name and first line',
    ),
    columns: field(columns, {}, 'what the columns of a csv are, by name or place from 0'),
    header: field(
      z.preprocess(
        (value) => (typeof value === 'boolean' ? String(value) : value),
        choice(['auto', 'true', 'false']),
      ),
      'auto',
      'whether the first line of a csv names its columns; auto: its look decides',
    ),
    node_types: field(
      list(text('the name of a type of node'), 'a list of one or two names').nullable(),
      null,
      'one name: both columns share their ids; two: each has ids of its own; null: their names decide',
    ),
    directed: field(flag(), false, 'whether only the destination of an event has its source as a neighbour'),
    sort: field(flag(), false, 'sort events that are not in order of time, in place of refusing them'),
    types_as_features: field(flag(), false, 'the type of an event, one-hot, before its features'),
    random_node_features: field(
      integer(0),
      0,
      'width of fixed random features for nodes that have none; 0: none',
    ),
    train_share: field(fraction(), 0.7, 'quantile of time at which training ends'),
    validation_share: field(fraction(), 0.15, 'share of the time after it'),
    new_node_share: field(
      fraction(),
      0.1,
      'share of the nodes that are kept out of training, to test with nodes never seen',
    ),
  }),
);

const checkpoint = section({
  interval_batches: field(countOr('none'), -1, 'batches between checkpoints; -1: none'),
  minutes: field(positiveOr('none'), -1, 'minutes between checkpoints; -1: none'),
  save_best: field(flag(), true, 'keep the model of the best validation epoch, and test with that'),
});

const training = section({
  random_seed: field(integer(0, 2 ** 32 - 1), 1, 'decides start values, negatives and draws'),
  negatives: field(integer(1), 1, 'wrong destinations for each event'),
  tie_groups: field(
    flag(),
    true,
    'never split events of one time between batches: else the second half knows of the first',
  ),
  patience: field(countOr('never'), -1, 'evaluations without a better ap before training ends; -1: never'),
  max_grad_norm: field(positiveOr('none'), -1, 'gradients are scaled down to this norm; -1: not'),
  resume_training: field(flag(), false, 'go on with the run in storage.model_dir'),
  checkpoint: field(checkpoint, {}, 'when the state is saved'),
  logs_per_epoch: field(
    integer(0),
    10,
    'progress lines in each epoch, at most, where there is no terminal; 0: none',
  ),
});

const evaluation = section({
  negatives: field(
    choice(['random', 'historical', 'inductive', 'all']),
    'random',
    'wrong destinations: any of the stream, earlier partners, partners of later events only, or every destination',
  ),
  amount: field(integer(1, 100_000), 1, 'wrong destinations for each event; all: has no say'),
  batch_size: field(
    countOr('as in training'),
    -1,
    'events of one step; they do not see each other in memory',
  ),
  epochs_per_eval: field(integer(1), 1, 'epochs between validations'),
});

const labels = section({
  epochs: field(
    integer(0),
    0,
    'epochs of a classifier of the labels of events, on the trained model; 0: none',
  ),
  batch_size: field(integer(1), 200, 'labelled events of one step'),
  lr: field(positive(), 0.001, 'learning rate'),
  dim_hidden: field(countOr('as wide as embeddings'), -1, 'width of the layer between'),
  dropout: field(fraction(), 0.1, 'share of its units that are dropped'),
  patience: field(countOr('never'), 10, 'epochs without a better validation before it ends; -1: never'),
});

const storage = section({
  model_dir: field(z.string().nullable(), null, 'directory of the run; default: <first free> runs/model_<i>'),
  log_level: field(choice(['error', 'warn', 'info', 'debug', 'trace']), 'info', 'what goes into log.txt'),
});

/** Our sections beside those of TGL. */
export const runSections = {
  dataset: field(dataset, {}, 'the stream of events'),
  training: field(training, {}, 'how the run goes'),
  evaluation: field(evaluation, {}, 'how it is evaluated'),
  labels: field(labels, {}, 'classification of the sources of events, where the stream has labels'),
  storage: field(storage, {}, 'where it is kept'),
  distributed: field(distributedSection(), null, 'how several workers share it'),
} as const;

export const temporalRunSchema = section(runSections);
