/**
 * Commented starting configurations, printed by `skein config <dataset>`. The settings fit the task and the size of the
 * dataset; every other key keeps its default (docs/configuration.md).
 */

import { invocation } from '../../util/invocation.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { DatasetFacts } from './check-dataset.js';
import type { LearningTask } from './types.js';

export interface TemplateOptions {
  /** The value of storage.dataset.dataset_dir: a prepared directory or the name of a known dataset. */
  readonly dataset: string;
  readonly task: LearningTask;
  /** Statistics of the dataset, if they are known. */
  readonly facts?: DatasetFacts;
}

/** Returns YAML that `loadConfig` accepts unchanged. */
export function configTemplate(options: TemplateOptions): string {
  checkOptionNames('configTemplate', options, { dataset: true, task: true, facts: true });
  const { dataset, task, facts } = options;
  const body = task === 'NODE_CLASSIFICATION' ? nodeClassification(facts) : linkPrediction(facts);
  return `# Skein configuration for ${dataset}. Every key and default: docs/configuration.md.
# Train: ${invocation()} train <this file>          Change a key: --training.num_epochs=5
${body.replace('{dataset}', quote(dataset))}`;
}

const quote = (text: string): string => (/^[\w./-]+$/.test(text) ? text : JSON.stringify(text));

function counts(facts: DatasetFacts | undefined): string {
  if (facts === undefined) return '';
  const text = (value: number | undefined): string => (value ?? 0).toLocaleString('en-GB');
  return `    # ${text(facts.num_nodes)} nodes, ${text(facts.num_relations)} relations, ${text(facts.num_train)} training examples\n`;
}

function linkPrediction(facts: DatasetFacts | undefined): string {
  const typed = facts === undefined || facts.num_relations > 1;
  const large = (facts?.num_nodes ?? 0) > 1_000_000;
  return `model:
  learning_task: LINK_PREDICTION
  random_seed: 1
  encoder:
    layers:
      # Each inner list is a stage. Add a stage of type GNN to learn from neighbours too.
      - - type: EMBEDDING
          output_dim: ${large ? 100 : 50}
  decoder:
    ${typed ? 'type: DISTMULT               # or COMPLEX, TRANSE, ROTATE' : 'type: DOT                    # all edges have the same relation'}
  loss:
    type: SOFTMAX_CE
    options:
      reduction: SUM
  dense_optimizer:               # relations and layers
    type: ADAM
    options:
      learning_rate: 0.1
  sparse_optimizer:              # the node table
    type: ADAGRAD
    options:
      learning_rate: 0.1
storage:
  dataset:
${counts(facts)}    dataset_dir: {dataset}
  embeddings:
    type: HOST_MEMORY            # PARTITION_BUFFER for tables larger than memory
  # memory_budget: 2G            # choose partitions and buffer from this much memory
  # model_dir: runs/first        # default: a new model_<i> in the dataset directory
training:
  batch_size: ${large ? 10000 : 1000}
  num_epochs: 10
  negative_sampling:
    num_chunks: 10               # chunks of a batch, each with separate negatives
    negatives_per_positive: 500
    degree_fraction: ${large ? '0.5 ' : '0.0 '}         # fraction of the negatives drawn by degree
  checkpoint:
    interval: 5                  # epochs
  # early_stopping: { metric: mrr, patience: 3 }
evaluation:
  batch_size: 1000
  negative_sampling:
${large ? '    negatives_per_positive: 1000 # filtered: true ranks among all nodes, but is slower' : '    filtered: true               # rank among all nodes, leave out known edges'}
`;
}

function nodeClassification(facts: DatasetFacts | undefined): string {
  const features = facts === undefined || (facts.node_feature_dim ?? 0) > 0;
  const input = features ? (facts?.node_feature_dim ?? 128) : 64;
  const classes = Math.max(facts?.num_classes ?? 40, 1);
  const guess = facts === undefined ? '       # the feature width of the dataset' : '';
  return `model:
  learning_task: NODE_CLASSIFICATION
  random_seed: 1
  encoder:
    train_neighbor_sampling:     # one entry per GNN stage, the first for the first stage
      - type: UNIFORM
        options:
          max_neighbors: 10
      - type: UNIFORM
        options:
          max_neighbors: 10
    eval_neighbor_sampling:
      - type: ALL
      - type: ALL
    layers:
      - - type: ${features ? 'FEATURE' : 'EMBEDDING'}
          output_dim: ${input}${features ? guess : ''}
      - - type: GNN
          options:
            type: GRAPH_SAGE     # or GCN, GAT, GATV2, GIN, TRANSFORMER, …
            aggregator: MEAN
          output_dim: 128
          bias: true
          activation: RELU
      - - type: GNN
          options:
            type: GRAPH_SAGE
            aggregator: MEAN
          output_dim: ${classes}${facts === undefined ? '         # the number of classes' : ''}
          bias: true
  decoder:
    type: NODE
  loss:
    type: CROSS_ENTROPY
    options:
      reduction: MEAN
  dense_optimizer:
    type: ADAM
    options:
      learning_rate: 0.01
storage:
  dataset:
${counts(facts)}    dataset_dir: {dataset}
  features:
    type: HOST_MEMORY            # PARTITION_BUFFER or FLAT_FILE for features larger than memory
  # model_dir: runs/first        # default: a new model_<i> in the dataset directory
training:
  batch_size: 1000
  num_epochs: 10
  # full_batch: true             # one step per epoch on the whole graph
  # early_stopping: { metric: accuracy, patience: 3 }
evaluation:
  batch_size: 1000
`;
}
