/** Storage, models and batchers of a small graph for the tests of Marius's document. */
import { mkdirSync } from 'node:fs';
import { DistMult, lossFunction, NormRegularizer } from 'skein/gnn';
import {
  type Batch,
  GraphBatcher,
  kHopNeighborSampler,
  LinkPredictionModel,
  LinkPredictionReporter,
  NodeClassificationModel,
  RandomEdgeSampler,
  RandomNegativeSampler,
  RandomNodeSampler,
} from 'skein/marius';
import { GeneralEncoder } from 'skein/train';
import { Random } from 'skein/util';
import { memoryStorage, ringRows, tinyConfig } from '../train/tiny.js';

/** 20 nodes in a ring, two relations, four classes; embeddings of width 4 and features of width 2. */
export function marius(directory: string) {
  const rows = ringRows(20, 2);
  const storage = memoryStorage({
    ...{ numNodes: 20, numRelations: 2, train: rows, width: 4, features: 2 },
    ...{ validation: rows.subarray(0, 15), test: rows.subarray(15, 30) },
    more: {
      labels: Int32Array.from({ length: 20 }, (_, i) => i % 4),
      nodes: {
        train: Int32Array.of(0, 1, 2, 3, 4, 5),
        validation: Int32Array.of(6),
        test: Int32Array.of(7),
      },
    },
  });
  const random = new Random(1);
  const sage = { type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 4 };
  const { encoder: config } = tinyConfig('d', {
    model: {
      encoder: {
        layers: [[{ type: 'EMBEDDING', output_dim: 4 }], [sage]],
        train_neighbor_sampling: [{ type: 'ALL' }],
      },
    },
  }).model;
  const newEncoder = () => new GeneralEncoder(config, { random, numRelations: 2 });
  const loss = lossFunction('CROSS_ENTROPY');
  const regularizer = new NormRegularizer(2, 0.01);
  const sgd = { type: 'SGD', options: { learning_rate: 0.01 } } as const;
  // LinkPredictionModel(Encoder *encoder, Decoder *decoder, LossFunction *loss, Regularizer *regularizer, Featurizer *featurizer, Reporter *reporter = nullptr)
  const links = new LinkPredictionModel(
    newEncoder(),
    new DistMult({ dim: 4, numRelations: 2, random }),
    loss,
    regularizer,
    null,
    new LinkPredictionReporter(),
  ).useOptimizer(sgd);
  // NodeClassificationModel(Encoder *encoder, LossFunction *loss, Regularizer *regularizer, Featurizer *featurizer, Reporter *reporter = nullptr)
  const classes = new NodeClassificationModel(newEncoder(), loss, regularizer, null).useOptimizer(sgd);
  links.directory = classes.directory = directory;
  mkdirSync(directory, { recursive: true });
  const neighbors = new kHopNeighborSampler(storage, 1, 'ALL');
  const negatives = new RandomNegativeSampler(storage, { numNegatives: 5 });
  // GraphBatcher(GraphModelStorage *graph_storage, EdgeSampler *edge_sampler, NegativeSampler *negative_sampler,
  //     NeighborSampler *training_neighbor_sampler, NeighborSampler *evaluation_neighbor_sampler = nullptr)
  const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), negatives, neighbors, null, {
    batchSize: 10,
  });
  const nodeBatcher = new GraphBatcher(storage, new RandomNodeSampler(storage), null, neighbors, null, {
    batchSize: 3,
  });
  return { storage, links, classes, loss, neighbors, negatives, batcher, nodeBatcher };
}

/** The next training batch; starts an epoch after the last. */
export async function nextBatch(batcher: GraphBatcher): Promise<Batch> {
  batcher.setTrainSet();
  await batcher.loadStorage();
  if (!batcher.hasNextBatch()) await batcher.nextEpoch();
  const batch = await batcher.getBatch();
  batcher.finishedBatch();
  return batch;
}

export async function validationBatch(batcher: GraphBatcher): Promise<Batch> {
  batcher.setValidationSet();
  await batcher.loadStorage();
  return batcher.getBatch();
}

/** The document's line, ours, a call and its result. */
export type Line = readonly [document: string, ours: string, call: () => unknown, wanted: unknown];

export const lines = (table: readonly Line[]) =>
  table.map(([document, ours, call, wanted]) => ({ document, ours, call, wanted }));
