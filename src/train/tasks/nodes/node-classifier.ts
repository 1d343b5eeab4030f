/**
 * Trains a model that classifies nodes, on the whole graph or on sampled batches, monitors the validation nodes, stops
 * early, and ends with the best model. Features are moved to the model's device.
 *
 * @example
 * const result = await trainNodeClassifier({ model: new GCN([1433, 16, 7]), data: await loadDataset('cora') });
 * console.log(result.test.accuracy);
 */
import { type EdgeData, type Features, inferLayerwise } from '../../../gnn/index.js';
import type { Graph, MessageGraph } from '../../../graph/index.js';
import {
  Adam,
  type BaseOptions,
  clipGradNorm,
  clipGradNormTensor,
  crossEntropy,
  type Module,
  type Optimizer,
} from '../../../nn/index.js';
import {
  type LoadedBatch,
  NeighborSampler,
  type NeighborSamplerOptions,
  NodeLoader,
} from '../../../sample/index.js';
import {
  argmax,
  gatherRows,
  manualSeed,
  noGrad,
  scope,
  Tensor,
  type TensorDevice,
} from '../../../tensor/index.js';
import { checkOptionNames } from '../../../util/option-names.js';
import { fit } from '../../fit.js';
import type { Batches, HeldOut, Metrics, SavedState, SplitName, StepLoss, Task } from '../../task.js';
import { checked, layered, splitsOf } from './check-classifier.js';
import { type ClassificationMetrics, classificationMetrics } from './classification-metrics.js';

/** Ids of the nodes of each split. Without validation nodes, all epochs run and the last model is kept. */
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
  /** Batches to sample ahead. */
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
  /** The maximum number of epochs. */
  readonly epochs?: number;
  /** Epochs without a better validation score before training stops. */
  readonly patience?: number;
  /** The monitored metric of the validation nodes; the other one breaks ties. */
  readonly monitor?: 'accuracy' | 'loss';
  /** Train on sampled batches instead of the whole graph. */
  readonly sampling?: SamplingOptions;
  /** Seed of dropout and shuffling. */
  readonly seed?: number;
  /** The maximum norm of the gradient. */
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
  checkOptionNames('trainNodeClassifier', given, {
    model: true,
    data: true,
    optimizer: true,
    epochs: true,
    patience: true,
    monitor: true,
    sampling: true,
    seed: true,
    clipNorm: true,
    evaluationBatchSize: true,
    onEpoch: true,
    signal: true,
  });
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
  const { data, epochs = 200, patience = Infinity, monitor = 'accuracy', signal } = options;
  if (options.seed !== undefined) manualSeed(options.seed);
  const task = new NodeTask(options, inMemory);
  const history: EpochRecord[] = [];
  const start = performance.now();
  let trained = { epoch: 0, loss: 0, seconds: 0 };
  const { best } = await fit(task, {
    ...{ epochs, patience, best: 'memory' },
    metric: monitor === 'accuracy' ? ['accuracy', 'loss'] : ['loss', 'accuracy'],
    ...(signal === undefined ? {} : { signal }),
    onEpoch: ({ epoch, loss, items, seconds }) => {
      trained = { epoch, loss: loss / items, seconds };
    },
    onEpochEnd: async ({ validation }) => {
      const { loss: validLoss = Number.NaN, accuracy: validAccuracy = Number.NaN } = validation;
      const record = { ...trained, validLoss, validAccuracy };
      history.push(record);
      options.onEpoch?.(record);
    },
  });
  const logits = await predict(options);
  const part = (ids: Int32Array): ClassificationMetrics => partMetrics(logits, data, ids).metrics;
  const splits = splitsOf(data);
  return {
    epochs: history.length,
    bestEpoch: best?.epoch ?? history.length,
    history,
    train: part(splits.train),
    valid: part(splits.valid),
    test: part(splits.test),
    seconds: (performance.now() - start) / 1000,
  };
}

/** The batch of a step: all training nodes on the whole graph (null), or a sample. */
interface NodeStep {
  readonly sample: LoadedBatch<Features> | null;
}

/** Classification of the nodes of a graph in memory. */
class NodeTask implements Task<NodeStep> {
  readonly items = 'nodes';
  readonly headline = 'accuracy';
  readonly model: NodeModel;
  readonly optimizer: Optimizer<BaseOptions>;
  readonly batches: Readonly<Record<SplitName, Batches<NodeStep>>>;
  readonly #options: NodeClassifierOptions;
  readonly #splits: NodeSplits;

  constructor(options: NodeClassifierOptions, inMemory: NodeClassificationData) {
    const { model, sampling } = options;
    this.model = model;
    this.optimizer = options.optimizer ?? new Adam(model.parameters(), { lr: 0.01, weightDecay: 5e-4 });
    this.#options = options;
    this.#splits = splitsOf(options.data);
    const { train, valid, test } = this.#splits;
    this.batches = {
      // A loader gathers rows in memory; each batch is moved to the model's device.
      train: sampling === undefined ? wholeGraph(train.length) : sampledNodes(sampling, inMemory),
      validation: wholeGraph(valid.length),
      test: wholeGraph(test.length),
    };
  }

  startEpoch(): void {
    this.model.train();
  }

  async train({ sample }: NodeStep): Promise<StepLoss> {
    const { clipNorm, data } = this.#options;
    const { graph, features, labels, edgeData = null } = data;
    const { train } = this.#splits;
    const items = sample === null ? train.length : sample.seeds.length;
    const loss = await trainStep(this.model, this.optimizer, clipNorm, () => {
      if (sample === null)
        return crossEntropy(
          gatherRows(this.model.forward(graph, features, edgeData), train),
          train.map((id) => labels[id]),
        );
      const model = layered(this.model);
      const x = features === null ? null : placed(sample.x, deviceOf(model));
      return crossEntropy(model.forward(sample.blocks, x, edgeData), sample.labels);
    });
    return { loss: loss * items, items };
  }

  async evaluate(split: HeldOut): Promise<Metrics> {
    const ids = split === 'validation' ? this.#splits.valid : this.#splits.test;
    if (ids.length === 0) return {};
    const logits = await predict(this.#options);
    const { metrics, loss } = partMetrics(logits, this.#options.data, ids);
    logits.dispose();
    return { accuracy: metrics.accuracy, loss };
  }

  async snapshot(): Promise<SavedState> {
    return { tensors: {}, state: {} };
  }

  async restore(): Promise<void> {}

  async close(): Promise<void> {}
}

/** One step per epoch. */
function wholeGraph(numItems: number): Batches<NodeStep> {
  return {
    numItems,
    async *epoch() {
      yield { sample: null };
    },
  };
}

function sampledNodes(sampling: SamplingOptions, data: NodeClassificationData): Batches<NodeStep> {
  const { batchSize, prefetch, ...sampler } = sampling;
  const seeds = splitsOf(data).train;
  const loader = new NodeLoader(new NeighborSampler(data.graph, sampler), {
    seeds,
    ...(data.features === null ? {} : { features: data.features }),
    labels: data.labels,
    batchSize,
    ...(sampler.seed === undefined ? {} : { seed: sampler.seed }),
    ...(prefetch === undefined ? {} : { prefetch }),
  });
  return {
    numItems: seeds.length,
    async *epoch(epoch) {
      // Epochs are numbered from 1 here.
      for await (const sample of loader.epoch(epoch + 1)) yield { sample };
    },
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

/** Returns the device of the parameters; null: memory. */
function deviceOf(model: Module): TensorDevice | null {
  return model.parameters()[0]?.device ?? null;
}

/** Returns features on the model's device; a sparse matrix moves on use. */
function placed<F extends Features | EdgeData>(x: F, device: TensorDevice | null): F {
  return x instanceof Tensor && device !== null ? (x.to(device) as F) : x;
}

/** Returns the data with features and edge features on the model's device, for passes over the whole graph. */
function onModelDevice(options: NodeClassifierOptions): NodeClassifierOptions {
  const device = deviceOf(options.model);
  if (device === null) return options;
  const { features, edgeData = null } = options.data;
  const data = { ...options.data, features: placed(features, device), edgeData: placed(edgeData, device) };
  return { ...options, data };
}

/** Returns logits of all nodes in evaluation mode, in memory. */
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
