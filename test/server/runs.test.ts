/** Routes of runs: memory plan and partition buffer, live and at rest; groups of a map; classes of nodes; missing values. */
import { appendFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fitLinks, fitNodes } from 'skein/predict';
import { openRun } from 'skein/train';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embeddingMap } from '#internal/predict/views/embedding-map.js';
import { modelSource, type RunningServer, serve } from '#internal/server/index.js';
import { RunCatalog } from '#internal/server/runs/run-catalog.js';
import { BufferFile, readBufferFile } from '#internal/train/run/buffer-file.js';
import { scratch } from './models.js';

const folder = join(scratch(), 'shown-runs');
let server: RunningServer;

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  const rows = Array.from({ length: 90 }, (_, i) => [
    [`person ${i}`, 'lives in', `city ${i % 5}`] as const,
    [`person ${i}`, 'knows', `person ${(i + 5) % 90}`] as const,
  ]).flat();
  const buffered = {
    'training.form': 'NEGATIVES',
    'training.candidates': 'RESIDENT',
    'storage.edges.type': 'FLAT_FILE',
    'storage.embeddings': { type: 'PARTITION_BUFFER', options: { num_partitions: 6, buffer_capacity: 2 } },
  };
  const directory = join(folder, 'links');
  await (await fitLinks(rows, { directory, epochs: 2, config: buffered })).close();
  const nodes = Array.from({ length: 40 }, (_, i) => ({
    ...{ id: `n${i}`, age: i % 4 === 0 ? null : i, kind: i < 36 ? ['a', 'b'][i % 2] : null },
  }));
  const edges = nodes.map(({ id }, i) => [id, `n${(i + 2) % 40}`] as const);
  const named = join(folder, 'nodes');
  await (await fitNodes({ nodes, edges }, { label: 'kind', directory: named, epochs: 3 })).close();
  server = await serve({
    models: [],
    ...{ port: 0, reloadEvery: 0, runs: new RunCatalog([folder]) },
    openRun: (run) => modelSource(run, { command: 'ui' }),
  });
}, 120_000);
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

// biome-ignore lint/suspicious/noExplicitAny: bodies have every form
const get = async (path: string): Promise<any> => (await fetch(`${server.url}/runs/${path}`)).json();

it('has the states of the last epoch: every bucket once, two partitions at a time', async () => {
  const { memory, now } = (await get('links')).buffer;
  expect(now).toMatchObject({ epoch: 2, partitions: 6, state: now.states.length - 1 });
  expect(now.states.every((state: number[]) => new Set(state).size === 2)).toBe(true);
  expect(now.buckets.flat().sort((a: number, b: number) => a - b)).toEqual(
    Array.from({ length: 36 }, (_, i) => i),
  );
  for (const [s, own] of now.buckets.entries())
    for (const bucket of own)
      expect(now.states[s]).toEqual(expect.arrayContaining([Math.floor(bucket / 6), bucket % 6]));
  const trained = now.items.reduce((sum: number, items: number) => sum + items, 0);
  expect(trained).toBe((await get('links/data')).edges.train);
  expect(memory).toMatchObject({ budget: null, buffer: expect.closeTo(memory.table / 3, -4) });
  expect((await get('nodes')).buffer).toBeNull();
});

it('follows records and states of a run that trains', async () => {
  const copy = join(folder, 'growing');
  cpSync(join(folder, 'links', 'run'), copy, { recursive: true });
  const path = join(copy, 'buffer.json');
  const before = readBufferFile(path);
  if (before?.now == null) throw new Error('expected a recorded buffer');
  const ending = new AbortController();
  const answer = await fetch(`${server.url}/runs/growing/live`, { signal: ending.signal });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  const until = async (wanted: RegExp): Promise<void> => {
    while (!wanted.test(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream ended before ${wanted}: ${text}`);
      text += new TextDecoder().decode(value);
    }
  };
  await until(/event: records\n[\s\S]*event: buffer\n|event: buffer\n[\s\S]*event: records\n/);
  text = '';
  appendFileSync(join(copy, 'metrics.jsonl'), '{"event":"epoch","epoch":3,"loss":1}\n');
  new BufferFile(path, before.memory).enter(
    true,
    () => ({ ...(before.now as never as object), epoch: 3 }) as never,
  );
  await until(/"epoch":3,"loss":1/);
  await until(/"epoch":3,"state"/);
  ending.abort();
  writeFileSync(path, 'damaged');
  expect((await get('growing')).buffer).toBeNull();
  rmSync(copy, { recursive: true, force: true });
});

it('groups the nodes of a map by relation and by the tail of a relation with few', async () => {
  const { names, groupings } = await get('links/map');
  const bytes = (text: string): Int8Array => new Int8Array(Buffer.from(text, 'base64'));
  const tail = groupings.find(({ by }: { by: string }) => by === 'tail');
  expect(tail).toMatchObject({
    relation: 'lives in',
    names: ['city 0', 'city 1', 'city 2', 'city 3', 'city 4'],
  });
  const group = bytes(tail.group);
  for (const [i, name] of (names as string[]).entries())
    expect(group[i]).toBe(Number(name.split(' ')[1]) % 5);
  expect(groupings.map(({ by }: { by: string }) => by)).toEqual(['relation', 'tail']);
  expect((await get('nodes/map')).groupings[0]).toMatchObject({ by: 'class', names: ['a', 'b'] });
});

it('makes a map once for each way to lay it out', async () => {
  const run = await openRun(join(folder, 'links', 'run'), { over: 'graph' });
  try {
    const map = await embeddingMap(run, { method: 'umap', limit: 100 });
    expect(await embeddingMap(run, { method: 'umap', limit: 100 })).toBe(map);
    expect(await embeddingMap(run, { method: 'pca', limit: 100 })).not.toBe(map);
    expect((await embeddingMap(run, { method: 'umap', limit: 50 })).ids).toHaveLength(50);
  } finally {
    await run.close();
  }
});

it('has the class of a node and its split', async () => {
  const splits = new Set<string>();
  for (let i = 0; i < 36; i++) {
    const truth = await get(`nodes/truth?node=n${i}`);
    expect(truth.class).toBe(['a', 'b'][i % 2]);
    splits.add(truth.split);
  }
  expect([...splits].sort()).toEqual(['test', 'train', 'validation']);
  expect(await get('nodes/truth?node=n38')).toEqual({ class: null, split: null });
  expect((await get('nodes/truth?node=n99')).error).toContain('n99');
  const { groups, nodes } = await get('nodes/neighborhood?node=n3');
  expect(groups).toEqual(['a', 'b']);
  expect(nodes[0]).toMatchObject({ name: 'n3', group: 'b' });
});

it('counts missing values and nodes without a class', async () => {
  const facts = await get('nodes/data');
  expect(facts.columns).toEqual([{ name: 'age', kind: 'number', values: null, missing: 10 }]);
  expect(facts.unlabelled).toBe(4);
  expect(facts.notes).toContain('25.0 % of the nodes have no age.');
  expect((await get('links/data')).columns).toEqual([]);
});
