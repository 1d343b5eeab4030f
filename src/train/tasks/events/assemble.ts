/** Assembles a temporal run from its configuration and stream: model, state, loaders and training steps. */
import type { TemporalGraph } from '../../../graph/index.js';
import { Adam, type Module } from '../../../nn/index.js';
import { TemporalNeighborSampler } from '../../../sample/index.js';
import type { StreamSplit } from '../../../temporal/event-stream.js';
import {
  type SharedMailBox,
  type TemporalBatch,
  TemporalLoader,
  type TemporalLoaderOptions,
  TemporalNegatives,
  TemporalRuntime,
  type TemporalRuntimeOptions,
  type TemporalState,
} from '../../../temporal/index.js';
import { MailboxState } from '../../../temporal/mailbox/mailbox-state.js';
import type { StoreFactory } from '../../../temporal/mailbox/state-store.js';
import type { BatchNeeds, MadeTemporalModel } from '../../../temporal/models/model-kind.js';
import type { EventBatch, ScoringSteps, TemporalBatches, TemporalSteps } from '../../../temporal/steps.js';
import { manualSeed } from '../../../tensor/index.js';
import { ConfigError, StateError } from '../../../util/errors.js';
import type { HeldOut } from '../../task.js';
import { evaluationBatchSize, evaluationPlan, isScoredBatch } from './evaluation.js';
import { type EvaluationNegatives, ListedNegatives } from './listed-negatives.js';
import { modelContext, requiredKind } from './model-kind.js';
import type { OpenedStream } from './open-stream.js';
import { destinationPool } from './protocol.js';
import { type EventRanking, eventRanking } from './rank-events.js';
import type { TemporalRunConfig } from './run-config.js';
import { type TrainingNegatives, trainingNegatives } from './training-negatives.js';

/** A checkpoint is one file of at most 4 GiB; the rest is for parameters. */
const mostStateBytes = 3.75 * 2 ** 30;

/** The components that train and evaluate in batches of type B, in a single process or on one of several workers. */
export interface TemporalAssembly<B extends EventBatch = EventBatch> {
  /** `dimOut` is the width of embeddings, if the kind of model has them. */
  readonly model: Module & { readonly dimOut?: number };
  /** The state that events update; null for models without state. */
  readonly state: TemporalState | null;
  /** The state if it is node memory and mail, otherwise null. */
  readonly mailbox: SharedMailBox | null;
  /** Null for models without parameters. */
  readonly optimizer: Adam | null;
  readonly runtime: TemporalSteps<B>;
  readonly loaders: Readonly<Record<StreamSplit, TemporalBatches<B>>>;
  /** The whole stream, without negatives. */
  readonly wholeStream: TemporalBatches<B>;
  /** With `evaluation.cadence: both`, the same splits with cadence batch; otherwise null. */
  readonly frozen: Readonly<Record<HeldOut, TemporalBatches<B>>> | null;
  /** Ranks events without scores of negatives, where the model and the metrics allow it. */
  readonly ranking: EventRanking | null;
  /** Returns the places in the negatives of some events that hold no negative. */
  ignored(eventRows: Int32Array): Int32Array;
  /** Returns whether the events of a batch are scored; otherwise they are observed only, and have no negatives. */
  isScored(split: HeldOut, eventRows: Int32Array): boolean;
}

/** The assembly of a run in a single process. */
export interface PlainAssembly extends TemporalAssembly<TemporalBatch> {
  readonly runtime: ScoringSteps;
  readonly needs: BatchNeeds;
}

export function assembleTemporal(config: TemporalRunConfig, stream: OpenedStream): PlainAssembly {
  const components = createComponents(config, stream);
  const { made, mailbox, optimizer, loaderOptions, ignored, isScored } = components;
  checkLoss(config, made);
  const loader = (split: StreamSplit | null, frozen?: boolean): TemporalLoader => {
    const { graph, ...options } = loaderOptions(split, frozen);
    return new TemporalLoader(graph, options);
  };
  const { model, state, needs } = made;
  const runtime = stepsOf(components);
  return {
    ...{ model, state, needs, mailbox, optimizer, runtime },
    ranking: eventRanking(config, stream, components, runtime),
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
    wholeStream: loader(null),
    frozen: frozenLoaders(config, loader),
    ...{ ignored, isScored },
  };
}

/** Returns the loaders of the second cadence, if there are two. */
export function frozenLoaders<L>(
  { evaluation }: TemporalRunConfig,
  loader: (split: HeldOut, frozen: boolean) => L,
): Readonly<Record<HeldOut, L>> | null {
  if (evaluation.cadence !== 'both') return null;
  return { validation: loader('validation', true), test: loader('test', true) };
}

function stepsOf({ made, optimizer, runtimeOptions }: AssemblyComponents): ScoringSteps {
  if ('steps' in made) {
    const { steps } = made;
    const { maxGradNorm = 0 } = runtimeOptions;
    return typeof steps === 'function' ? steps({ optimizer, maxGradNorm }) : steps;
  }
  const { model, state, candidates = null } = made;
  return new TemporalRuntime({ ...runtimeOptions, model, state, candidates, optimizer });
}

/** Throws if a run sets the loss or the negatives of a model that has its own. */
function checkLoss({ model: { kind }, training }: TemporalRunConfig, made: MadeTemporalModel): void {
  if (!('steps' in made) && made.model.loss === undefined) return;
  const { loss, historical_negatives: historical } = training;
  if (loss === 'softmax')
    throw new ConfigError(
      `train: expected training.loss bce with model.kind ${kind}, whose loss is fixed, got softmax. Leave out the key.`,
    );
  if (historical > 0)
    throw new ConfigError(
      `train: expected training.historical_negatives 0 with model.kind ${kind}, which chooses its negatives, got ${historical}. Leave out the key.`,
    );
}

/** The components of an assembly that do not depend on the number of workers. */
export interface AssemblyComponents {
  readonly made: MadeTemporalModel;
  readonly mailbox: SharedMailBox | null;
  readonly optimizer: Adam | null;
  readonly runtimeOptions: Pick<TemporalRuntimeOptions, 'maxGradNorm' | 'loss'>;
  /** Returns the loader options of a split, or of the whole stream for null; `frozen`: with cadence batch. */
  loaderOptions(
    split: StreamSplit | null,
    frozen?: boolean,
  ): TemporalLoaderOptions & { readonly graph: TemporalGraph };
  /** See `TemporalAssembly`. */
  ignored(eventRows: Int32Array): Int32Array;
  /** See `TemporalAssembly`. */
  isScored(split: HeldOut, eventRows: Int32Array): boolean;
}

/** @param store creates the store of node memory and mail; default: in this process. */
export function createComponents(
  config: TemporalRunConfig,
  stream: OpenedStream,
  store?: StoreFactory,
): AssemblyComponents {
  const { model, training } = config;
  manualSeed(training.random_seed);
  const made = requiredKind('train', config).make({
    ...modelContext(config, stream),
    ...(store === undefined ? {} : { store }),
  });
  checkStateSize(made.state, stream.graph);
  const parameters = made.model.parameters();
  const forTraining = trainingNegatives(config, stream);
  const negatives = evaluationNegatives(config, stream);
  const { rows } = stream;
  const isScored = (split: HeldOut, eventRows: Int32Array): boolean =>
    isScoredBatch(config, rows[split][0], eventRows);
  return {
    made,
    mailbox: made.state instanceof MailboxState ? made.state.mailbox : null,
    optimizer: parameters.length === 0 ? null : new Adam(parameters, { lr: model.train.lr }),
    loaderOptions: loaderOptionsOf(config, stream, made.needs, forTraining, negatives, isScored),
    runtimeOptions: {
      ...(training.max_grad_norm > 0 ? { maxGradNorm: training.max_grad_norm } : {}),
      ...(forTraining.loss === undefined ? {} : { loss: forTraining.loss }),
    },
    ignored: (eventRows) => negatives.ignored(eventRows),
    isScored,
  };
}

function checkStateSize(state: TemporalState | null, graph: TemporalGraph): void {
  if (state === null || state.bytes <= mostStateBytes) return;
  const [most, got] = [mostStateBytes, state.bytes].map((bytes) => Number((bytes / 2 ** 30).toFixed(2)));
  const advice =
    state instanceof MailboxState
      ? 'Lower memory.dim_out or memory.mailbox_size, or number nodes without gaps.'
      : 'Lower the widths of the model, or number nodes without gaps.';
  throw new StateError(
    `${state instanceof MailboxState ? 'memory' : 'model'}: expected at most ${most} GiB of state, the limit of a checkpoint, got ${got} GiB for ${graph.numNodes} nodes. ${advice}`,
  );
}

/** The negatives of evaluation; those of the benchmark without an amount are all destinations. */
export function evaluationNegatives(
  config: TemporalRunConfig,
  { graph, split, data, negatives: listed }: OpenedStream,
): EvaluationNegatives {
  const { negatives } = config.evaluation;
  if (negatives === 'file') return new ListedNegatives(graph, listed);
  const { amount } = evaluationPlan(config);
  return new TemporalNegatives(graph, {
    strategy: amount === 'all' ? 'all' : negatives,
    seed: config.training.random_seed,
    pool: destinationPool(config, data),
    trainEnd: split.trainEnd,
    ...(typeof amount === 'number' ? { amount } : {}),
  });
}

function loaderOptionsOf(
  config: TemporalRunConfig,
  stream: OpenedStream,
  needs: BatchNeeds,
  forTraining: TrainingNegatives,
  forEvaluation: EvaluationNegatives,
  isScored: AssemblyComponents['isScored'],
): AssemblyComponents['loaderOptions'] {
  const { model, training, evaluation } = config;
  const { graph, trainGraph, rows } = stream;
  const seed = training.random_seed;
  const { train } = model;
  const { mailbox = null, windowOf, pairDepth = 0 } = needs;
  const common = {
    ...{ mailbox, tieGroups: training.tie_groups, recycle: true },
    ...(windowOf === undefined ? {} : { windowOf }),
  };
  return (name, frozen = evaluation.cadence === 'batch') => {
    if (name === null)
      return { ...common, graph, sampler: samplerOf(config, needs, graph), batchSize: train.batch_size };
    return {
      ...common,
      graph: name === 'train' ? trainGraph : graph,
      sampler: samplerOf(config, needs, name === 'train' ? trainGraph : graph),
      negatives:
        name === 'train'
          ? {
              amount: forTraining.amount,
              draw: (eventRows, { epoch }) => forTraining.draw(eventRows, epoch),
            }
          : {
              amount: forEvaluation.amount,
              draw: (eventRows) =>
                isScored(name, eventRows)
                  ? forEvaluation.drawFor(eventRows, { split: name, epoch: 0 })
                  : new Int32Array(0),
            },
      rows: rows[name],
      batchSize: name === 'train' ? train.batch_size : evaluationBatchSize(config),
      ...(name !== 'train' && frozen ? frozenBatches(config) : {}),
      chunks: name === 'train' ? train.reorder : 1,
      pairDepth,
      seed,
    };
  };
}

/** The benchmark counts the events of a batch and divides those of one time. */
function frozenBatches({ protocol, training }: TemporalRunConfig) {
  return { cadence: 'batch', tieGroups: protocol !== 'tgb' && training.tie_groups } as const;
}

/** Returns the sampler that a model needs, for a given stream. */
export function samplerOf(
  { training }: TemporalRunConfig,
  { neighbors = { fanouts: [], strategy: 'identity' } }: BatchNeeds,
  graph: TemporalGraph,
): TemporalNeighborSampler {
  return new TemporalNeighborSampler(graph, { ...neighbors, seed: training.random_seed });
}
