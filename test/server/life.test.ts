/** The life of a server: newer models are taken over between requests, and a stop lets requests finish. */
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { serve } from '#internal/server/index.js';
import { ServedModel } from '#internal/server/served-model.js';
import { fakeModel } from './fake-model.js';
import { closeAll, runOf, scratch, start, startModels } from './models.js';

afterAll(closeAll);

const question = { questions: [{ head: 'a' }] };
const edge = { edges: [{ head: 'a', tail: 1 }] };
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A directory with the files that a run replaces. */
function fakeRun(name: string): { path: string; train(): void } {
  const path = join(scratch(), name);
  mkdirSync(path);
  let version = 0;
  const train = (): void => {
    version++;
    for (const file of ['full_config.yaml', 'model.safetensors', 'done.json']) {
      writeFileSync(join(path, file), String(version));
      utimesSync(join(path, file), version, version);
    }
  };
  train();
  return { path, train };
}

test('a newer model is taken over; requests keep the one they began with', async () => {
  const { path, train } = fakeRun('reloaded');
  const model = fakeModel({ path, delay: 500 });
  const reloads: unknown[] = [];
  const { ask, models } = await startModels({ models: [model], onReload: (reload) => reloads.push(reload) });
  const [served] = models;
  expect(await served.reloadIfChanged()).toBe(false);
  const running = ask('/rank', question);
  while (model.calls.length === 0) await wait(5);
  train();
  // The first look only notes the change, which may still continue.
  expect(await served.reloadIfChanged()).toBe(false);
  expect(await served.reloadIfChanged()).toBe(true);
  expect(model.closed).toBe(0);
  expect((await running).body.answers[0][0].name).toBe('answer 0');
  expect(model.closed).toBe(1);
  expect((await ask('/rank', question)).body.answers[0][0].name).toBe('answer 1');
  expect((await ask('/models/fake')).body.version).toBe(2);
  expect(await served.reloadIfChanged()).toBe(false);
});

test('a server looks by itself, and keeps its model while a run is trained or damaged', async () => {
  const { path, train } = fakeRun('watched');
  const model = fakeModel({ path });
  const failures: unknown[] = [];
  const reloads: unknown[] = [];
  const { open } = model;
  let isDamaged = false;
  const source = { ...model, open: () => (isDamaged ? Promise.reject(new Error('damaged')) : open()) };
  const { ask } = await startModels({
    models: [source],
    reloadEvery: 20,
    onReload: (reload) => reloads.push(reload),
    onError: (error) => failures.push(error),
  });
  train();
  for (let i = 0; i < 200 && reloads.length === 0; i++) await wait(20);
  expect(reloads).toEqual([{ model: 'fake', version: 2 }]);
  isDamaged = true;
  train();
  for (let i = 0; i < 200 && failures.length < 2; i++) await wait(20);
  expect(failures.length).toBeGreaterThanOrEqual(2);
  expect((await ask('/rank', question)).status).toBe(200);
  expect((await ask('/metrics')).body).toMatch(/skein_model_reloads_total\{model="fake"\} 1/);
  // It is opened as soon as it can be.
  isDamaged = false;
  for (let i = 0; i < 200 && reloads.length === 1; i++) await wait(20);
  expect(reloads[1]).toEqual({ model: 'fake', version: 3 });
});

test('a model that cannot be opened is tried again after longer and longer pauses', async () => {
  const { path, train } = fakeRun('obstructed');
  const model = fakeModel({ path });
  let isFull = false;
  let attempts = 0;
  const open = () => {
    attempts++;
    return isFull
      ? Promise.reject(Object.assign(new Error('too many files'), { code: 'EMFILE' }))
      : model.open();
  };
  const served = await ServedModel.open({ ...model, open });
  isFull = true;
  train();
  const look = () => served.reloadIfChanged().catch((error: Error) => error.message);
  const looks: unknown[] = [];
  for (let i = 0; i < 9; i++) looks.push(await look());
  const failed = 'too many files';
  expect(looks).toEqual([false, failed, false, failed, false, false, failed, false, false]);
  // Other files are another model, which is tried at once.
  train();
  expect([await look(), await look()]).toEqual([false, failed]);
  isFull = false;
  expect([await look(), await look(), await look()]).toEqual([false, true, false]);
  expect(attempts).toBe(6);
  await served.close();
  expect(model.closed).toBe(2);
});

test('a replaced model that cannot be closed is reported', async () => {
  const { path, train } = fakeRun('stuck');
  const model = fakeModel({ path });
  const errors: unknown[] = [];
  const stuck = new Error('stuck');
  const open = async () => {
    const opened = await model.open();
    return { ...opened, predictor: { ...opened.predictor, close: () => Promise.reject(stuck) } };
  };
  const served = await ServedModel.open({ ...model, open }, { onError: (error) => errors.push(error) });
  train();
  await served.reloadIfChanged();
  expect(await served.reloadIfChanged()).toBe(true);
  await wait(0);
  expect(errors).toEqual([stuck]);
  await expect(served.close()).rejects.toBe(stuck);
});

test('a stop closes a model that is being opened', async () => {
  const { path, train } = fakeRun('stopped');
  const model = fakeModel({ path });
  let opening: Promise<void> | null = null;
  let finish = (): void => {};
  const open = async () => {
    await opening;
    return model.open();
  };
  const served = await ServedModel.open({ ...model, open });
  opening = new Promise((resolve) => {
    finish = resolve;
  });
  train();
  await served.reloadIfChanged();
  const reloading = served.reloadIfChanged();
  await wait(20);
  const closing = served.close();
  await wait(20);
  expect(model.closed).toBe(0);
  finish();
  await closing;
  expect(model.closed).toBe(2);
  expect(await reloading).toBe(false);
  expect(await served.reloadIfChanged()).toBe(false);
});

test('a packed model that is replaced is taken over', async () => {
  const path = join(scratch(), 'replaced.tgz');
  writeFileSync(path, 'first');
  const served = await ServedModel.open(fakeModel({ path }));
  expect(await served.reloadIfChanged()).toBe(false);
  writeFileSync(path, 'the second');
  expect(await served.reloadIfChanged()).toBe(false);
  expect(await served.reloadIfChanged()).toBe(true);
  rmSync(path);
  expect([await served.reloadIfChanged(), await served.reloadIfChanged()]).toEqual([false, false]);
  await served.close();
});

test('ports, pauses and origins that cannot be are refused before a model is opened', async () => {
  const failure = (options: object): Promise<unknown> =>
    startModels({
      models: [{ ...fakeModel(), open: () => Promise.reject(new Error('opened')) }],
      ...options,
    });
  await expect(failure({ port: 99_999 })).rejects.toThrow('from 0 to 65535 for port, got 99999');
  await expect(failure({ reloadEvery: 2 ** 31 })).rejects.toThrow('from 0 to 86400000 for reloadEvery');
  for (const origin of [
    'x',
    '*',
    'null',
    'https://a.org/',
    'https://A.org',
    'https://a.org:443',
    'https://a.org/b',
  ])
    await expect(failure({ corsOrigins: [origin] })).rejects.toThrow('expected an origin such as');
  for (const origin of [
    'https://a.org',
    'http://localhost:3000',
    'chrome-extension://abc',
    'http://[::1]:8080',
  ])
    await expect(failure({ corsOrigins: [origin] })).rejects.toThrow('opened');
});

test('the server listens while models are opened, and is not ready before', async () => {
  const first = fakeModel({ name: 'first' });
  const second = fakeModel({ name: 'second' });
  let finish = (): void => {};
  const isOpen = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slow = { ...second, open: () => isOpen.then(() => second.open()) };
  let listening = (_: string): void => {};
  const address = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const started = startModels({ models: [first, slow], onListen: (url) => listening(url) });
  const url = await address;
  expect((await fetch(`${url}/health/live`)).status).toBe(200);
  expect((await fetch(`${url}/metrics`)).status).toBe(200);
  for (const path of ['/health/ready', '/v2/health/ready', '/models', '/models/first/rank', '/rank']) {
    const answer = await fetch(`${url}${path}`);
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '5']);
    expect(await answer.json()).toEqual({
      error: 'expected open models, got some that are still being opened. Try again.',
      code: 'opening',
    });
  }
  finish();
  const { ask } = await started;
  expect((await ask('/health/ready')).status).toBe(200);
  expect((await ask('/models/second/score', edge)).status).toBe(200);
  expect(Object.keys((await ask('/openapi.json')).body.paths)).toContain('/models/{name}/rank');
});

test('a model that cannot be opened closes the others and the port', async () => {
  const model = fakeModel();
  let url = '';
  const broken = { ...fakeModel({ name: 'broken' }), open: () => Promise.reject(new Error('damaged')) };
  const failure = startModels({
    models: [model, broken],
    onListen: (at) => {
      url = at;
    },
  });
  await expect(failure).rejects.toThrow('damaged');
  expect(model.closed).toBe(1);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});

test('a model that cannot be closed does not keep the others open', async () => {
  const models = ['first', 'second', 'third'].map((name) => fakeModel({ name }));
  const server = await serve({
    ...{ port: 0, reloadEvery: 0 },
    models: models.map((model, i) => ({
      ...model,
      open: async () => {
        const opened = await model.open();
        const close = async (): Promise<void> => {
          await opened.predictor.close();
          if (i < 2) throw new Error(`${model.name} is stuck`);
        };
        return { ...opened, predictor: { ...opened.predictor, close } };
      },
    })),
  });
  await expect(server.close()).rejects.toThrow('first is stuck');
  expect(models.map(({ closed }) => closed)).toEqual([1, 1, 1]);
});

test('a stop lets requests finish and takes no new ones', async () => {
  const model = fakeModel({ delay: 300 });
  const { ask, close, url } = await startModels({ models: [model] });
  const running = ask('/score', edge);
  await wait(100);
  const closing = close();
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  expect((await running).status).toBe(200);
  await closing;
  expect(model.closed).toBe(1);
  await close();
  expect(model.closed).toBe(1);
});

test('a stop does not wait for ever', async () => {
  const { ask, close } = await startModels({
    models: [fakeModel({ delay: 3000 })],
    limits: { drainTimeout: 200 },
  });
  const running = ask('/score', edge).catch((error: unknown) => error);
  await wait(50);
  const started = performance.now();
  await close();
  expect(performance.now() - started).toBeLessThan(2500);
  expect(await running).toBeInstanceOf(Error);
});

test('an open connection does not keep the server', async () => {
  const { ask, close } = await startModels({ models: [fakeModel()] });
  // fetch keeps its connections.
  await ask('/health');
  const started = performance.now();
  await close();
  expect(performance.now() - started).toBeLessThan(5000);
});

test('the description has every route and resolves', async () => {
  const { ask } = await start({ links: await runOf('links') });
  const { status, body } = await ask('/openapi.json');
  expect([status, body.openapi]).toEqual([200, '3.1.0']);
  const text = JSON.stringify(body);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
    expect(Object.keys(body.components.schemas)).toContain(name);
  const ids = new Set<string>();
  for (const [path, methods] of Object.entries<
    Record<
      string,
      { responses: object; summary: string; requestBody?: { content: Record<string, { example: unknown }> } }
    >
  >(body.paths))
    for (const [method, { responses, summary, requestBody }] of Object.entries(methods)) {
      ids.add(`${method} ${path}`);
      expect([summary, Object.keys(responses)]).toEqual([expect.any(String), ['200', '500', '503', '4XX']]);
      // Their runs are those of the page, with whose tests they are asked.
      if (path.startsWith('/runs/')) continue;
      const asked = path.replace('{name}', 'links');
      const example = requestBody?.content['application/json'].example;
      expect(method === 'get' || example !== undefined).toBe(true);
      const answer = await ask(asked, example);
      // Names of examples are those of the guides, and this graph has several relations; everything else must fit.
      expect([200, 400], `${method} ${path}: ${answer.body.error}`).toContain(answer.status);
      if (answer.status === 400)
        expect(answer.body.error).toMatch(/of the graph for|expected a relation for relation, got none/);
    }
  for (const path of ['score', 'rank', 'neighbors', 'embed', 'recommend'])
    for (const route of [`post /${path}`, `post /models/{name}/${path}`]) expect(ids).toContain(route);
  expect(ids).not.toContain('post /classify');
  const { endpoints } = (await ask('/')).body;
  expect(endpoints.map((line: string) => line.toLowerCase()).sort()).toEqual(
    [...ids].map((id) => id.toLowerCase()).sort(),
  );
  expect(body.components.schemas.Question.additionalProperties).toBe(false);
});
