/** Runs of the page that are damaged, removed or hostile: every route answers, and says what is wrong. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { modelSource, type RunningServer, serve } from '#internal/server/index.js';
import { RunCatalog } from '#internal/server/runs/run-catalog.js';
import { runOf, scratch } from './models.js';

const folder = join(scratch(), 'damaged-runs');
let sound: string;
let server: RunningServer;
const failures: unknown[] = [];

beforeAll(async () => {
  sound = await runOf('nodes');
  mkdirSync(folder, { recursive: true });
  server = await serve({
    models: [],
    ...{ port: 0, reloadEvery: 0, runs: new RunCatalog([folder]), onError: (error) => failures.push(error) },
    openRun: (run) => modelSource(run, { command: 'ui' }),
  });
}, 120_000);
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Copies the sound run. Returns the directory that has its files. */
function copy(name: string): string {
  cpSync(sound, join(folder, name), { recursive: true });
  const [run] = new RunCatalog([join(folder, name)]).list();
  return run.path;
}

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: bodies have every form
  readonly body: any;
}

async function get(path: string, init?: RequestInit): Promise<Answer> {
  const answer = await fetch(`${server.url}/${path}`, init);
  return { status: answer.status, body: await answer.json() };
}

const ask = (name: string): Promise<Answer> =>
  get(`models/${name}/neighbors`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"names":["p1"],"k":2}',
  });

const damages: readonly (readonly [string, string, (path: string) => void])[] = [
  ['no-json', 'done.json', (path) => writeFileSync(path, '{{{')],
  ['list', 'done.json', (path) => writeFileSync(path, '[]')],
  ['cut', 'full_config.yaml', (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
  ['empty', 'model.safetensors', (path) => writeFileSync(path, '')],
  [
    'pipe',
    'full_config.yaml',
    (path) => {
      rmSync(path);
      execFileSync('mkfifo', [path]);
    },
  ],
  [
    'link',
    'done.json',
    (path) => {
      renameSync(path, `${path}.other`);
      symlinkSync(`${path}.other`, path);
    },
  ],
];

for (const [name, file, damage] of damages)
  it(`answers 409 for every view of a run with a damaged ${file} (${name})`, async () => {
    damage(join(copy(name), file));
    failures.length = 0;
    for (const view of ['map', 'names', 'data', 'neighborhood?node=p1', 'truth?node=p1']) {
      const { status, body } = await get(`runs/${name}/${view}`);
      expect([view, status, body]).toEqual([
        view,
        409,
        { code: 'unreadable', error: expect.stringMatching(/expected .*, got /) },
      ]);
    }
    expect(await ask(name)).toMatchObject({ status: 409, body: { code: 'unreadable' } });
    expect(failures).toEqual([]);
  });

it('answers a log that is a pipe, a directory or a link with a sentence, and answers on', async () => {
  const path = join(copy('logs'), 'log.txt');
  rmSync(path, { force: true });
  expect((await get('runs/logs/log')).body).toEqual({ text: '', isWhole: true, problem: null });
  execFileSync('mkfifo', [path]);
  expect(await get('runs/logs/log')).toMatchObject({
    status: 200,
    body: { text: '', problem: expect.stringContaining('a pipe') },
  });
  rmSync(path);
  mkdirSync(path);
  expect((await get('runs/logs/log')).body.problem).toContain('a directory');
  rmSync(path, { recursive: true });
  symlinkSync('/etc/hosts', path);
  expect((await get('runs/logs/log')).body).toMatchObject({
    text: '',
    problem: expect.stringContaining('a symbolic link'),
  });
  expect((await get('runs')).status).toBe(200);
});

it('says what a parameter should be', async () => {
  copy('asked');
  const wrong: readonly (readonly [string, string])[] = [
    ['truth', '?node: expected the name of a node, got none.'],
    ['?points=NaN', '?points: expected a whole number from 10 to 1,000,000, got "NaN".'],
    [
      'live?from=1e400',
      `?from: expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER.toLocaleString('en')}, got "1e400".`,
    ],
    ['map?limit=', '?limit: expected a whole number from 10 to 200,000, got "".'],
    [`names?text=${'x'.repeat(201)}`, '?text: expected text of at most 200 characters, got '],
  ];
  for (const [path, message] of wrong) {
    const { status, body } = await get(`runs/asked${path.startsWith('?') ? '' : '/'}${path}`);
    expect([status, body.code]).toEqual([400, 'invalid']);
    expect(body.error).toContain(message);
  }
});

it('answers 404 for the open model of a run that has been removed', async () => {
  copy('removed');
  expect((await ask('removed')).status).toBe(200);
  rmSync(join(folder, 'removed'), { recursive: true });
  expect(await ask('removed')).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await get('runs/removed/data')).status).toBe(404);
  // A run of the same name is another one.
  copy('removed');
  expect((await ask('removed')).status).toBe(200);
});

it('ends the stream of a run that is removed with the state gone, and sends no line that is not a record', async () => {
  const run = copy('leaving');
  const answer = await fetch(`${server.url}/runs/leaving/live`);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  const decoder = new TextDecoder();
  const until = async (wanted: RegExp | null): Promise<void> => {
    while (wanted === null || !wanted.test(text)) {
      const { value, done } = await reader.read();
      if (done && wanted === null) return;
      if (done) throw new Error(`the stream ended before ${wanted}: ${text}`);
      text += decoder.decode(value, { stream: true });
    }
  };
  await until(/event: records/);
  appendFileSync(
    join(run, 'metrics.jsonl'),
    '123456\nnull\n{"event":"epoch","epoch":-3}\n{"event":"note","epoch":987}\n',
  );
  await until(/"epoch":987/);
  expect(text).not.toMatch(/123456|null[,\]]|"epoch":-3/);
  rmSync(join(folder, 'leaving'), { recursive: true });
  await until(null);
  expect(text).toMatch(/event: state\ndata: \{"state":"gone"\}\n\n$/);
});

it('shows a run whose name has no ASCII letters', async () => {
  copy('первый');
  const { body } = await get('runs');
  expect(body.runs.map(({ name }: { name: string }) => name)).toContain('первый');
  const name = encodeURIComponent('первый');
  expect((await get(`runs/${name}`)).body.name).toBe('первый');
  expect((await ask(name)).status).toBe(200);
});
