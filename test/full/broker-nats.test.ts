/** NATS JetStream as a source: every message once, over restarts of the broker and kills of the consumer. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { type DurableStream, followNats } from 'skein/predict';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { laterEvents, noise, open, trainedRun } from '../predict/stream-fixtures.js';
import { program } from '../programs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-nats-'));
const running = new Set<ChildProcess>();
let run: string;
let port: number;
let broker: ChildProcess;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: found } = server.address() as { port: number };
  server.close();
  return found;
}

async function startBroker(): Promise<void> {
  const args = ['-js', '-sd', join(folder, 'broker'), '-p', `${port}`, '-a', '127.0.0.1'];
  broker = spawn('nats-server', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(broker);
  for await (const line of createInterface({ input: broker.stderr as NodeJS.ReadableStream }))
    if (line.includes('Server is ready')) break;
  broker.stderr?.resume();
}

async function stopBroker(): Promise<void> {
  const exit = once(broker, 'exit');
  broker.kill('SIGKILL');
  await exit;
  running.delete(broker);
}

const servers = (): string => `nats://127.0.0.1:${port}`;

async function withBroker<T>(work: (connection: NatsConnection) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: servers(), maxReconnectAttempts: -1 });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

async function publish(subject: string, texts: readonly string[], id?: (i: number) => string): Promise<void> {
  await withBroker(async (connection) => {
    const client = jetstream(connection);
    for (const [i, text] of texts.entries()) {
      const head = headers();
      if (id !== undefined) head.set('Nats-Msg-Id', id(i));
      await client.publish(subject, text, { headers: head });
    }
  });
}

const makeStream = (name: string, subject: string): Promise<void> =>
  withBroker(async (connection) => {
    await (await jetstreamManager(connection)).streams.add({ name, subjects: [subject] });
  });

beforeAll(async () => {
  expect(spawnSync('nats-server', ['--version']).status, 'nats-server must be installed').toBe(0);
  run = await trainedRun(folder, 'statistics');
  port = await freePort();
  await startBroker();
}, 120_000);

afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const arrived = (stream: DurableStream, version: number) =>
  vi.waitFor(() => expect(stream.version).toBe(version), { timeout: 60_000, interval: 100 });

/** The digest of the events in one process without a broker. */
async function digestOf(events: ReturnType<typeof laterEvents>): Promise<string> {
  const stream = await open(run, join(folder, `whole ${Math.random()}`), { lateness: 60 });
  await stream.append(events);
  await stream.flush();
  const digest = stream.digest();
  await stream.close();
  return digest;
}

test('messages, poison, headers as ids, a restart of the broker', async () => {
  await makeStream('RESTART', 'restart');
  const events = laterEvents(300);
  const stream = await open(run, join(folder, 'restart'), { lateness: 60 });
  const source = followNats(stream, { servers: servers(), stream: 'RESTART', fields: { head: 'user' } });
  const texts = events.map(({ head, id: _, ...event }) => JSON.stringify({ ...event, user: head }));
  texts.splice(50, 0, 'poison', '{"user": 1}');
  const ids = (from: number) => (i: number) => `id ${from + i}`;
  await publish('restart', texts.slice(0, 150), ids(0));
  await vi.waitFor(() => expect(stream.positionOf('nats:RESTART')).toBe(150), { timeout: 30_000 });
  await stopBroker();
  await startBroker();
  await publish('restart', texts.slice(150), ids(150));
  await vi.waitFor(() => expect(stream.positionOf('nats:RESTART')).toBe(302), { timeout: 60_000 });
  await source.stop();
  await stream.flush();
  expect(stream.status()).toMatchObject({ version: 300, duplicates: 0, late: 0, inQuarantine: 2 });
  await stream.close();
  // The same messages again from the beginning under another name: their ids are known.
  const again = await open(run, join(folder, 'restart'), { lateness: 60 });
  const repeat = followNats(again, {
    servers: servers(),
    stream: 'RESTART',
    source: 'other',
    fields: { head: 'user' },
  });
  await vi.waitFor(() => expect(again.positionOf('other')).toBe(302), { timeout: 30_000 });
  await repeat.stop();
  expect(again.version).toBe(300);
  expect(again.status().duplicates).toBe(300);
  await again.close();
  const missing = await open(run, join(folder, 'missing'));
  await expect(followNats(missing, { servers: servers(), stream: 'NONE' }).done).rejects.toThrow(
    'Create it first',
  );
  await missing.close();
});

test('a JetStream stream that was deleted and created again is refused', async () => {
  const remake = (): Promise<void> =>
    withBroker(async (connection) => {
      const { streams } = await jetstreamManager(connection);
      await streams.delete('AGAIN');
      await streams.add({ name: 'AGAIN', subjects: ['again'] });
    });
  await makeStream('AGAIN', 'again');
  const texts = laterEvents(60).map(({ id: _, ...event }) => JSON.stringify(event));
  const state = join(folder, 'again');
  const stream = await open(run, state, { lateness: 60 });
  await publish('again', texts.slice(0, 10));
  const running = followNats(stream, { servers: servers(), stream: 'AGAIN' });
  await vi.waitFor(() => expect(stream.positionOf('nats:AGAIN')).toBe(10), { timeout: 30_000 });
  // As an earlier version wrote it.
  await stream.appendBatch({ source: 'old', position: 10, messages: [] });
  // While it is followed, and with more messages than before.
  await remake();
  await publish('again', texts.slice(0, 30));
  await expect(running.done).rejects.toThrow(
    /expected the JetStream stream AGAIN that was created at .*: it was deleted and created again\. Follow the new one under another source/,
  );
  expect(stream.positionOf('nats:AGAIN')).toBe(10);
  await stream.close();
  const later = await open(run, state, { lateness: 60 });
  await expect(followNats(later, { servers: servers(), stream: 'AGAIN' }).done).rejects.toThrow(
    'deleted and created again',
  );
  const old = followNats(later, { servers: servers(), stream: 'AGAIN', source: 'old' });
  await vi.waitFor(() => expect(later.positionOf('old')).toBe(30), { timeout: 30_000 });
  await old.stop();
  await later.appendBatch({ source: 'ahead', position: 31, messages: [] });
  await expect(
    followNats(later, { servers: servers(), stream: 'AGAIN', source: 'ahead' }).done,
  ).rejects.toThrow('expected at least 31 messages of AGAIN, which were read before, got 30');
  await later.close();
});

test('a consumer that is killed ten times has every message once', async () => {
  await makeStream('KILLS', 'kills');
  const events = laterEvents(3000);
  const state = join(folder, 'kills');
  const publishing = publish(
    'kills',
    events.map((event) => JSON.stringify(event)),
  );
  for (let life = 0; life < 10; life++) {
    const args = [program('test/predict/nats-child.ts'), run, state, servers(), 'KILLS'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(child);
    await once(child.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 400 * noise(life, 40)));
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    running.delete(child);
    if (life === 5) {
      await publishing;
      await stopBroker();
      await startBroker();
    }
  }
  const stream = await open(run, state, { lateness: 60 });
  const source = followNats(stream, { servers: servers(), stream: 'KILLS' });
  await vi.waitFor(() => expect(stream.positionOf('nats:KILLS')).toBe(3000), { timeout: 60_000 });
  await source.stop();
  await stream.flush();
  await arrived(stream, 3000);
  expect(stream.status()).toMatchObject({ duplicates: 0, late: 0 });
  expect(stream.digest()).toBe(await digestOf(events));
  await stream.close();
});
