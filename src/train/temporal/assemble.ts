/** From a configuration and its stream to what trains and judges: model, mailbox, loaders, runtime. */
import type { TemporalGraph } from '../../graph/index.js';
import { Adam } from '../../nn/index.js';
import { TemporalNeighborSampler } from '../../sample/index.js';
import {
  type EventBatch,
  GeneralModel,
  type NegativeStrategy,
  SharedMailBox,
  type StoreFactory,
  type TemporalBatch,
  type TemporalBatches,
  TemporalLoader,
  type TemporalLoaderOptions,
  TemporalNegatives,
  type TemporalPart,
  TemporalRuntime,
  type TemporalRuntimeOptions,
  type TemporalSteps,
} from '../../temporal/index.js';
import { manualSeed } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** A checkpoint is one file, which ends at 4 GiB; a part is left for parameters. */
const mostStateBytes = 3.75 * 2 ** 30;

/** What trains and judges in batches of kind B: this process alone, or one of several workers. */
export interface TemporalAssembly<B extends EventBatch = EventBatch> {
  readonly model: GeneralModel;
  readonly mailbox: SharedMailBox | null;
  readonly optimizer: Adam;
  readonly runtime: TemporalSteps<B>;
  readonly loaders: Readonly<Record<TemporalPart, TemporalBatches<B>>>;
  /** The whole stream, without negatives. */
  readonly wholeStream: TemporalBatches<B>;
}

/** That of this process alone. */
export interface PlainAssembly extends TemporalAssembly<TemporalBatch> {
  readonly runtime: TemporalRuntime;
}

export function assembleTemporal(config: TemporalRunConfig, stream: OpenedStream): PlainAssembly {
  const { model, mailbox, optimizer, runtimeOptions, loaderOptions } = partsOf(config, stream);
  const loader = (part: TemporalPart | null): TemporalLoader => {
    const { graph, ...options } = loaderOptions(part);
    return new TemporalLoader(graph, options);
  };
  return {
    ...{ model, mailbox, optimizer },
    runtime: new TemporalRuntime(runtimeOptions),
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
    wholeStream: loader(null),
  };
}

/** What an assembly is made of, however many workers there are. */
export interface AssemblyParts {
  readonly model: GeneralModel;
  readonly mailbox: SharedMailBox | null;
  readonly optimizer: Adam;
  readonly runtimeOptions: TemporalRuntimeOptions;
  /** Of a part; null: of the whole stream. */
  loaderOptions(part: TemporalPart | null): TemporalLoaderOptions & { readonly graph: TemporalGraph };
}

/** @param store where memory and mail lie; in this process by default. */
export function partsOf(
  config: TemporalRunConfig,
  stream: OpenedStream,
  store?: StoreFactory,
): AssemblyParts {
  const { model: settings, training } = config;
  const { graph } = stream;
  manualSeed(training.random_seed);
  const model = new GeneralModel(settings, {
    dimNode: graph.nodeFeatures?.shape[1] ?? 0,
    dimEdge: graph.featureWidth,
  });
  const mailbox = mailboxOf(config, graph, store);
  const optimizer = new Adam(model.parameters(), { lr: settings.train.lr });
  const runtimeOptions = {
    ...{ model, mailbox, optimizer },
    useSrcEmb: settings.gnn.use_src_emb,
    useDstEmb: settings.gnn.use_dst_emb,
    ...(training.max_grad_norm > 0 ? { maxGradNorm: training.max_grad_norm } : {}),
  };
  return {
    model,
    mailbox,
    optimizer,
    runtimeOptions,
    loaderOptions: loaderOptionsOf(config, stream, mailbox),
  };
}

function mailboxOf(
  { model: { memory } }: TemporalRunConfig,
  graph: TemporalGraph,
  store?: StoreFactory,
): SharedMailBox | null {
  if (memory.type === 'none') return null;
  const mailbox = new SharedMailBox({
    numNodes: graph.numNodes,
    memoryParam: memory,
    dimEdgeFeat: graph.featureWidth,
    edgeFeatures: () => graph.features,
    startTime: Math.min(0, graph.numEvents > 0 ? graph.time[0] : 0),
    ...(store === undefined ? {} : { store }),
  });
  if (mailbox.bytes > mostStateBytes)
    throw new StateError(
      `memory: expected at most ${mostStateBytes / 2 ** 30} GiB of memory and mail, which a checkpoint can hold, got ${(mailbox.bytes / 2 ** 30).toFixed(1)} GiB for ${graph.numNodes} nodes. Lower memory.dim_out or memory.mailbox_size, or number nodes without gaps.`,
    );
  return mailbox;
}

function loaderOptionsOf(
  config: TemporalRunConfig,
  stream: OpenedStream,
  mailbox: SharedMailBox | null,
): AssemblyParts['loaderOptions'] {
  const { model: settings, training, evaluation } = config;
  const { graph, trainGraph, rows, split } = stream;
  const seed = training.random_seed;
  const negatives = (strategy: NegativeStrategy, amount: number, pool: Int32Array): TemporalNegatives =>
    new TemporalNegatives(graph, {
      ...{ strategy, seed, pool, trainEnd: split.trainEnd },
      ...(strategy === 'all' ? {} : { amount }),
    });
  // Training knows nothing of destinations that come later or are held out.
  const trained = rows.train.map((row) => graph.dst[row]);
  const forTraining = negatives('random', training.negatives, trained);
  const forJudging = negatives(evaluation.negatives, evaluation.amount, stream.data.dstPool);
  const { train } = settings;
  const common = { mailbox, tieGroups: training.tie_groups, recycle: true };
  return (part) => {
    if (part === null)
      return { ...common, graph, sampler: samplerOf(config, graph), batchSize: train.batch_size };
    const source = part === 'train' ? forTraining : forJudging;
    const evalSize = evaluation.batch_size === -1 ? train.batch_size : evaluation.batch_size;
    return {
      ...common,
      graph: part === 'train' ? trainGraph : graph,
      sampler: samplerOf(config, part === 'train' ? trainGraph : graph),
      negatives: {
        amount: source.amount,
        draw: (eventRows, { epoch }) =>
          source.drawFor(eventRows, { split: part, epoch: part === 'train' ? epoch : 0 }),
      },
      rows: rows[part],
      batchSize: part === 'train' ? train.batch_size : evalSize,
      chunks: part === 'train' ? train.reorder : 1,
      pairDepth: settings.gnn.pair_depth,
      seed,
    };
  };
}

/** The sampler that the configuration asks for, on any stream. */
export function samplerOf(
  { model: { sampling }, training }: TemporalRunConfig,
  graph: TemporalGraph,
): TemporalNeighborSampler {
  return new TemporalNeighborSampler(graph, {
    fanouts: sampling.neighbor,
    strategy: sampling.strategy,
    propTime: sampling.prop_time,
    ...(sampling.history > 1 ? { history: sampling.history, duration: sampling.duration } : {}),
    seed: training.random_seed,
  });
}
