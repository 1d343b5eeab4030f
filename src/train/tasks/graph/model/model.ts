/**
 * Base class of models: featurizer, encoder, optimiser and reporter; one step of training, one step of evaluation.
 * Subclasses define the result of a batch.
 */
import { join } from 'node:path';
import { gatherGrads, type WorkerGroup } from '../../../../dist/index.js';
import { Module } from '../../../../nn/index.js';
import { loadCheckpoint, saveCheckpoint } from '../../../../storage/index.js';
import { findDevice } from '../../../../tensor/device.js';
import {
  type DeviceLike,
  keep,
  randomState,
  setRandomState,
  type Tensor,
  type TensorDevice,
} from '../../../../tensor/index.js';
import { defaultRandom } from '../../../../tensor/random.js';
import { StateError } from '../../../../util/errors.js';
import type { OptimizerConfig } from '../../../config/index.js';
import type { Baseline, HeldOut, Metrics } from '../../../task.js';
import type { BatchSource } from '../batch/batch-source.js';
import { TrainingBatch } from '../batch/training-batch.js';
import type { Encoder } from './encoder.js';
import type { Featurizer } from './featurizer.js';
import { OptimizerSet } from './optimizers.js';

export abstract class Model extends Module {
  /** Combines features and embeddings; without one the encoder gets both. */
  readonly featurizer: Featurizer | null;
  readonly encoder: Encoder;
  /** Updates the dense parameters; set by `useOptimizer`. */
  encoderOptimizer: OptimizerSet | null = null;
  /** The default directory of `save` and `load`. */
  directory: string | null = null;
  /** Workers that share every batch, each with the same parameters; null: there is one. */
  workers: WorkerGroup | null = null;
  /** Whether there are parameters without an optimiser; computed once. */
  #untrained: boolean | null = null;
  #device: TensorDevice | null = null;

  constructor(encoder: Encoder, featurizer: Featurizer | null) {
    super();
    this.encoder = encoder;
    this.featurizer = featurizer;
  }

  /**
   * Sets the optimiser of the dense parameters.
   *
   * @param own optimisers of single parameters, in place of the common one.
   */
  useOptimizer(config: OptimizerConfig, own: ReadonlyMap<Tensor, OptimizerConfig> = new Map()): this {
    const parameters = this.parameters();
    this.encoderOptimizer =
      parameters.length === 0
        ? null
        : new OptimizerSet(parameters.map((p) => [p, own.get(p) ?? config] as const));
    return this;
  }

  /** Whether nodes are compared by their embeddings as they are. */
  get comparesEmbeddings(): boolean {
    return this.encoder.isIdentity && this.featurizer === null;
  }

  /** The device of the model and of its batches; null: the CPU. */
  get device(): TensorDevice | null {
    return this.#device;
  }

  override to(device: DeviceLike): this {
    super.to(device);
    this.#device = findDevice('Model.to', device);
    return this;
  }

  /** Moves parameters and optimiser state to the CPU. */
  override async cpu(): Promise<this> {
    await super.cpu();
    await this.encoderOptimizer?.cpu();
    this.#device = null;
    return this;
  }

  /**
   * Runs one step of training and returns the loss, a promise of it on a device. The gradient of the rows is
   * `batch.gradient()`. Given a boolean, switches between training and evaluation as any module.
   */
  override train(mode?: boolean): this;
  override train(batch: TrainingBatch): number | Promise<number>;
  override train(given?: boolean | TrainingBatch): this | number | Promise<number> {
    if (given instanceof TrainingBatch) return readLoss(drawnFor(given.at, () => this.trainBatch(given)));
    return super.train(given);
  }

  /** Runs one step and returns the loss, as `lossOf` does. */
  protected abstract trainBatch(batch: TrainingBatch): number | Tensor;

  /** Runs one step of evaluation: adds the batch's result to the reporter. */
  abstract evaluate(batch: TrainingBatch): Promise<void>;

  /** Whether metrics need the batches of a split; otherwise `evaluateSplit` computes all of them. */
  get evaluatesBatches(): boolean {
    return true;
  }

  /** Returns metrics that belong to a split as a whole, which the source has selected and loaded. Default: none. */
  async evaluateSplit(
    _source: BatchSource,
    _split: HeldOut,
    _onProgress?: (fraction: number) => void,
  ): Promise<Metrics> {
    return {};
  }

  /** Clears the results of the reporter. */
  abstract startEvaluation(): void;

  /** Returns the metrics of all results since `startEvaluation`. */
  abstract finishEvaluation(): Readonly<Record<string, number>>;

  /** Encodes all nodes when the encoder follows edges and results are compared with all nodes. */
  abstract encodeForEvaluation(source: BatchSource): Promise<void>;

  /** Returns baselines for the metrics of a split, which the source has selected and loaded. Default: none. */
  async baselines(_source: BatchSource, _split: HeldOut): Promise<readonly Baseline[]> {
    return [];
  }

  /** Whether a batch's loss is a mean over its edges or nodes, not their sum. */
  abstract readonly lossIsMean: boolean;

  /** Returns the value of a loss, 0 without one; on a device, a tensor that outlives the scope. */
  protected lossOf(loss: Tensor | null): number | Tensor {
    if (loss === null) return 0;
    return loss.device === null ? loss.item() : keep(loss.detach());
  }

  /** Applies the gradients of the dense parameters, summed over workers. */
  step(): void {
    if (this.workers !== null) gatherGrads(this, { comm: this.workers.comm });
    if (this.encoderOptimizer === null) {
      this.#untrained ??= this.parameters().length > 0;
      if (this.#untrained)
        throw new StateError(
          `${this.constructor.name}: expected an optimiser for its parameters, got none. Call useOptimizer first.`,
        );
      return;
    }
    this.encoderOptimizer.step();
  }

  /** Returns rows of the batch's targets. */
  encode(batch: TrainingBatch, train: boolean): Tensor {
    const { uniqueNodeEmbeddings: embeddings, uniqueNodeFeatures: features } = batch;
    const text = batch.uniqueNodeText;
    const graph = batch.shardedGraph ?? batch.gnnGraph;
    graph?.performMap();
    const ids = batch.uniqueNodeIndices;
    const inputs =
      this.featurizer === null
        ? { embeddings, features, text, ids }
        : this.featurizer.forward(features, embeddings);
    return this.encoder.forward(inputs, graph, train);
  }

  /** Saves parameters and optimiser, with anything else that survives JSON. */
  async save(directory: string | null = this.directory, extra: unknown = null): Promise<void> {
    const optimizer = this.encoderOptimizer;
    const parts = optimizer === null ? { model: this as Module } : { model: this as Module, optimizer };
    await saveCheckpoint(modelFile('save', directory), parts, extra);
  }

  /** Loads a saved model and returns its extra. */
  async load<T = unknown>(directory: string | null = this.directory): Promise<T> {
    const optimizer = this.encoderOptimizer;
    const parts = optimizer === null ? { model: this as Module } : { model: this as Module, optimizer };
    return loadCheckpoint<T>(modelFile('load', directory), parts);
  }
}

/** Reads a loss from its device. */
function readLoss(loss: number | Tensor): number | Promise<number> {
  if (typeof loss === 'number') return loss;
  const reading = loss.data().then(([value]) => {
    loss.dispose();
    return value;
  });
  // A caller may ignore the loss.
  reading.catch(() => undefined);
  return reading;
}

/** Returns the same values in memory. */
export async function fetched(t: Tensor): Promise<Tensor> {
  return t.device === null ? t : t.cpu();
}

/**
 * Runs a step whose random draws (dropout) depend on the seed of the shared generator, epoch and step alone: a worker
 * without a share of a batch draws nothing, and still agrees with the others in the next batch.
 */
function drawnFor<T>({ epoch, step }: TrainingBatch['at'], work: () => T): T {
  const before = randomState();
  setRandomState(defaultRandom().split(epoch).split(step).state());
  try {
    return work();
  } finally {
    setRandomState(before);
  }
}

function modelFile(action: string, directory: string | null): string {
  if (directory === null)
    throw new StateError(
      `Model.${action}: expected a directory, got none. Pass one, or set model.directory.`,
    );
  return join(directory, 'model.safetensors');
}
