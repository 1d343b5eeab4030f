/**
 * Temporal training on several workers, as a table of cases that one worker and many run alike: each case returns text
 * that identifies the outcome (checksums of parameters, state, scores), the same on all workers.
 */
import { createHash } from 'node:crypto';
import {
  type Communicator,
  DistributedStore,
  divideByPosition,
  NodeOwners,
  WorkerLoader,
  WorkerRuntime,
} from 'skein/dist';
import { TemporalGraph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { TemporalNeighborSampler } from 'skein/sample';
import { GeneralModel, SharedMailBox, TemporalNegatives } from 'skein/temporal';
import { manualSeed, randomState } from 'skein/tensor';
import type { Division } from '#internal/dist/temporal/division.js';
import type { StoreFactory } from '#internal/temporal/mailbox/state-store.js';
import { partitionTemporal } from '#internal/temporal/partition/partition-temporal.js';
import { families, makeEvents, numNodes, numUsers } from '../temporal/stream.js';

function digest(...arrays: readonly ArrayBufferView[]): string {
  const hash = createHash('sha256');
  for (const { buffer, byteOffset, byteLength } of arrays)
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  return hash.digest('hex').slice(0, 16);
}

export const digestBox = (mailbox: SharedMailBox | null): string =>
  mailbox === null ? 'none' : digest(...Object.values(mailbox.snapshot().arrays));

/** The rest of the family: memory that is scored while attention writes mail, and windows of time. */
const more = {
  dyrep: `
sampling: [{ layer: 1, neighbor: [4], strategy: uniform }]
memory: [{ type: node, dim_out: 8, dim_time: 6, memory_update: rnn, mailbox_size: 1 }]
gnn: [{ arch: transformer_attention, layer: 1, att_head: 2, dim_time: 6, dim_out: 8, use_dst_emb: true, dyrep: true }]
train: [{ epoch: 1, batch_size: 10 }]`,
  dysat: `
sampling: [{ layer: 2, neighbor: [3, 3], strategy: uniform, prop_time: true, history: 3, duration: 20 }]
memory: [{ type: none }]
gnn: [{ arch: transformer_attention, layer: 2, att_head: 2, dim_time: 0, dim_out: 8, combine: rnn }]
train: [{ epoch: 1, batch_size: 10 }]`,
};

/** Models with dropout: masks must not depend on the number of workers either. */
export const dropping = Object.entries({ ...families, ...more }).map(
  ([name, file]) => [name, file.replace('epoch: ', 'dropout: 0.2, att_dropout: 0.2, epoch: ')] as const,
);

export interface WorkerRig {
  readonly graph: TemporalGraph;
  readonly model: GeneralModel;
  readonly mailbox: SharedMailBox | null;
  readonly optimizer: Adam;
  readonly runtime: WorkerRuntime;
  readonly train: WorkerLoader;
  readonly evaluation: WorkerLoader;
}

export interface WorkerRigOptions {
  readonly owners?: NodeOwners;
  readonly batchSize?: number;
  readonly count?: number;
  readonly chunks?: number;
  /** Where state is stored, and which worker computes what; default: with owners, and chunks by position. */
  readonly store?: StoreFactory;
  readonly division?: Division;
}

export function workerRig(comm: Communicator, file: string, options: WorkerRigOptions = {}): WorkerRig {
  const graph = new TemporalGraph(makeEvents(options.count ?? 120), { numNodes });
  manualSeed(7);
  const model = GeneralModel.fromYaml(file, { dimEdge: graph.featureWidth });
  const { memory, sampling, gnn } = model.config;
  const owners = options.owners ?? NodeOwners.ranges(numNodes, comm.size);
  const mailbox =
    memory.type === 'none'
      ? null
      : new SharedMailBox({
          ...{ numNodes, memoryParam: memory, dimEdgeFeat: graph.featureWidth },
          edgeFeatures: () => graph.features,
          store:
            options.store ?? ((sizes, combine) => new DistributedStore(sizes, combine, { comm, owners })),
        });
  const optimizer = new Adam(model.parameters(), { lr: 0.01 });
  const runtime = new WorkerRuntime({
    ...{ model, mailbox, optimizer, comm, seed: 5, maxGradNorm: 2 },
    ...{ useSrcEmb: gnn.use_src_emb, useDstEmb: gnn.use_dst_emb },
  });
  const pool = Int32Array.from({ length: numNodes - numUsers }, (_, i) => numUsers + i);
  const negatives = new TemporalNegatives(graph, { pool, seed: 3, amount: 2 });
  const loader = (chunks: number): WorkerLoader =>
    new WorkerLoader(graph, {
      ...{ comm, mailbox, division: options.division ?? divideByPosition(chunks, comm.size) },
      sampler: new TemporalNeighborSampler(graph, {
        ...{ fanouts: sampling.neighbor, strategy: sampling.strategy, propTime: sampling.prop_time, seed: 1 },
        ...(sampling.history > 1 ? { history: sampling.history, duration: sampling.duration } : {}),
      }),
      negatives: { amount: 2, draw: (rows, { epoch }) => negatives.drawFor(rows, { epoch }) },
      batchSize: options.batchSize ?? 20,
      pairDepth: gnn.pair_depth,
      recycle: true,
    });
  return {
    graph,
    model,
    mailbox,
    optimizer,
    runtime,
    train: loader(options.chunks ?? 8),
    evaluation: loader(comm.size),
  };
}

/** Two epochs of training, then the stream again without training. */
export async function trainAndEvaluate(rig: WorkerRig): Promise<string> {
  const before = JSON.stringify(randomState());
  const losses: number[] = [];
  for (let epoch = 0; epoch < 2; epoch++) {
    rig.mailbox?.reset();
    for await (const batch of rig.train.epoch(epoch)) losses.push(rig.runtime.train(batch).loss);
  }
  const trained = digestBox(rig.mailbox);
  rig.mailbox?.reset();
  const scores: Float32Array[] = [];
  for await (const batch of rig.evaluation.epoch(0)) {
    const { positive, negative } = rig.runtime.evaluate(batch);
    scores.push(positive, negative);
  }
  if (JSON.stringify(randomState()) !== before) throw new Error('the shared generator moved');
  return [
    `parameters ${digest(...rig.model.parameters().map((p) => p.dataSync()))}`,
    `losses ${digest(Float64Array.from(losses))} ${losses.at(-1)?.toFixed(4)}`,
    `state ${trained} ${digestBox(rig.mailbox)} version ${rig.mailbox?.version}`,
    `scores ${digest(...scores)}`,
  ].join('; ');
}

export interface TemporalCase {
  readonly name: string;
  readonly run: (comm: Communicator) => Promise<string>;
}

export const temporalCases: readonly TemporalCase[] = [
  ...dropping.map(([name, file]) => ({
    name: `check 13: ${name}`,
    run: (comm: Communicator) => trainAndEvaluate(workerRig(comm, file)),
  })),
  {
    name: 'check 13: fewer events than chunks, so that workers have nothing to do',
    run: (comm) => trainAndEvaluate(workerRig(comm, dropping[0][1], { batchSize: 3, count: 40 })),
  },
  {
    name: 'check 13: one worker owns all nodes',
    run: (comm) =>
      trainAndEvaluate(
        workerRig(comm, dropping[0][1], {
          owners: new NodeOwners(new Int32Array(numNodes).fill(comm.size - 1), comm.size),
        }),
      ),
  },
  {
    name: 'check 13: nodes by parts of the stream',
    run: (comm) => {
      const { master } = partitionTemporal(new TemporalGraph(makeEvents(120), { numNodes }), {
        ...{ algo: 'ldg', numParts: 8 },
      });
      return trainAndEvaluate(
        workerRig(comm, dropping[0][1], { owners: NodeOwners.fromPartitions(master, 8, comm.size) }),
      );
    },
  },
  {
    name: 'the mean of mails',
    run: (comm) =>
      trainAndEvaluate(
        workerRig(comm, dropping[0][1].replace('mailbox_size: 1', 'mailbox_size: 1, mail_combine: mean')),
      ),
  },
  {
    name: 'embeddings of sources',
    run: async (comm) => {
      const rig = workerRig(comm, dropping[0][1]);
      const rows: Float32Array[] = [];
      for await (const batch of rig.evaluation.epoch(0)) rows.push(rig.runtime.embed(batch));
      return digest(...rows);
    },
  },
];
