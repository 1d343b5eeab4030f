/** From a configuration and its stream to what trains and judges: model, mailbox, loaders, runtime. */
import type { TemporalGraph } from '../../graph/index.js';
import { Adam } from '../../nn/index.js';
import { TemporalNeighborSampler } from '../../sample/index.js';
import {
  GeneralModel,
  type NegativeStrategy,
  SharedMailBox,
  TemporalLoader,
  TemporalNegatives,
  type TemporalPart,
  TemporalRuntime,
} from '../../temporal/index.js';
import { manualSeed } from '../../tensor/index.js';
import { StateError } from '../../util/errors.js';
import type { OpenedStream } from './open-stream.js';
import type { TemporalRunConfig } from './run-config.js';

/** A checkpoint is one file, which ends at 4 GiB; a part is left for parameters. */
const mostStateBytes = 3.75 * 2 ** 30;

export interface TemporalAssembly {
  readonly model: GeneralModel;
  readonly mailbox: SharedMailBox | null;
  readonly optimizer: Adam;
  readonly runtime: TemporalRuntime;
  readonly loaders: Readonly<Record<TemporalPart, TemporalLoader>>;
}

export function assembleTemporal(config: TemporalRunConfig, stream: OpenedStream): TemporalAssembly {
  const { model: settings, training, evaluation } = config;
  const { graph, trainGraph, rows, split } = stream;
  const seed = training.random_seed;
  manualSeed(seed);
  const model = new GeneralModel(settings, {
    dimNode: graph.nodeFeatures?.shape[1] ?? 0,
    dimEdge: graph.featureWidth,
  });
  const mailbox =
    settings.memory.type === 'none'
      ? null
      : new SharedMailBox({
          numNodes: graph.numNodes,
          memoryParam: settings.memory,
          dimEdgeFeat: graph.featureWidth,
          edgeFeatures: () => graph.features,
          startTime: Math.min(0, graph.numEvents > 0 ? graph.time[0] : 0),
        });
  const stateBytes = mailbox?.bytes ?? 0;
  if (stateBytes > mostStateBytes)
    throw new StateError(
      `memory: expected at most ${mostStateBytes / 2 ** 30} GiB of memory and mail, which a checkpoint can hold, got ${(stateBytes / 2 ** 30).toFixed(1)} GiB for ${graph.numNodes} nodes. Lower memory.dim_out or memory.mailbox_size, or number nodes without gaps.`,
    );
  const optimizer = new Adam(model.parameters(), { lr: settings.train.lr });
  const runtime = new TemporalRuntime({
    ...{ model, mailbox, optimizer },
    useSrcEmb: settings.gnn.use_src_emb,
    useDstEmb: settings.gnn.use_dst_emb,
    ...(training.max_grad_norm > 0 ? { maxGradNorm: training.max_grad_norm } : {}),
  });
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
  const loader = (part: TemporalPart): TemporalLoader => {
    const source = part === 'train' ? forTraining : forJudging;
    const evalSize = evaluation.batch_size === -1 ? train.batch_size : evaluation.batch_size;
    return new TemporalLoader(part === 'train' ? trainGraph : graph, {
      sampler: samplerOf(config, part === 'train' ? trainGraph : graph),
      negatives: {
        amount: source.amount,
        draw: (eventRows, { epoch }) =>
          source.drawFor(eventRows, { split: part, epoch: part === 'train' ? epoch : 0 }),
      },
      mailbox,
      rows: rows[part],
      batchSize: part === 'train' ? train.batch_size : evalSize,
      chunks: part === 'train' ? train.reorder : 1,
      tieGroups: training.tie_groups,
      pairDepth: settings.gnn.pair_depth,
      recycle: true,
      seed,
    });
  };
  return {
    ...{ model, mailbox, optimizer, runtime },
    loaders: { train: loader('train'), validation: loader('validation'), test: loader('test') },
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
