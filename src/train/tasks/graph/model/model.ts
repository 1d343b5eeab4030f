/**
 * A model as Marius names it: featurizer, encoder, decoder, loss, regulariser and reporter; one step of training, one
 * step of evaluation. Subclasses say what a batch's result is.
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
import { Batch } from '../batch/batch.js';
import type { GraphBatcher } from '../batch/graph-batcher.js';
import type { Encoder } from './encoder.js';
import type { Featurizer } from './featurizer.js';
import { OptimizerSet } from './optimizers.js';

export abstract class Model extends Module {
  /** Combines features and embeddings; without one the encoder gets both. */
  readonly featurizer: Featurizer | null;
  readonly encoder: Encoder;
  /** Moves the dense parameters; set by `useOptimizer`. */
  encoderOptimizer: OptimizerSet | null = null;
  /** Where `save` and `load` go unless told otherwise. */
  directory: string | null = null;
  /** Workers that share every batch, each with the same parameters; null: there is one. */
  workers: WorkerGroup | null = null;
  /** Whether parameters would not be moved; found out once. */
  #untrained: boolean | null = null;
  #device: TensorDevice | null = null;

  constructor(encoder: Encoder, featurizer: Featurizer | null) {
    super();
    this.encoder = encoder;
    this.featurizer = featurizer;
  }

  /**
   * Gives the dense parameters an optimiser.
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

  /** Where the model computes, and batches must be; null: the CPU. */
  get device(): TensorDevice | null {
    return this.#device;
  }

  override to(device: DeviceLike): this {
    super.to(device);
    this.#device = findDevice('Model.to', device);
    return this;
  }

  /** Parameters and the state of their optimisers come back. */
  override async cpu(): Promise<this> {
    await super.cpu();
    await this.encoderOptimizer?.cpu();
    this.#device = null;
    return this;
  }

  /**
   * One step of training: the batch's loss. On a device the loss is not known before `await batch.embeddingsToHost()`, which
   * leaves it in `batch.loss`; until then it is NaN. Given a boolean, switches between training and evaluation as any module.
   */
  override train(mode?: boolean): this;
  override train(batch: Batch): number;
  override train(given?: boolean | Batch): this | number {
    if (given instanceof Batch) return drawnFor(given.at, () => this.trainBatch(given));
    return super.train(given);
  }

  protected abstract trainBatch(batch: Batch): number;

  /** One step of evaluation: adds the batch's result to the reporter. */
  abstract evaluate(batch: Batch): Promise<void>;

  /** Forgets earlier results. */
  abstract startEvaluation(): void;

  /** Metrics of all results since. */
  abstract finishEvaluation(): Readonly<Record<string, number>>;

  /** Encodes all nodes when the encoder follows edges and results are compared with all nodes. */
  abstract encodeForEvaluation(batcher: GraphBatcher): Promise<void>;

  /** Whether a batch's loss is a mean over its edges or nodes, not their sum. */
  abstract readonly lossIsMean: boolean;

  /** Leaves the loss with the batch; its value, NaN where it must be awaited. */
  protected noteLoss(batch: Batch, loss: Tensor | null): number {
    if (loss !== null && loss.device !== null) {
      batch.lossOnDevice = keep(loss.detach());
      return Number.NaN;
    }
    batch.loss = loss?.item() ?? 0;
    return batch.loss;
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

  /** Rows of the batch's targets. */
  encode(batch: Batch, train: boolean): Tensor {
    const { uniqueNodeEmbeddings: embeddings, uniqueNodeFeatures: features } = batch;
    const graph = batch.shardedGraph ?? batch.gnnGraph;
    graph?.performMap();
    const ids = batch.uniqueNodeIndices;
    const inputs =
      this.featurizer === null
        ? { embeddings, features, ids }
        : this.featurizer.forward(features, embeddings);
    return this.encoder.forward(inputs, graph, train);
  }

  /** Saves parameters and optimiser, with anything else that survives JSON. */
  async save(directory: string | null = this.directory, extra: unknown = null): Promise<void> {
    const optimizer = this.encoderOptimizer;
    const parts = optimizer === null ? { model: this as Module } : { model: this as Module, optimizer };
    await saveCheckpoint(modelFile('save', directory), parts, extra);
  }

  /** Loads what `save` saved, and returns its extra. */
  async load<T = unknown>(directory: string | null = this.directory): Promise<T> {
    const optimizer = this.encoderOptimizer;
    const parts = optimizer === null ? { model: this as Module } : { model: this as Module, optimizer };
    return loadCheckpoint<T>(modelFile('load', directory), parts);
  }
}

/** The same values in memory. */
export async function fetched(t: Tensor): Promise<Tensor> {
  return t.device === null ? t : t.cpu();
}

/**
 * Runs a step whose random draws (dropout) depend on the seed of the shared generator, epoch and step alone: a worker that
 * has no part of a batch, and so draws nothing, agrees with the others in the next one.
 */
function drawnFor<T>({ epoch, step }: Batch['at'], work: () => T): T {
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
