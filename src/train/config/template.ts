/**
 * Commented starting configurations, printed by `skein config <dataset>`. The settings fit the task and the size of the
 * dataset; every other key keeps its default (docs/configuration.md).
 */

import { invocation } from '../../util/invocation.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { DatasetFacts } from './check-dataset.js';
import { chooseLinkSettings, type LinkSettings } from './link-settings.js';
import { chooseNodeSettings, type NodeSettings } from './node-settings.js';
import { chooseRecommenderSettings, recommenderTemplate } from './recommender-template.js';
import type { LearningTask } from './types.js';

export interface TemplateOptions {
  /** The value of storage.dataset.dataset_dir: a prepared directory or the name of a known dataset. */
  readonly dataset: string;
  readonly task: LearningTask;
  /** Statistics of the dataset, if they are known. */
  readonly facts?: DatasetFacts;
  /** Links: the training time in seconds on two cores that sizes are chosen for. Default: 30 minutes. */
  readonly seconds?: number;
}

/** Returns YAML that `loadConfig` accepts unchanged. */
export function configTemplate(options: TemplateOptions): string {
  checkOptionNames('configTemplate', options, { dataset: true, task: true, facts: true, seconds: true });
  const { dataset, task, facts, seconds } = options;
  const body = task === 'NODE_CLASSIFICATION' ? nodeClassification(facts) : linkPrediction(facts, seconds);
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

function linkPrediction(facts: DatasetFacts | undefined, seconds: number | undefined): string {
  if (facts?.is_bipartite === true) {
    const settings = chooseRecommenderSettings(facts);
    const { patience } = settings;
    return recommenderTemplate(settings, {
      counts: counts(facts),
      stopping: stopping(facts, 'ndcg@10', patience),
    });
  }
  const chosen = chooseLinkSettings(facts, seconds);
  const againstAll = chosen.against === 'ALL';
  return `model:
  learning_task: LINK_PREDICTION
  random_seed: 1
  encoder:
    layers:
      # Each inner list is a stage. Add a stage of type GNN to learn from neighbours too.
      - - type: EMBEDDING
          output_dim: ${chosen.width}
${againstAll ? smallValues(10) : ''}  decoder:
${decoder(chosen)}  loss:
    type: SOFTMAX_CE
    options:
      reduction: ${againstAll ? 'MEAN' : 'SUM'}
${againstAll ? penalty(chosen) : ''}  dense_optimizer:               # relations and layers
    type: ADAGRAD
    options:
      learning_rate: ${chosen.learningRate}
  sparse_optimizer:              # the node table
    type: ADAGRAD
    options:
      learning_rate: ${chosen.learningRate}
storage:
  dataset:
${counts(facts)}    dataset_dir: {dataset}
  embeddings:
    type: HOST_MEMORY            # PARTITION_BUFFER for tables larger than memory
  # memory_budget: 2G            # choose partitions and buffer from this much memory
  # model_dir: runs/first        # default: a new model_<i> in the dataset directory
training:
${againstAll ? queries(chosen) : negatives(chosen)}  num_epochs: ${chosen.epochs}
  # time_limit: 30m              # train as many epochs as fit
${stopping(facts, 'mrr', chosen.patience)}evaluation:
  epochs_per_eval: ${chosen.epochsPerEval}
  max_edges: ${String(chosen.validationEdges).padEnd(19)}# of the validation split; the test split is always complete
  batch_size: 1000
  negative_sampling:
${(facts?.num_nodes ?? 0) > 1_000_000 ? '    negatives_per_positive: 1000 # filtered: true ranks among all nodes, but is slower' : '    filtered: true               # rank among all nodes, leave out known edges'}
`;
}

/** Early stopping and the best model need a validation split. */
function stopping(facts: DatasetFacts | undefined, metric: string, patience: number): string {
  const checkpoint = '  checkpoint:\n    minutes: 10\n';
  if (facts?.num_valid !== undefined && facts.num_valid <= 0) return checkpoint;
  return `  early_stopping:
    metric: ${metric}
    patience: ${String(patience).padEnd(19)}# evaluations without improvement; the best model is kept
${checkpoint}    save_best: true
`;
}

/** Small initial values of a table, as lines indented by `indent`. */
function smallValues(indent: number, key = 'init'): string {
  const space = ' '.repeat(indent);
  return `${space}${key}:\n${space}  type: NORMAL\n${space}  options:\n${space}    std: 0.001\n`;
}

function decoder({ decoder: type, against }: LinkSettings): string {
  if (type === 'DOT') return '    type: DOT                    # all edges have the same relation\n';
  const start = against === 'ALL' ? `    options:\n${smallValues(6, 'relation_init')}` : '';
  const others = against === 'ALL' ? 'DISTMULT' : 'DISTMULT, RESCAL, TRANSE, ROTATE';
  return `    type: COMPLEX                # or ${others}\n${start}`;
}

function penalty({ penalty: coef, relationWeight }: LinkSettings): string {
  const relations = `  relation_prediction:           # learn to tell relations apart as well\n    weight: ${relationWeight}\n`;
  return `  regularizer:
    type: N3
    coef: ${String(coef).padEnd(23)}# raise it if validation falls while the loss falls
${relationWeight > 0 ? relations : ''}`;
}

function queries({ batchSize }: LinkSettings): string {
  return `  form: ONE_VS_ALL               # every edge against all nodes; NEGATIVES: against sampled ones
  batch_size: ${batchSize}
`;
}

function negatives({ batchSize, negatives: count }: LinkSettings): string {
  return `  batch_size: ${batchSize}
  negative_sampling:
    num_chunks: 10               # chunks of a batch, each with separate negatives
    negatives_per_positive: ${count}
    degree_fraction: 0.5         # fraction of the negatives drawn by degree
`;
}

function nodeClassification(facts: DatasetFacts | undefined): string {
  const chosen = chooseNodeSettings(facts);
  const features = facts === undefined || (facts.node_feature_dim ?? 0) > 0;
  const input = features ? (facts?.node_feature_dim ?? 128) : 64;
  const classes = Math.max(facts?.num_classes ?? 40, 1);
  const guess = facts === undefined ? '       # the feature width of the dataset' : '';
  return `model:
  learning_task: NODE_CLASSIFICATION
  random_seed: 1
  encoder:
${chosen.fullBatch ? '' : sampling}    layers:
      - - type: ${features ? 'FEATURE' : 'EMBEDDING'}
          output_dim: ${input}${features ? guess : ''}
          dropout: ${chosen.dropout}
      - - type: GNN
${layer(chosen)}          output_dim: ${chosen.hidden}
          bias: true
          activation: RELU
          dropout: ${chosen.dropout}
      - - type: GNN
${layer(chosen)}          output_dim: ${classes}${facts === undefined ? '         # the number of classes' : ''}
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
      learning_rate: ${chosen.learningRate}
${chosen.weightDecay === 0 ? '' : `      weight_decay: ${chosen.weightDecay}\n`}storage:
  dataset:
${counts(facts)}    dataset_dir: {dataset}
  features:
    type: HOST_MEMORY            # PARTITION_BUFFER or FLAT_FILE for features larger than memory
  # model_dir: runs/first        # default: a new model_<i> in the dataset directory
training:
${chosen.fullBatch ? '  full_batch: true               # one step per epoch on the whole graph\n  logs_per_epoch: 0\n' : `  batch_size: ${chosen.batchSize}\n`}  num_epochs: ${chosen.epochs}
${stopping(facts, chosen.metric, chosen.patience)}evaluation:
  batch_size: 1000
`;
}

/** Neighbours of a sampled batch. */
const sampling = `    train_neighbor_sampling:     # one entry per GNN stage, the first for the first stage
      - type: UNIFORM
        options:
          max_neighbors: 10
      - type: UNIFORM
        options:
          max_neighbors: 10
    eval_neighbor_sampling:
      - type: ALL
      - type: ALL
`;

function layer({ fullBatch }: NodeSettings): string {
  if (fullBatch)
    return '          options:\n            type: GCN            # or GRAPH_SAGE, GAT, GATV2, GIN, TRANSFORMER, …\n';
  return `          options:
            type: GRAPH_SAGE     # or GCN, GAT, GATV2, GIN, TRANSFORMER, …
            aggregator: MEAN
`;
}
