/**
 * The programs of Marius's API document, line by line: the document's line stands above ours. Each gives the result of
 * `trainRun` with the same configuration and seed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import {
  type Batch,
  GraphBatcher,
  initializeModel,
  initializeStorage,
  kHopNeighborSampler,
  type LinkPredictionModel,
  type MariusOptions,
  type Model,
  NodeClassificationModel,
  parseConfig,
  RandomEdgeSampler,
  RandomNegativeSampler,
  SynchronousEvaluator,
  SynchronousTrainer,
} from 'skein/marius';
import { add, fromTypedArray, manualSeed, noGrad, type Tensor } from 'skein/tensor';
import { GeneralEncoder } from 'skein/train';
import { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import {
  learned,
  numbersOf,
  type Parts,
  randomRows,
  run,
  scratch,
  setUp,
  tinyConfig,
  writeDataset,
} from '../train/tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const typed = { numNodes: 43, numRelations: 4, train: rows.subarray(0, 780) };
const links = writeDataset(folder(), {
  ...typed,
  ...{ validation: rows.subarray(780, 840), test: rows.subarray(840) },
});
const gnn = (output: number) => ({
  ...{ type: 'GNN', output_dim: output, bias: true },
  options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' },
});
/** One layer over at most three neighbours. */
const sage = {
  encoder: {
    train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
    layers: [[{ type: 'EMBEDDING', output_dim: 8 }], [gnn(8)]],
  },
};
const linkConfig = (more = {}): MariusOptions => tinyConfig(links, { model: sage, ...more });

const numNodes = 40;
const classNodes = {
  train: Int32Array.from({ length: 25 }, (_, i) => i),
  validation: Int32Array.of(25, 26, 27, 28),
  test: Int32Array.of(29, 30, 31, 32, 33),
};
const papers = writeDataset(folder(), {
  ...{ numNodes, train: randomRows(numNodes, 200, 0), nodes: classNodes, numClasses: 4 },
  features: { width: 6, values: Float32Array.from({ length: numNodes * 6 }, (_, i) => Math.sin(i)) },
  labels: Int32Array.from({ length: numNodes }, (_, i) => i % 4),
});
const classConfig = tinyConfig(papers, {
  model: {
    learning_task: 'NODE_CLASSIFICATION',
    encoder: {
      train_neighbor_sampling: [{ type: 'ALL' }],
      layers: [[{ type: 'FEATURE', output_dim: 6 }], [gnn(4)]],
    },
    decoder: { type: 'NODE' },
    loss: { type: 'CROSS_ENTROPY' },
  },
  training: { batch_size: 10, negative_sampling: null },
  evaluation: { negative_sampling: null },
});

const asText = (array: ArrayBufferView) =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('hex');

/** Rows and parameters after training with the trainer, which is `fit`. */
async function trainedBy(config: MariusOptions, epochs: number): Promise<string> {
  const parts = await setUp(config, folder());
  await new SynchronousTrainer(parts.batcher, parts.model).train(epochs);
  return numbersOf(parts);
}

test('main entry point', async () => {
  const directory = folder();
  const given = linkConfig({ storage: { model_dir: directory } });
  mkdirSync(directory);
  const file = join(directory, 'config.yaml');
  writeFileSync(file, renderConfig(given));

  // void marius(int argc, char *argv[]) {
  async function marius(argv: readonly string[]) {
    // marius_options = parseConfig(argc, argv);
    const { config: mariusOptions } = parseConfig(argv[0]);
    const { random_seed: seed, encoder } = mariusOptions.model;
    const dataset = await PreparedDataset.open(mariusOptions.storage.dataset.dataset_dir);
    manualSeed(seed);
    // Model *model = initializeModel();
    const model = initializeModel(mariusOptions, {
      numRelations: dataset.stats.num_relations,
      numClasses: 0,
    });
    // GraphModelStorage *graph_model_storage = initializeStorage();
    const { storage: graphModelStorage } = await initializeStorage(mariusOptions, dataset, {
      tableDirectory: join(directory, 'rows'),
    });
    // EdgeSampler *edge_sampler = new RandomEdgeSampler(graph_model_storage);
    const edgeSampler = new RandomEdgeSampler(graphModelStorage, { seed });
    // NegativeSampler *negative_sampler = new RandomNegativeSampler(graph_model_storage);
    const negativeSampler = new RandomNegativeSampler(graphModelStorage, {
      ...{ numChunks: 2, numNegatives: 10, degreeFraction: 0.5, seed },
    });
    // NeighborSampler *neighbor_sampler = new kHopNeighborSampler(graph_model_storage, marius_options.model.num_layers,
    //     marius_options.training_sampling.neighbor_sampling_strategy, marius_options.training_sampling.max_neighbors_size);
    const [sampling] = encoder.train_neighbor_sampling;
    if (sampling.type !== 'UNIFORM') throw new Error('expected UNIFORM');
    const numLayers = encoder.train_neighbor_sampling.length;
    const neighborSampler = new kHopNeighborSampler(
      graphModelStorage,
      ...[numLayers, sampling.type, sampling.options.max_neighbors, { seed }],
    );
    // GraphBatcher *graph_batcher = new GraphBatcher(graph_model_storage, edge_sampler, negative_sampler, neighbor_sampler);
    const graphBatcher = new GraphBatcher(
      ...[graphModelStorage, edgeSampler, negativeSampler, neighborSampler, null],
      { batchSize: mariusOptions.training.batch_size },
    );
    // Trainer *trainer = new SynchronousTrainer(graph_batcher, model);
    const losses: number[] = [];
    const trainer = new SynchronousTrainer(graphBatcher, model, {
      onEpoch: ({ loss, items }) => void losses.push(loss / items),
    });
    // Evaluator *evaluator = new SynchronousEvaluator(graph_batcher, model);
    const evaluator = new SynchronousEvaluator(graphBatcher, model);
    // trainer->train(num_epochs);
    await trainer.train(mariusOptions.training.num_epochs);
    // evaluator->evaluate();
    const metrics = await evaluator.evaluate();
    // model->save();
    await model.save(directory);
    const trained = await graphModelStorage.embeddings?.range(0, graphModelStorage.numNodes);
    return { losses, metrics, trained: asText(trained as Float32Array) };
  }

  const done = await marius([file]);
  const wanted = await run({ ...given, storage: { ...given.storage, model_dir: folder() } });
  expect(done.losses).toEqual(wanted.losses);
  expect(done.metrics).toEqual(wanted.test);
  expect((await learned(wanted.directory))['embeddings']).toBe(done.trained);
});

// void SynchronousTrainer::train(int num_epochs) {
async function train({ batcher: graphBatcher, model }: Parts, numEpochs: number, step = trainStep) {
  // graph_batcher_->setTrainSet();
  graphBatcher.setTrainSet();
  // graph_batcher_->loadStorage();
  await graphBatcher.loadStorage();
  // for (int epoch = 0; epoch < num_epochs; epoch++) {
  for (let epoch = 0; epoch < numEpochs; epoch++) {
    // while (graph_batcher_->hasNextBatch()) {
    while (graphBatcher.hasNextBatch()) {
      // Batch *batch = graph_batcher_->getBatch();
      const batch = await graphBatcher.getBatch();
      // batch->embeddingsToDevice();
      batch.embeddingsToDevice();
      // model_->train(batch);
      await step(model, batch);
      // batch->accumulateGradients();
      batch.accumulateGradients();
      // batch->embeddingsToHost();
      await batch.embeddingsToHost();
      // graph_batcher_->updateEmbeddingsForBatch(batch);
      await graphBatcher.updateEmbeddingsForBatch(batch);
    }
    // graph_batcher_->nextEpoch();
    await graphBatcher.nextEpoch();
  }
}

const trainStep = async (model: Model, batch: Batch): Promise<void> => {
  await model.train(batch);
};

test.each([
  ['a decoder alone', tinyConfig(links)],
  ['GraphSAGE', linkConfig()],
  ['node classification', classConfig],
])('training loop, three epochs: %s', async (_name, config) => {
  const parts = await setUp(config, folder());
  await train(parts, 3);
  expect(await numbersOf(parts)).toBe(await trainedBy(config, 3));
});

test('training loop through a partition buffer', async () => {
  const partitioned = writeDataset(folder(), { ...typed, partitions: 4 });
  const options = { num_partitions: 4, buffer_capacity: 2 };
  const config = tinyConfig(partitioned, {
    model: sage,
    storage: { embeddings: { type: 'PARTITION_BUFFER', options } },
  });
  const parts = await setUp(config, folder());
  await train(parts, 2);
  expect(await numbersOf(parts)).toBe(await trainedBy(config, 2));
  await parts.batcher.unloadStorage();
});

const near = (numbers: string, wanted: string, tolerance: number): void => {
  const read = (text: string) =>
    text
      .split('\n')
      .map(
        (line) => new Float32Array(Uint8Array.from(Buffer.from(line.split(' ').at(-1) ?? '', 'hex')).buffer),
      );
  const [got, want] = [read(numbers), read(wanted)];
  expect(got.map(({ length }) => length)).toEqual(want.map(({ length }) => length));
  const worst = got.flatMap((values, i) => [...values].map((value, j) => Math.abs(value - want[i][j])));
  expect(Math.max(...worst)).toBeLessThan(tolerance);
};

test('model_->train() and forward (link prediction)', async () => {
  // std::tuple<...> LinkPredictionModel::forward(Batch *batch, bool train) {
  const forward = (model: LinkPredictionModel, batch: Batch, training: boolean) => {
    // if (train) {
    if (training) {
      // batch->unique_node_embeddings_.requires_grad_();
      batch.uniqueNodeEmbeddings?.setRequiresGrad();
      // Embeddings gnn_inputs = featurizer_->forward(batch->unique_node_features_, batch->unique_node_embeddings_);
      const { uniqueNodeFeatures: features, uniqueNodeEmbeddings: embeddings } = batch;
      const gnnInputs = model.featurizer?.forward(features, embeddings) ?? { embeddings, features };
      // batch->gnn_graph_.performMap();
      batch.gnnGraph?.performMap();
      // batch->encoded_uniques_ = encoder_->forward(gnn_inputs, batch->gnn_graph_, train);
      batch.encodedUniques = model.encoder.forward(gnnInputs, batch.gnnGraph, training);
    }
    // batch->prepareBatch();
    batch.prepareBatch(model.decoder.relations);
    // return decoder_->forward(batch, train);
    const input = model.input(batch, batch.encodedUniques as Tensor);
    const { rhsPos, rhsNeg, lhsPos, lhsNeg } = model.decoder.forward(input, model.lossFunction.maskedScore);
    return [rhsPos, rhsNeg, lhsPos, lhsNeg] as const;
  };

  // void LinkPredictionModel::train(Batch *batch) {
  const step = async (given: Model, batch: Batch) => {
    const model = given as LinkPredictionModel;
    // zero_grad();
    model.zeroGrad();
    // auto all_scores = forward(batch, true);
    const allScores = forward(model, batch, true);
    // torch::Tensor rhs_pos_scores = std::get<0>(all_scores); … std::get<3>(all_scores);
    const [rhsPosScores, rhsNegScores, lhsPosScores, lhsNegScores] = allScores as readonly Tensor[];
    expect(batch.srcPosEmbeddings?.shape).toEqual([batch.batchSize, 8]);
    expect(batch.relationEmbeddings?.shape).toEqual([batch.batchSize, 8]);
    // torch::Tensor rhs_loss = (*loss_function_)(rhs_pos_scores, rhs_neg_scores);
    const rhsLoss = model.lossFunction.forward(rhsPosScores, rhsNegScores);
    // torch::Tensor lhs_loss = (*loss_function_)(lhs_pos_scores, lhs_neg_scores);
    const lhsLoss = model.lossFunction.forward(lhsPosScores, lhsNegScores);
    // torch::Tensor loss = lhs_loss + rhs_loss;
    const loss = add(lhsLoss, rhsLoss);
    // loss.backward();
    loss.backward();
    // step();
    model.step();
  };

  const parts = await setUp(linkConfig(), folder());
  await train(parts, 2, step);
  near(await numbersOf(parts), await trainedBy(linkConfig(), 2), 1e-4);
});

test('model_->train() and forward (node classification)', async () => {
  const scores: Tensor[] = [];
  // Labels NodeClassificationModel::forward(Batch *batch, bool train) {
  const forward = (model: Model, batch: Batch, training: boolean) => {
    // inputs = featurizer_->forward(batch->unique_node_features_, batch->unique_node_embeddings_);
    const { uniqueNodeFeatures: features, uniqueNodeEmbeddings: embeddings } = batch;
    const inputs = model.featurizer?.forward(features, embeddings) ?? { embeddings, features };
    // batch->gnn_graph_.performMap();
    batch.gnnGraph?.performMap();
    // return encoder_->forward(inputs, batch->gnn_graph_, train);
    return model.encoder.forward(inputs, batch.gnnGraph, training);
  };

  // void NodeClassificationModel::train(Batch *batch) {
  const step = async (given: Model, batch: Batch) => {
    const model = given as NodeClassificationModel;
    // zero_grad();
    model.zeroGrad();
    // Labels y_predicted = forward(batch, true);
    const yPredicted = forward(model, batch, true);
    scores.push(yPredicted);
    // Labels y_true = batch->unique_node_labels_;
    // torch::Tensor targets = torch::argmax(y_true, 1);
    const targets = batch.uniqueNodeLabels as Int32Array;
    // torch::Tensor loss = torch::nn::functional::cross_entropy(y_predicted, targets);
    const loss = model.lossFunction.classes(yPredicted, targets);
    // loss.backward();
    loss.backward();
    // step();
    model.step();
  };

  const parts = await setUp(classConfig, folder());
  await train(parts, 2, step);
  expect(scores[0].shape).toEqual([10, 4]);
  near(await numbersOf(parts), await trainedBy(classConfig, 2), 1e-5);
});

// void SynchronousEvaluator::evaluate(bool validation) {
async function evaluate({ batcher: graphBatcher, model }: Parts, validation: boolean, step = evaluateStep) {
  // if (validation) graph_batcher_->setValidationSet(); else graph_batcher_->setTestSet();
  if (validation) graphBatcher.setValidationSet();
  else graphBatcher.setTestSet();
  // graph_batcher_->loadStorage();
  await graphBatcher.loadStorage();
  // while (graph_batcher_->hasNextBatch()) {
  while (graphBatcher.hasNextBatch()) {
    // Batch *batch = graph_batcher_->getBatch();
    const batch = await graphBatcher.getBatch();
    // batch->embeddingsToDevice();
    batch.embeddingsToDevice();
    // model_->evaluate(batch);
    await step(model, batch);
  }
}

const evaluateStep = (model: Model, batch: Batch): Promise<void> => model.evaluate(batch);

test.each([
  ['a decoder alone', tinyConfig(links)],
  ['GraphSAGE', linkConfig()],
  [
    'GraphSAGE against sampled negatives',
    linkConfig({ evaluation: { negative_sampling: { filtered: false, negatives_per_positive: 9 } } }),
  ],
  ['node classification', classConfig],
])('evaluation loop after training: %s', async (_name, config) => {
  const parts = await setUp(config, folder());
  const { reporter } = parts.model as LinkPredictionModel | NodeClassificationModel;
  for (const _round of [1, 2]) {
    await new SynchronousTrainer(parts.batcher, parts.model).train(1);
    for (const validation of [true, false]) {
      const wanted = await new SynchronousEvaluator(parts.batcher, parts.model).evaluate(validation);
      reporter.clear();
      await evaluate(parts, validation);
      expect(reporter.results()).toEqual(wanted);
      parts.batcher.setTrainSet();
    }
  }
});

test('model_->evaluate (link prediction): scores of all nodes, false negatives filtered', async () => {
  const parts = await setUp(linkConfig(), folder());
  const model = parts.model as LinkPredictionModel;
  const wanted = await new SynchronousEvaluator(parts.batcher, model).evaluate();
  const { storage } = parts;
  const allNodes = new RandomNegativeSampler(storage, { numNegatives: -1 });
  const batcher = new GraphBatcher(
    ...[
      storage,
      new RandomEdgeSampler(storage),
      null,
      parts.batcher.neighborSampler,
      parts.batcher.evaluationNeighborSampler,
    ],
    { batchSize: 20, evaluationNegativeSampler: allNodes },
  );

  // void LinkPredictionModel::evaluate(Batch *batch) {
  const step = async (_model: Model, batch: Batch) => {
    await batcher.loadGPUParameters(batch, true);
    // auto all_scores = forward(batch, false);
    const allScores = noGrad(() => model.forward(batch, false));
    // torch::Tensor rhs_pos_scores = std::get<0>(all_scores); …
    const [rhsPosScores, rhsNegScores, lhsPosScores, lhsNegScores] = allScores as Tensor[];
    // if (marius_options.evaluation.filtered_evaluation) for (int64_t i = 0; i < batch->batch_size_; i++) {
    for (let i = 0; i < batch.batchSize; i++) {
      // lhs_neg_scores[i].index_fill_(0, batch->src_neg_filter_eval_[i], -1e9);
      indexFill(lhsNegScores, i, batch.srcNegFilterEval?.[i] ?? [], -1e9);
      // rhs_neg_scores[i].index_fill_(0, batch->dst_neg_filter_eval_[i], -1e9);
      indexFill(rhsNegScores, i, batch.dstNegFilterEval?.[i] ?? [], -1e9);
    }
    // std::dynamic_pointer_cast<LinkPredictionReporter>(reporter_)->addResult(lhs_pos_scores, lhs_neg_scores);
    model.reporter.addResult(lhsPosScores, lhsNegScores);
    // std::dynamic_pointer_cast<LinkPredictionReporter>(reporter_)->addResult(rhs_pos_scores, rhs_neg_scores);
    model.reporter.addResult(rhsPosScores, rhsNegScores);
  };

  model.reporter.clear();
  batcher.setTestSet();
  await batcher.loadStorage();
  await model.encoder.encodeFullGraph(batcher.evaluationNeighborSampler, storage);
  while (batcher.hasNextBatch()) {
    const batch = await batcher.getBatch();
    batch.embeddingsToDevice();
    await step(model, batch);
  }
  expect(model.reporter.results()['mrr']).toBeCloseTo(wanted['mrr'], 5);
});

function indexFill(scores: Tensor, row: number, ids: ArrayLike<number>, value: number): void {
  const { array, shape } = scores;
  for (const id of Array.from(ids)) (array as Float32Array)[row * shape[1] + id] = value;
}

test('model_->evaluate (node classification)', async () => {
  const parts = await setUp(classConfig, folder());
  const model = parts.model as NodeClassificationModel;
  const wanted = await new SynchronousEvaluator(parts.batcher, model).evaluate();
  model.reporter.clear();
  // void NodeClassificationModel::evaluate(Batch *batch) {
  await evaluate(parts, false, async (_model, batch) => {
    // Labels y_predicted = forward(batch, false);
    const yPredicted = noGrad(() => model.forward(batch, false));
    // Labels y_true = batch->unique_node_labels_;
    const yTrue = batch.uniqueNodeLabels as Int32Array;
    // std::dynamic_pointer_cast<NodeClassificationReporter>(reporter_)->addResult(y_true, y_predicted);
    model.reporter.addResult(yTrue, yPredicted);
  });
  expect(model.reporter.results()).toEqual(wanted);
});

test('a classification model without a reporter finds the number of classes', async () => {
  const parts = await setUp(classConfig, folder());
  const { encoder: config } = classConfig.model;
  const encoder = new GeneralEncoder(config, { random: new Random(1) });
  const { lossFunction } = parts.model as NodeClassificationModel;
  // NodeClassificationModel(Encoder *encoder, LossFunction *loss, Regularizer *regularizer, Featurizer *featurizer, Reporter *reporter = nullptr)
  const model = new NodeClassificationModel(encoder, lossFunction, null, null);
  const metrics = await new SynchronousEvaluator(parts.batcher, model).evaluate();
  expect(model.reporter.numClasses).toBe(4);
  expect(Object.keys(metrics)).toEqual(['accuracy', 'f1_macro']);
});

test('one-hot labels are rejected with the way to convert them', async () => {
  const parts = await setUp(classConfig, folder());
  parts.batcher.setTrainSet();
  await parts.batcher.loadStorage();
  const batch = await parts.batcher.getBatch();
  const oneHot = fromTypedArray(new Float32Array(40), [10, 4]);
  batch.uniqueNodeLabels = oneHot as never;
  expect(() => parts.model.train(batch)).toThrow(/Convert one-hot labels with argmax\(labels, 1\)/);
});
