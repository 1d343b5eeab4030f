/**
 * `skein serve --state` under load, 200 kills: in the middle of requests, while it starts, and while it stops in order and
 * writes a snapshot. Nothing is lost, nothing is there twice, and answers are those of a server that was left alone.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamEvent } from 'skein/predict';
import { afterAll, expect, test } from 'vitest';
import { isTemporaryName } from '#internal/storage/temporary-name.js';
import { endServed, post, type Served, serveCommand, startServer } from '../cli/served.js';
import { noise, open, requestsOf, trainedRun } from '../predict/stream-fixtures.js';
import { type EventRequest, eventRequests, PersistentClient } from './serve-kill-client.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-serve-kills-'));
afterAll(() => {
  endServed();
  rmSync(folder, { recursive: true, force: true });
});

const lateness = 60;
const environment = { SKEIN_THREADS: '1' };
const argumentsOf = (run: string, state: string): string[] => [
  ...[run, '--state', state, '--lateness', `${lateness}`],
  ...['--new-nodes', 'allow', '--reload', '0'],
];

/** Resolves when the server writes a snapshot, or when it has ended. */
async function snapshotBegun(state: string, ended: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  void ended.then(() => over.abort());
  try {
    for await (const { filename } of watch(state, { signal: over.signal }))
      if (filename?.startsWith('.snapshot-')) return;
  } catch (error) {
    if (!over.signal.aborted) throw error;
  }
}

/** Starts and kills servers of one stream. */
class Killer {
  /** Without servers that had stopped in order before the kill came. */
  kills = 0;
  #startTime = 1000;
  readonly #run: string;
  readonly #state: string;
  readonly #client: PersistentClient;

  constructor(run: string, state: string, client: PersistentClient) {
    this.#run = run;
    this.#state = state;
    this.#client = client;
  }

  async kill(count: number): Promise<void> {
    for (let life = 0; this.kills < count && !this.#client.hasFailed; life++) {
      const code = await this.#live(life);
      this.#client.url = null;
      if (code === null) this.kills++;
      else if (code !== 0) throw new Error(`The server ended with code ${code}.`);
    }
  }

  /** Starts a server and ends it at a moment that depends on `life`; returns its exit code, null for a kill. */
  async #live(life: number): Promise<number | null> {
    const started = performance.now();
    const server = startServer(argumentsOf(this.#run, this.#state), environment);
    const way = noise(life, 60);
    if (way < 0.15) {
      await Promise.race([sleep(this.#startTime * noise(life, 61)), server.ended]);
      return server.stop('SIGKILL');
    }
    const { answers } = this.#client;
    this.#client.url = await server.listening;
    this.#startTime = performance.now() - started;
    let hasEnded = false;
    void server.ended.then(() => {
      hasEnded = true;
    });
    while (this.#client.answers === answers && !hasEnded && !this.#client.hasFailed) await sleep(1);
    await sleep(150 * noise(life, 62) ** 2);
    if (way < 0.35) {
      const late = way < 0.25 ? snapshotBegun(this.#state, server.ended) : sleep(150 * noise(life, 63));
      await Promise.race([late, server.stop('SIGTERM')]);
    }
    return server.stop('SIGKILL');
  }
}

/** Numbers that follow from the events alone, not from when they came or from restarts. */
const numbers = ['version', 'accepted', 'late', 'quarantined', 'newNodes', 'nodes', 'events', 'waiting'];

/** Releases all events by a later one, and returns answers and numbers after them. */
async function finalAnswers({ url }: Served, events: readonly StreamEvent[]): Promise<unknown[]> {
  const ask = async (path: string, body: object): Promise<unknown> => {
    const response = await post(`${url}${path}`, body);
    const text = await response.text();
    expect([response.status, text]).toEqual([200, text]);
    return JSON.parse(text);
  };
  const last = events[events.length - 1];
  await ask('/events', { events: [{ ...last, time: Number(last.time) + 2 * lateness, id: 'end' }] });
  const heads = [...new Set(events.map(({ head }) => head))];
  const tails = [...new Set(events.map(({ tail }) => tail))];
  const edges = heads.flatMap((head) => tails.map((tail) => ({ head, tail })));
  const answers = [
    await ask('/score?fresh=true', { edges }),
    await ask('/rank?fresh=true', { questions: heads.map((head) => ({ head })), k: 17 }),
    await ask('/recommend?fresh=true', { names: heads, k: 17, exclude: 'none' }),
  ];
  const status = (await (await fetch(`${url}/status`)).json()) as Record<string, unknown>;
  return [...answers, Object.fromEntries(numbers.map((name) => [name, status[name]]))];
}

/** The checksum of a stream whose server has ended. */
async function digestOf(run: string, state: string): Promise<string> {
  const stream = await open(run, state, { lateness });
  const digest = stream.digest();
  await stream.close();
  return digest;
}

/** Sends the events once to a server that is left alone; returns its answers and the checksum of its stream. */
async function leftAlone(run: string, state: string, sent: readonly EventRequest[]): Promise<unknown[]> {
  const events = sent.flatMap((request) => request.events);
  const server = await serveCommand(argumentsOf(run, state), environment);
  for (const some of requestsOf(events, 100))
    expect((await post(`${server.url}/events`, { events: some })).status).toBe(200);
  const answers = await finalAnswers(server, events);
  expect(await server.stop()).toBe(0);
  return [...answers, await digestOf(run, state)];
}

test.concurrent.each([
  ['statistics', 100],
  ['tgn', 100],
] as const)('%s, %i kills', async (kind, kills) => {
  const run = await trainedRun(folder, kind);
  const state = join(folder, `${kind} killed`);
  const client = new PersistentClient(eventRequests(20_000));
  const killer = new Killer(run, state, client);
  const sending = client.sendMany();
  try {
    await Promise.race([killer.kill(kills), sending]);
  } catch (error) {
    client.hasFailed = true;
    throw error;
  }
  client.stop();
  const server = await serveCommand(argumentsOf(run, state), environment);
  client.url = server.url;
  const sent = await sending;
  expect(killer.kills).toBe(kills);
  // Otherwise the kills did not come in the middle of requests.
  expect(client.broken).toBeGreaterThan(kills);
  expect(client.lostAnswers).toBeGreaterThan(0);

  const events = sent.flatMap((request) => request.events);
  for (const group of requestsOf([...sent.keys()], 50)) await Promise.all(group.map((i) => client.repeat(i)));
  const answers = await finalAnswers(server, events);
  expect(answers.at(-1)).toMatchObject({
    version: events.length,
    accepted: events.length,
    waiting: 1,
    late: 0,
  });
  expect(await server.stop()).toBe(0);
  expect(readdirSync(state).filter(isTemporaryName)).toEqual([]);
  expect([...answers, await digestOf(run, state)]).toEqual(
    await leftAlone(run, join(folder, `${kind} alone`), sent),
  );
});
