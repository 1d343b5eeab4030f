/**
 * The source's interface, name by name (graphs: source-graphs.test.ts): what it is called there, what it is called here, and a call of it. `sampler_lock_`
 * has no counterpart: samplers run on one thread and draw by (seed, epoch, step).
 */

import { mkdirSync } from 'node:fs';
import {
  type Comparator,
  DistMult,
  DotCompare,
  HadamardOperator,
  LossFunction,
  lossFunction,
  NormRegularizer,
  Regularizer,
  RelationOperator,
} from 'skein/gnn';
import {
  Batch,
  Decoder,
  type EdgeSampler,
  Evaluator,
  GNNGraph,
  GraphBatcher,
  GraphModelStorage,
  initializeModel,
  kHopNeighborSampler,
  type NegativeSampler,
  type NeighborSampler,
  type NodeSampler,
  RandomNegativeSampler,
  RandomNodeSampler,
  SynchronousEvaluator,
  SynchronousTrainer,
  Trainer,
} from 'skein/marius';
import { fromTypedArray, ones, type Tensor, zeros } from 'skein/tensor';
import {
  Encoder,
  Featurizer,
  GeneralEncoder,
  initializeStorage,
  LinkPredictionModel,
  LinkPredictionReporter,
  loadConfig,
  Model,
  NodeClassificationModel,
  OptimizerSet,
  ProgressReporter,
  RandomEdgeSampler,
  Reporter,
} from 'skein/train';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { ConcatFeaturizer } from '#internal/train/tasks/graph/model/featurizer.js';
import { memoryStorage, ringRows, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = ringRows(20, 2);
const labels = Int32Array.from({ length: 20 }, (_, i) => i % 4);
const nodes = {
  train: Int32Array.of(0, 1, 2, 3, 4, 5),
  validation: Int32Array.of(6),
  test: Int32Array.of(7),
};
const storage = memoryStorage({
  numNodes: 20,
  numRelations: 2,
  train: rows,
  validation: rows.subarray(0, 15),
  test: rows.subarray(15, 30),
  width: 4,
  features: 2,
  more: { labels, nodes },
});
const random = new Random(1);
const sage = { type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 4 };
const encoderConfig = tinyConfig('d', {
  model: {
    encoder: {
      layers: [[{ type: 'EMBEDDING', output_dim: 4 }], [sage]],
      train_neighbor_sampling: [{ type: 'ALL' }],
    },
  },
}).model.encoder;
const newEncoder = () => new GeneralEncoder(encoderConfig, { random, numRelations: 2 });
const loss = lossFunction('CROSS_ENTROPY');
const regularizer = new NormRegularizer(2, 0.01);
const sgd = { type: 'SGD', options: { learning_rate: 0.01 } } as const;
const links = new LinkPredictionModel(
  newEncoder(),
  new DistMult({ dim: 4, numRelations: 2, random }),
  loss,
  regularizer,
  null,
  new LinkPredictionReporter(),
).useOptimizer(sgd);
const classes = new NodeClassificationModel(newEncoder(), loss, regularizer, null).useOptimizer(sgd);
const neighbours = new kHopNeighborSampler(storage, 1, 'ALL');
const negatives = new RandomNegativeSampler(storage, { numNegatives: 5 });
const batcher = new GraphBatcher(storage, new RandomEdgeSampler(storage), negatives, neighbours, null, {
  batchSize: 10,
});
const nodeBatcher = new GraphBatcher(storage, new RandomNodeSampler(storage), null, neighbours, null, {
  batchSize: 3,
});
links.directory = classes.directory = folder();
mkdirSync(links.directory, { recursive: true });

async function nextBatch(from = batcher): Promise<Batch> {
  from.setTrainSet();
  await from.loadStorage();
  if (!from.hasNextBatch()) {
    await from.nextEpoch();
    await from.loadStorage();
  }
  const batch = await from.getBatch();
  from.finishedBatch();
  return batch;
}

async function evaluationBatch(from = batcher): Promise<Batch> {
  from.setValidationSet();
  await from.loadStorage();
  const batch = await from.getBatch();
  from.setTrainSet();
  return batch;
}

const t = (values: number[], shape: number[]): Tensor => fromTypedArray(Float32Array.from(values), shape);
const pair = t([1, 2, 3, 4], [2, 2]);
const dataset = writeDataset(folder(), { numNodes: 20, numRelations: 2, train: rows });

type Call = () => unknown;
/** Source name, our name, a call and what it must give. */
const api: readonly (readonly [source: string, ours: string, call: Call, wanted: unknown])[] = [
  [
    'MariusOptions',
    'MariusOptions (SkeinConfig)',
    () => tinyConfig('d').model.learning_task,
    'LINK_PREDICTION',
  ],
  ['parseConfig', 'loadConfig', () => typeof loadConfig, 'function'],
  [
    'initializeModel',
    'initializeModel',
    () => initializeModel(tinyConfig(dataset), { numRelations: 2, numClasses: 0 }) instanceof Model,
    true,
  ],
  [
    'initializeStorage',
    'initializeStorage',
    async () => {
      const { PreparedDataset } = await import('skein/data');
      const opened = await PreparedDataset.open(dataset);
      const made = await initializeStorage(tinyConfig(dataset), opened, { tableDirectory: folder() });
      return made.storage instanceof GraphModelStorage;
    },
    true,
  ],

  ['Model::featurizer_', 'Model.featurizer', () => links.featurizer, null],
  ['Model::encoder_', 'Model.encoder', () => links.encoder instanceof Encoder, true],
  [
    'Model::encoder_optimizer_',
    'Model.encoderOptimizer',
    () => links.encoderOptimizer instanceof OptimizerSet,
    true,
  ],
  ['Model::decoder_', 'LinkPredictionModel.decoder', () => links.decoder instanceof Decoder, true],
  ['Model::loss_function_', 'Model.lossFunction', () => links.lossFunction instanceof LossFunction, true],
  ['Model::regularizer_', 'Model.regularizer', () => links.regularizer instanceof Regularizer, true],
  ['Model::reporter_', 'Model.reporter', () => links.reporter instanceof Reporter, true],
  ['Model::train', 'Model.train', async () => Number.isFinite(links.train(await nextBatch())), true],
  [
    'Model::evaluate',
    'Model.evaluate',
    async () => {
      links.startEvaluation();
      await links.evaluate(await evaluationBatch());
      return links.reporter.size;
    },
    10,
  ],
  ['Model::save', 'Model.save', () => links.save(), undefined],
  ['Model::load', 'Model.load', () => links.load(), null],
  [
    'NodeClassificationModel::forward',
    'NodeClassificationModel.forward',
    async () => classes.forward(await nextBatch(nodeBatcher), true).shape,
    [3, 4],
  ],
  [
    'NodeClassificationModel::train',
    'NodeClassificationModel.train',
    async () => Number.isFinite(classes.train(await nextBatch(nodeBatcher))),
    true,
  ],
  [
    'NodeClassificationModel::evaluate',
    'NodeClassificationModel.evaluate',
    async () => {
      classes.startEvaluation();
      await classes.evaluate(await evaluationBatch(nodeBatcher));
      return classes.reporter.size;
    },
    1,
  ],
  [
    'LinkPredictionModel::forward',
    'LinkPredictionModel.forward',
    async () => links.forward(await nextBatch(), true).map((scores) => scores?.shape),
    [[10], [10, 5], [10], [10, 5]],
  ],

  [
    'Featurizer::operator()',
    'Featurizer.forward',
    () => new ConcatFeaturizer().forward(pair, pair).shape,
    [2, 4],
  ],
  ['Featurizer', 'Featurizer', () => new ConcatFeaturizer() instanceof Featurizer, true],
  [
    'Encoder::forward',
    'Encoder.forward',
    async () => {
      const batch = await nextBatch();
      const inputs = batch.uniqueNodeEmbeddings as Tensor;
      return links.encoder.forward(inputs, batch.gnnGraph, false).shape[0] === batch.gnnGraph?.numTargets;
    },
    true,
  ],
  [
    'Encoder::encodeFullGraph',
    'Encoder.encodeFullGraph',
    async () => (await links.encoder.encodeFullGraph(neighbours, storage)).rows.length,
    80,
  ],
  [
    'Decoder::forward',
    'EdgeDecoder.forward',
    async () => {
      const batch = await nextBatch();
      const input = links.input(batch, links.encode(batch, true));
      return links.decoder.forward(input).rhsNeg?.shape;
    },
    [10, 5],
  ],
  [
    'RelationOperator::operator()',
    'RelationOperator.apply',
    () => [...(new HadamardOperator() as RelationOperator).apply(pair, pair).dataSync()],
    [1, 4, 9, 16],
  ],
  ['RelationOperator', 'RelationOperator', () => new HadamardOperator() instanceof RelationOperator, true],
  [
    'Comparator::operator()',
    'Comparator.compare',
    () => (new DotCompare() as Comparator).compare(pair, pair, pair).map((scores) => [...scores.dataSync()]),
    [
      [5, 25],
      [5, 11, 11, 25],
    ],
  ],
  [
    'LossFunction::operator()',
    'LossFunction.forward',
    () => loss.forward(zeros([1]), zeros([1, 1])).item(),
    expect.closeTo(Math.LN2, 5),
  ],
  ['Regularizer', 'Regularizer.forward', () => new NormRegularizer(1, 2).forward(pair, pair).item(), 20],
  ['Reporter', 'Reporter', () => new ProgressReporter() instanceof Reporter, true],

  ['Trainer::graph_batcher_', 'Trainer.graphBatcher', () => trainer().graphBatcher === batcher, true],
  [
    'Trainer::progress_reporter_',
    'Trainer.progressReporter',
    () => trainer().progressReporter instanceof ProgressReporter,
    true,
  ],
  ['Trainer::model_', 'Trainer.model', () => trainer().model === links, true],
  [
    'Trainer::train',
    'Trainer.train',
    async () => {
      const { epoch } = batcher.position;
      const made: Trainer = trainer();
      await made.train();
      return [batcher.position.epoch - epoch, made instanceof Trainer];
    },
    [1, true],
  ],
  ['Evaluator::graph_batcher_', 'Evaluator.graphBatcher', () => evaluator().graphBatcher === batcher, true],
  ['Evaluator::model_', 'Evaluator.model', () => evaluator().model === links, true],
  [
    'Evaluator::evaluate',
    'Evaluator.evaluate',
    async () => {
      const made: Evaluator = evaluator();
      const sets = [await made.evaluate(true), await made.evaluate()];
      return [...sets.map((metrics) => (metrics['mrr'] ?? 0) > 0), made instanceof Evaluator];
    },
    [true, true, true],
  ],

  ['GraphBatcher::graph_storage_', 'GraphBatcher.graphStorage', () => batcher.graphStorage === storage, true],
  [
    'GraphBatcher::neighbor_sampler_',
    'GraphBatcher.neighborSampler',
    () => batcher.neighborSampler === neighbours,
    true,
  ],
  ['GraphBatcher::setTrainSet', 'GraphBatcher.setTrainSet', () => batcher.setTrainSet(), undefined],
  [
    'GraphBatcher::setValidationSet',
    'GraphBatcher.setValidationSet',
    () => batcher.setValidationSet(),
    undefined,
  ],
  ['GraphBatcher::setTestSet', 'GraphBatcher.setTestSet', () => batcher.setTestSet(), undefined],
  ['GraphBatcher::loadStorage', 'GraphBatcher.loadStorage', () => batcher.loadStorage(), undefined],
  ['GraphBatcher::hasNextBatch', 'GraphBatcher.hasNextBatch', () => batcher.hasNextBatch(), true],
  ['GraphBatcher::getBatch', 'GraphBatcher.getBatch', async () => (await nextBatch()) instanceof Batch, true],
  [
    'GraphBatcher::loadGPUParameters',
    'GraphBatcher.loadGPUParameters',
    async () => batcher.loadGPUParameters(await nextBatch()),
    undefined,
  ],
  [
    'GraphBatcher::updateEmbeddingsForBatch',
    'GraphBatcher.updateEmbeddingsForBatch',
    async () => batcher.updateEmbeddingsForBatch(await nextBatch(), false),
    undefined,
  ],
  ['GraphBatcher::finishedBatch', 'GraphBatcher.finishedBatch', () => batcher.finishedBatch(), undefined],
  ['GraphBatcher::nextEpoch', 'GraphBatcher.nextEpoch', () => batcher.nextEpoch(), undefined],
  [
    'GraphBatcher::unloadStorage',
    'GraphBatcher.unloadStorage',
    () => {
      batcher.setTrainSet();
      return batcher.unloadStorage(true);
    },
    undefined,
  ],
  ['GraphBatcher::getNumEdges', 'GraphBatcher.getNumEdges', () => batcher.getNumEdges(), 40],

  ['Batch', 'Batch', () => new Batch(true).train, true],
  ['Batch::localSample', 'Batch.localSample', () => [...(smallBatch().uniqueNodeIndices ?? [])], [4, 9, 2]],
  [
    'Batch::embeddingsToDevice',
    'Batch.embeddingsToDevice',
    () => smallBatch().embeddingsToDevice(-1),
    undefined,
  ],
  [
    'Batch::prepareBatch',
    'Batch.prepareBatch',
    () => {
      const batch = smallBatch();
      batch.prepareBatch(ones([3, 2]));
      const { srcPosEmbeddings: a, dstPosEmbeddings: b, relationEmbeddings: r } = batch;
      return [a, b, r, batch.srcNegEmbeddings, batch.dstNegEmbeddings].map((rows_) => rows_?.shape);
    },
    [
      [1, 2],
      [1, 2],
      [1, 2],
      [1, 1, 2],
      [1, 2, 2],
    ],
  ],
  [
    'Batch::accumulateGradients',
    'Batch.accumulateGradients',
    () => smallBatch().accumulateGradients(0.1),
    undefined,
  ],
  ['Batch::embeddingsToHost', 'Batch.embeddingsToHost', () => smallBatch().embeddingsToHost(), undefined],
  ['Batch::clear', 'Batch.clear', () => smallBatch().clear(), undefined],
  [
    'EdgeSampler::getEdges',
    'EdgeSampler.getEdges',
    async () => {
      const sampler: EdgeSampler = new RandomEdgeSampler(storage);
      return [sampler.graphStorage === storage, sampler.getEdges(await nextBatch()).src.length];
    },
    [true, 10],
  ],
  [
    'NodeSampler',
    'NodeSampler.getNodes',
    async () => {
      const sampler: NodeSampler = new RandomNodeSampler(storage);
      return sampler.getNodes(await nextBatch(nodeBatcher)).length;
    },
    3,
  ],
  [
    'NegativeSampler::getNegatives',
    'NegativeSampler.getNegatives',
    async () => {
      const sampler: NegativeSampler = negatives;
      return [sampler.graphStorage === storage, negatives.getNegatives(await nextBatch(), true).ids.length];
    },
    [true, 5],
  ],
  [
    'NeighborSampler::neighbor_sampling_strategy_',
    'neighborSamplingStrategy',
    () => neighbours.neighborSamplingStrategy,
    'ALL',
  ],
  ['NeighborSampler::max_neighbors_size_', 'maxNeighborsSize', () => neighbours.maxNeighborsSize, -1],
  ['NeighborSampler::graph_storage_', 'graphStorage', () => neighbours.graphStorage === storage, true],
  [
    'NeighborSampler::getNeighbors',
    'NeighborSampler.getNeighbors',
    async () => {
      await nextBatch();
      const sampler: NeighborSampler = new kHopNeighborSampler(storage, 1, 'UNIFORM', 3);
      return sampler.getNeighbors(Int32Array.of(1, 2), true, false) instanceof GNNGraph;
    },
    true,
  ],
  [
    'GraphModelStorage',
    'GraphModelStorage',
    () => [storage.numNodes, storage.numRelations, storage.getNumEdges('train'), storage.embeddings?.width],
    [20, 2, 40, 4],
  ],
];

const trainer = () =>
  new SynchronousTrainer(batcher, links, { progressReporter: new ProgressReporter({ logsPerEpoch: 0 }) });
const evaluator = () => new SynchronousEvaluator(batcher, links);

/** Edge 4 → 9 of relation 1 with one negative source and two negative destinations. */
function smallBatch(): Batch {
  const batch = new Batch(true);
  batch.src = Int32Array.of(4);
  batch.dst = Int32Array.of(9);
  batch.relations = Int32Array.of(1);
  batch.srcNegatives = { ids: Int32Array.of(2), chunks: 1 };
  batch.dstNegatives = { ids: Int32Array.of(2, 4), chunks: 1 };
  batch.localSample();
  batch.setEmbeddings(new Float32Array(6).fill(1), 2);
  return batch;
}

describe('the source’s names', () => {
  test.each(api.map(([source, ours, call, wanted]) => ({ source, ours, call, wanted })))(
    '$source is $ours',
    async ({ call, wanted }) => {
      expect(await call()).toEqual(wanted);
    },
  );

  test('each stands here once', () => {
    expect(new Set(api.map(([source]) => source)).size).toBe(api.length);
  });
});

test('all nodes at once are encoded as in batches', async () => {
  storage.select('validation');
  await storage.loadGraph();
  const whole = await links.encoder.encodeFullGraph(neighbours, storage);
  const layered = whole.rows.slice();
  const inBatches = await Encoder.prototype.encodeFullGraph.call(links.encoder, neighbours, storage);
  expect(inBatches.width).toBe(whole.width);
  inBatches.rows.forEach((x, i) => {
    expect(Math.abs(x - layered[i])).toBeLessThan(1e-6);
  });
  storage.setEncodedNodes(null);
  storage.select('train');
});
