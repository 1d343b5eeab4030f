/**
 * Settings of node classification for a graph of a given size, which `skein config` prints and `fitNodes` trains with. They
 * depend on counts alone.
 */
import type { DatasetFacts } from './check-dataset.js';

export interface NodeSettings {
  /** Whether a step computes the whole graph; otherwise batches of nodes with sampled neighbours. */
  readonly fullBatch: boolean;
  readonly hidden: number;
  readonly dropout: number;
  readonly learningRate: number;
  readonly weightDecay: number;
  readonly batchSize: number;
  readonly epochs: number;
  /**
   * Metric that chooses the epoch. On a few hundred validation nodes many epochs have equal accuracy by chance; the loss
   * tells them apart.
   */
  readonly metric: 'loss' | 'accuracy';
  /** Evaluations without improvement; one evaluation per epoch. */
  readonly patience: number;
}

/** Numbers of all rows and messages of a step that are cheap to compute at once. */
const mostForFullBatch = 2e8;

export function chooseNodeSettings(facts: DatasetFacts | undefined): NodeSettings {
  const numNodes = facts?.num_nodes ?? 100_000;
  const numEdges = facts?.num_edges ?? 10 * numNodes;
  const numTrain = Math.max(1, facts?.num_train ?? 10_000);
  const width = Math.max(64, facts?.node_feature_dim ?? 128);
  if (numNodes * width + numEdges * 64 <= mostForFullBatch)
    return {
      ...{ fullBatch: true, hidden: 64, dropout: 0.5, learningRate: 0.01, weightDecay: 5e-4 },
      ...{ batchSize: 1000, epochs: 300, metric: 'loss', patience: 50 },
    };
  const small = numTrain <= 10_000;
  return {
    ...{ fullBatch: false, hidden: 128, dropout: 0.3, learningRate: 0.01, weightDecay: 0 },
    batchSize: Math.min(1000, Math.max(32, Math.ceil(numTrain / 10))),
    ...{ epochs: small ? 50 : 20, metric: 'accuracy', patience: small ? 10 : 4 },
  };
}
