/**
 * Trains a model that gives every node a class, on the whole graph at once or on sampled batches, watches the validation
 * nodes, stops early, and ends with the best model it saw. It computes where the model is: features follow the model to its
 * device.
 *
 * @example
 * const result = await trainNodeClassifier({ model: new GCN([1433, 16, 7]), data: await loadDataset('cora') });
 * console.log(result.test.accuracy);
 */
import { type EdgeData, type Features, inferLayerwise, LayeredModel } from '../gnn/index.js';
import { Graph, type MessageGraph, SparseMatrix } from '../graph/index.js';
import {
  Adam,
  type BaseOptions,
  clipGradNorm,
  clipGradNormTensor,
  crossEntropy,
  Module,
  type Optimizer,
} from '../nn/index.js';
import { NeighborSampler, type NeighborSamplerOptions, NodeLoader } from '../sample/index.js';
import { argmax, gatherRows, manualSeed, noGrad, scope, Tensor, type TensorDevice } from '../tensor/index.js';
import { toInt32 } from '../tensor/ops/common.js';
import { checkInteger, expected, StateError, ValueError } from '../util/errors.js';
import { BestState } from './best-state.js';
import { type ClassificationMetrics, classificationMetrics } from './metrics.js';

/** Ids of the nodes of each part. Without validation nodes, all epochs run and the last model is kept. */
export interface NodeSplits {
  readonly train: Int32Array;
  readonly valid: Int32Array;
  readonly test: Int32Array;
}

export interface NodeClassificationData {
  readonly graph: Graph;
  /** null for models that learn from the structure alone. */
  readonly features: Features | null;
  /** Features or relations of the edges, by edge id. */
  readonly edgeData?: EdgeData;
  readonly labels: Int32Array;
  readonly numClasses: number;
  readonly splits: NodeSplits | null;
}

export interface SamplingOptions extends NeighborSamplerOptions {
  readonly batchSize: number;
  /** Batches made ahead of their use. */
  readonly prefetch?: number;
}

export interface EpochRecord {
  readonly epoch: number;
  readonly loss: number;
  readonly validLoss: number;
  readonly validAccuracy: number;
  readonly seconds: number;
}

/** Any module from a graph and features to logits [N, classes]; sampled training needs a `LayeredModel`. */
export interface NodeModel extends Module {
  forward(graph: MessageGraph, features: Features | null, edgeData: EdgeData): Tensor;
}

export interface NodeClassifierOptions {
  readonly model: NodeModel;
  readonly data: NodeClassificationData;
  /** Default: Adam with lr 0.01 and weight decay 5e-4. */
  readonly optimizer?: Optimizer<BaseOptions>;
  /** At most so many passes over the training nodes. */
  readonly epochs?: number;
  /** Stop after so many epochs without a better validation score. */
  readonly patience?: number;
  /** What is watched on the validation nodes; the other decides ties. */
  readonly monitor?: 'accuracy' | 'loss';
  /** Train on sampled batches instead of the whole graph. */
  readonly sampling?: SamplingOptions;
  /** Seed of dropout and shuffling. */
  readonly seed?: number;
  /** Largest norm of the gradient. */
  readonly clipNorm?: number;
  /** Rows per batch when sampled training evaluates; layer by layer over the whole graph. */
  readonly evaluationBatchSize?: number;
  readonly onEpoch?: (record: EpochRecord) => void;
  /** An AbortSignal: training ends with its reason before the next epoch. */
  readonly signal?: { throwIfAborted(): void };
}

export interface NodeClassifierResult {
  readonly epochs: number;
  readonly bestEpoch: number;
  readonly history: readonly EpochRecord[];
  readonly train: ClassificationMetrics;
  readonly valid: ClassificationMetrics;
  readonly test: ClassificationMetrics;
  readonly seconds: number;
}

export async function trainNodeClassifier(given: NodeClassifierOptions): Promise<NodeClassifierResult> {
  const inMemory = checked(given);
  const options = onModelDevice(inMemory);
  try {
    return await train(options, inMemory.data);
  } finally {
    for (const key of ['features', 'edgeData'] as const) {
      const moved = options.data[key];
      if (moved !== inMemory.data[key] && moved instanceof Tensor) moved.dispose();
    }
  }
}

/** @param inMemory the data before features moved to the model's device. */
async function train(
  options: NodeClassifierOptions,
  inMemory: NodeClassificationData,
): Promise<NodeClassifierResult> {
  const { model, data, epochs = 200, patience = Infinity, monitor = 'accuracy', onEpoch } = options;
  if (options.seed !== undefined) manualSeed(options.seed);
  const optimizer = options.optimizer ?? new Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
  // A loader gathers rows in memory; batches follow the model one by one.
  const runEpoch = options.sampling === undefined ? fullEpoch : sampledEpochs(options.sampling, inMemory);
  const best = new BestState(model, patience);
  const history: EpochRecord[] = [];
  const start = performance.now();
  for (let epoch = 1; epoch <= epochs; epoch++) {
    options.signal?.throwIfAborted();
    const before = performance.now();
    model.train();
    const loss = await runEpoch(options, optimizer, epoch);
    const seconds = (performance.now() - before) / 1000;
    if (!Number.isFinite(loss)) {
      throw new StateError(
        `trainNodeClassifier: the loss became ${loss} in epoch ${epoch}. Lower the learning rate, or set SKEIN_CHECK=1 to find the operation.`,
      );
    }
    const valid = await evaluatePart(options, splitsOf(data).valid);
    const record = { epoch, loss, validLoss: valid.loss, validAccuracy: valid.metrics.accuracy, seconds };
    history.push(record);
    onEpoch?.(record);
    if (valid.metrics.count === 0) continue;
    const score = [valid.metrics.accuracy, -valid.loss];
    if (!best.observe(epoch, monitor === 'accuracy' ? score : score.reverse())) break;
  }
  best.restore();
  best.release();
  const logits = await predict(options);
  const part = (ids: Int32Array): ClassificationMetrics => partMetrics(logits, data, ids).metrics;
  const splits = splitsOf(data);
  return {
    epochs: history.length,
    bestEpoch: best.epoch === 0 ? history.length : best.epoch,
    history,
    train: part(splits.train),
    valid: part(splits.valid),
    test: part(splits.test),
    seconds: (performance.now() - start) / 1000,
  };
}

type RunEpoch = (
  options: NodeClassifierOptions,
  optimizer: Optimizer<BaseOptions>,
  epoch: number,
) => Promise<number>;

const fullEpoch: RunEpoch = ({ model, data, clipNorm }, optimizer) => {
  const { graph, features, labels, edgeData = null } = data;
  const { train } = splitsOf(data);
  return trainStep(model, optimizer, clipNorm, () =>
    crossEntropy(
      gatherRows(model.forward(graph, features, edgeData), train),
      train.map((id) => labels[id]),
    ),
  );
};

function sampledEpochs(sampling: SamplingOptions, data: NodeClassificationData): RunEpoch {
  const { batchSize, prefetch, ...sampler } = sampling;
  const loader = new NodeLoader(new NeighborSampler(data.graph, sampler), {
    seeds: splitsOf(data).train,
    ...(data.features === null ? {} : { features: data.features }),
    labels: data.labels,
    batchSize,
    ...(sampler.seed === undefined ? {} : { seed: sampler.seed }),
    ...(prefetch === undefined ? {} : { prefetch }),
  });
  return async (options, optimizer, epoch) => {
    const { clipNorm } = options;
    const model = layered(options.model);
    let total = 0;
    let count = 0;
    for await (const batch of loader.epoch(epoch)) {
      const loss = await trainStep(model, optimizer, clipNorm, () => {
        const x = data.features === null ? null : placed(batch.x, deviceOf(model));
        return crossEntropy(model.forward(batch.blocks, x, options.data.edgeData ?? null), batch.labels);
      });
      total += loss * batch.seeds.length;
      count += batch.seeds.length;
    }
    return total / count;
  };
}

async function trainStep(
  model: NodeModel,
  optimizer: Optimizer<BaseOptions>,
  clipNorm: number | undefined,
  loss: () => Tensor,
): Promise<number> {
  const value = scope(() => {
    optimizer.zeroGrad();
    const total = loss();
    total.backward();
    if (clipNorm !== undefined) clip(model, clipNorm);
    optimizer.step();
    return total.detach();
  });
  const [number] = await value.data();
  value.dispose();
  return number;
}

function clip(model: Module, maxNorm: number): void {
  if (deviceOf(model) === null) clipGradNorm(model.parameters(), maxNorm);
  else clipGradNormTensor(model.parameters(), maxNorm);
}

/** Where the parameters are; null is memory. */
function deviceOf(model: Module): TensorDevice | null {
  return model.parameters()[0]?.device ?? null;
}

/** Features where the model is; a sparse matrix goes wherever it is used. */
function placed<F extends Features | EdgeData>(x: F, device: TensorDevice | null): F {
  return x instanceof Tensor && device !== null ? (x.to(device) as F) : x;
}

/** The data with features and edge features where the model is, for what goes over the whole graph. */
function onModelDevice(options: NodeClassifierOptions): NodeClassifierOptions {
  const device = deviceOf(options.model);
  if (device === null) return options;
  const { features, edgeData = null } = options.data;
  const data = { ...options.data, features: placed(features, device), edgeData: placed(edgeData, device) };
  return { ...options, data };
}

/** Logits of all nodes in evaluation mode, in memory. */
async function predict(options: NodeClassifierOptions): Promise<Tensor> {
  const { model, sampling, evaluationBatchSize = 8192 } = options;
  const { graph, features, edgeData = null } = options.data;
  model.eval();
  const logits = scope(() =>
    noGrad(() =>
      sampling === undefined
        ? model.forward(graph, features, edgeData).detach()
        : inferLayerwise(layered(model), graph, features, { batchSize: evaluationBatchSize, edgeData }),
    ),
  );
  const fetched = await logits.cpu();
  if (fetched !== logits) logits.dispose();
  return fetched;
}

interface PartResult {
  readonly metrics: ClassificationMetrics;
  readonly loss: number;
}

async function evaluatePart(options: NodeClassifierOptions, ids: Int32Array): Promise<PartResult> {
  if (ids.length === 0) return { metrics: classificationMetrics([], [], 0), loss: Number.NaN };
  const logits = await predict(options);
  const result = partMetrics(logits, options.data, ids);
  logits.dispose();
  return result;
}

function partMetrics(logits: Tensor, data: NodeClassificationData, ids: Int32Array): PartResult {
  return scope(() =>
    noGrad(() => {
      const rows = gatherRows(logits, ids);
      const labels = ids.map((id) => data.labels[id]);
      const metrics = classificationMetrics(labels, argmax(rows, 1).dataSync(), data.numClasses);
      const loss = ids.length === 0 ? Number.NaN : crossEntropy(rows, labels).item();
      return { metrics, loss };
    }),
  );
}

function layered(model: NodeModel): LayeredModel {
  if (model instanceof LayeredModel) return model;
  throw new ValueError(
    expected(
      'trainNodeClassifier',
      'a LayeredModel (GCN, GraphSAGE, GAT, …)',
      'model',
      model,
      'Sampled training runs a model block by block; train others on the whole graph, or loop over a NodeLoader.',
    ),
  );
}

function splitsOf(data: NodeClassificationData): NodeSplits {
  if (data.splits !== null) return data.splits;
  throw new ValueError(
    'trainNodeClassifier: expected data with splits, got null. Make one with randomNodeSplit(labels, …).',
  );
}

/** The options with labels and splits as Int32Arrays; refuses what does not fit together. */
function checked(options: NodeClassifierOptions): NodeClassifierOptions {
  const where = 'trainNodeClassifier';
  if (!(options?.model instanceof Module))
    throw new ValueError(expected(where, 'a module', 'model', options?.model));
  if (!(options.data?.graph instanceof Graph))
    throw new ValueError(expected(where, 'a Graph', 'data.graph', options.data?.graph));
  const { epochs = 200, patience = Infinity, monitor = 'accuracy' } = options;
  checkInteger(where, 'epochs', epochs, 1);
  checkInteger(where, 'data.numClasses', options.data.numClasses, 1);
  if (options.sampling !== undefined) layered(options.model);
  if (patience !== Infinity) checkInteger(where, 'patience', patience, 1);
  if (monitor !== 'accuracy' && monitor !== 'loss')
    throw new ValueError(expected(where, "'accuracy' or 'loss'", 'monitor', monitor));
  const labels = toInt32(where, 'labels', options.data.labels);
  const { train, valid, test } = splitsOf(options.data);
  const splits = {
    train: toInt32(where, 'splits.train', train),
    valid: toInt32(where, 'splits.valid', valid),
    test: toInt32(where, 'splits.test', test),
  };
  const data = { ...options.data, labels, splits };
  checkData(where, data);
  return { ...options, data };
}

function checkData(where: string, data: NodeClassificationData & { readonly splits: NodeSplits }): void {
  const { features, labels, splits, numClasses } = data;
  const nodes = data.graph.numNodes;
  if (features !== null && !(features instanceof Tensor) && !(features instanceof SparseMatrix))
    throw new ValueError(expected(where, 'a tensor, a SparseMatrix or null', 'features', features));
  if (features !== null && features.shape[0] !== nodes)
    throw new ValueError(expected(where, `${nodes} rows (one per node)`, 'features', features.shape[0]));
  if (features instanceof Tensor) checkFinite(where, features);
  if (labels.length !== nodes)
    throw new ValueError(expected(where, `${nodes} labels`, 'labels', labels.length));
  const part = new Map<number, string>();
  for (const [name, ids] of Object.entries(splits) as [string, Int32Array][]) {
    for (const [i, id] of ids.entries()) {
      if (id < 0 || id >= nodes) {
        const got = `${id} at position ${i}`;
        throw new ValueError(expected(where, `node ids from 0 to ${nodes - 1}`, `splits.${name}`, got));
      }
      if (part.has(id)) {
        const got = `node ${id} at position ${i}, which is in ${part.get(id)} already`;
        throw new ValueError(expected(where, 'every node once over all splits', `splits.${name}`, got));
      }
      part.set(id, name);
      if (labels[id] < 0 || labels[id] >= numClasses) {
        const got = `${labels[id]} for node ${id} of ${name}`;
        throw new ValueError(expected(where, `labels from 0 to ${numClasses - 1}`, 'labels', got));
      }
    }
  }
  if (splits.train.length === 0)
    throw new ValueError(expected(where, 'at least one node', 'splits.train', 'none'));
}

function checkFinite(where: string, features: Tensor): void {
  const values = features.dataSync();
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) continue;
    const width = features.shape[1];
    const at = `${values[i]} in row ${Math.floor(i / width)}, column ${i % width}`;
    throw new ValueError(expected(where, 'finite numbers', 'features', at));
  }
}
