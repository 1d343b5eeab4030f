/** Streams that last behind HTTP: outcomes, quarantine, restarts, back-pressure, versions. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { LiveStream } from '#internal/server/live-stream.js';
import { closeAll, lastTime, runOf, scratch, start, type TestServer } from './models.js';

let state: string;
let server: TestServer;
const open = async (): Promise<TestServer> =>
  start({ events: await runOf('events') }, {}, { stream: { state, maxFuture: 3600 } });

beforeAll(async () => {
  state = join(scratch(), 'state');
  server = await open();
});
afterAll(closeAll);

const event = (id: string, after: number, more: object = {}) => ({
  ...{ id, head: 'u1', tail: 'i1', time: lastTime + after },
  ...more,
});

test('each event has its outcome; new names are taken in', async () => {
  const events = [event('a', 10), event('b', 20, { head: 'newcomer' }), event('a', 10)];
  const { status, body } = await server.ask('/events', { events });
  expect([status, body]).toEqual([
    200,
    { accepted: 2, outcomes: ['accepted', 'accepted', 'duplicate'], newNodes: 1 },
  ]);
  const found = await server.ask('/recommend?fresh=true', { names: ['newcomer'], k: 2 });
  expect([found.status, found.body.answers[0].length]).toEqual([200, 2]);
  expect(found.headers.get('skein-stream-version')).toBe('2');
});

test('a scrape asks for the status once, and readiness only for the failure', async () => {
  const stream = server.models[0].stream as LiveStream;
  const status = vi.spyOn(stream, 'status');
  const { body } = await server.ask('/metrics');
  expect(body).toMatch(/skein_stream_events\{model="events"\} \d+/);
  expect(body).toMatch(/skein_stream_failed\{model="events"\} 0/);
  expect(status).toHaveBeenCalledTimes(1);
  expect((await server.ask('/health/ready')).status).toBe(200);
  const failure = vi.spyOn(stream, 'failure', 'get').mockReturnValue('no space');
  expect((await server.ask('/health/ready')).body).toEqual({
    error: 'expected streams that work, got events, which has stopped.',
    code: 'internal',
  });
  expect(status).toHaveBeenCalledTimes(1);
  failure.mockRestore();
  status.mockRestore();
});

test('a lying clock is set apart, and can be released or deleted', async () => {
  const far = Date.now() / 1000 + 1e8;
  const events = [event('far', far - lastTime), event('farther', far - lastTime + 5)];
  expect((await server.ask('/events', { events })).body.outcomes).toEqual(['quarantined', 'quarantined']);
  expect((await server.ask('/events', { events: [event('c', 30)] })).body.outcomes).toEqual(['accepted']);
  const listed = (await server.ask('/quarantine')).body.events;
  expect(listed.map((one: { reason: string; event: { id: string } }) => [one.reason, one.event.id])).toEqual([
    ['future', 'far'],
    ['future', 'farther'],
  ]);
  const unknown = await server.ask('/quarantine/delete', { keys: [listed[1].key, 99] });
  expect([unknown.status, unknown.body.code]).toEqual([400, 'invalid']);
  expect((await server.ask('/quarantine/delete', { keys: [listed[1].key] })).status).toBe(200);
  expect((await server.ask('/quarantine')).body.events).toHaveLength(1);
});

test('a repeated request is answered as before, also after a restart', async () => {
  const headers = { 'idempotency-key': 'request-1' };
  const first = await server.ask('/events', { events: [event('d', 40)] }, headers);
  const before = (await server.ask('/status')).body;
  expect(before).toMatchObject({ durable: true, accepted: 4, duplicates: 1, newNodes: 1, failure: null });
  await server.close();
  server = await open();
  const after = (await server.ask('/status')).body;
  expect([after.accepted, after.events, after.inQuarantine]).toEqual([4, before.events, 1]);
  const again = await server.ask('/events', { events: [event('d', 40)] }, headers);
  expect(again.body).toEqual(first.body);
  expect((await server.ask('/events', { events: [event('c', 30)] })).body.outcomes).toEqual(['duplicate']);
  const known = await server.ask('/score', { edges: [{ head: 'newcomer', tail: 'i1' }] });
  expect(known.status).toBe(200);
});

test('names that no event has brought are unknown', async () => {
  const { status, body } = await server.ask('/score', { edges: [{ head: 'stranger', tail: 'i1' }] });
  expect([status, body.code]).toEqual([400, 'unknown_name']);
});

test('parameters and fields that would be ignored are errors', async () => {
  const body = { names: ['u1'], k: 2 };
  const sentence = async (path: string, given: object = body) => {
    const { status, body: answer } = await server.ask(path, given);
    return `${status} ${answer.code} ${answer.error}`;
  };
  expect(await sentence('/recommend?fresh=maybe')).toBe(
    '400 invalid ?fresh: expected true or false, got "maybe".',
  );
  expect(await sentence('/recommend?fresh=true&fresh=false')).toBe(
    '400 invalid ?fresh: expected one value, got 2.',
  );
  expect(await sentence('/recommend?frsh=true')).toMatch(
    /^400 invalid query: expected one of the parameters fresh.*, got "frsh"\.$/,
  );
  expect(await sentence('/events?fresh=true', { events: [] })).toBe(
    '400 invalid query: expected no parameters, got "fresh".',
  );
  expect(await sentence('/score', { edges: [{ head: 'u1', tail: 'i1', relation: 'buys' }] })).toBe(
    '400 invalid score: expected no relation for edges[0].relation, got "buys". Events have none; leave it out.',
  );
  expect(await sentence('/rank', { questions: [{ head: 'u1' }], candidates: 'all' })).toContain(
    "400 invalid rank: expected 'seen' for candidates",
  );
  expect(await sentence('/events', { events: [event('typed', 35, { type: 'buy' })] })).toContain(
    '400 invalid append: expected no type for events[0].type, got "buy".',
  );
  expect((await server.ask('/health?probe=1')).status).toBe(200);
});

test('metrics and description have the stream', async () => {
  const { body } = await server.ask('/metrics');
  expect(body).toMatch(/skein_stream_accepted\{model="events"\} 4/);
  expect(body).toMatch(/skein_stream_failed\{model="events"\} 0/);
  expect(body).toMatch(/skein_stream_fsync_p99_seconds\{model="events"\} [\d.e-]+/);
  const { paths } = (await server.ask('/openapi.json')).body;
  for (const path of ['/events', '/status', '/quarantine', '/quarantine/release', '/models/{name}/events'])
    expect(Object.keys(paths)).toContain(path);
  expect((await server.ask('/health/ready')).status).toBe(200);
});

test('nodes are added before their events', async () => {
  const body = { nodes: [{ name: 'i99', side: 'tail' }] };
  const { status, body: answer } = await server.ask('/nodes', body);
  expect([status, answer]).toEqual([200, { newNodes: 1 }]);
  expect((await server.ask('/nodes', body)).body).toEqual({ newNodes: 0 });
  const found = await server.ask('/recommend', { names: ['u1'], k: 20 });
  expect(found.body.answers[0].map(({ name }: { name: string }) => name)).toContain('i99');
  const wrong = await server.ask('/nodes', { nodes: [{ name: 'i98', side: 'tail', features: [1] }] });
  expect([wrong.status, wrong.body.code]).toEqual([400, 'invalid']);
  const memory = await start({ events: await runOf('events') });
  expect((await memory.ask('/nodes', body)).body).toMatchObject({ code: 'unsupported' });
  expect(Object.keys((await server.ask('/openapi.json')).body.paths)).toContain('/nodes');
});

test('answers can see waiting events', async () => {
  const waiting = await start(
    { events: await runOf('events') },
    {},
    { stream: { state: join(scratch(), 'waiting'), lateness: 1000 } },
  );
  const body = { questions: [{ head: 'u1' }], k: 8 };
  const before = await waiting.ask('/rank', body);
  const { outcomes } = (await waiting.ask('/events', { events: [event('w', 500, { tail: 'i2' })] })).body;
  expect(outcomes).toEqual(['waiting']);
  const latest = await waiting.ask('/rank?read=latest', body);
  expect(latest.status).toBe(200);
  expect(latest.body).not.toEqual(before.body);
  expect((await waiting.ask('/rank?read=watermark&fresh=true', body)).body).toEqual(before.body);
  const wrong = await waiting.ask('/rank?read=now', body);
  expect([wrong.status, wrong.body.error]).toEqual([400, '?read: expected watermark or latest, got "now".']);
});

test('more than the stream can take is refused for a moment', async () => {
  const busy = await start(
    { events: await runOf('events') },
    {},
    { stream: { state: join(scratch(), 'busy'), lateness: 1000, maxWaiting: 10 } },
  );
  const events = Array.from({ length: 12 }, (_, i) => event(`e${i}`, i));
  const first = await busy.ask('/events', { events: events.slice(0, 8) });
  expect(first.body.outcomes.at(-1)).toBe('waiting');
  const { status, headers, body } = await busy.ask('/events', { events: events.slice(8) });
  expect([status, body.code]).toEqual([429, 'too_many_events']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
});
