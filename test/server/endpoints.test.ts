/** Every endpoint over a run of each kind, by the names of its data. */
import { openModel } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeAll, lastTime, runOf, start, startKind, type TestServer } from './models.js';

afterAll(closeAll);

describe('links', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startKind('links');
  });

  test('rank answers as the library does', async () => {
    const model = await openModel(await runOf('links'));
    const questions = [
      { head: 'p1', relation: 'knows' },
      { tail: 'team2', relation: 'works in' },
    ];
    const wanted = await model.rank(questions, { k: 3, includeKnown: true });
    await model.close();
    const { status, body } = await server.ask('/rank', { questions, k: 3, includeKnown: true });
    expect(status).toBe(200);
    expect(body).toEqual({ answers: wanted });
    const named = await server.ask('/models/links/rank', { questions, k: 3, includeKnown: true });
    expect(named.body).toEqual(body);
  });

  test('score answers in order, and null for skipped names', async () => {
    const edges = ['p4', 'stranger', 'p5'].map((tail) => ({ head: 'p1', relation: 'knows', tail }));
    const { body } = await server.ask('/score', { edges, unknown: 'skip' });
    expect(body.scores).toEqual([expect.any(Number), null, expect.any(Number)]);
    expect((await server.ask('/score', { edges: edges.slice(2) })).body.scores).toEqual([body.scores[2]]);
  });

  test('neighbors, embed and recommend', async () => {
    const near = await server.ask('/neighbors', { names: ['p1', 'p2'], k: 2 });
    expect(near.body.answers.map((list: unknown[]) => list.length)).toEqual([2, 2]);
    const { body } = await server.ask('/embed', { names: ['p1'] });
    expect(body.vectors[0].length).toBeGreaterThan(1);
    expect(body.vectors[0].every(Number.isFinite)).toBe(true);
    const question = { names: ['p1'], relation: 'works in', k: 5, exclude: 'none' };
    const items = await server.ask('/recommend', question);
    expect(items.body.answers[0].map(({ name }: { name: string }) => name.slice(0, 4))).toEqual(
      Array(3).fill('team'),
    );
  });

  test('explain answers as the library does, and bounds what it takes', async () => {
    const model = await openModel(await runOf('links'));
    const edge = { head: 'p1', relation: 'works in', tail: 'team1' };
    const wanted = await model.explain(edge, { k: 3 });
    await model.close();
    const { status, body } = await server.ask('/explain', { edge, k: 3 });
    expect(status).toBe(200);
    expect(body).toEqual(JSON.parse(JSON.stringify(wanted)));
    // Requests in between are answered before the explanation ends.
    const [, quick] = await Promise.all([
      server.ask('/explain', { edge }),
      server.ask('/rank', { questions: [{ head: 'p1', relation: 'knows' }] }),
    ]);
    expect(quick.status).toBe(200);
    const refused = async (asked: object): Promise<string> => {
      const answer = await server.ask('/explain', asked);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid']);
      return answer.body.error;
    };
    expect(await refused({})).toContain('expected either node or edge, got neither');
    expect(await refused({ edge, node: 'p1' })).toContain('got both');
    expect(await refused({ edge, steps: 501 })).toContain('a whole number from 1 to 500');
    expect(await refused({ edge, turn: 1 })).toContain('one of the keys node, edge');
    expect(await refused({ node: 'p1' })).toContain('This is a model of links');
  });

  test('names that are not known get suggestions', async () => {
    const { status, body } = await server.ask('/rank', { questions: [{ head: 'team', relation: 'knows' }] });
    expect([status, body.code]).toEqual([400, 'unknown_name']);
    expect(body.error).toMatch(/got "team"\. Did you mean team/);
    expect(body.suggestions).toContain('team0');
  });

  test('names that JSON has rounded are refused', async () => {
    for (const head of ['1811111111111111169', '1.5']) {
      const { status, body } = await server.ask('/rank', `{"questions":[{"head":${head}}]}`);
      expect([status, body.code]).toEqual([400, 'invalid']);
      expect(body.error).toMatch(
        /^questions\[0\]\.head: expected a name: .*, or an integer up to 2\^53 - 1, got 1/,
      );
    }
  });

  test('times and parameters of streams are refused, not ignored', async () => {
    const timed = { head: 'p1', relation: 'knows', time: 5 };
    const ranked = await server.ask('/rank', { questions: [timed] });
    expect([ranked.status, ranked.body.error]).toEqual([
      400,
      'rank: expected no time for questions[0].time, got 5. Edges of a graph have none; leave it out.',
    ]);
    const edge = { ...timed, tail: 'p2' };
    const scored = await server.ask('/score', { edges: [{ ...edge, time: undefined }, edge] });
    expect([scored.status, scored.body.error]).toEqual([
      400,
      'score: expected no time for edges[1].time, got 5. Edges of a graph have none; leave it out.',
    ]);
    const fresh = await server.ask('/rank?fresh=true', { questions: [{ head: 'p1', relation: 'knows' }] });
    expect([fresh.status, fresh.body.error]).toEqual([400, 'query: expected no parameters, got "fresh".']);
  });

  test('what the model cannot do is said in one sentence', async () => {
    const { status, body } = await server.ask('/classify', { names: ['p1'] });
    expect([status, body.code]).toEqual([409, 'unsupported']);
    expect(body.error).toMatch(
      /^classify: expected a model that can do it, got links, a model of links\. It answers score, /,
    );
    const events = await server.ask('/events', { events: [{ head: 'p1', tail: 'p2', time: 1 }] });
    expect([events.status, events.body.code]).toEqual([409, 'unsupported']);
    expect((await server.ask('/status')).status).toBe(409);
  });
});

describe('nodes', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startKind('nodes');
  });

  test('classify by name, with probabilities', async () => {
    const { status, body } = await server.ask('/classify', { names: ['p3', 'p4'] });
    expect(status).toBe(200);
    expect([...body.classes].sort()).toEqual(['business', 'casual']);
    for (const { class: found, probabilities } of body.answers) {
      expect(probabilities[0] + probabilities[1]).toBeCloseTo(1, 5);
      expect(probabilities[body.classes.indexOf(found)]).toBeGreaterThanOrEqual(0.5);
    }
  });

  test('classify new nodes by their columns and edges', async () => {
    const nodes = [
      { id: 'n1', age: 50, plan: 'team' },
      { id: 'n2', age: 20, plan: 'free' },
    ];
    const { status, body } = await server.ask('/classify', {
      nodes,
      edges: [{ source: 'n1', target: 'p1' }],
    });
    expect([status, body.answers.map(({ name }: { name: string }) => name)]).toEqual([200, ['n1', 'n2']]);
    const partial = await server.ask('/classify', { nodes: [nodes[0], { id: 'n2', plan: 'free' }] });
    expect([partial.status, partial.body.error]).toEqual([
      400,
      'classify: expected the fields id, age, plan for nodes[1], got none for age. Write null for a value that is unknown.',
    ]);
    const extra = await server.ask('/classify', { nodes: [{ ...nodes[0], plans: 'team' }] });
    expect([extra.status, extra.body.error]).toEqual([
      400,
      'classify: expected the fields id, age, plan for nodes[0], got "plans" as well. Did you mean plan?',
    ]);
    const wrong = await server.ask('/classify', { nodes: [{ id: 'n1', age: [{}] }] });
    expect([wrong.status, wrong.body.code]).toEqual([400, 'invalid']);
  });

  test('classify takes names or nodes', async () => {
    const neither = await server.ask('/classify', {});
    expect([neither.status, neither.body.error]).toEqual([
      400,
      'body: expected either names or nodes, got neither.',
    ]);
    const edges = await server.ask('/classify', { names: ['p3'], edges: [] });
    expect([edges.status, edges.body.code]).toEqual([400, 'invalid']);
  });

  test('neighbors and embed', async () => {
    expect((await server.ask('/neighbors', { names: ['p1'] })).body.answers[0]).toHaveLength(10);
    expect((await server.ask('/embed', { names: ['p1', 'p2'] })).body.vectors).toHaveLength(2);
  });
});

describe('a long question about events', () => {
  test('an explanation, new events and other questions do not wait for each other for ever', async () => {
    const server = await startKind('events');
    const time = lastTime + 10;
    const edge = { head: 'u1', tail: 'i0', time };
    const asked = Array.from({ length: 3 }, () => server.ask('/explain', { edge, events: 100 }));
    const appended = Array.from({ length: 3 }, (_, i) =>
      server.ask('/events', { events: [{ head: 'u1', tail: 'i1', time: time + i }] }),
    );
    const others = [
      server.ask('/score', { edges: [{ head: 'u1', tail: 'i0' }] }),
      server.ask('/recommend', { names: ['u1'], k: 2 }),
      server.ask('/rank', { questions: [{ head: 'u1' }], k: 2 }),
    ];
    const answers = await Promise.all([...asked, ...appended, ...others]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });
});

describe('events in memory', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startKind('events');
  });

  test('score, rank and recommend follow appended events', async () => {
    const edges = [{ head: 'u1', tail: 'i0' }];
    const before = await server.ask('/score', { edges });
    expect(before.body.scores).toEqual([expect.any(Number)]);
    const ranked = await server.ask('/rank', { questions: [{ head: 'u1' }], k: 3 });
    expect(ranked.body.answers[0].map(({ name }: { name: string }) => name[0])).toEqual(['i', 'i', 'i']);
    const event = { id: 'a', head: 'u1', tail: 'i0', time: lastTime + 60 };
    const appended = await server.ask('/events', {
      events: [event, { ...event, id: 'b', time: lastTime + 120 }],
    });
    expect([appended.status, appended.body]).toEqual([
      200,
      { accepted: 2, outcomes: ['accepted', 'accepted'], newNodes: 0 },
    ]);
    const after = await server.ask('/score', { edges });
    expect(after.body.scores[0]).not.toBe(before.body.scores[0]);
    expect((await server.ask('/recommend', { names: ['u1'], k: 2 })).body.answers[0]).toHaveLength(2);
    const status = await server.ask('/status');
    expect(status.body).toMatchObject({ events: 122, lag: 0, watermark: lastTime + 120 });
  });

  test('times for some edges are refused, whatever the size of slices', async () => {
    const timed = { head: 'u1', tail: 'i3', time: lastTime + 120 };
    const { time: _, ...untimed } = timed;
    for (const count of [1, 2, 8, 64, 1000]) {
      const edges = [...Array(count).fill(timed), ...Array(count).fill(untimed)];
      for (const list of [edges, edges.toReversed()]) {
        const { status, body } = await server.ask('/score', { edges: list });
        expect([status, body.error]).toEqual([
          400,
          'edges: expected a time for all edges or for none, got some. Add the missing ones.',
        ]);
      }
    }
  });

  test('a repeated event, and a repeated request, change nothing', async () => {
    const { events } = (await server.ask('/status')).body;
    const event = { id: 'x', head: 'u2', tail: 'i1', time: lastTime + 180 };
    expect((await server.ask('/events', { events: [event, event] })).body).toMatchObject({
      accepted: 1,
      outcomes: ['accepted', 'duplicate'],
    });
    const headers = { 'idempotency-key': 'request-1' };
    const once = { events: [{ head: 'u2', tail: 'i1', time: lastTime + 180 }] };
    const first = await server.ask('/events', once, headers);
    expect((await server.ask('/events', once, headers)).body).toEqual(first.body);
    expect((await server.ask('/status')).body.events).toBe(events + 2);
    const long = await server.ask('/events', once, { 'idempotency-key': 'k'.repeat(200) });
    expect([long.status, long.body.error]).toEqual([
      400,
      'Idempotency-Key: expected a text of 1 to 128 characters, got one of 200.',
    ]);
  });

  test('dates are seconds, and a far time is refused without closing the stream', async () => {
    const date = new Date((lastTime + 240) * 1000).toISOString();
    const event = { head: 'u2', tail: 'i1', time: date };
    expect((await server.ask('/events', { events: [event] })).status).toBe(200);
    const far = await server.ask('/events', { events: [{ ...event, time: 1e38 }] });
    expect([far.status, far.body.code]).toEqual([400, 'invalid']);
    expect(far.body.error).toMatch(/expected a time of at most .* for events\[0\]\.time, got 1e\+38/);
    const late = await server.ask('/events', { events: [{ ...event, time: 5 }] });
    expect(late.body.error).toMatch(
      /^append: expected events in order of time for events\[0\]\.time, got 5 after \d+\. Sort the events\. skein serve with --state and --lateness takes late ones\.$/,
    );
    expect((await server.ask('/events', { events: [{ ...event, time: lastTime + 300 }] })).status).toBe(200);
  });

  test('names that are not known get suggestions', async () => {
    const ranked = await server.ask('/rank', { questions: [{ head: 'uu1' }] });
    expect([ranked.status, ranked.body.code]).toEqual([400, 'unknown_name']);
    expect(ranked.body.suggestions).toContain('u1');
    expect(ranked.body.error).toMatch(
      /expected a source of the stream for head, got "uu1"\. Did you mean u1/,
    );
    const event = { head: 'u1', tail: 'newcomer', time: lastTime + 300 };
    const appended = await server.ask('/events', { events: [event] });
    expect([appended.status, appended.body.code]).toEqual([400, 'unknown_name']);
    expect(appended.body.error).toBe(
      'append: expected a destination of the stream for events[0].tail, got "newcomer". The model knows 14 nodes, such as "u0", "i0", "u1". skein serve with --state and --new-nodes allow takes new nodes.',
    );
  });

  test('a request with one wrong event changes nothing', async () => {
    const { events } = (await server.ask('/status')).body;
    const good = { head: 'u2', tail: 'i1', time: lastTime + 400 };
    for (const wrong of [
      { ...good, tail: 'unheard-of' },
      { ...good, time: 5 },
      { ...good, features: [1] },
    ])
      expect((await server.ask('/events', { events: [good, wrong] })).status).toBe(400);
    expect((await server.ask('/status')).body.events).toBe(events);
  });

  test('more events than the model can take are refused for a moment', async () => {
    const many = (from: number) =>
      Array.from({ length: 10_000 }, (_, i) => ({ head: 'u1', tail: 'i1', time: from + i }));
    const answers = await Promise.all(
      [0, 1, 2, 3].map((i) => server.ask('/events', { events: many(lastTime + 1000 + i * 10_000) })),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0].headers.get('retry-after')).toBe('1');
    expect(refused[0].body.code).toBe('too_many_events');
  });
});

describe('several models', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await start({ links: await runOf('links'), customers: await runOf('nodes') });
  });

  test('are asked by their names', async () => {
    expect((await server.ask('/models/links/neighbors', { names: ['p1'] })).status).toBe(200);
    expect((await server.ask('/models/customers/classify', { names: ['p1'] })).status).toBe(200);
    const short = await server.ask('/rank', { questions: [{ head: 'p1', relation: 'knows' }] });
    expect([short.status, short.body.error]).toEqual([
      404,
      'expected a path under /models/{name} for a server of several models, got none. Models: links, customers.',
    ]);
    const other = await server.ask('/models/other/rank', { questions: [{ head: 'p1' }] });
    expect([other.status, other.body.error]).toEqual([
      404,
      'expected one of the models links, customers, got "other".',
    ]);
  });

  test('are described', async () => {
    const { body } = await server.ask('/models');
    expect(body.models.map(({ name, kind }: { name: string; kind: string }) => [name, kind])).toEqual([
      ['links', 'links'],
      ['customers', 'nodes'],
    ]);
    const one = await server.ask('/models/customers');
    expect(one.body).toMatchObject({ answers: ['classify', 'neighbors', 'embed', 'explain'], version: 1 });
    expect(one.body.metrics.test.accuracy).toBeGreaterThan(0);
    // No path of this machine.
    expect(JSON.stringify(body)).not.toContain('/');
  });

  test('health, index and metrics', async () => {
    expect((await server.ask('/health')).body).toEqual({ status: 'ok' });
    expect((await server.ask('/health/live')).body).toEqual({ status: 'live' });
    expect((await server.ask('/health/ready')).body).toEqual({ status: 'ready' });
    const index = await server.ask('/');
    expect(index.body).toMatchObject({ name: 'skein', models: ['links', 'customers'] });
    expect(index.body.endpoints).toContain('POST /models/{name}/rank');
    const { body, headers } = await server.ask('/metrics');
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).toMatch(
      /skein_http_requests_total\{route="\/models\/\{name\}\/classify",model="customers",status="200"\} 1/,
    );
    expect(body).toMatch(/skein_model_items_total\{model="links",ability="neighbors"\} 1/);
    expect(body).toMatch(/skein_model_waiting_requests\{model="links",kind="links"\} 0/);
  });
});
