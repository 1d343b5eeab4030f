/**
 * `tsx bench/serve.ts [--seconds 10] [--entities 100000] [--connections 1,16,64] [--minutes 5] [--folder DIR]`: `skein serve` under load
 * on loopback, in a process of its own. Prints throughput and latency per endpoint, the statuses of 500 hostile requests, and the
 * memory of the server over minutes of mixed load. Run it on an idle machine, after `npm run build`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { hostileRequests, send } from '../test/server/hostile.js';
import { makeRuns } from './serve-runs.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '5' },
    entities: { type: 'string', default: '100000' },
    connections: { type: 'string', default: '1,16,64' },
    folder: { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const minutes = Number(values.minutes);
const entities = Number(values.entities);
const connections = values.connections.split(',').map(Number);

interface Server {
  readonly url: string;
  readonly child: ChildProcess;
}

function startServer(...args: string[]): Promise<Server> {
  const main = new URL('../dist/cli/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, 'serve', ...args, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let text = '';
    child.once('close', (code) => reject(new Error(`serve ended with ${code}`)));
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      const [, url] = /Listening on (http:\S+)/.exec(text) ?? [];
      if (url !== undefined) resolve({ url, child });
    });
  });
}

/** Stops a server by a signal; throws unless it ends in order. */
function stopServer({ child }: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`serve ended with ${code}`))));
    child.kill('SIGTERM');
  });
}

let serial = 0;

/** Requests of one endpoint; bodies differ from request to request. */
interface Load {
  readonly name: string;
  readonly path: string;
  body(i: number): object;
}

const entity = (i: number): string => `e${(i * 7919) % Math.min(entities, 10_000)}`;
const user = (i: number): string => `u${(i * 7919) % 1000}`;
const fromNow = Math.floor(Date.now() / 1000) - 1_000_000;

const loads: Readonly<Record<'links' | 'nodes' | 'events', readonly Load[]>> = {
  links: [
    {
      name: 'score, 1 edge',
      path: '/score',
      body: (i) => ({ edges: [{ head: entity(i), relation: 'r1', tail: entity(i + 1) }] }),
    },
    {
      name: 'score, 1,000 edges',
      path: '/score',
      body: (i) => ({
        edges: Array.from({ length: 1000 }, (_, j) => ({
          head: entity(i),
          relation: 'r1',
          tail: entity(i + j),
        })),
      }),
    },
    {
      name: `rank, all ${entities.toLocaleString('en')}`,
      path: '/rank',
      body: (i) => ({ questions: [{ head: entity(i), relation: 'r1' }], candidates: 'all' }),
    },
    { name: 'neighbors', path: '/neighbors', body: (i) => ({ names: [entity(i)] }) },
    { name: 'recommend', path: '/recommend', body: (i) => ({ names: [entity(i)], relation: 'r1' }) },
  ],
  nodes: [{ name: 'classify', path: '/classify', body: (i) => ({ names: [entity(i)] }) }],
  events: [
    {
      name: 'score, stream',
      path: '/score',
      body: (i) => ({ edges: [{ head: user(i), tail: `i${i % 1000}` }] }),
    },
    { name: 'rank, 1,000 of a stream', path: '/rank', body: (i) => ({ questions: [{ head: user(i) }] }) },
    {
      name: 'append, 10 events',
      path: '/events',
      body: (i) => ({
        events: Array.from({ length: 10 }, (_, j) => ({
          id: `${i}-${j}`,
          head: user(i + j),
          tail: `i${i % 1000}`,
          time: fromNow + i,
        })),
      }),
    },
  ],
};

function run(url: string, some: readonly Load[], count: number, duration: number) {
  return autocannon({
    ...{ url, connections: count, duration, timeout: 60 },
    requests: some.map(({ path, body }) => ({
      ...{ method: 'POST' as const, path, headers: { 'content-type': 'application/json' } },
      setupRequest: (request) => ({ ...request, body: JSON.stringify(body(serial++)) }),
    })),
  });
}

async function measure(url: string, some: readonly Load[]): Promise<void> {
  for (const load of some)
    for (const count of connections) {
      const { requests, latency, errors, non2xx, timeouts } = await run(url, [load], count, seconds);
      const cells = [
        load.name.padEnd(26),
        String(count).padStart(5),
        requests.average.toFixed(0).padStart(8),
      ];
      const rest = [latency.p50, latency.p99, latency.max].map((ms) => ms.toFixed(1).padStart(8));
      console.log(`${[...cells, ...rest].join(' ')}   ${errors + timeouts} errors, ${non2xx} not 2xx`);
    }
}

async function attack(url: string): Promise<void> {
  const port = Number(new URL(url).port);
  const some = hostileRequests(port, 8 * 2 ** 20);
  const counts = new Map<number, number>();
  for (let i = 0; i < 500; i++) {
    const status = await send(port, some[i % some.length], 60_000);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const text = [...counts]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status === 0 ? 'closed' : status}: ${count}`);
  console.log(`500 hostile requests  ${text.join(', ')}`);
  if ([...counts.keys()].some((status) => status !== 0 && (status < 400 || status > 499)))
    throw new Error('expected 4xx or a closed connection');
}

async function memoryOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)?.[1]) / 2 ** 20;
}

async function soak(url: string, some: readonly Load[]): Promise<void> {
  const memory: number[] = [];
  let failures = 0;
  for (let i = 0; i < 4 * minutes; i++) {
    const { errors, non2xx, timeouts } = await run(url, some, 16, 15);
    failures += errors + non2xx + timeouts;
    memory.push(await memoryOf(url));
  }
  console.log(
    `${minutes} minutes, 16 connections  ${failures} failures; MiB every 15 s: ${memory.map((mib) => mib.toFixed(0)).join(' ')}`,
  );
}

const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-serve-'));
try {
  const runs = await makeRuns(folder, { entities });
  console.log(`${'endpoint'.padEnd(26)} conns    req/s      p50      p99      max   (ms)`);
  for (const kind of ['links', 'nodes', 'events'] as const) {
    const state = kind === 'events' ? ['--state', join(folder, `state-${Date.now()}`)] : [];
    const server = await startServer(runs[kind], ...state);
    await measure(server.url, loads[kind]);
    if (kind === 'links') {
      await attack(server.url);
      if (minutes > 0) await soak(server.url, loads.links);
    }
    await stopServer(server);
  }
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
