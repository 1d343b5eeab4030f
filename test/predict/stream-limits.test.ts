/** Streams at their limits: events of one time, requests that are too large, snapshots while events arrive, long questions. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EventOutcome, fitEvents, type NamedEvent, StreamStoppedError } from 'skein/predict';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RequestMemory } from '#internal/predict/stream/request-memory.js';
import { lastTraining, laterEvents, open, trainedRun } from './stream-fixtures.js';

let folder: string;
let tgn: string;
let statistics: string;
let states = 0;
const newState = (): string => join(folder, `state ${states++}`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-limits-'));
  tgn = await trainedRun(folder, 'tgn');
  statistics = await trainedRun(folder, 'statistics');
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (time: number, count = 1): NamedEvent[] =>
  Array.from({ length: count }, (_, i) => ({
    head: `user ${i % 20}`,
    tail: `item ${i % 8}`,
    time: lastTraining + time,
  }));

test('events that complete a batch are taken whatever waits for it', async () => {
  const stream = await open(tgn, newState(), { maxLag: 100 });
  // Events of one time are one batch, which only a later time completes.
  await stream.append(at(1, 100));
  await stream.append(at(1, 100));
  await stream.settled();
  expect(stream.status()).toMatchObject({ applied: 0, lag: 200 });
  await stream.append(at(2));
  await stream.settled();
  expect(stream.status()).toMatchObject({ applied: 200, lag: 1 });
  // An incomplete batch does not refuse a long request.
  await stream.append(at(3, 100));
  await stream.close();
});

test('a flush between events of one time separates batches, also when the log is replayed', async () => {
  const state = newState();
  const stream = await open(tgn, state);
  await stream.append(at(1, 25));
  await stream.flush();
  await stream.append(at(1, 10));
  await stream.flush();
  const digest = stream.digest();
  const copy = newState();
  cpSync(state, copy, { recursive: true });
  await stream.close();
  rmSync(join(copy, 'lock'), { force: true, recursive: true });
  for (const name of readdirSync(copy))
    if (name.startsWith('snapshot')) rmSync(join(copy, name), { force: true });
  const again = await open(tgn, copy);
  expect(again.status()).toMatchObject({ applied: 35, replayed: { events: 35 } });
  expect(again.digest()).toBe(digest);
  await again.close();
});

test('a closed stream takes neither events nor snapshots, and says so by its own class of error', async () => {
  const stream = await open(statistics, newState());
  const [first, second] = [stream.append(at(1)), stream.append(at(2))];
  const closing = stream.close();
  await Promise.all([first, second, closing]);
  await expect(stream.snapshot()).rejects.toThrow(StreamStoppedError);
});

test('a snapshot is not changed by entries that follow while it is written', async () => {
  for (const sizes of [
    [35, 7],
    [35, 1, 2],
  ]) {
    const state = newState();
    const stream = await open(tgn, state, { snapshotEvery: { events: 30 } });
    const events = laterEvents(60, 0);
    let from = 0;
    const done = sizes.map((size) => {
      from += size;
      return stream.append(events.slice(from - size, from));
    });
    await Promise.all([...done, stream.flush()]);
    await stream.settled();
    const { accepted, applied } = stream.status();
    const digest = stream.digest();
    await vi.waitFor(
      () => expect(readdirSync(state).some((name) => name.startsWith('snapshot'))).toBe(true),
      10_000,
    );
    // As after a kill: closing would write another snapshot.
    const copy = newState();
    cpSync(state, copy, { recursive: true });
    rmSync(join(copy, 'lock'), { force: true, recursive: true });
    await stream.close();
    const again = await open(tgn, copy);
    expect(again.status()).toMatchObject({ accepted, applied });
    expect(again.digest()).toBe(digest);
    await again.close();
  }
});

test('a request that is too large is refused, and the stream works on', async () => {
  const stream = await open(statistics, newState());
  const long = 'x'.repeat(2 ** 20);
  const events = Array.from({ length: 300 }, (_, i) => ({ head: `${i}${long}`, tail: 'item 1', time: 2000 }));
  await expect(stream.append(events)).rejects.toThrow(/at most .*Send fewer events/);
  expect((await stream.append(at(1))).outcomes).toEqual(['accepted']);
  await stream.close();
});

test('a long file of late events is continued from its end', async () => {
  const state = newState();
  const stream = await open(statistics, state, { late: 'side' });
  await stream.append(at(50));
  await stream.append(at(1, 3));
  await stream.close();
  const path = join(state, 'late.jsonl');
  const lines = Array.from(
    { length: 3000 },
    (_, i) => `${JSON.stringify({ sequence: 3, i, pad: 'ü'.repeat(20) })}\n`,
  );
  writeFileSync(path, `${lines.join('')}{"torn`);
  const again = await open(statistics, state, { late: 'side' });
  await again.append(at(2));
  await again.close();
  const found = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(found).toHaveLength(3001);
  expect(found.at(-1)).toMatchObject({ time: lastTraining + 2 });
});

test('answers to long requests are remembered in few bytes', () => {
  const memory = new RequestMemory();
  const outcomes = Array.from({ length: 10_000 }, (_, i): EventOutcome => (i === 5000 ? 'late' : 'accepted'));
  for (let i = 0; i < 1000; i++) memory.add(`request ${i}`, { outcomes, newNodes: 2 });
  expect(JSON.stringify(memory.save()).length).toBeLessThan(50_000);
  const copy = new RequestMemory();
  copy.load(memory.save());
  expect(copy.get('request 7')).toEqual({ outcomes, newNodes: 2 });
  expect(copy.get('other')).toBeNull();
});

test('a question over many destinations is answered from one state', async () => {
  const events = Array.from({ length: 6000 }, (_, i): [string, string, number] => [
    `user ${i % 20}`,
    `item ${i}`,
    1000 + i,
  ]);
  const directory = join(folder, 'many');
  const keys = { 'memory.dim_out': 4, 'memory.dim_time': 4, 'gnn.dim_out': 4, 'gnn.dim_time': 4 };
  const model = await fitEvents(events, {
    ...{
      seed: 3,
      directory,
      config: { ...keys, 'train.batch_size': 500 },
      nodeTypes: ['user', 'item'],
      epochs: 1,
    },
  });
  await model.close();
  const stream = await open(directory, newState(), { batchSize: 1 });
  for (let i = 0; i < 5; i++) {
    const time = 8000 + 10 * i;
    const users = Array.from({ length: 20 }, (_, user) => `user ${user}`);
    const question = stream.recommend(users, { time, k: 5 });
    // The memory reaches the time of the question before its last part.
    await stream.append([{ head: 'user 2', tail: 'item 3', time: time + 5 }]);
    await stream.append([{ head: 'user 2', tail: 'item 3', time: time + 6 }]);
    expect(await question).toHaveLength(20);
    await stream.settled();
  }
  await stream.close();
}, 120_000);

test('questions without a pause between them do not hold back batches, nor do batches hold back questions', async () => {
  const stream = await open(join(folder, 'many'), newState(), { batchSize: 1 });
  const users = Array.from({ length: 6 }, (_, user) => `user ${user}`);
  let isDone = false;
  let answered = 0;
  // Two at a time: there is always one that has begun.
  const asked = [0, 1].map(async () => {
    while (!isDone) {
      expect(await stream.recommend(users, { k: 5 })).toHaveLength(6);
      answered++;
    }
  });
  for (let i = 0; i < 3; i++) {
    await stream.append([{ head: 'user 2', tail: 'item 3', time: 9000 + i }]);
    await stream.settled();
  }
  expect(stream.status().lag).toBeLessThan(2);
  const before = answered;
  await vi.waitFor(() => expect(answered).toBeGreaterThan(before + 2), 60_000);
  isDone = true;
  await Promise.all(asked);
  await stream.close();
}, 120_000);

test('statistics have every released event when a question is asked', async () => {
  const stream = await open(statistics, newState());
  const events = laterEvents(3000, 0);
  await stream.append(events);
  const first = await stream.score({ head: 'user 1', tail: 'item 2' });
  await stream.settled();
  expect(await stream.score({ head: 'user 1', tail: 'item 2' })).toBe(first);
  await stream.close();
});
