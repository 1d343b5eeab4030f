/** Durable streams: what becomes of events, restarts, snapshots, names, quarantine, back-pressure. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StreamBusyError } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryName } from '#internal/storage/temporary-name.js';
import {
  type Kind,
  lastTraining,
  laterEvents,
  noise,
  open,
  requestsOf,
  trainedRun,
} from './stream-fixtures.js';

const kinds: readonly Kind[] = ['statistics', 'tgn', 'baseline'];
const runs = {} as Record<Kind, string>;
let folder: string;
let count = 0;

const newState = (): string => join(folder, `state ${count++}`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skein-stream-'));
  for (const kind of kinds) runs[kind] = await trainedRun(folder, kind);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(kinds)('a stream of %s', (kind) => {
  test('is the same for any arrival: repeated, shuffled within lateness, with lying clocks and new nodes', async () => {
    const events = laterEvents(600);
    const clean = await open(runs[kind], newState(), { lateness: 30 });
    for (const part of requestsOf(events, 50)) await clean.append(part);
    await clean.flush();
    const wild = await open(runs[kind], newState(), { lateness: 30 });
    const liars = events.flatMap((event, i) =>
      noise(i, 20) < 0.01 ? [{ ...event, id: `liar ${i}`, time: Number(event.time) + 3.2e8 }] : [],
    );
    expect(liars.length).toBeGreaterThan(2);
    // Arrival is up to 25 later than the event.
    const sent = [...events, ...liars]
      .map((event, i) => ({ event, at: (Number(event.time) % 3.2e8) + 25 * noise(i, 21) }))
      .sort((a, b) => a.at - b.at)
      .map(({ event }) => event);
    for (const [i, part] of requestsOf(sent, 17).entries()) {
      const times = 1 + Math.floor(3 * noise(i, 22));
      const requestId = noise(i, 23) < 0.5 ? { requestId: `request ${i}` } : {};
      const answers = await Promise.all(Array.from({ length: times }, () => wild.append(part, requestId)));
      expect(answers[0].outcomes).not.toContain('late');
    }
    await wild.flush();
    expect(wild.digest()).toBe(clean.digest());
    expect(wild.status()).toMatchObject({ late: 0, accepted: 600, inQuarantine: liars.length });
    expect(wild.status().newNodes).toBeGreaterThan(5);
    expect(wild.status().duplicates).toBeGreaterThan(300);
    await wild.close();
    await clean.close();
  }, 60_000);

  test('continues with the same bits from the log alone, from snapshots, and after a damaged snapshot', async () => {
    const events = laterEvents(500);
    const parts = requestsOf(events, 40);
    const whole = await open(runs[kind], newState(), { lateness: 10 });
    for (const part of parts) await whole.append(part);
    await whole.settled();
    const expected = whole.digest();
    const ranked = whole.status().quality;
    await whole.close();

    const state = newState();
    for (const [i, part] of parts.entries()) {
      // Copied while it is open: what a crash leaves.
      const stream = await open(runs[kind], state, { lateness: 10, snapshotEvery: { events: 90 } });
      await stream.append(part);
      // Closing writes a snapshot; without it the log is read.
      if (i % 3 === 0) await stream.snapshot();
      await stream.close();
      if (i === 7) damageNewestSnapshot(state);
    }
    const notices: string[] = [];
    const stream = await open(runs[kind], state, { lateness: 10, onNotice: (text) => notices.push(text) });
    await stream.settled();
    expect(stream.digest()).toBe(expected);
    // Without batches, ranks depend on how many events are released at once.
    if (kind === 'tgn') expect(stream.status().quality).toEqual(ranked);
    expect(stream.status().quality?.events).toBe(ranked?.events);
    await stream.close();
    damageNewestSnapshot(state);
    const older = await open(runs[kind], state, { lateness: 10, onNotice: (text) => notices.push(text) });
    expect(older.status().replayed.events).toBeGreaterThan(0);
    expect(older.digest()).toBe(expected);
    expect(notices.join()).toContain('cannot be read');
    await older.close();
    expect(readdirSync(state).filter((name) => name.startsWith('snapshot-')).length).toBeLessThanOrEqual(3);
  }, 60_000);
});

function damageNewestSnapshot(state: string): void {
  const name = readdirSync(state)
    .filter((file) => file.startsWith('snapshot-'))
    .sort()
    .at(-1) as string;
  const bytes = readFileSync(join(state, name));
  bytes[bytes.length >> 1] ^= 1;
  writeFileSync(join(state, name), bytes);
}

describe('events', () => {
  const at = (time: number, id?: string, head = 'user 1', tail = 'item 1') => ({
    ...{ head, tail, time: lastTraining + time },
    ...(id === undefined ? {} : { id }),
  });

  test('that were acknowledged are never lost without an error', async () => {
    const state = newState();
    const stream = await open(runs.statistics, state);
    await stream.append([at(5, 'a'), at(6, 'b')]);
    await stream.close();
    const log = join(state, readdirSync(state).find((name) => name.endsWith('.wal')) as string);
    const bytes = readFileSync(log);
    rmSync(log);
    await expect(open(runs.statistics, state)).rejects.toThrow(
      /expected record \d+, which was on the disk before/,
    );
    writeFileSync(log, bytes.subarray(0, 40));
    await expect(open(runs.statistics, state)).rejects.toThrow(
      /expected record \d+, which was on the disk before/,
    );
    writeFileSync(log, bytes);
    const identity = readFileSync(join(state, 'stream.json'));
    for (const text of ['', '{bad', 'null', '{}']) {
      writeFileSync(join(state, 'stream.json'), text);
      await expect(open(runs.statistics, state)).rejects.toThrow(/expected the identity of a stream as JSON/);
    }
    writeFileSync(join(state, 'stream.json'), identity);
    const again = await open(runs.statistics, state);
    expect((await again.append([at(5, 'a')])).outcomes).toEqual(['duplicate']);
    await again.close();
  });

  test('are accepted, wait, are duplicates, late or quarantined', async () => {
    const stream = await open(runs.statistics, newState(), { lateness: 10, maxJump: 1000 });
    expect(await stream.append([at(5, 'a'), at(20, 'b'), at(5, 'a'), at(5000, 'c')])).toEqual({
      outcomes: ['accepted', 'waiting', 'duplicate', 'quarantined'],
      newNodes: 0,
    });
    expect((await stream.append([at(10, 'd'), at(9, 'e'), at(20, 'b'), at(5000, 'c')])).outcomes).toEqual([
      'waiting',
      'late',
      'duplicate',
      'duplicate',
    ]);
    // Without ids nothing is known.
    expect((await stream.append([at(15), at(15)])).outcomes).toEqual(['waiting', 'waiting']);
    expect(stream.version).toBe(1);
    expect(stream.status()).toMatchObject({
      waiting: 4,
      late: 1,
      duplicates: 3,
      quarantined: 1,
      accepted: 1,
    });
    expect(stream.quarantine()).toMatchObject([{ key: 1, reason: 'jump', event: { id: 'c' } }]);
    await stream.flush();
    expect(stream.version).toBe(5);
    expect((await stream.append([at(19, 'f')])).outcomes).toEqual(['late']);
    await stream.close();
    await expect(stream.append([at(30)])).rejects.toThrow('closed');
  });

  test('a request with a known id is answered as the first time', async () => {
    const state = newState();
    const stream = await open(runs.statistics, state);
    const events = [at(1), at(2, undefined, 'dora')];
    const first = await stream.append(events, { requestId: 'r1' });
    expect(first).toEqual({ outcomes: ['accepted', 'accepted'], newNodes: 1 });
    expect(await stream.append(events, { requestId: 'r1' })).toEqual(first);
    await stream.close();
    const again = await open(runs.statistics, state);
    expect(await again.append(events, { requestId: 'r1' })).toEqual(first);
    expect(again.version).toBe(2);
    await again.close();
  });

  test('a clock ahead of the wall clock never moves the watermark; what it sent can be released or deleted', async () => {
    const stream = await open(runs.statistics, newState(), { clock: 'seconds', lateness: 0 });
    const future = Date.now() / 1000 + 7200;
    expect(
      (await stream.append([{ head: 'user 1', tail: 'item 1', time: future, id: 'x' }, at(1)])).outcomes,
    ).toEqual(['quarantined', 'accepted']);
    expect((await stream.append([at(2)])).outcomes).toEqual(['accepted']);
    await stream.append([{ head: 'user 1', tail: 'item 1', time: future + 1, id: 'y' }]);
    expect(stream.quarantine().map(({ reason }) => reason)).toEqual(['future', 'future']);
    await expect(stream.deleteQuarantined([77])).rejects.toThrow('key');
    await expect(stream.deleteQuarantined(null as never)).rejects.toThrow(
      'expected a list for keys, got null',
    );
    await expect(stream.releaseQuarantined(5 as never)).rejects.toThrow('expected a list for keys, got 5');
    await stream.deleteQuarantined([1]);
    await stream.releaseQuarantined([2]);
    expect(stream.quarantine()).toEqual([]);
    expect(stream.version).toBe(3);
    // The time was right by decision, so earlier events are late now.
    expect((await stream.append([at(3)])).outcomes).toEqual(['late']);
    await stream.close();
  });

  test('a message that could not be read is kept when its release is refused', async () => {
    const stream = await open(runs.statistics, newState());
    const unreadable = { reason: 'expected JSON', text: '{oops' };
    await stream.appendBatch({ source: 'file', position: 5, messages: [unreadable] });
    const [{ key }] = stream.quarantine();
    await expect(stream.releaseQuarantined([key])).rejects.toThrow(/a message that could not be read/);
    expect(stream.quarantine()).toHaveLength(1);
    await stream.deleteQuarantined([key]);
    expect(stream.quarantine()).toHaveLength(0);
    await stream.close();
  });

  test('a silent source holds back the watermark until it is idle', async () => {
    const stream = await open(runs.statistics, newState(), { lateness: 5, idleSeconds: 0.05 });
    await stream.append([at(10)], { source: 'slow' });
    expect((await stream.append([at(100)], { source: 'fast' })).outcomes).toEqual(['waiting']);
    expect(stream.status().waiting).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 120));
    await stream.append([at(101)], { source: 'fast' });
    expect(stream.version).toBe(1);
    expect(stream.status().sources).toHaveLength(2);
    await stream.close();
  });

  test('late events are written to a file, each once, or applied from now on', async () => {
    const state = newState();
    for (let i = 0; i < 2; i++) {
      const stream = await open(runs.statistics, state, { late: 'side' });
      if (i === 0) await stream.append([at(50, 'on time')]);
      if (i === 0) await stream.append([at(1, 'late 1'), at(2, 'late 2')]);
      await stream.close();
      if (i === 0) damageNewestSnapshot(state);
    }
    const lines = readFileSync(join(state, 'late.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).id)).toEqual(['late 1', 'late 2']);
    const stream = await open(runs.statistics, newState(), { late: 'apply' });
    await stream.append([at(50)]);
    expect((await stream.append([at(1, 'late', 'user 2', 'item 2')])).outcomes).toEqual(['late']);
    expect(stream.version).toBe(2);
    await stream.close();
  });

  test('new nodes are answered about, recommended, refused or limited', async () => {
    const state = newState();
    const stream = await open(runs.statistics, state);
    expect(
      (await stream.append([at(1, 'a', 'new one', 'new thing'), at(1, 'b', 'new one', 'item 1')])).newNodes,
    ).toBe(2);
    const names = (await stream.recommend('new one', { k: 20 })).map(({ name }) => name);
    expect(names).toHaveLength(9);
    expect(names).toContain('new thing');
    expect(Number.isFinite(await stream.score({ head: 'new one', tail: 'new thing' }))).toBe(true);
    await stream.close();
    const again = await open(runs.statistics, state);
    expect((await again.recommend('new one', { k: 20 })).map(({ name }) => name)).toEqual(names);
    await again.close();
    const closed = await open(runs.statistics, newState(), { newNodes: 'refuse' });
    await expect(closed.append([at(1, 'a', 'new one')])).rejects.toThrow("newNodes: 'allow'");
    await expect(closed.append([at(1, 'a', 'user 1', 'item 11')])).rejects.toThrow(
      'append: expected a destination of the stream for events[0].tail, got "item 11". Did you mean item 1',
    );
    expect(closed.status().logSequence).toBe(1);
    await closed.close();
    const limited = await open(runs.statistics, newState(), { newNodes: { limit: 1 } });
    const { outcomes } = await limited.append([
      at(1, 'a', 'new one'),
      at(2, 'b', 'new two'),
      at(3, 'c', 'new one'),
    ]);
    expect(outcomes).toEqual(['accepted', 'quarantined', 'accepted']);
    expect(limited.quarantine()[0].reason).toBe('new nodes');
    await limited.close();
  });

  test('ids are remembered for a window of event time', async () => {
    const stream = await open(runs.statistics, newState(), { idWindow: 100 });
    await stream.append([at(1, 'a')]);
    await stream.append([at(90)]);
    expect((await stream.append([at(90, 'a')])).outcomes).toEqual(['duplicate']);
    await stream.append([at(200)]);
    expect((await stream.append([at(200, 'a')])).outcomes).toEqual(['accepted']);
    await stream.close();
  });

  test('wrong events are errors and change nothing', async () => {
    const stream = await open(runs.statistics, newState());
    const before = stream.status().logSequence;
    const wrong: [unknown, RegExp][] = [
      [[at(Number.NaN)], /a finite number .* for events\[0\]\.time/],
      [[at(Number.NEGATIVE_INFINITY)], /a finite number/],
      [[at(1), { ...at(1), id: 'é'.repeat(65) }], /1 to 128 bytes for events\[1\]\.id/],
      [[{ ...at(1), id: '\ud800' }], /128 bytes/],
      [[{ ...at(1), id: 7 }], /128 bytes/],
      [[{ ...at(1), features: [1] }], /no features for events\[0\]\.features/],
      ['x', /a list/],
    ];
    for (const [events, message] of wrong)
      await expect(stream.append(events as never)).rejects.toThrow(message);
    await expect(stream.append([at(1)], { requestId: '' })).rejects.toThrow('requestId');
    await expect(stream.append([at(1)], { sauce: 'x' } as never)).rejects.toThrow('source');
    expect(stream.status()).toMatchObject({ logSequence: before, version: 0 });
    await stream.close();
  });
});

describe('operation', () => {
  test('a full queue is busy, and moves on when sources do', async () => {
    const stream = await open(runs.statistics, newState(), { lateness: 100, maxWaiting: 20 });
    const events = laterEvents(60, 0).map((event, i) => ({ ...event, time: lastTraining + 1 + i / 10 }));
    await stream.append(events.slice(0, 15));
    const busy = await stream.append(events.slice(15, 30)).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(StreamBusyError);
    expect(busy).toMatchObject({ code: 'SKEIN_BUSY', retryAfter: 1 });
    expect(stream.status()).toMatchObject({ busy: 1, waiting: 15 });
    // These move the watermark.
    await stream.append(events.slice(15, 30).map((event) => ({ ...event, time: Number(event.time) + 150 })));
    expect(stream.status().waiting).toBe(15);
    await stream.close();
  });

  test('lag of the model is bounded', async () => {
    const stream = await open(runs.tgn, newState(), { maxLag: 100, quality: false });
    const results = await Promise.allSettled(
      requestsOf(laterEvents(1000, 0), 50).map((part) => stream.append(part)),
    );
    const busy = results.filter(({ status }) => status === 'rejected');
    expect(busy.length).toBeGreaterThan(0);
    for (const result of busy)
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StreamBusyError);
    await stream.settled();
    await stream.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + 5000 }]);
    await stream.close();
  });

  test('a busy stream rejects requests before it looks at their events, and answers known ones', async () => {
    const stream = await open(runs.tgn, newState(), { maxLag: 100, quality: false });
    const [first = [], ...parts] = requestsOf(laterEvents(1000, 0), 50);
    const known = await stream.append(first, { requestId: 'first' });
    const sent = parts.map((part) => stream.append(part).catch((error: unknown) => error));
    // Checking these would take longer than applying some batches.
    const unchecked = Array.from({ length: 50 }, () => ({ head: 1 }));
    const busy = await stream.append(unchecked as never).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(StreamBusyError);
    await expect(
      stream.appendBatch({
        source: 's',
        position: 1,
        messages: parts.flat().map((event) => ({ event, text: '' })),
      }),
    ).rejects.toBeInstanceOf(StreamBusyError);
    expect(await stream.append(first, { requestId: 'first' })).toEqual(known);
    await Promise.all(sent);
    await stream.settled();
    await expect(stream.append(unchecked as never)).rejects.toThrow('events[0]');
    await stream.close();
  });

  test('one process at a time, and one model', async () => {
    const state = newState();
    const stream = await open(runs.statistics, state);
    await expect(open(runs.statistics, state)).rejects.toThrow('has open');
    await stream.close();
    await expect(open(runs.baseline, state)).rejects.toThrow('Use the same run');
    await expect(open(runs.tgn, newState(), { newNode: 'allow' } as never)).rejects.toThrow('newNodes');
  });

  test('incomplete files of a process that was killed are removed', async () => {
    const state = newState();
    await (await open(runs.statistics, state)).close();
    // A snapshot has its place in the log in its name, so the next one does not replace it.
    const left = temporaryName(join(state, 'snapshot-0000000000000007.safetensors'));
    writeFileSync(left, 'half a snapshot');
    await (await open(runs.statistics, state)).close();
    expect(existsSync(left)).toBe(false);
  });

  test('rules may change between restarts; old events are decided by old rules', async () => {
    const state = newState();
    const first = await open(runs.statistics, state, { lateness: 100 });
    for (const time of [10, 5, 40])
      await first.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + time }]);
    expect(first.status().waiting).toBe(3);
    await first.close();
    damageNewestSnapshot(state);
    const second = await open(runs.statistics, state, { lateness: 0 });
    expect(second.status()).toMatchObject({ waiting: 3, late: 0 });
    await second.append([{ head: 'user 1', tail: 'item 1', time: lastTraining + 50 }]);
    expect(second.status()).toMatchObject({ waiting: 0, late: 0, version: 4 });
    await second.close();
  });

  test('quality is measured before events are applied', async () => {
    const stream = await open(runs.statistics, newState(), { quality: { every: 1, candidates: 5 } });
    for (const part of requestsOf(laterEvents(300, 0), 50)) await stream.append(part);
    await stream.settled();
    const { quality } = stream.status();
    expect(quality?.events).toBeGreaterThan(200);
    expect(quality?.mrr).toBeGreaterThan(0.1);
    expect(quality?.hits10).toBe(1);
    await stream.close();
  });
});
