/** Many and long requests: batches, slices, limits of requests in flight, time-outs, errors without details. */
import { afterEach, expect, test } from 'vitest';
import { fakeModel } from './fake-model.js';
import { closeAll, startModels } from './models.js';

afterEach(closeAll);

const edges = (count: number, head = 'a') => Array.from({ length: count }, (_, i) => ({ head, tail: i }));

test('concurrent requests share calls of the model', async () => {
  const model = fakeModel({ delay: 20 });
  const { ask } = await startModels({ models: [model] });
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => ask('/score', { edges: [{ head: 'a', tail: i }] })),
  );
  expect(answers.map(({ body }) => body.scores[0])).toEqual(Array.from({ length: 40 }, (_, i) => i));
  expect(model.calls.reduce((sum, count) => sum + count)).toBe(40);
  expect(model.calls.length).toBeLessThan(20);
});

test('a wrong request does not spoil those that share its call', async () => {
  const { ask } = await startModels({ models: [fakeModel({ delay: 20 })] });
  const heads = ['a', 'unknown', 'b', 'unknown', 'c'];
  const answers = await Promise.all(heads.map((head) => ask('/score', { edges: [{ head, tail: 5 }] })));
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 200, 400, 200]);
  const long = await ask('/score', { edges: [...edges(5000), { head: 'unknown', tail: 1 }] });
  expect([long.status, long.body.error]).toEqual([
    400,
    'score: expected a known name for edges[5000].head, got "unknown".',
  ]);
});

test('a request of 100,000 destinations does not hold up a short one', async () => {
  const { ask } = await startModels({ models: [fakeModel({ ms: 0.01 })] });
  await ask('/score', { edges: edges(100) });
  let isDone = false;
  const long = ask('/score', { edges: edges(100_000) }).then((answer) => {
    isDone = true;
    return answer;
  });
  const waits: number[] = [];
  while (!isDone) {
    const started = performance.now();
    expect((await ask('/score', { edges: [{ head: 'a', tail: 3 }] })).body.scores).toEqual([3]);
    waits.push(performance.now() - started);
  }
  const { status, body } = await long;
  expect([status, body.scores.length, body.scores[99_999]]).toEqual([200, 100_000, 99_999]);
  // A second of work: tens of short requests pass it; none waits for more than a part of it.
  expect(waits.length).toBeGreaterThan(10);
  expect(Math.max(...waits)).toBeLessThan(1000);
});

test('more requests than the limit are refused for a moment; health is always answered', async () => {
  const { ask } = await startModels({ models: [fakeModel({ delay: 200 })], limits: { maxInFlight: 3 } });
  const answers = [1, 2, 3, 4, 5].map((tail) => ask('/score', { edges: [{ head: 'a', tail }] }));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await ask('/health')).status).toBe(200);
  const statuses = (await Promise.all(answers)).map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 200, 200, 503, 503]);
  const refused = (await Promise.all(answers)).find(({ status }) => status === 503);
  expect([refused?.headers.get('retry-after'), refused?.body.code]).toEqual(['1', 'busy']);
});

test('bodies that do not fit together into memory are refused for a moment', async () => {
  const { ask } = await startModels({ models: [fakeModel({ delay: 20 })], limits: { maxBodies: 40_000 } });
  const answers = await Promise.all([0, 1, 2].map(() => ask('/score', { edges: edges(1000) })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 503, 503]);
  // What was held is free again.
  expect((await ask('/score', { edges: edges(1000) })).status).toBe(200);
});

test('an answer that takes too long is given up', async () => {
  const model = fakeModel({ delay: 300 });
  const { ask } = await startModels({ models: [model], limits: { answerTimeout: 100 } });
  const { status, headers, body } = await ask('/score', { edges: [{ head: 'a', tail: 1 }] });
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'timeout', '5']);
});

test('a failure of the model is reported to the operator, not to the client', async () => {
  const failures: unknown[] = [];
  const { ask } = await startModels({ models: [fakeModel()], onError: (error) => failures.push(error) });
  const { status, body } = await ask('/score', { edges: [{ head: 'broken', tail: 1 }] });
  expect([status, body]).toEqual([500, { error: 'internal error', code: 'internal' }]);
  expect((failures[0] as Error).message).toMatch(/^secret /);
});

test('lists, answers and bodies have limits', async () => {
  const limits = { maxEdges: 3000, maxQuestions: 10, maxAnswers: 100, maxBody: 300_000 };
  const { ask } = await startModels({ models: [fakeModel()], limits });
  const cases: [string, unknown, number, RegExp][] = [
    [
      '/score',
      { edges: edges(3001) },
      400,
      /^edges: expected a list of 1 to 3,000 edges, got a list of 3,001\.$/,
    ],
    [
      '/score',
      { edges: [...edges(2500), 5] },
      400,
      /^edges\[2500\]: expected an object with head, tail, .*, got 5\.$/,
    ],
    [
      '/neighbors',
      { names: Array(11).fill('a') },
      400,
      /^names: expected a list of 1 to 10 names, got a list of 11\.$/,
    ],
    [
      '/neighbors',
      { names: Array(6).fill('a'), k: 20 },
      400,
      /^k: expected at most 100 answers, got 6 questions of 20/,
    ],
    [
      '/neighbors',
      { names: ['a'], kk: 20 },
      400,
      /^kk: expected one of the keys names, k, got an unknown key\. Did you mean k\?$/,
    ],
    ['/score', { edges: edges(20_000) }, 413, /^body: expected at most 300000 bytes, got more/],
  ];
  for (const [path, body, status, message] of cases) {
    const answer = await ask(path, body);
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(message)]);
  }
});
