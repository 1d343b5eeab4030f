/** Marius's document, classes of models: each member and function as the document declares it, our form, and a call. */
import { DotCompare, HadamardOperator, L2Compare, NormRegularizer } from 'skein/gnn';
import {
  type Comparator,
  Decoder,
  Encoder,
  Evaluator,
  Featurizer,
  LossFunction,
  Model,
  ProgressReporter,
  Regularizer,
  RelationOperator,
  Reporter,
  SynchronousEvaluator,
  SynchronousTrainer,
  Trainer,
} from 'skein/marius';
import { fromTypedArray, type Tensor, zeros } from 'skein/tensor';
import { expect, test } from 'vitest';
import { ConcatFeaturizer } from '#internal/train/tasks/graph/model/featurizer.js';
import { OptimizerSet } from '#internal/train/tasks/graph/model/optimizers.js';
import { scratch } from '../train/tiny.js';
import { type Line, lines, marius, nextBatch, validationBatch } from './marius-fixture.js';

const folder = scratch();
const { storage, links, classes, loss, neighbors, batcher, nodeBatcher } = marius(folder());
const pair = fromTypedArray(Float32Array.of(1, 2, 3, 4), [2, 2]);
const values = (t: Tensor | null | undefined): number[] => [...(t?.dataSync() ?? [])] as number[];
const trainer = () =>
  new SynchronousTrainer(batcher, links, { progressReporter: new ProgressReporter({ logsPerEpoch: 0 }) });
const evaluator = () => new SynchronousEvaluator(batcher, links);

const table: readonly Line[] = [
  // Class: Model
  ['Model : torch.nn.Module', 'Model', () => [links, classes].every((model) => model instanceof Model), true],
  ['Featurizer featurizer_', 'model.featurizer', () => links.featurizer, null],
  ['Encoder encoder_', 'model.encoder', () => links.encoder instanceof Encoder, true],
  [
    'torch::optim::Optimizer encoder_optimizer_',
    'model.encoderOptimizer',
    () => links.encoderOptimizer instanceof OptimizerSet,
    true,
  ],
  ['Decoder decoder_', 'model.decoder', () => links.decoder instanceof Decoder, true],
  [
    'LossFunction loss_function_',
    'model.lossFunction',
    () => links.lossFunction instanceof LossFunction,
    true,
  ],
  ['Regularizer regularizer_', 'model.regularizer', () => links.regularizer instanceof Regularizer, true],
  ['Reporter reporter_', 'model.reporter', () => links.reporter instanceof Reporter, true],
  [
    'virtual void train(Batch *batch)',
    'await model.train(batch)',
    async () => {
      const batch = await nextBatch(batcher);
      const [before] = links.parameters().map((p) => values(p).join());
      const value = await links.train(batch);
      const [after] = links.parameters().map((p) => values(p).join());
      batch.accumulateGradients();
      return [value > 0, before !== after, batch.uniqueNodeGradients?.some((g) => g !== 0)];
    },
    [true, true, true],
  ],
  [
    'virtual void evaluate(Batch *batch)',
    'await model.evaluate(batch)',
    async () => {
      links.startEvaluation();
      await links.evaluate(await validationBatch(batcher));
      return links.reporter.size;
    },
    10,
  ],
  [
    'void save() / void load()',
    'await model.save(), await model.load()',
    async () => {
      const [first] = links.parameters();
      const before = values(first);
      await links.save();
      (first.array as Float32Array).fill(0);
      await links.load();
      return values(links.parameters()[0]).join() === before.join();
    },
    true,
  ],
  // Subclass: NodeClassificationModel (Model)
  [
    'Labels forward(Batch *batch, bool train)',
    'model.forward(batch, train)',
    async () => classes.forward(await nextBatch(nodeBatcher), true).shape,
    [3, 4],
  ],
  [
    'void NodeClassificationModel::train(Batch *batch)',
    'await model.train(batch)',
    async () => (await classes.train(await nextBatch(nodeBatcher))) > 0,
    true,
  ],
  [
    'void NodeClassificationModel::evaluate(Batch *batch)',
    'await model.evaluate(batch)',
    async () => {
      classes.startEvaluation();
      await classes.evaluate(await validationBatch(nodeBatcher));
      return [classes.reporter.size, Object.keys(classes.finishEvaluation())];
    },
    [1, ['accuracy', 'f1_macro']],
  ],
  // Subclass: LinkPredictionModel (Model)
  [
    'std::tuple<Tensor, Tensor, Tensor, Tensor> forward(Batch *batch, bool train)',
    'model.forward(batch, train)',
    async () => links.forward(await nextBatch(batcher), true).map((scores) => scores?.shape),
    [[10], [10, 5], [10], [10, 5]],
  ],
  // Class: Featurizer
  [
    'Embeddings operator()(Features node_features, Embeddings node_embeddings)',
    'featurizer.forward(nodeFeatures, nodeEmbeddings)',
    () => {
      const featurizer: Featurizer = new ConcatFeaturizer();
      return [featurizer instanceof Featurizer, values(featurizer.forward(pair, pair))];
    },
    [true, [1, 2, 1, 2, 3, 4, 3, 4]],
  ],
  // Class: Encoder
  [
    'Embeddings forward(Embeddings inputs, GNNGraph gnn_graph, bool train)',
    'encoder.forward(inputs, gnnGraph, train)',
    async () => {
      const batch = await nextBatch(batcher);
      const { shape } = links.encoder.forward(batch.uniqueNodeEmbeddings as Tensor, batch.gnnGraph, false);
      return [shape[0] === batch.gnnGraph?.numTargets, shape[1]];
    },
    [true, 4],
  ],
  [
    'void encodeFullGraph(NeighborSampler *neighbor_sampler, GraphModelStorage *graph_storage)',
    'await encoder.encodeFullGraph(neighborSampler, graphStorage)',
    async () => {
      const { rows, width } = await links.encoder.encodeFullGraph(neighbors, storage);
      return [rows.length, width, storage.encodedNodes?.rows === rows];
    },
    [80, 4, true],
  ],
  // Class: Decoder
  [
    'std::tuple<Tensor, Tensor, Tensor, Tensor> forward(Batch *, bool train)',
    'decoder.forward(model.input(batch, rows))',
    async () => {
      const batch = await nextBatch(batcher);
      const { rhsPos, rhsNeg, lhsPos, lhsNeg } = links.decoder.forward(
        links.input(batch, links.encode(batch, true)),
      );
      return [rhsPos, rhsNeg, lhsPos, lhsNeg].map((scores) => scores?.shape);
    },
    [[10], [10, 5], [10], [10, 5]],
  ],
  // Class: RelationOperator
  [
    'Embeddings operator()(const Embeddings &embs, const Relations &rels)',
    'operator.apply(embs, rels)',
    () => {
      const operator: RelationOperator = new HadamardOperator();
      return [operator instanceof RelationOperator, values(operator.apply(pair, pair))];
    },
    [true, [1, 4, 9, 16]],
  ],
  // Class: Comparator
  [
    'tuple<Tensor, Tensor> operator()(const Embeddings &src, const Embeddings &dst, const Embeddings &negs)',
    'comparator.compare(src, dst, negs)',
    () => (new DotCompare() as Comparator).compare(pair, pair, pair).map(values),
    [
      [5, 25],
      [5, 11, 11, 25],
    ],
  ],
  [
    'a score/distance for the positive edges and the destination corrupted negative edges',
    'a score, higher is better: distances are negated',
    () =>
      new L2Compare()
        .compare(pair, pair, pair)
        .map((scores) => values(scores).map((x) => Math.round(x * 100))),
    [[0, 0].map((x) => expect.closeTo(x, 0)), [0, -283, -283, 0].map((x) => expect.closeTo(x, 0))],
  ],
  // Class: LossFunction
  [
    'torch::Tensor operator()(torch::Tensor pos_scores, torch::Tensor neg_scores)',
    'loss.forward(posScores, negScores)',
    () => loss.forward(zeros([1]), zeros([1, 1])).item(),
    expect.closeTo(Math.LN2, 5),
  ],
  // Class: Regularizer, Class: Reporter
  [
    'Regularizer',
    'Regularizer.forward(src, dst)',
    () => new NormRegularizer(1, 2).forward(pair, pair).item(),
    20,
  ],
  ['Reporter', 'Reporter', () => new ProgressReporter() instanceof Reporter, true],
  // Class: Trainer
  ['GraphBatcher graph_batcher_', 'trainer.graphBatcher', () => trainer().graphBatcher === batcher, true],
  [
    'ProgressReporter progress_reporter_',
    'trainer.progressReporter',
    () => trainer().progressReporter instanceof ProgressReporter,
    true,
  ],
  ['Model model_', 'trainer.model', () => trainer().model === links, true],
  [
    'virtual void train(int num_epochs = 1)',
    'await trainer.train(numEpochs = 1)',
    async () => {
      const { epoch } = batcher.position;
      const made: Trainer = trainer();
      await made.train();
      return [batcher.position.epoch - epoch, made instanceof Trainer];
    },
    [1, true],
  ],
  // Class: Evaluator
  [
    'GraphBatcher graph_batcher_, Model model_',
    'evaluator.graphBatcher, evaluator.model',
    () => [evaluator().graphBatcher === batcher, evaluator().model === links],
    [true, true],
  ],
  [
    'virtual void evaluate(bool validation)',
    'await evaluator.evaluate(validation)',
    async () => {
      const made: Evaluator = evaluator();
      const sets = [await made.evaluate(true), await made.evaluate(false)];
      return [...sets.map((metrics) => (metrics['mrr'] ?? 0) > 0), made instanceof Evaluator];
    },
    [true, true, true],
  ],
];

test.each(lines(table))('$document is $ours', async ({ call, wanted }) => {
  expect(await call()).toEqual(wanted);
});

test('all nodes together are encoded as in batches', async () => {
  batcher.setValidationSet();
  await batcher.loadStorage();
  const whole = await links.encoder.encodeFullGraph(neighbors, storage);
  const inBatches = await Encoder.prototype.encodeFullGraph.call(links.encoder, neighbors, storage);
  expect(inBatches.width).toBe(whole.width);
  const worst = inBatches.rows.map((x, i) => Math.abs(x - whole.rows[i]));
  expect(Math.max(...worst)).toBeLessThan(1e-6);
});
