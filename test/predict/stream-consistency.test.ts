/** Durable streams agree with their log: names, features, questions during changes, failed starts, pages of the quarantine. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fitEvents, followFile, followNats, openModel, type StreamEvent } from 'skein/predict';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { RollingQuality } from '#internal/predict/stream/quality.js';
import { lastTraining, laterEvents, open, trainedRun } from './stream-fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-consistency-'));
let statistics: string;
let withFeatures: string;
let count = 0;

const small = { 'memory.dim_out': 8, 'memory.dim_time': 8, 'gnn.dim_out': 8, 'gnn.dim_time': 8 };

beforeAll(async () => {
  statistics = await trainedRun(folder, 'statistics');
  withFeatures = join(folder, 'features');
  const events = Array.from({ length: 300 }, (_, i) => ({
    ...{ head: `user ${i % 9}`, tail: `item ${(i * 3) % 7}`, time: 1000 + i },
    features: [i % 5, Math.sin(i)],
  }));
  const model = await fitEvents(events, {
    ...{ seed: 2, directory: withFeatures, epochs: 1, nodeTypes: ['user', 'item'] },
    config: { ...small, 'train.batch_size': 20, 'model.kind': 'general' },
  });
  await model.close();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newPath = (name: string): string => join(folder, `${name} ${count++}`);

/** Copies a folder of a stream as a crash would leave it: without the last snapshot that closing writes. */
function crashed(state: string): string {
  const copy = newPath('state');
  cpSync(state, copy, { recursive: true });
  rmSync(join(copy, 'lock'), { force: true, recursive: true });
  return copy;
}

test('new names with leading zeros stay different names, also after a snapshot', async () => {
  const state = newPath('state');
  const stream = await open(statistics, state);
  const at = (i: number, head: string, tail: string) => ({ head, tail, time: lastTraining + i });
  await stream.append([at(1, '0042', '007'), at(2, '42', '7'), at(3, 'user 1', 'zoe')]);
  const names = (await stream.recommend('0042', { k: 20 })).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['007', '7', 'zoe']));
  expect(stream.status().newNodes).toBe(5);
  await stream.snapshot();
  const digest = stream.digest();
  await stream.close();
  const again = await open(statistics, state);
  expect(again.digest()).toBe(digest);
  expect((await again.recommend('0042', { k: 20 })).map(({ name }) => name)).toEqual(names);
  await again.close();
});

test('features are those at the time of the call, with the bits of the log', async () => {
  const state = newPath('state');
  const stream = await open(withFeatures, state, { batchSize: 5 });
  const features = [0, 0];
  const events: Promise<unknown>[] = [];
  for (let i = 0; i < 30; i++) {
    features[0] = i % 2 === 0 ? -0 : i;
    features[1] = -i;
    events.push(stream.append([{ head: `user ${i % 9}`, tail: 'item 1', time: 2000 + i, features }]));
  }
  features.fill(99);
  await Promise.all(events);
  await stream.settled();
  const digest = stream.digest();
  const copy = crashed(state);
  await stream.close();
  for (const name of readdirSync(copy)) if (name.startsWith('snapshot')) rmSync(join(copy, name));
  const again = await open(withFeatures, copy, { batchSize: 5 });
  await again.settled();
  expect(again.digest()).toBe(digest);
  await again.close();
});

/** A model whose stream has more destinations than a part of a question. */
async function manyDestinations(): Promise<string> {
  const directory = newPath('many');
  const events = Array.from({ length: 5000 }, (_, i): [string, string, number] => [
    `user ${i % 20}`,
    `item ${i}`,
    1000 + i,
  ]);
  const keys = { 'memory.dim_out': 4, 'memory.dim_time': 4, 'gnn.dim_out': 4, 'gnn.dim_time': 4 };
  const model = await fitEvents(events, {
    ...{ seed: 3, directory, nodeTypes: ['user', 'item'], epochs: 1 },
    config: { ...keys, 'train.batch_size': 500, 'model.kind': 'general' },
  });
  await model.close();
  return directory;
}

test('a long question is answered from one state, whatever arrives meanwhile', async () => {
  const directory = await manyDestinations();
  const users = ['user 2', 'user 3', 'user 4'];
  const later = (i: number): StreamEvent => ({ head: 'user 2', tail: `item ${i}`, time: 7000 + 100 * i });
  const quiet = await openModel(directory);
  const expected = await quiet.recommend(users, { k: 4000 });
  const timed = await quiet.recommend(users, { k: 4000, time: 6500 });
  await quiet.close();

  const durable = await open(directory, newPath('state'), { batchSize: 1 });
  const question = durable.recommend(users, { k: 4000 });
  for (let i = 0; i < 4; i++) await durable.append([later(i)]);
  expect(await question).toEqual(expected);
  await durable.close();

  const memory = await openModel(directory);
  const asked = [memory.recommend(users, { k: 4000 }), memory.recommend(users, { k: 4000, time: 6500 })];
  await memory.append([later(1)]);
  // A short question in between must not advance the state of the long ones.
  const short = memory.score([{ head: 'user 2', tail: 'item 3' }]);
  expect(await Promise.all(asked)).toEqual([expected, timed]);
  await short;
  expect(await memory.recommend(users, { k: 4000 })).not.toEqual(expected);
  await memory.close();
}, 120_000);

test('a file is followed by a stream that takes only few waiting events', async () => {
  const path = newPath('events.ndjson');
  const events = laterEvents(1200, 0).map(({ id: _, ...event }) => event);
  writeFileSync(path, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const stream = await open(statistics, newPath('state'), { maxWaiting: 64 });
  await followFile(stream, path, { follow: false }).done;
  expect(stream.status()).toMatchObject({ accepted: 1200, inQuarantine: 0 });
  await stream.close();
});

test('a stream that could not be opened can be opened later by the same process', async () => {
  const directory = newPath('run');
  cpSync(statistics, directory, { recursive: true });
  const [inner] = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('done.json'),
  );
  const outcome = join(directory, inner);
  const content = readFileSync(outcome);
  const state = newPath('state');
  await (await open(directory, state)).close();
  writeFileSync(outcome, '{');
  await expect(open(directory, state)).rejects.toThrow();
  writeFileSync(outcome, content);
  await (await open(directory, state)).close();
});

test('why a broker is waited for is a notice of the stream', async () => {
  const notices: string[] = [];
  const onNotice = (sentence: string): void => void notices.push(sentence);
  const stream = await open(statistics, newPath('state'), { onNotice });
  const source = followNats(stream, { servers: 'nats://127.0.0.1:9', stream: 'EVENTS' });
  await vi.waitFor(() => expect(notices.join()).toContain('waits for its broker'), 20_000);
  await new Promise((resolve) => setTimeout(resolve, 1200));
  expect(notices).toHaveLength(1);
  expect(stream.status().notices).toEqual(notices);
  await source.stop();
  await stream.close();
});

test('an event never competes with its own destination', () => {
  const quality = new RollingQuality({ every: 1, candidates: 50 });
  for (let event = 0; event < 40; event++)
    expect(quality.draw(event, 7, Int32Array.of(5, 7, 9, 11), 3)).not.toContain(7);
});

test('the quarantine is listed in pages', async () => {
  const stream = await open(statistics, newPath('state'), { maxJump: 10 });
  const far = Array.from({ length: 25 }, (_, i) => ({
    ...{ head: 'user 1', tail: 'item 1', time: lastTraining + 1e6 + i },
  }));
  await stream.append(far);
  const keys: number[] = [];
  for (;;) {
    const page = stream.quarantine({ limit: 10, after: keys.at(-1) });
    if (page.length === 0) break;
    expect(page.length).toBeLessThanOrEqual(10);
    keys.push(...page.map(({ key }) => key));
  }
  expect(keys).toHaveLength(25);
  expect(new Set(keys).size).toBe(25);
  expect(() => stream.quarantine({ limit: 0 })).toThrow('limit');
  await stream.close();
});

test('a snapshot under the name of another one is left out with a notice', async () => {
  const state = newPath('state');
  const stream = await open(statistics, state, { keepLog: true });
  const events = laterEvents(90, 0);
  for (let i = 0; i < 3; i++) {
    await stream.append(events.slice(30 * i, 30 * (i + 1)));
    await stream.snapshot();
  }
  const digest = stream.digest();
  await stream.close();
  const names = readdirSync(state).filter((name) => name.startsWith('snapshot'));
  expect(names).toHaveLength(3);
  writeFileSync(join(state, names[2]), readFileSync(join(state, names[0])));
  const notices: string[] = [];
  const again = await open(statistics, state, { onNotice: (sentence) => void notices.push(sentence) });
  expect(notices.join()).toMatch(/expected the snapshot of record \d+ .*, got another one of record \d+/);
  expect([again.version, again.digest()]).toEqual([90, digest]);
  await again.close();
});

test('a source runs once, and ends when its file is rotated', async () => {
  const path = newPath('events.ndjson');
  const line = (i: number): string =>
    `${JSON.stringify({ head: 'user 1', tail: 'item 1', time: lastTraining + i })}\n`;
  writeFileSync(path, line(1) + line(2));
  const stream = await open(statistics, newPath('state'));
  const source = followFile(stream, path);
  expect(() => followFile(stream, path)).toThrow('expected a source that does not run yet');
  await vi.waitFor(() => expect(stream.version).toBe(2), 20_000);
  renameSync(path, `${path}.1`);
  writeFileSync(path, line(3) + line(4) + line(5));
  await expect(source.done).rejects.toThrow('it was replaced');
  await followFile(stream, path, { source: 'second', follow: false }).done;
  // The first source is not idle yet, so the events of the second wait for it.
  expect(stream.status()).toMatchObject({ version: 2, waiting: 3 });
  await stream.close();
});

test('lines that are not UTF-8 and dates that do not exist are quarantined', async () => {
  const path = newPath('events.ndjson');
  const line = (head: string, time: unknown): Buffer =>
    Buffer.from(`${JSON.stringify({ head, tail: 'item 1', time })}\n`, 'latin1');
  const good = line('user 1', lastTraining + 1);
  writeFileSync(
    path,
    Buffer.concat([line('\xe9', 2000), good, line('\xe8', 2000), line('user 2', '2023-02-31')]),
  );
  const stream = await open(statistics, newPath('state'));
  await followFile(stream, path, { follow: false }).done;
  expect(stream.status()).toMatchObject({ accepted: 1, newNodes: 0, inQuarantine: 3 });
  await stream.close();
});

test('wrong arguments are rejected before anything is written', async () => {
  const state = newPath('state');
  for (const [options, message] of [
    [{ onNotice: 5 }, 'a function for onNotice'],
    [{ keepLog: 'yes' }, 'true or false for keepLog'],
    [{ newNodes: { limit: 1, foo: 2 } }, 'got foo'],
    [{ groupCommit: { milliseconds: -1 } }, 'groupCommit.milliseconds'],
    [{ groupCommit: { events: 0 } }, 'groupCommit.events'],
  ] as const)
    await expect(open(statistics, state, options as never)).rejects.toThrow(message);
  await expect(open(statistics, statistics)).rejects.toThrow('directory of a run');
  const stream = await open(statistics, state);
  const event = { head: 'user 1', tail: 'item 1', time: lastTraining + 1 };
  for (const [wrong, message] of [
    [{ ...event, feature: [1] }, 'got feature as well'],
    [{ ...event, head: '' }, 'a name that is not empty'],
    [{ ...event, head: 2 ** 53 }, 'as text if it is a number beyond 2^53'],
    [{ ...event, tail: '\ud800' }, 'events[0].tail'],
  ] as const)
    await expect(stream.append([wrong as never])).rejects.toThrow(message);
  await expect(stream.addNodes([{ name: 'q', side: 'tail', foo: 1 } as never])).rejects.toThrow('got foo');
  const path = newPath('events.ndjson');
  writeFileSync(path, '');
  for (const [options, message] of [
    [{ fields: { haed: 'x' } }, 'Did you mean head?'],
    [{ fields: { head: 5 } }, 'a text for fields.head'],
    [{ fields: null }, 'an object'],
    [{ follow: 'false' }, 'true or false for follow'],
    [{ source: '' }, 'a text of 1 to 128 bytes for source'],
  ] as const)
    expect(() => followFile(stream, path, options as never)).toThrow(message);
  await expect(followFile(stream, folder, { follow: false }).done).rejects.toThrow('the path of a file');
  expect(stream.status()).toMatchObject({ logSequence: 1, version: 0 });
  await stream.close();
});

test('a file of late events with a foreign line is refused before any event is taken', async () => {
  const state = newPath('state');
  const late = { head: 'user 1', tail: 'item 1', time: lastTraining - 5 };
  const stream = await open(statistics, state, { late: 'side' });
  await stream.append([{ ...late, time: lastTraining + 1 }, late]);
  await stream.close();
  const path = join(state, 'late.jsonl');
  const content = readFileSync(path);
  for (const foreign of ['hello\n', 'null\n', '\n']) {
    writeFileSync(path, Buffer.concat([content, Buffer.from(foreign)]));
    await expect(open(statistics, state, { late: 'side' })).rejects.toThrow(
      'expected lines of late events at the end of',
    );
  }
  writeFileSync(path, content);
  const again = await open(statistics, state, { late: 'side' });
  await again.append([late]);
  await again.close();
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2);
});

test('a batch of an own source is checked, and its position is part of the log', async () => {
  const state = newPath('state');
  const stream = await open(statistics, state);
  const event = { head: 'user 1', tail: 'item 1', time: lastTraining + 1 };
  for (const wrong of [
    { source: 3, position: 1, messages: [] },
    { source: 'a', position: -1, messages: [] },
    { source: 'a', position: 1.5, messages: [] },
    { source: 'a', position: 1, messages: {} },
    { source: 'a', position: 1, mark: 5, messages: [] },
    { source: 'a', position: 1, messages: ['text'] },
  ])
    await expect(stream.appendBatch(wrong as never)).rejects.toThrow(/^appendBatch: expected/);
  await stream.appendBatch({ source: 'topic', position: 42, messages: [{ text: '…', event }] });
  await stream.close();
  const again = await open(statistics, state);
  expect([again.positionOf('topic'), again.version]).toEqual([42, 1]);
  await again.close();
});

test('a snapshot that is asked for while one is written contains the latest events', async () => {
  const state = newPath('state');
  const stream = await open(statistics, state);
  await stream.append(laterEvents(50, 0));
  const first = stream.snapshot();
  const more = stream.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + 500 }]);
  await Promise.all([first, more]);
  await stream.append([{ head: 'user 2', tail: 'item 1', time: lastTraining + 600 }]);
  await stream.snapshot();
  expect(stream.status().snapshot?.sequence).toBe(stream.status().logSequence);
  await stream.close();
});
