/** A small stream of users and items with features, and a TGN over it, for tests of the runtime. */
import { type TemporalEvents, TemporalGraph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { TemporalNeighborSampler } from 'skein/sample';
import {
  GeneralModel,
  SharedMailBox,
  type TemporalBatch,
  TemporalLoader,
  TemporalNegatives,
  TemporalRuntime,
} from 'skein/temporal';
import { manualSeed } from 'skein/tensor';
import { Random } from 'skein/util';

export const numUsers = 12;
export const numNodes = 20;
export const width = 3;

export const tgnFile = `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: gru, mailbox_size: 1 }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8, variant: tgn }]
train: [{ epoch: 2, batch_size: 10, lr: 0.01 }]
`;

/** Models of every kind: with and without memory, neighbours, mail for neighbours, draws. */
export const families = {
  tgn: tgnFile,
  'tgn with pairs': tgnFile.replace('variant: tgn', 'variant: tgn, pair_depth: 8'),
  'tgn of TGL': tgnFile
    .replace('variant: tgn', 'variant: tgl')
    .replace('mailbox_size: 1', 'mailbox_size: 1, time_input: query, empty_mail: update'),
  apan: `
sampling: [{ layer: 1, neighbor: [4], strategy: recent }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: transformer, mailbox_size: 3, attention_head: 2, deliver_to: neighbors }]
gnn: [{ arch: identity }]
train: [{ epoch: 1, batch_size: 10 }]`,
  jodie: `
sampling: [{ layer: 0, strategy: identity }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: rnn, mailbox_size: 1 }]
gnn: [{ arch: identity, time_transform: JODIE }]
train: [{ epoch: 1, batch_size: 10 }]`,
  tgat: `
sampling: [{ layer: 2, neighbor: [3, 3], strategy: uniform }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 2, att_head: 2, dim_time: 6, dim_out: 8 }]
train: [{ epoch: 1, batch_size: 10 }]`,
};

/** Events with ties of time, repeats and features. */
export function makeEvents(
  count: number,
  seed = 5,
): Required<Pick<TemporalEvents, 'features'>> & {
  src: Int32Array;
  dst: Int32Array;
  time: Float64Array;
} {
  const random = new Random(seed);
  const events = {
    src: new Int32Array(count),
    dst: new Int32Array(count),
    time: new Float64Array(count),
    features: new Float32Array(count * width),
  };
  for (let i = 0; i < count; i++) {
    events.src[i] = random.nextInt(numUsers);
    events.dst[i] = numUsers + random.nextInt(numNodes - numUsers);
    events.time[i] = (i === 0 ? 0 : events.time[i - 1]) + random.nextInt(3);
  }
  for (let i = 0; i < events.features.length; i++) events.features[i] = random.nextFloat() - 0.5;
  return events;
}

export interface Rig {
  readonly graph: TemporalGraph;
  readonly mailbox: SharedMailBox | null;
  readonly model: GeneralModel;
  readonly runtime: TemporalRuntime;
  readonly loader: TemporalLoader;
}

export interface RigOptions {
  readonly file?: string;
  readonly batchSize?: number;
  readonly tieGroups?: boolean;
  readonly chunks?: number;
  readonly amount?: number;
}

/** Everything that training needs, started from the same numbers every time. */
export function makeRig(events: TemporalEvents, options: RigOptions = {}): Rig {
  const graph = new TemporalGraph(events, { numNodes });
  manualSeed(7);
  const model = GeneralModel.fromYaml(options.file ?? tgnFile, { dimEdge: graph.featureWidth });
  const { memory, sampling, gnn } = model.config;
  const mailbox =
    memory.type === 'none'
      ? null
      : new SharedMailBox({
          numNodes,
          memoryParam: memory,
          dimEdgeFeat: graph.featureWidth,
          edgeFeatures: () => graph.features,
        });
  const runtime = new TemporalRuntime({
    ...{ model, mailbox, optimizer: new Adam(model.parameters(), { lr: 0.01 }) },
    ...{ useSrcEmb: gnn.use_src_emb, useDstEmb: gnn.use_dst_emb },
  });
  const pool = Int32Array.from({ length: numNodes - numUsers }, (_, i) => numUsers + i);
  const negatives = new TemporalNegatives(graph, { pool, seed: 3, amount: options.amount ?? 1 });
  const loader = new TemporalLoader(graph, {
    sampler: new TemporalNeighborSampler(graph, {
      fanouts: sampling.neighbor,
      strategy: sampling.strategy,
      propTime: sampling.prop_time,
      ...(sampling.history > 1 ? { history: sampling.history, duration: sampling.duration } : {}),
      seed: 1,
    }),
    negatives: { amount: negatives.amount, draw: (rows, { epoch }) => negatives.drawFor(rows, { epoch }) },
    mailbox,
    batchSize: options.batchSize ?? 10,
    tieGroups: options.tieGroups ?? false,
    chunks: options.chunks ?? 1,
    pairDepth: gnn.pair_depth,
  });
  return { graph, mailbox, model, runtime, loader };
}

export async function collect(loader: TemporalLoader, epoch = 0): Promise<TemporalBatch[]> {
  const batches: TemporalBatch[] = [];
  for await (const batch of loader.epoch(epoch)) batches.push(batch);
  return batches;
}

/** Scores of every event and negative when the stream is gone through once without learning. */
export async function scoresOf({
  runtime,
  loader,
}: Rig): Promise<{ positive: number[]; negative: number[] }> {
  const positive: number[] = [];
  const negative: number[] = [];
  for await (const batch of loader.epoch(0)) {
    const result = runtime.evaluate(batch);
    positive.push(...result.positive);
    negative.push(...result.negative);
  }
  return { positive, negative };
}
