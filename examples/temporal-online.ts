/**
 * A trained temporal model on a live stream: appends events, scores links at the current time, prints latency
 * percentiles.
 *   npm run example -- temporal-online [run] [--json]
 * `run` is the directory of a finished temporal run; without one a small TGN is trained on CollegeMsg first.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onlineScorer, openRun, resolveTemporalConfig, trainRun } from 'skein/train';
import { Random } from 'skein/util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});

async function trainSmall(directory: string): Promise<string> {
  const { config } = resolveTemporalConfig({
    dataset: 'collegemsg',
    sampling: { layer: 1, neighbor: [10] },
    memory: { type: 'node', dim_out: 32, dim_time: 32 },
    gnn: { arch: 'transformer_attention', variant: 'tgn', dim_time: 32, dim_out: 32, pair_depth: 32 },
    train: { epoch: 1, batch_size: 200, lr: 0.001 },
    training: { logs_per_epoch: 0 },
    storage: { model_dir: join(directory, 'run') },
  });
  return (await trainRun({ config })).directory;
}

const folder = mkdtempSync(join(tmpdir(), 'skein-example-'));
const run = await openRun(positionals[0] ?? (await trainSmall(folder)), { over: 'events' });
rmSync(folder, { recursive: true });
const scorer = onlineScorer(run);
const { graph } = scorer;
const { dstPool } = run.stream.data;
const random = new Random(1);
const any = (ids: Int32Array): number => ids[random.nextInt(ids.length)];

// 2,000 times: ten new events, occasionally an update of the node memory, and one person with 100 candidates.
let appendMs = 0;
let advanceMs = 0;
const [rounds, perRound] = [2000, 10];
for (let round = 0; round < rounds; round++) {
  const past = Int32Array.from({ length: perRound }, () => random.nextInt(graph.numEvents));
  const events = {
    src: past.map((row) => graph.src[row]),
    dst: past.map((row) => graph.dst[row]),
    time: Float64Array.from(past, () => graph.lastTime + 1),
    // New events of a stream with event features need features too.
    ...(graph.featureWidth === 0 ? {} : { features: new Float32Array(perRound * graph.featureWidth) }),
  };
  let before = performance.now();
  scorer.append(events);
  appendMs += performance.now() - before;
  before = performance.now();
  if (scorer.numWaiting >= 200) scorer.advance();
  advanceMs += performance.now() - before;
  scorer.score(
    [events.src[0]],
    Int32Array.from({ length: 100 }, () => any(dstPool)),
  );
}
const { p50, p90, p99, max } = scorer.latency();
const appended = rounds * perRound;
if (values.json) {
  const rates = { append_us: (1000 * appendMs) / appended, advance_us: (1000 * advanceMs) / appended };
  console.log(JSON.stringify({ event: 'done', latency_ms: scorer.latency(), ...rates }));
} else {
  console.log(`${appended} events appended: ${((1000 * appendMs) / appended).toFixed(2)} µs each`);
  console.log(`added to node memory: ${((1000 * advanceMs) / appended).toFixed(1)} µs each`);
  const shown = { p50, p90, p99, max };
  const cells = Object.entries(shown).map(([name, ms]) => `${name} ${ms.toFixed(2)} ms`);
  console.log(`100 candidates scored: ${cells.join('  ')}`);
}
