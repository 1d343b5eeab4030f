/**
 * `npx tsx bench/stream-ingest.ts [--model statistics|tgn] [--json]`: events per second that a durable stream
 * acknowledges and applies, the latency of scores meanwhile, and the time to open it again. Processor time is printed
 * with the clock, since other programs disturb the clock only.
 *
 * Options: --events, --nodes, --request (events per request), --rate (events per second; 0: as fast as it takes them),
 * --warm (events that are in the snapshot already), --quality (rank every nth event; 0: none), --folder, --keep.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { fitEvents, openStream, StreamBusyError, type StreamEvent } from 'skein/predict';
import { mix } from './inputs.js';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'statistics' },
    events: { type: 'string', default: '100000' },
    nodes: { type: 'string', default: '10000' },
    request: { type: 'string', default: '100' },
    rate: { type: 'string', default: '0' },
    warm: { type: 'string', default: '0' },
    folder: { type: 'string' },
    keep: { type: 'boolean', default: false },
    quality: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
});
const [numEvents, numNodes, perRequest, rate, warm] = (
  ['events', 'nodes', 'request', 'rate', 'warm'] as const
).map((name) => Number(values[name]));
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-ingest-'));
const unit = (i: number, salt: number): number => mix(i, salt) / 2 ** 32;
const start = 1_600_000_000;

/** Popular nodes are drawn more often. */
const node = (i: number, salt: number): number => Math.floor(numNodes * unit(i, salt) ** 3);

const pastEvent = (i: number) => ({ head: `u${node(i, 1)}`, tail: `i${node(i, 2)}`, time: start + i / 10 });
const event = (i: number): StreamEvent => ({ ...pastEvent(i), id: `e${i}` });

const trained = 5000;
const keys = values.model === 'tgn' ? { 'model.kind': 'general' } : {};
const model = await fitEvents(
  Array.from({ length: trained }, (_, i) => pastEvent(i)),
  { directory: join(folder, 'run'), epochs: 1, seed: 1, config: keys, nodeTypes: ['user', 'item'] },
);
await model.close();

const options = {
  state: join(folder, 'state'),
  lateness: 1,
  idWindow: 1e9,
  snapshotEvery: { events: 1e9, minutes: 1e9 },
  quality: values.quality === '0' ? (false as const) : { every: Number(values.quality) },
};
const results: Record<string, unknown> = { model: values.model, events: numEvents, warm };

async function measure<T>(name: string, work: () => Promise<T>): Promise<T> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const value = await work();
  const { user, system } = process.cpuUsage(cpu);
  results[name] = { seconds: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 };
  return value;
}

/** Sends events `from` … `to` − 1 in requests, up to 8 at a time; returns how often the stream was busy. */
async function send(stream: Awaited<ReturnType<typeof openStream>>, from: number, to: number, size: number) {
  let [next, busy] = [from, 0];
  const began = performance.now();
  const sender = async (): Promise<void> => {
    while (next < to) {
      const first = next;
      next += size;
      const events = Array.from({ length: Math.min(size, to - first) }, (_, i) => event(trained + first + i));
      if (rate > 0) await sleep(Math.max(0, (1000 * (first - from)) / rate - (performance.now() - began)));
      for (let sent = false; !sent; ) {
        try {
          await stream.append(events);
          sent = true;
        } catch (error) {
          if (!(error instanceof StreamBusyError)) throw error;
          busy++;
          await sleep(20);
        }
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, sender));
  return busy;
}

const first = await openStream(join(folder, 'run'), options);
if (warm > 0) {
  await measure('warm up', async () => {
    await send(first, 0, warm, 5000);
    await first.settled();
  });
  await measure('snapshot', () => first.snapshot());
}
let asking = true;
const edges = Array.from({ length: 1000 }, (_, i) => ({ head: 'u1', tail: `i${node(i % trained, 2)}` }));
const asked: number[] = [];
const asker = (async () => {
  while (rate > 0 && asking) {
    const began = performance.now();
    await first.score(edges, { unknown: 'skip' });
    asked.push(performance.now() - began);
    await sleep(20);
  }
})();
const busy = await measure('ingest', async () => {
  const count = await send(first, warm, warm + numEvents, perRequest);
  await first.settled();
  return count;
});
asking = false;
await asker;
asked.sort((a, b) => a - b);
const status = first.status();
Object.assign(results, {
  busy,
  fsync: status.fsync,
  scores: { count: asked.length, p50: asked[asked.length >> 1], p99: asked[Math.floor(asked.length * 0.99)] },
  logBytes: status.logBytes,
  quality: status.quality,
});
// As a crash leaves it: without a last snapshot.
const copy = join(folder, 'copy');
const { cpSync } = await import('node:fs');
cpSync(options.state, copy, { recursive: true, filter: (path) => !path.endsWith('lock') });
await first.close();
const second = await measure('restart', () => openStream(join(folder, 'run'), { ...options, state: copy }));
results['replayed'] = second.status().replayed;
await second.close();
if (!values.keep) rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify(results, null, values.json ? 0 : 2));
