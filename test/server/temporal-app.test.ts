/** The HTTP server over a temporal model: every route, every invalid request, and the hosts it answers to. */
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { OnlineScorer, SharedMailBox, TemporalRuntime } from 'skein/temporal';
import { afterEach, describe, expect, test } from 'vitest';
import type { EventNodes } from '#internal/data/temporal/event-nodes.js';
import { type RunningServer, serveTemporal } from '#internal/server/serve-temporal.js';
import { temporalApp } from '#internal/server/temporal-app.js';
import { makeEvents, makeRig, numNodes, numUsers, width } from '../temporal/stream.js';

const destinations = Int32Array.from({ length: numNodes - numUsers }, (_, i) => numUsers + i);
const host = '127.0.0.1:8080';

function newScorer(growNodes = false) {
  const events = makeEvents(60);
  const { model } = makeRig(events);
  const graph = new TemporalGraph(events, { numNodes, growNodes });
  const mailbox = new SharedMailBox({
    ...{ numNodes, memoryParam: model.config.memory, dimEdgeFeat: width },
    edgeFeatures: () => graph.features,
  });
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [4], strategy: 'recent' });
  const scorer = new OnlineScorer({
    graph,
    sampler,
    runtime: new TemporalRuntime({ model, mailbox }),
    stateRows: 0,
  });
  scorer.advance();
  return { scorer, graph, mailbox };
}

function newApp({ maxBody, growNodes = false }: { maxBody?: number; growNodes?: boolean } = {}) {
  const made = newScorer(growNodes);
  const app = temporalApp({
    ...{ scorer: made.scorer, destinations, hosts: [host] },
    ...(maxBody === undefined ? {} : { maxBody }),
  });
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await app.request(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { host, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, never> };
  };
  const everything = () => ({
    nodes: made.graph.numNodes,
    events: made.graph.numEvents,
    waiting: made.scorer.numWaiting,
    state: made.mailbox.snapshot(),
  });
  return { ...made, ask, everything };
}

const features = [[0.1, 0.2, 0.3]];

describe('routes', () => {
  test('/status reports the stream and latencies', async () => {
    const { ask, graph } = newApp();
    const { status, body } = await ask('/status');
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ nodes: numNodes, events: 60, waiting: 0, last_time: graph.lastTime },
      latency_ms: { count: 0, p50: 0, p90: 0, p99: 0, max: 0 },
    });
  });

  test('/events accepts events, which then wait', async () => {
    const { ask, graph } = newApp();
    const t = graph.lastTime;
    const events = { src: [1, 2], dst: [15, 16], time: [t, t + 5], features: [...features, ...features] };
    expect(await ask('/events', events)).toEqual({
      status: 200,
      body: { first_row: 60, accepted: 2, waiting: 2 },
    });
    expect([...graph.features!.slice(-3)]).toEqual([...Float32Array.of(0.1, 0.2, 0.3)]);
    expect((await ask('/status')).body).toMatchObject({ events: 62, waiting: 2, last_time: t + 5 });
    expect((await ask('/events', { src: [], dst: [], time: [] })).body).toMatchObject({ accepted: 0 });
  });

  test('/score answers with probabilities and logits, after all events', async () => {
    const { ask, graph, scorer } = newApp();
    const one = (await ask('/score', { src: 1, dst: [15, 16] })).body as unknown as {
      scores: number[];
      logits: number[];
    };
    expect(one.logits).toEqual([...scorer.score([1], [15, 16])]);
    expect(one.scores).toEqual(one.logits.map((logit) => 1 / (1 + Math.exp(-logit))));
    expect((await ask('/score', { src: [1, 1], dst: [15, 16] })).body).toEqual(one);
    const time = graph.lastTime + 100;
    expect((await ask('/score', { src: 1, dst: [15], time })).body['logits']).toEqual([
      ...scorer.score([1], [15], time),
    ]);
    await ask('/events', { src: [1], dst: [15], time: [time], features });
    const later = await ask('/score', { src: 1, dst: [15, 16] });
    expect(later.body['logits']).not.toEqual(one.logits);
    expect((await ask('/status')).body).toMatchObject({ waiting: 0, latency_ms: { count: 6 } });
  });

  test('/recommend returns the best destinations, the best first', async () => {
    const { ask, scorer } = newApp();
    const { body } = await ask('/recommend', { src: 3, k: 3 });
    const logits = scorer.score([3], destinations);
    const order = [...destinations.keys()].sort((a, b) => logits[b] - logits[a]);
    const found = body['destinations'] as { id: number; score: number }[];
    expect(found.map(({ id }) => id)).toEqual(order.slice(0, 3).map((i) => destinations[i]));
    expect(found[0].score).toBeGreaterThanOrEqual(found[2].score);
    expect((await ask('/recommend', { src: 3 })).body['destinations']).toHaveLength(8);
  });

  test('/score takes one destination, /events one event or a list of them', async () => {
    const one = newApp();
    const time = one.graph.lastTime + 1;
    const first = { src: 1, dst: 15, time, features: features[0] };
    expect((await one.ask('/events', [first, { ...first, src: 2 }])).body).toMatchObject({ accepted: 2 });
    expect((await one.ask('/events', { ...first, dst: 16 })).body).toMatchObject({ accepted: 1 });
    const other = newApp();
    const columns = { src: [1, 2, 1], dst: [15, 15, 16], time: [time, time, time] };
    await other.ask('/events', { ...columns, features: [...features, ...features, ...features] });
    const wanted = (await other.ask('/score', { src: 1, dst: [15] })).body;
    expect((await one.ask('/score', { src: 1, dst: 15 })).body).toEqual(wanted);
    expect([...one.scorer.score(1, 15)]).toEqual(wanted['logits']);
    expect(() => one.scorer.score('1' as never, [15])).toThrow(/a node or a list of nodes for src, got "1"/);
  });

  test('nodes have the names of the event file, and new ones are rejected with an error that names them', async () => {
    const made = newScorer();
    const names = Array.from({ length: numNodes }, (_, i) => (i < numUsers ? `u${i}` : `i${i - numUsers}`));
    const nodes: EventNodes = {
      ...{ kind: 'names', size: numNodes, sideOf: () => null },
      idOf: (raw) => (names.includes(String(raw)) ? names.indexOf(String(raw)) : undefined),
      nameOf: (id) => names[id],
    };
    const app = temporalApp({ scorer: made.scorer, destinations, hosts: [host], nodes });
    const ask = async (path: string, body: unknown) => {
      const answer = await app.request(path, {
        method: 'POST',
        headers: { host },
        body: JSON.stringify(body),
      });
      return (await answer.json()) as Record<string, never>;
    };
    const scored = await ask('/score', { src: 'u1', dst: ['i0', 'i1'] });
    expect(scored['logits']).toEqual([...made.scorer.score(1, [numUsers, numUsers + 1])]);
    const { destinations: best } = await ask('/recommend', { src: 'u1', k: 2 });
    expect((best as { id: string }[]).every(({ id }) => /^i\d$/.test(id))).toBe(true);
    const time = made.graph.lastTime + 1;
    expect(await ask('/events', { src: 'u1', dst: 'i3', time, features: features[0] })).toMatchObject({
      accepted: 1,
    });
    expect((await ask('/events', { src: 'new', dst: 'i3', time }))['error']).toBe(
      'src: expected the name of a source that the model was trained with, as in the event file, got "new".',
    );
  });

  test('new nodes can be scored after their first event', async () => {
    const { ask, graph } = newApp({ growNodes: true });
    expect((await ask('/score', { src: 40, dst: [15] })).status).toBe(400);
    await ask('/events', { src: [40], dst: [15], time: [graph.lastTime + 1], features });
    expect((await ask('/score', { src: 40, dst: [15] })).status).toBe(200);
    expect((await ask('/status')).body).toMatchObject({ nodes: 41 });
  });
});

describe('a rejected request changes nothing', () => {
  const late = 1e6;
  const good = { src: [1], dst: [15], time: [late], features };
  const two = (change: object) => ({
    src: [1, 2],
    dst: [15, 16],
    time: [late, late],
    features: [...features, ...features],
    ...change,
  });
  test.each<[string, string, unknown, RegExp]>([
    ['no JSON', '/events', '{', /JSON/],
    ['an empty body', '/events', '', /JSON/],
    ['a list', '/events', [], /body: .*object/],
    ['a missing column', '/events', { src: [1], dst: [15] }, /time/],
    ['an unknown key', '/events', { ...good, feature: [] }, /feature/],
    ['a fractional id', '/events', two({ src: [1, 1.5] }), /src\.1/],
    ['a negative id', '/events', two({ dst: [15, -1] }), /dst\.1/],
    ['a word for an id', '/events', two({ src: [1, '2'] }), /src\.1/],
    [
      'an id that is not a node',
      '/events',
      two({ dst: [15, numNodes] }),
      /^events: .*for dst.*20.* Use nodes that the model was trained with; GET \/status/,
    ],
    [
      'a word for a source',
      '/score',
      { src: 'x', dst: [15] },
      /^src: expected the number of a node, got "x"\.$/,
    ],
    [
      'an object for a source',
      '/score',
      { src: {}, dst: [15] },
      /^src: expected the number of a node, got an object/,
    ],
    ['no destination', '/score', { src: 1 }, /^dst: expected the number of a node, got nothing\.$/],
    [
      'a word in a list',
      '/events',
      [{ src: 1, dst: 15, time: late, features: features[0] }, 'x'],
      /^1: expected an event object .*got "x"/,
    ],
    [
      'an event without time',
      '/events',
      [{ src: 1, dst: 15 }],
      /^0\.time: expected a finite number, got nothing/,
    ],
    [
      'an event with a unknown key',
      '/events',
      { src: 1, dst: 15, when: 3 },
      /^when: expected one of the keys src, dst, time/,
    ],
    [
      'features of some events',
      '/events',
      [
        { src: 1, dst: 15, time: late, features: features[0] },
        { src: 1, dst: 15, time: late },
      ],
      /^1\.features: expected 3 numbers for each event, got nothing\.$/,
    ],
    ['an id beyond 32 bits', '/events', two({ dst: [15, 2 ** 40] }), /dst/],
    [
      'times in disorder',
      '/events',
      two({ time: [late, late - 1] }),
      /^events: .*for time.*Send events in order of time, none before last_time of GET \/status\.$/,
    ],
    ['a time before the stream', '/events', two({ time: [0, late] }), /time/],
    ['no time', '/events', two({ time: [late, null] }), /time\.1/],
    ['an endless time', '/events', '{"src":[1],"dst":[15],"time":[1e999],"features":[[1,2,3]]}', /time\.0/],
    ['a time too far away', '/events', two({ time: [late, 1e300] }), /numbers up to 1.7e\+38 for time/],
    [
      'columns of different lengths',
      '/events',
      two({ src: [1] }),
      /^dst: expected as many entries as src has, 1, got 2\.$/,
    ],
    ['no features', '/events', { src: [1], dst: [15], time: [late] }, /features/],
    [
      'too few features',
      '/events',
      two({ features: [[1, 2, 3], [1]] }),
      /features\.1: expected 3 numbers, got 1/,
    ],
    ['features of too few events', '/events', two({ features }), /features/],
    [
      'features beyond 32-bit floats',
      '/events',
      two({
        features: [
          [1, 2, 3],
          [1, 1e39, 1],
        ],
      }),
      /features/,
    ],
    ['types where events have none', '/events', { ...good, types: [1] }, /types/],
    ['no destinations', '/score', { src: 1, dst: [] }, /dst/],
    ['too many destinations', '/score', { src: 1, dst: Array(100_001).fill(15) }, /dst/],
    ['sources of another number', '/score', { src: [1, 2], dst: [15, 16, 17] }, /1 or 3 sources/],
    ['an unknown source', '/score', { src: 99, dst: [15] }, /src\[0\], got 99/],
    ['a time that memory has passed', '/score', { src: 1, dst: [15], time: 1 }, /a time after/],
    ['an unknown key of a question', '/score', { src: 1, dst: [15], t: 1 }, /t/],
    ['no source', '/recommend', { k: 3 }, /src/],
    ['k of 0', '/recommend', { src: 1, k: 0 }, /k/],
    ['an unknown node', '/recommend', { src: 99 }, /src\[0\], got 99/],
  ])('%s', async (_name, path, body, message) => {
    const { ask, everything } = newApp();
    const before = everything();
    const answer = await ask(path, body);
    expect(answer.status).toBe(400);
    expect(answer.body['error']).toMatch(message);
    expect(everything()).toEqual(before);
    expect((await ask('/events', good)).status).toBe(200);
  });

  test('a body that is too large', async () => {
    const { ask, everything } = newApp({ maxBody: 1000 });
    const before = everything();
    const events = { src: Array(200).fill(1), dst: Array(200).fill(15), time: Array(200).fill(late) };
    const { status, body } = await ask('/events', events);
    expect([status, body['error']]).toEqual([
      413,
      'expected a body of at most 1000 bytes. Send fewer events per request.',
    ]);
    expect(everything()).toEqual(before);
  });

  test('another host, and none', async () => {
    const { ask, everything } = newApp();
    const before = everything();
    for (const other of ['evil.example', '127.0.0.1:9', 'localhost', '']) {
      const { status, body } = await ask('/events', good, { host: other });
      expect(status).toBe(403);
      expect(body['error']).toContain(host);
    }
    expect(everything()).toEqual(before);
  });

  test('unknown routes and methods', async () => {
    const { ask } = newApp();
    for (const [path, body] of [
      ['/', undefined],
      ['/events', undefined],
      ['/status', {}],
      ['/score/1', {}],
    ] as const) {
      const answer = await ask(path, body);
      expect(answer.status).toBe(404);
      expect(answer.body['error']).toContain(
        'expected GET /status, POST /events, /score or /recommend, got ',
      );
    }
  });
});

describe('serving', () => {
  const open: RunningServer[] = [];
  afterEach(async () => {
    for (const served of open.splice(0)) await served.close().catch(() => undefined);
  });
  async function served(options: { host?: string; port?: number } = { port: 0 }) {
    const made = newScorer();
    const server = await serveTemporal({ scorer: made.scorer, destinations, ...options });
    open.push(server);
    return { ...made, ...server };
  }
  /** Like a browser that uses a wrong name of the server. */
  const statusWith = (url: string, name: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      request({ hostname, port, path: '/status', headers: { host: name } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });

  test('listens on this machine only, and answers to its own names', async () => {
    const { url } = await served();
    const { port } = new URL(url);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/status`)).status).toBe(200);
    expect(await statusWith(url, `localhost:${port}`)).toBe(200);
    expect(await statusWith(url, 'evil.example')).toBe(403);
    expect(await statusWith(url, `evil.example:${port}`)).toBe(403);
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.internal === false && address.family === 'IPv4');
    if (outside !== undefined)
      await expect(fetch(`http://${outside.address}:${port}/status`)).rejects.toThrow();
  });

  test('applies waiting events to memory while there are no requests', async () => {
    const { url, scorer, graph } = await served();
    const body = JSON.stringify({ src: [1], dst: [15], time: [graph.lastTime + 1], features });
    expect((await fetch(`${url}/events`, { method: 'POST', body })).status).toBe(200);
    for (let i = 0; i < 100 && scorer.numWaiting > 0; i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(scorer.numWaiting).toBe(0);
  });

  test('answers concurrent requests', async () => {
    const { url } = await served();
    const body = JSON.stringify({ src: 1, dst: [15, 16] });
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => (await fetch(`${url}/score`, { method: 'POST', body })).text()),
    );
    expect(new Set(answers).size).toBe(1);
  });

  test('a port that is in use is named', async () => {
    const { url } = await served();
    const port = Number(new URL(url).port);
    await expect(served({ port })).rejects.toThrow(
      /expected a free port, got 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
    );
  });

  test('closes', async () => {
    const { url, close } = await served();
    expect((await fetch(`${url}/status`)).status).toBe(200);
    await close();
    await expect(fetch(`${url}/status`)).rejects.toThrow();
  });
});
