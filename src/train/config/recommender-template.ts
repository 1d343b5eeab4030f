/** The starting configuration of a recommender, which `skein config` prints for a graph of users and items. */
import type { DatasetFacts } from './check-dataset.js';

export interface RecommenderSettings {
  /** Numbers per node. */
  readonly width: number;
  readonly hops: number;
  /** Neighbours per node, hop and direction; −1: all. */
  readonly neighbors: number;
  readonly batchSize: number;
  /** Chunks of a batch with separate negatives. */
  readonly numChunks: number;
  readonly negatives: number;
  readonly learningRate: number;
  readonly epochs: number;
  /** Evaluations without improvement. */
  readonly patience: number;
}

/** Above this many edges, a step over all neighbours of its nodes costs more than it gains. */
const mostEdgesForAll = 2_000_000;

/** Edges that share negatives. */
const edgesPerChunk = 80;

/** Returns settings for a graph; they depend on counts alone. */
export function chooseRecommenderSettings(facts: DatasetFacts | undefined): RecommenderSettings {
  const edges = Math.max(1, facts?.num_train ?? 100_000);
  // A step propagates over most of the graph, whatever its batch: about ten steps per epoch.
  const batchSize = Math.min(20_000, Math.ceil(edges / 10 / 50) * 50);
  return {
    ...{ width: 64, hops: 2, negatives: 100, learningRate: 0.005, epochs: 40, patience: 6 },
    neighbors: edges > mostEdgesForAll ? 20 : -1,
    batchSize,
    numChunks: Math.ceil(batchSize / edgesPerChunk),
  };
}

/** Lists of ten and twenty items. */
const metrics = '[ndcg@10, recall@10, precision@10, map@10, hit_rate@10, coverage@10, ndcg@20, recall@20]';

/**
 * Returns the sections of the configuration; `{dataset}` stands for the dataset.
 *
 * @param counts a comment on the size of the dataset
 * @param stopping the keys of early stopping and of checkpoints
 */
export function recommenderTemplate(
  settings: RecommenderSettings,
  { counts, stopping }: { readonly counts: string; readonly stopping: string },
): string {
  const { width, hops, neighbors, batchSize, numChunks, negatives, learningRate, epochs } = settings;
  const sampler =
    neighbors < 0
      ? '      - type: ALL\n'
      : `      - type: UNIFORM\n        options:\n          max_neighbors: ${neighbors}\n`;
  const whole = neighbors < 0 ? '' : `    eval_neighbor_sampling:\n${'      - type: ALL\n'.repeat(hops)}`;
  return `model:
  learning_task: LINK_PREDICTION
  random_seed: 1
  encoder:
    train_neighbor_sampling:     # one entry per hop
${sampler.repeat(hops)}${whole}    layers:
      - - type: EMBEDDING
          output_dim: ${width}
          init:
            type: NORMAL
            options:
              std: 0.1
      - - type: GNN              # a row is averaged with those of its neighbours
          options:
            type: LIGHT_GCN
            hops: ${hops}
          output_dim: ${width}
  decoder:
    type: DOT
  loss:
    type: SOFTMAX_CE             # or BPR
    options:
      reduction: MEAN
  sparse_optimizer:              # the node table
    type: ADAM
    options:
      learning_rate: ${String(learningRate).padEnd(15)}# lower it if validation is best in the first epochs
storage:
  dataset:
${counts}    dataset_dir: {dataset}
  # model_dir: runs/first        # default: a new model_<i> in the dataset directory
training:
  batch_size: ${batchSize}
  negative_sampling:
    num_chunks: ${String(numChunks).padEnd(17)}# chunks of a batch, each with separate negatives
    negatives_per_positive: ${negatives}
    candidates: SEEN             # items are compared with items, users with users
    known_filter: true           # without items that the user chose
  num_epochs: ${epochs}
  # time_limit: 30m              # train as many epochs as fit
${stopping}evaluation:
  metrics: ${metrics}
  max_edges: 5000                # of the validation split; the test split is always complete
  candidates: SEEN
  negative_sampling:
    filtered: true
`;
}
