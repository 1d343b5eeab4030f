/** The Open Inference Protocol: the same answers, checks and limits as the plain routes, as tensors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeAll, lastTime, runOf, start, startKind, type TestServer } from './models.js';

const token = 'a-token-of-some-length';
const bearer = { authorization: `Bearer ${token}` };
let server: TestServer;

beforeAll(async () => {
  server = await start({
    ...{ links: await runOf('links'), nodes: await runOf('nodes'), events: await runOf('events') },
  });
});
afterAll(closeAll);

const bytes = (name: string, ...data: string[]) => ({ name, datatype: 'BYTES', shape: [data.length], data });
const infer = (model: string, body: object) => server.ask(`/v2/models/${model}/infer`, body);
const links = [bytes('head', 'p1', 'p2'), bytes('relation', 'knows', 'knows'), bytes('tail', 'p4', 'p9')];
const edges = [
  { head: 'p1', relation: 'knows', tail: 'p4' },
  { head: 'p2', relation: 'knows', tail: 'p9' },
];

describe('metadata', () => {
  test('of the server and its health', async () => {
    expect((await server.ask('/v2')).body).toEqual({ name: 'skein', version: '0.0.0', extensions: [] });
    expect((await server.ask('/v2/health/live')).body).toEqual({ live: true });
    expect((await server.ask('/v2/health/ready')).body).toEqual({ ready: true });
    expect((await server.ask('/v2/models/nodes/ready')).body).toEqual({ name: 'nodes', ready: true });
  });

  test('of models', async () => {
    expect((await server.ask('/v2/models/nodes')).body).toEqual({
      ...{ name: 'nodes', versions: ['1'], platform: 'skein' },
      inputs: [{ name: 'name', datatype: 'BYTES', shape: [-1] }],
      outputs: [
        { name: 'class', datatype: 'BYTES', shape: [-1] },
        { name: 'probabilities', datatype: 'FP32', shape: [-1, -1] },
        { name: 'classes', datatype: 'BYTES', shape: [-1] },
      ],
      parameters: { operations: 'neighbors, classify, embed' },
    });
    const { body } = await server.ask('/v2/models/links');
    expect(body.inputs.map(({ name }: { name: string }) => name)).toEqual([
      'head',
      'tail',
      'relation',
      'time',
    ]);
    expect((await server.ask('/v2/models/other')).status).toBe(404);
    expect((await server.ask('/v2/models/other/ready')).status).toBe(404);
  });

  test('in the description of all routes', async () => {
    const { body } = await server.ask('/openapi.json');
    expect(Object.keys(body.paths).filter((path) => path.startsWith('/v2'))).toEqual([
      ...['/v2/health/live', '/v2/health/ready', '/v2', '/v2/models/{name}', '/v2/models/{name}/ready'],
      '/v2/models/{name}/infer',
    ]);
    expect(body.components.schemas.InferenceInput.required).toEqual(['name', 'shape', 'datatype', 'data']);
  });
});

describe('infer', () => {
  test('scores edges, with the id of the request', async () => {
    const { body: plain } = await server.ask('/models/links/score', { edges });
    const score = { name: 'score', datatype: 'FP32', shape: [2], data: plain.scores };
    const answer = { model_name: 'links', model_version: '1', outputs: [score] };
    expect((await infer('links', { id: 'a', inputs: links })).body).toEqual({ ...answer, id: 'a' });
    const nested = links.map((one) => ({ ...one, shape: [2, 1], data: one.data.map((value) => [value]) }));
    expect((await infer('links', { inputs: nested })).body).toEqual(answer);
    const { body } = await infer('links', { inputs: links, parameters: { unit: 'probability' } });
    const { body: probable } = await server.ask('/models/links/score', { edges, unit: 'probability' });
    // This model is not calibrated.
    expect(body).toEqual(probable);
    expect(body.error).toMatch(/calibrated/);
  });

  test('ranks ends; lists of different lengths follow each other', async () => {
    const inputs = [bytes('head', 'p1', 'p2'), bytes('relation', 'knows', 'works in')];
    const questions = [
      { head: 'p1', relation: 'knows' },
      { head: 'p2', relation: 'works in' },
    ];
    const { body: plain } = await server.ask('/models/links/rank', { questions, k: 5 });
    const parameters = { k: 5, binary_data_output: true };
    const { body } = await infer('links', { inputs, parameters });
    const all = plain.answers.flat() as { name: string; score: number }[];
    expect(plain.answers.map((list: unknown[]) => list.length)).toEqual([5, 2]);
    expect(body.outputs).toEqual([
      { name: 'name', datatype: 'BYTES', shape: [7], data: all.map(({ name }) => name) },
      { name: 'score', datatype: 'FP32', shape: [7], data: all.map(({ score }) => score) },
      { name: 'count', datatype: 'INT32', shape: [2], data: [5, 2] },
    ]);
    const { body: some } = await infer('links', { inputs, parameters, outputs: [{ name: 'score' }] });
    expect(some.outputs).toEqual([body.outputs[1]]);
  });

  test('classifies, embeds and finds neighbours by name', async () => {
    const inputs = [bytes('name', 'p1', 'p2', 'p3')];
    const names = ['p1', 'p2', 'p3'];
    const { body: classes } = await server.ask('/models/nodes/classify', { names });
    const { body } = await infer('nodes', { inputs });
    expect(body.outputs).toMatchObject([
      { name: 'class', shape: [3], data: classes.answers.map((one: { class: string }) => one.class) },
      { name: 'probabilities', shape: [3, 2] },
      { name: 'classes', datatype: 'BYTES', data: classes.classes },
    ]);
    expect(body.outputs[1].data).toEqual(
      classes.answers.flatMap((one: { probabilities: number[] }) => one.probabilities),
    );
    const { body: vectors } = await server.ask('/models/links/embed', { names });
    expect((await infer('links', { inputs })).body.outputs).toEqual([
      {
        name: 'vector',
        datatype: 'FP32',
        shape: [3, vectors.vectors[0].length],
        data: vectors.vectors.flat(),
      },
    ]);
    const near = await infer('nodes', { inputs, parameters: { operation: 'neighbors', k: 2 } });
    expect(near.body.outputs[2]).toMatchObject({ name: 'count', data: [2, 2, 2] });
  });

  test('asks streams at a time', async () => {
    const time = { name: 'time', datatype: 'FP64', shape: [1], data: [lastTime + 60] };
    const { status, headers, body } = await infer('events', {
      inputs: [bytes('head', 'u1'), bytes('tail', 'i3'), time],
    });
    expect(status).toBe(200);
    expect(headers.get('skein-stream-version')).toBe('120');
    const { body: plain } = await server.ask('/models/events/score', {
      edges: [{ head: 'u1', tail: 'i3', time: lastTime + 60 }],
    });
    expect(body.outputs[0].data).toEqual(plain.scores);
  });
});

test.each([
  ['no inputs', { inputs: [] }, /^inputs: expected a list of 1 to 8 tensors, got a list of 0/],
  ['an unknown key', { inputs: links, input: 1 }, /^input: expected one of the keys id, inputs/],
  ['other inputs', { inputs: [bytes('x', 'p1')] }, /^inputs: expected tensors named head and tail.*got x/],
  [
    'one input too many',
    { inputs: [...links, bytes('name', 'a', 'b')] },
    /^inputs\[0\]\.name: expected each of name/,
  ],
  [
    'an input twice',
    { inputs: [...links, links[0]] },
    /^inputs\[3\]\.name: expected each of head, tail, .* "head"/,
  ],
  [
    'another shape',
    { inputs: [{ ...links[0], shape: [3] }] },
    /^inputs\[0\]\.data: expected 3 values .* got 2/,
  ],
  [
    'a wide shape',
    { inputs: [{ ...links[0], shape: [1, 2] }] },
    /^inputs\[0\]\.shape: expected \[n\] or \[n, 1\]/,
  ],
  [
    'no length',
    { inputs: [{ ...links[0], shape: [-1] }] },
    /^inputs\[0\]\.shape\[0\]: expected a length, got -1/,
  ],
  [
    'other lengths',
    { inputs: [links[0], bytes('tail', 'p4')] },
    /^inputs\[1\]\.shape: expected 2 rows as inputs\[0\]/,
  ],
  [
    'another datatype',
    { inputs: [{ ...links[0], datatype: 'BOOL' }] },
    /^inputs\[0\]\.datatype: expected BYTES/,
  ],
  [
    'integers that JSON has rounded',
    { inputs: [{ ...links[0], datatype: 'INT64', data: [1, 2 ** 60] }] },
    /^inputs\[0\]\.data\[1\]: expected an integer up to 2\^53 - 1 for INT64, got 11529215046068\d+/,
  ],
  [
    'fractions as INT64',
    { inputs: [{ ...links[0], datatype: 'INT64', data: [1, 1.5] }] },
    /^inputs\[0\]\.data\[1\]: expected an integer .* for INT64, got 1\.5/,
  ],
  [
    'numbers as BYTES',
    { inputs: [{ ...links[0], data: [1, 2] }] },
    /^inputs\[0\]\.data\[0\]: expected a string for BYTES, got 1/,
  ],
  [
    'data of an object',
    { inputs: [{ ...links[0], data: {} }] },
    /^inputs\[0\]\.data: expected a list, got an object/,
  ],
  ['an empty name', { inputs: [bytes('name', '')] }, /^names\[0\]: expected a name/],
  ['an unknown name', { inputs: [bytes('name', 'p99')] }, /expected an entity of the graph .* got "p99"/],
  [
    'an unknown operation',
    { inputs: links, parameters: { operation: 'guess' } },
    /^parameters\.operation: expected score, .* got "guess"/,
  ],
  [
    'an unknown parameter',
    { inputs: links, parameters: { kk: 5 } },
    /^kk: expected one of the keys edges, unit/,
  ],
  [
    'a parameter of a list',
    { inputs: links, parameters: { k: [5] } },
    /^parameters\.k: expected text, a number, true or false/,
  ],
  [
    'skipped edges',
    { inputs: links, parameters: { unknown: 'skip' } },
    /^parameters\.unknown: expected error, got "skip"/,
  ],
  [
    'a prototype',
    '{"inputs":[{"name":"__proto__","shape":[1],"datatype":"BYTES","data":["a"]}]}',
    /^inputs: expected/,
  ],
  [
    'an unknown output',
    { inputs: links, outputs: [{ name: 'x' }] },
    /^outputs\[0\]\.name: expected one of score, got "x"/,
  ],
])('refuses %s', async (_name, body, sentence) => {
  const answer = await server.ask('/v2/models/links/infer', body);
  expect({ status: answer.status, ...answer.body }).toMatchObject({
    ...{ status: 400, error: expect.stringMatching(sentence) },
  });
});

test('limits, abilities and the token are those of plain routes', async () => {
  const parameters = { operation: 'classify' };
  expect(await infer('links', { inputs: [bytes('name', 'p1')], parameters })).toMatchObject({ status: 409 });
  const many = bytes('name', ...Array.from({ length: 1001 }, () => 'p1'));
  expect((await infer('links', { inputs: [many] })).body.error).toMatch(
    /^names: expected a list of 1 to 1,000/,
  );
  expect((await server.ask('/v2/models/links/infer')).status).toBe(405);
  const guarded = await startKind('links', { token });
  for (const path of ['/v2', '/v2/models/links', '/v2/models/links/ready', '/v2/health', '/v2/healthy'])
    expect((await guarded.ask(path)).status).toBe(401);
  expect((await guarded.ask('/v2/models/links/infer', { inputs: links })).status).toBe(401);
  expect((await guarded.ask('/v2/models/links/infer', { inputs: links }, bearer)).status).toBe(200);
  for (const path of ['/v2/health/live', '/v2/health/ready'])
    expect((await guarded.ask(path)).status).toBe(200);
});

test('requests of one moment share calls with those of plain routes', async () => {
  const asked = Array.from({ length: 20 }, (_, i) =>
    i % 2 === 0 ? infer('links', { inputs: links }) : server.ask('/models/links/score', { edges }),
  );
  const scores = (await Promise.all(asked)).map(({ body }) => body.scores ?? body.outputs[0].data);
  for (const one of scores) expect(one).toEqual(scores[0]);
});
