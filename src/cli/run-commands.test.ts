/** What can be done with a trained run: evaluate it and ask it, and refusals of what is no run. A tiny graph, in this process. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { preprocess } from '../data/index.js';
import { Random } from '../util/philox.js';
import { run } from './program.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-runs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

let out = '';
let err = '';
function capture(): void {
  out = err = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
}

type Event = Readonly<Record<string, unknown>>;

/** Runs a command that must succeed; gives its events. */
async function events(...args: string[]): Promise<Event[]> {
  out = err = '';
  const code = await run([...args, '--json']);
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

async function last(...args: string[]): Promise<Event> {
  const all = await events(...args);
  expect(all.at(-1)?.['event']).toBe('done');
  return all.at(-1) as Event;
}

/** Runs a command that must be refused; gives what it says. */
async function refused(...args: string[]): Promise<string> {
  out = err = '';
  expect(await run(args)).toBe(2);
  expect(out).toBe('');
  return err;
}

/** 100 nodes e0 …, 1000 edges, 10 relations r0 …: relation k leads about 3k + 1 further. */
function writeEdges(path: string): void {
  const random = new Random(7);
  const lines = new Set<string>();
  while (lines.size < 1000) {
    const [from, kind] = [random.nextInt(100), random.nextInt(10)];
    lines.add(`e${from}\tr${kind}\te${(from + 1 + 3 * kind + random.nextInt(3)) % 100}\n`);
  }
  writeFileSync(path, [...lines].join(''));
}

const links = (directory: string, model: string, storage = ''): string => `model:
  random_seed: 3
  learning_task: LINK_PREDICTION
  encoder: { layers: [[{ type: EMBEDDING, output_dim: 16 }]] }
  decoder: { type: ${model} }
  loss: { type: SOFTMAX_CE }
storage:
  model_dir: ${at(directory)}
  dataset: { dataset_dir: ${at(storage === '' ? 'graph' : 'graph-p4')} }
${storage}
training: { batch_size: 100, num_epochs: 4, negative_sampling: { negatives_per_positive: 20 }, checkpoint: { interval: 2 } }
evaluation: { negative_sampling: { filtered: true } }
`;

let trained: Event;
let trainedBuffered: Event;
beforeAll(async () => {
  capture();
  writeEdges(at('edges.tsv'));
  const shared = { edges: at('edges.tsv'), split: [0.9, 0.05, 0.05], inProcess: true };
  await preprocess({ ...shared, outputDir: at('graph') });
  writeFileSync(at('links.yaml'), links('run', 'DISTMULT'));
  trained = await last('train', at('links.yaml'));
  await preprocess({ ...shared, outputDir: at('graph-p4'), partitions: 4 });
  const buffer = '{ type: PARTITION_BUFFER, options: { num_partitions: 4, buffer_capacity: 2 } }';
  writeFileSync(at('buffered.yaml'), links('buffered', 'COMPLEX', `  embeddings: ${buffer}`));
  trainedBuffered = await last('train', at('buffered.yaml'));
  vi.restoreAllMocks();
}, 60_000);
beforeEach(capture);
afterEach(() => vi.restoreAllMocks());

describe('eval', () => {
  it('gives what training gave, from the run and from the configuration', async () => {
    const done = await last('eval', at('run'));
    expect(done['test']).toEqual(trained['test']);
    expect(done['test.mrr']).toBe(trained['test.mrr']);
    expect((await last('eval', at('links.yaml')))['test']).toEqual(trained['test']);
    expect((await last('eval', at('run'), '--set', 'validation'))['validation']).toEqual(
      trained['validation'],
    );
  });

  it('evaluates a checkpoint', async () => {
    const [direct, named] = [
      await last('eval', at('run/checkpoint_2')),
      await last('eval', at('links.yaml'), '--evaluation.checkpoint_dir=checkpoint_2'),
    ];
    expect(direct).toMatchObject({ epoch: 2, test: named['test'] as object });
    expect(direct['test.mrr']).not.toBe(trained['test.mrr']);
  });

  it('groups by direction and relation', async () => {
    const done = await last('eval', at('run'), '--by-relation');
    const sides = done['by_direction'] as Record<string, { mrr: number; count: number }>;
    expect(sides['tail'].count + sides['head'].count).toBe(100);
    expect((sides['tail'].mrr + sides['head'].mrr) / 2).toBeCloseTo(done['test.mrr'] as number, 12);
    const groups = Object.entries(done['by_relation'] as Record<string, { count: number }>);
    expect(groups.every(([name]) => /^r\d$/.test(name))).toBe(true);
    expect(groups.reduce((sum, [, { count }]) => sum + count, 0)).toBe(100);
  });

  it('refuses what is no run, is damaged, or asks for no set', async () => {
    expect(await refused('eval', at('nothing'))).toMatch(/expected the directory of a run.*not there/);
    expect(await refused('eval', at('graph'))).toMatch(/no full_config\.yaml/);
    expect(await refused('eval', at('run'), '--set', 'train')).toMatch(/expected test, validation/);
    mkdirSync(at('broken'));
    copyFileSync(at('run/full_config.yaml'), at('broken/full_config.yaml'));
    expect(await refused('eval', at('broken'))).toMatch(/expected a model in/);
    const bytes = readFileSync(at('run/model.safetensors'));
    bytes[bytes.length - 5] ^= 1;
    writeFileSync(at('broken/model.safetensors'), bytes);
    expect(await refused('eval', at('broken'))).toMatch(/broken\/model\.safetensors.*checksum/s);
  });
});

interface Answer {
  readonly name: string;
  readonly score: number;
  readonly known?: boolean;
}

describe('query', () => {
  const answers = async (...args: string[]): Promise<Answer[]> =>
    (await last('query', ...args))['answers'] as Answer[];

  it('gives the best tails and heads, without known edges', async () => {
    const known = readFileSync(at('edges.tsv'), 'utf8').split('\n');
    const tails = await answers(at('run'), '--head', 'e5', '--relation', 'r2', '--top', '7');
    expect(tails.length).toBe(7);
    expect(tails.map(({ score }) => score)).toEqual(
      [...tails.map(({ score }) => score)].sort((a, b) => b - a),
    );
    for (const { name } of tails) expect(known).not.toContain(`e5\tr2\t${name}`);
    const heads = await answers(at('run'), '--tail', 'e5', '--relation', 'r2', '--top', '200');
    for (const { name } of heads) expect(known).not.toContain(`${name}\tr2\te5`);
    const all = await answers(
      at('run'),
      '--tail',
      'e5',
      '--relation',
      'r2',
      '--top',
      '200',
      '--include-known',
    );
    expect(all.length).toBe(100);
    expect(all.filter((one) => !one.known && one.name !== 'e5').map((one) => one.name)).toEqual(
      heads.map((one) => one.name),
    );
    for (const one of all) expect(one.known).toBe(known.includes(`${one.name}\tr2\te5`));
  });

  it('agrees with what the exported rows say', async () => {
    await last('export', at('run'), '--output-dir', at('tables'));
    const read = (name: string): Map<string, number[]> =>
      new Map(
        readFileSync(at(`tables/${name}.csv`), 'utf8')
          .trim()
          .split('\n')
          .slice(1)
          .map((line) => [line.split(',')[0], line.split(',').slice(1).map(Number)]),
      );
    const [nodes, inverse] = [read('embeddings'), read('inverse_relation_embeddings')];
    const score = (a: readonly number[], b: readonly number[]): number =>
      a.reduce((sum, x, j) => sum + x * b[j], 0);
    const row = (name: string): number[] => nodes.get(name) as number[];
    const query = row('e7').map((x, j) => x * (inverse.get('r1') as number[])[j]);
    const [head] = await answers(
      at('run'),
      '--tail',
      'e7',
      '--relation',
      'r1',
      '--top',
      '1',
      '--include-known',
    );
    const best = [...nodes].sort(([, a], [, b]) => score(query, b) - score(query, a))[0];
    expect(head.name).toBe(best[0]);
    expect(head.score).toBeCloseTo(score(query, best[1]), 4);
    const [near] = await answers(at('run'), '--neighbors', 'e7', '--top', '1');
    const cosine = (name: string): number =>
      score(row('e7'), row(name)) / Math.hypot(...row('e7')) / Math.hypot(...row(name));
    const others = [...nodes.keys()].filter((name) => name !== 'e7');
    expect(near.name).toBe(others.sort((a, b) => cosine(b) - cosine(a))[0]);
    expect(near.score).toBeCloseTo(cosine(near.name), 5);
  });

  it('reads a partitioned table partition by partition, to the same answers', async () => {
    const [first] = await answers(at('buffered'), '--head', 'e1', '--relation', 'r0', '--top', '1');
    await last('export', at('buffered'), '--output-dir', at('tables-p4'));
    expect(first.name).toMatch(/^e\d+$/);
    expect((await last('eval', at('buffered')))['test']).toEqual(trainedBuffered['test']);
  });

  it('names what it does not know, with the nearest names', async () => {
    expect(await refused('query', at('run'), '--head', 'E12', '--relation', 'r2')).toMatch(
      /an entity of the graph for --head, got "E12"\. Did you mean e12/,
    );
    expect(await refused('query', at('run'), '--head', 'e1', '--relation', 'x9')).toMatch(/a relation.*r9/);
    expect(await refused('query', at('run'), '--head', 'e1')).toMatch(/There are 10, for example r0/);
    expect(await refused('query', at('run'))).toMatch(/one of --head, --tail and --neighbors, got none/);
    expect(await refused('query', at('run'), '--neighbors', 'e1', '--top', '0')).toMatch(/--top/);
  });
});
