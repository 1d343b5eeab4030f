/**
 * A live stream: a million events are appended while links are scored. Run: `npx tsx --expose-gc bench/stream.ts
 * [--json]`.
 *
 * Reports events appended per second (time inside `append` alone), percentiles of the time of one query (one source
 * against 100 destinations: sampling, state, model), events per second that enter the node memory, and the growth of
 * memory with the stream. The model is a TGN with random weights, since time does not depend on their values.
 */
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { GeneralModel, OnlineScorer, SharedMailBox, TemporalRuntime } from 'skein/temporal';
import { Random } from 'skein/util';
import { parseTemporalConfig } from '#internal/temporal/config/parse.js';

const users = 90_000;
const items = 10_000;
const events = 1_000_000;
const atOnce = 1_000;
const asked = 100;
const advanced = 50_000;

const { config } = parseTemporalConfig({
  sampling: { layer: 1, neighbor: [10], strategy: 'recent' },
  memory: { type: 'node', dim_out: 100, dim_time: 100, memory_update: 'gru', mailbox_size: 1 },
  gnn: { arch: 'transformer_attention', layer: 1, att_head: 2, dim_time: 100, dim_out: 100, pair_depth: 64 },
  train: { batch_size: 200 },
});

const graph = new TemporalGraph({ src: [], dst: [], time: [] }, { numNodes: users + items });
const mailbox = new SharedMailBox({ numNodes: users + items, memoryParam: config.memory });
const scorer = new OnlineScorer({
  graph,
  sampler: new TemporalNeighborSampler(graph, { fanouts: [10] }),
  runtime: new TemporalRuntime({ model: new GeneralModel(config), mailbox }),
  pairDepth: config.gnn.pair_depth,
});

const random = new Random(1);
// Squares of uniform numbers: a few are much more active than the rest.
const skewed = (n: number): number => Math.floor(random.nextFloat() ** 2 * n);
const chunk = (first: number) => ({
  src: Int32Array.from({ length: atOnce }, () => skewed(users)),
  dst: Int32Array.from({ length: atOnce }, () => users + skewed(items)),
  time: Float64Array.from({ length: atOnce }, (_, i) => 1.6e9 + (first + i) * 0.05),
});
const destinations = Int32Array.from({ length: asked }, () => users + skewed(items));
const held = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().arrayBuffers;
};

let appending = 0;
const growth: { readonly events: number; readonly megabytes: number }[] = [];
const before = held();
for (let done = 0; done < events; done += atOnce) {
  const next = chunk(done);
  const started = performance.now();
  scorer.append(next);
  appending += performance.now() - started;
  // Two queries per thousand events, at the time of their arrival.
  for (let i = 0; i < 2; i++) scorer.score([skewed(users)], destinations);
  if ((done + atOnce) % (events / 5) === 0)
    growth.push({ events: done + atOnce, megabytes: (held() - before) / 2 ** 20 });
}
const latency = scorer.latency();
const started = performance.now();
scorer.advance(advanced);
const perSecond = (advanced / (performance.now() - started)) * 1000;

const result = {
  bench: 'stream',
  append_events_per_second: Math.round((events / appending) * 1000),
  questions: latency.count,
  destinations_a_question: asked,
  score_p50_ms: latency.p50,
  score_p99_ms: latency.p99,
  advance_events_per_second: Math.round(perSecond),
  growth,
  bytes_per_event: Math.round(((growth[4].megabytes - growth[0].megabytes) * 2 ** 20) / (events * 0.8)),
};
if (process.argv.includes('--json')) console.log(JSON.stringify(result));
else for (const [name, value] of Object.entries(result)) console.log(name.padEnd(28), JSON.stringify(value));
