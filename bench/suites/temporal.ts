/**
 * Temporal graphs: training of a TGN on a stream of events, and recent neighbours alone. `peers/temporal.py` has the
 * same cases in PyTorch and NumPy; a size changed here must change there.
 *
 * A run is ten batches of the stream: negatives, neighbours, state, forward, backward, step, commit. Runs continue
 * where the last one ended, after `first` events that entered the node memory without training, so that most mails
 * exist.
 */
import { TemporalGraph } from 'skein/graph';
import { Adam } from 'skein/nn';
import { TemporalNeighborSampler } from 'skein/sample';
import {
  GeneralModel,
  SharedMailBox,
  type TemporalBatch,
  TemporalLoader,
  TemporalRuntime,
} from 'skein/temporal';
import { parseTemporalConfig } from '#internal/temporal/config/parse.js';
import { figures, floats } from '../inputs.js';
import type { Case, Suite } from '../suite.js';
import { featureWidth, makeEvents, numEvents, numNodes, writeEvents } from '../temporal-events.js';
import { start } from './start.js';

const batchSize = 200;
const batches = 10;
const first = 50_000;
const rate = 1e-5;
const width = 100;
const heads = 2;
const fanout = 10;
/** Distinct nodes of a batch, on average over the measured range of the stream. */
const distinct = 1830;

const { config } = parseTemporalConfig({
  sampling: { layer: 1, neighbor: [fanout], strategy: 'recent' },
  memory: { type: 'node', dim_out: width, dim_time: width, memory_update: 'gru', mailbox_size: 1 },
  gnn: { arch: 'transformer_attention', layer: 1, att_head: heads, dim_time: width, dim_out: width },
  train: { batch_size: batchSize, lr: rate, dropout: 0, att_dropout: 0 },
});

/** Seeds of every parameter except time encodings and norms, as in the peer. */
const seeds: Readonly<Record<string, number>> = {
  'memory.updater.input.weightMail': 1,
  'memory.updater.input.weightTime': 2,
  'memory.updater.input.bias': 3,
  'memory.updater.weightHh': 4,
  'memory.updater.biasHh': 5,
  'attention.0.0.queryNode': 6,
  'attention.0.0.queryTime': 7,
  'attention.0.0.queryBias': 8,
  'attention.0.0.key': 9,
  'attention.0.0.value': 10,
  'attention.0.0.output.attended': 11,
  'attention.0.0.output.own': 12,
  'attention.0.0.output.bias': 13,
  'predictor.src.weight': 14,
  'predictor.src.bias': 15,
  'predictor.dst.weight': 16,
  'predictor.out.weight': 17,
  'predictor.out.bias': 18,
};

function makeGraph(): { graph: TemporalGraph; negatives: Int32Array } {
  const { src, dst, time, negatives } = makeEvents();
  const features = floats(50, [numEvents, featureWidth]).dataSync() as Float32Array;
  return { graph: new TemporalGraph({ src, dst, time, features }, { numNodes, featureWidth }), negatives };
}

function makeModel(): GeneralModel {
  const model = new GeneralModel(config, { dimEdge: featureWidth });
  const parameters = model.namedParameters();
  for (const [name, seed] of Object.entries(seeds)) {
    const parameter = parameters.get(name);
    if (parameter === undefined) throw new Error(`bench: the model has no parameter ${name}`);
    start(parameter, seed, 0.1);
  }
  return model;
}

/** Sums of products: GRU (its mails get no gradient), then the maps of attention; forward and both backward. */
function trainingFlops(): number {
  const roots = 3 * batchSize;
  const mail = 2 * width + featureWidth;
  const row = 2 * width + featureWidth + 1;
  const gru = distinct * 3 * width * (2 * mail + 3 * width + 2 * width);
  const attention = 3 * roots * width * (width + 2 * row + 2 * width);
  const predictor = 3 * 2 * batchSize * width * 2 * width;
  return 2 * batches * (gru + attention + predictor);
}

function training(name: string): Case {
  return {
    name,
    peer: name,
    flops: trainingFlops(),
    limit: 'gemm',
    tolerance: 2e-2,
    // A job has thousands of batches; the first hundred are slower during JIT compilation.
    warmUpRuns: 10,
    items: { count: batches * batchSize, unit: 'events' },
    share: writeEvents,
    ours() {
      const { graph, negatives } = makeGraph();
      const model = makeModel();
      const sampler = new TemporalNeighborSampler(graph, { fanouts: [fanout] });
      const mailbox = new SharedMailBox({
        numNodes,
        memoryParam: config.memory,
        dimEdgeFeat: featureWidth,
        edgeFeatures: () => graph.features,
      });
      const source = { amount: 1, draw: (rows: Int32Array) => rows.map((row) => negatives[row]) };
      const loader = new TemporalLoader(graph, {
        sampler,
        mailbox,
        batchSize,
        negatives: source,
        recycle: true,
      });
      const optimizer = new Adam(model.parameters(), { lr: rate });
      const runtime = new TemporalRuntime({ model, mailbox, optimizer });
      const stream = loader.epoch(0);
      const next = async (): Promise<TemporalBatch> => {
        const { value, done } = await stream.next();
        if (done === true) throw new Error('bench: the stream of events has ended');
        return value;
      };
      let ready = false;
      let loss = Number.NaN;
      return {
        async run() {
          for (let i = 0; i < first / batchSize && !ready; i++) runtime.observe(await next());
          ready = true;
          for (let i = 0; i < batches; i++) loss = runtime.train(await next()).loss;
        },
        check: () => {
          const all = Int32Array.from({ length: numNodes }, (_, i) => i);
          return [...figures('loss', [loss]), ...figures('memory', mailbox.read(all).memory.dataSync())];
        },
      };
    },
  };
}

const sampledBatches = 20;

const sampling: Case = {
  name: 'recent_neighbors',
  peer: 'recent_neighbors',
  // A row of the result is an event, its neighbour and its span.
  bytes: sampledBatches * 3 * batchSize * fanout * 2 * 12,
  limit: 'rows',
  items: { count: sampledBatches * batchSize, unit: 'events' },
  share: writeEvents,
  ours() {
    const { graph, negatives } = makeGraph();
    const sampler = new TemporalNeighborSampler(graph, { fanouts: [fanout], unique: false });
    const seedsOf = (at: number): { nodes: Int32Array; times: Float64Array } => {
      const part = <T extends Int32Array | Float64Array>(list: T): T => list.slice(at, at + batchSize) as T;
      const time = part(graph.time);
      const nodes = Int32Array.from([...part(graph.src), ...part(graph.dst), ...part(negatives)]);
      return { nodes, times: Float64Array.from([...time, ...time, ...time]) };
    };
    const made = Array.from({ length: sampledBatches }, (_, i) => seedsOf(first + i * batchSize));
    let events: Int32Array[] = [];
    return {
      run() {
        events = made.map((roots) => sampler.sample(roots).hops[0].eventRows);
      },
      check: () =>
        figures(
          'events',
          events.flatMap((rows) => [...rows]),
        ),
    };
  },
};

export const temporalSuite: Suite = {
  name: 'temporal',
  cases: [
    // The peer updates memory for every row of a batch, as in published code.
    training('tgn_train'),
    // The peer updates memory once for every distinct node.
    { ...training('tgn_train_distinct'), sameAs: 'tgn_train' },
    sampling,
  ],
};
