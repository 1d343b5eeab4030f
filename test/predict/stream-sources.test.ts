/** Files and readable streams as sources of a stream: positions, restarts, unreadable lines, back-pressure. */
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type DurableStream, followFile, followInput, followNats } from 'skein/predict';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { lastTraining, laterEvents, open, trainedRun } from './stream-fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-sources-'));
let run: string;
let count = 0;

beforeAll(async () => {
  run = await trainedRun(folder, 'baseline');
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const newPath = (name: string): string => join(folder, `${name} ${count++}`);
const lines = (events: readonly object[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');
const arrived = (stream: DurableStream, version: number) =>
  vi.waitFor(() => expect(stream.version).toBe(version), { timeout: 20_000 });

test('a file is followed by bytes: half lines wait, and a restart continues behind the last line', async () => {
  const [path, state] = [newPath('events.ndjson'), newPath('state')];
  const events = laterEvents(100, 0.1).map(({ id: _, ...event }) => event);
  writeFileSync(path, lines(events.slice(0, 30)));
  const first = await open(run, state);
  const source = followFile(first, path);
  await arrived(first, 30);
  const text = lines(events.slice(30, 31));
  appendFileSync(path, text.slice(0, 10));
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(first.version).toBe(30);
  appendFileSync(path, text.slice(10) + lines(events.slice(31, 60)));
  await arrived(first, 60);
  await source.stop();
  expect(first.positionOf(source.name)).toBe(Buffer.byteLength(lines(events.slice(0, 60))));
  await first.close();
  // The last line has no newline.
  appendFileSync(path, lines(events.slice(60)).slice(0, -1));
  const second = await open(run, state);
  await followFile(second, path, { follow: false }).done;
  expect(second.version).toBe(100);
  expect(second.status().duplicates).toBe(0);
  await second.close();
  const whole = await open(run, newPath('state'));
  await whole.append(events);
  await whole.settled();
  const third = await open(run, state);
  expect(third.digest()).toBe(whole.digest());
  truncateSync(path, 5);
  await expect(followFile(third, path).done).rejects.toThrow('were read before');
  await expect(followFile(third, `${path}.missing`).done).rejects.toThrow('ENOENT');
  await third.close();
  await whole.close();
});

test('a file that was replaced by another of the same size is refused, after a snapshot and from the log', async () => {
  const [path, state] = [newPath('events.ndjson'), newPath('state')];
  const events = laterEvents(60, 0).map(({ id: _, ...event }) => event);
  writeFileSync(path, lines(events.slice(0, 20)));
  const stream = await open(run, state);
  await followFile(stream, path, { follow: false, source: 'clicks' }).done;
  appendFileSync(path, lines(events.slice(20, 40)));
  await followFile(stream, path, { follow: false, source: 'clicks' }).done;
  const content = readFileSync(path);
  // A copy of the folder now is what a crash leaves: the log without a snapshot.
  cpSync(state, `${state} log`, { recursive: true });
  rmSync(join(`${state} log`, 'lock'));
  await stream.close();
  const other = Buffer.from(content);
  other[content.length - 3] ^= 1;
  for (const folder of [state, `${state} log`]) {
    writeFileSync(path, Buffer.concat([other, Buffer.from(lines(events.slice(40)))]));
    const again = await open(run, folder);
    await expect(followFile(again, path, { source: 'clicks' }).done).rejects.toThrow(
      `followFile: expected the bytes before byte ${content.length} of ${path} that were read before, got others: the file was replaced. Follow the new file under another source.`,
    );
    expect(again.version).toBe(40);
    writeFileSync(path, Buffer.concat([content, Buffer.from(lines(events.slice(40)))]));
    await followFile(again, path, { source: 'clicks', follow: false }).done;
    expect(again.version).toBe(60);
    await again.close();
  }
});

test('more than the compared bytes are followed, and a position without a checksum is continued', async () => {
  const [path, state] = [newPath('events.ndjson'), newPath('state')];
  const events = laterEvents(1500, 0).map(({ id: _, ...event }) => event);
  const text = lines(events);
  const cut = Buffer.byteLength(lines(events.slice(0, 1400)));
  expect(cut).toBeGreaterThan(2 ** 16);
  writeFileSync(path, text.slice(0, cut));
  const stream = await open(run, state);
  await followFile(stream, path, { follow: false, source: 'long' }).done;
  // As an earlier version wrote it.
  await stream.appendBatch({ source: 'old', position: cut, messages: [] });
  appendFileSync(path, text.slice(cut, cut + 80));
  const half = followFile(stream, path, { source: 'long' });
  appendFileSync(path, text.slice(cut + 80));
  await arrived(stream, 1500);
  await half.stop();
  await followFile(stream, path, { follow: false, source: 'long' }).done;
  expect(stream.version).toBe(1500);
  await followFile(stream, path, { follow: false, source: 'old' }).done;
  expect(stream.positionOf('old')).toBe(text.length);
  await stream.close();
});

test('fields are mapped; lines that are not events are quarantined and do not stop the source', async () => {
  const stream = await open(run, newPath('state'), { clock: 'milliseconds', maxFuture: 1e15 });
  const input = Readable.from([
    '{"payload": {"user": "user 1", "item": "item 1", "at": 2000}, "key": 7}\n{"payl',
    'oad": {"user": "user 1", "item": 5, "at": "2001-09-09T01:46:40Z"}}\nnot json\n\n',
    '{"payload": {"user": {}, "item": "item 1", "at": 3}}\n{"payload": {"user": "u", "item": "i", "at": "soon"}}\n',
    '{"payload": {"user": "u", "item": "i", "at": 1e300}}',
  ]);
  const fields = { head: 'payload.user', tail: '$.payload.item', time: 'payload.at', id: 'key' };
  await followInput(stream, input, { fields, source: 'pipe' }).done;
  expect(stream.version).toBe(2);
  expect(stream.status()).toMatchObject({
    newNodes: 1,
    quarantined: 4,
    sources: [{ source: 'pipe', latest: 1e12 }],
  });
  expect(stream.quarantine().map(({ text }) => text?.split(':')[0])).toEqual([
    'expected JSON',
    'expected text or an integer for payload.user, got Object',
    'expected a number or a date for payload.at, got "soon"',
    'append',
  ]);
  await stream.close();
});

test('integers beyond 2^53 stay different names and ids; other values are quarantined', async () => {
  const stream = await open(run, newPath('state'));
  const message = (fields: string): string =>
    `{"tail": "a \\" 1811111111111111169", "time": ${lastTraining + 1}, ${fields}}\n`;
  const input = Readable.from([
    message('"head": 1811111111111111169, "id": 1811111111111111169'),
    message('"head": 1811111111111111170, "id": 1811111111111111170'),
    message('"head": "1811111111111111170", "id": "1811111111111111170"'),
    message('"head": -1811111111111111170, "id": 9007199254740991, "other": 0.12345678901234567890'),
    message('"head": "user 1", "id": {"$oid": "a"}'),
    message('"head": "user 1", "id": true'),
    message('"head": 1.5'),
    message('"head": 1e20'),
    message('"head": 1811111111111111169, 1811111111111111169: 1'),
  ]);
  await followInput(stream, input).done;
  expect(stream.status()).toMatchObject({ version: 3, duplicates: 1, newNodes: 4 });
  expect(stream.quarantine().map(({ text }) => text?.split(':')[0])).toEqual([
    'expected text or an integer for id, got Object',
    'expected text or an integer for id, got true',
    'expected text or an integer for head, got 1.5',
    'expected text or an integer for head, got 100000000000000000000',
    'expected JSON',
  ]);
  // A time and features are numbers, however long.
  await followInput(
    stream,
    Readable.from([`{"head": 1, "tail": 2, "time": ${lastTraining + 2}.0000000000000000}`]),
  ).done;
  expect(stream.version).toBe(4);
  await stream.close();
});

test('a source waits while the stream is busy', async () => {
  const stream = await open(run, newPath('state'), { maxWaiting: 50, lateness: 5 });
  await stream.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + 1 }], { source: 'slow' });
  const path = newPath('events.ndjson');
  writeFileSync(path, lines(laterEvents(40, 0)));
  const waiting = followFile(stream, path, { follow: false });
  await waiting.done;
  appendFileSync(path, lines(laterEvents(60, 0).slice(40)));
  const second = followFile(stream, path, { follow: false });
  await vi.waitFor(() => expect(stream.status().busy).toBeGreaterThan(0));
  expect(stream.status().waiting).toBeLessThanOrEqual(50);
  await stream.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + 500 }], { source: 'slow' });
  await second.done;
  expect(stream.version).toBeGreaterThan(40);
  await stream.close();
});

test('a broker that is not there is waited for, until the source is stopped', async () => {
  const stream = await open(run, newPath('state'));
  const source = followNats(stream, { servers: 'nats://127.0.0.1:9', stream: 'EVENTS' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await source.stop();
  await stream.close();
});

test('a byte order mark at the start of a file or an input is ignored', async () => {
  const stream = await open(run, newPath('state'));
  const path = newPath('events.ndjson');
  const [first, second] = laterEvents(2, 0);
  const mark = '\ufeff';
  writeFileSync(path, mark + lines([first]));
  const { done, name } = followFile(stream, path, { follow: false });
  await done;
  expect(stream.positionOf(name)).toBe(3 + Buffer.byteLength(lines([first])));
  await followInput(stream, Readable.from([mark + lines([second]), `${mark}{}\n`])).done;
  expect(stream.version).toBe(2);
  // A mark elsewhere is not JSON.
  expect(stream.quarantine()).toMatchObject([{ text: expect.stringContaining('expected JSON') }]);
  await stream.close();
});

test('a field type of messages is read only where events have types', async () => {
  const stream = await open(run, newPath('state'));
  const message = { ...laterEvents(1, 0)[0], type: 'click' };
  await followInput(stream, Readable.from([lines([message])])).done;
  expect(stream.version).toBe(1);
  expect(() => followInput(stream, Readable.from([]), { fields: { type: 'kind' } })).toThrow(
    'followInput: expected no mapping for fields.type, got "kind". The events that the model was trained with have no types.',
  );
  await expect(stream.append([message])).rejects.toThrow(
    'append: expected no type for events[0].type, got "click". The events that the model was trained with have none.',
  );
  await stream.close();
});

test('wrong arguments are refused before anything starts', async () => {
  const stream = await open(run, newPath('state'));
  const wrong = null as never;
  expect(() => followFile(stream, wrong)).toThrow(
    'followFile: expected the path of a file for path, got null.',
  );
  expect(() => followFile(stream, 'a\0b')).toThrow('cannot contain the character NUL');
  expect(() => followFile({} as never, 'x')).toThrow('followFile: expected a stream for stream, got Object.');
  expect(() => followInput(stream, wrong)).toThrow('followInput: expected a readable stream for input, got');
  expect(() => followNats(stream, undefined as never)).toThrow(
    'expected an object for options, got undefined',
  );
  expect(() => followNats(stream, {} as never)).toThrow('expected a text for servers, got undefined');
  expect(() => followNats(stream, { servers: 'nats://h', stream: '' })).toThrow('expected a text for stream');
  await stream.close();
});
