/** `skein train --repeat`: one directory per seed, a summary, and nothing trained twice. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { Random } from '../util/philox.js';
import { run } from './program.js';
import { spread } from './repeat-summary.js';
import { captureOutput } from './testing/capture-output.js';
import { tinyFile, tinyGraphs } from './testing/tiny-graphs.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-repeat-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const printed = captureOutput();

interface Done {
  readonly runs: readonly { readonly seed: number; readonly test: Readonly<Record<string, number>> }[];
  readonly test: Readonly<Record<string, { readonly mean: number; readonly sd: number | null }>>;
}

async function repeat(file: string, count: number, ...more: string[]): Promise<Done> {
  printed.clear();
  const code = await run(['train', file, '--repeat', String(count), '--json', ...more]);
  expect({ code, err: code === 0 ? '' : printed.err }).toEqual({ code: 0, err: '' });
  const lines = printed.out.trim().split('\n');
  return JSON.parse(lines[lines.length - 1]) as Done;
}

function eventsFile(): string {
  const random = new Random(3);
  const lines = Array.from({ length: 200 }, (_, i) => `${random.nextInt(9)},${random.nextInt(6)},${i}`);
  writeFileSync(at('events.csv'), `user,item,time\n${lines.join('\n')}\n`);
  const file = at('events.yaml');
  const model = 'model: { kind: tgcn, dim_out: 4, dim_node: 4 }\ntrain: { epoch: 1, batch_size: 50 }';
  writeFileSync(
    file,
    `dataset: { path: ${at('events.csv')} }\n${model}\nevaluation: { amount: 3 }\nstorage: { model_dir: ${at('events')} }\n`,
  );
  return file;
}

test('mean and standard deviation of a sample', () => {
  expect(spread([1, 2, 3, 6])).toEqual({ mean: 3, sd: Math.sqrt((4 + 1 + 0 + 9) / 3) });
  expect(spread([2])).toEqual({ mean: 2, sd: null });
});

describe('event streams', () => {
  test('seeds follow each other, finished ones are kept, and more can be added', async () => {
    const file = eventsFile();
    const done = await repeat(file, 2);
    expect(done.runs.map(({ seed }) => seed)).toEqual([1, 2]);
    const values = done.runs.map(({ test: metrics }) => metrics['mrr']);
    expect(done.test['mrr']).toEqual(spread(values));
    expect(values[0]).not.toBe(values[1]);
    const model = at('events/seed_1/model.safetensors');
    const trained = statSync(model).mtimeMs;
    const more = await repeat(file, 3);
    expect(more.runs.slice(0, 2)).toEqual(done.runs);
    expect(more.runs[2].seed).toBe(3);
    expect(statSync(model).mtimeMs).toBe(trained);
    expect(JSON.parse(readFileSync(at('events/summary.json'), 'utf8'))).toMatchObject({ test: more.test });
    // One that was stopped is resumed.
    rmSync(at('events/seed_2/done.json'));
    expect((await repeat(file, 3)).runs).toEqual(more.runs);
    printed.clear();
    expect(await run(['train', file, '--repeat', '2'])).toBe(0);
    expect(printed.out).toMatch(/seed +validation ap +test ap/);
    expect(printed.out).toMatch(/mrr +0\.\d{4} ± 0\.\d{4} +0\.\d{4} ± 0\.\d{4}/);
  });

  test('another configuration, seed or target is rejected', async () => {
    const file = eventsFile();
    await repeat(file, 1);
    for (const [args, message] of [
      [['--train.lr=0.5'], /expected the configuration of the repeats in .*events, got another/],
      [['--training.random_seed=8'], /expected the configuration of the repeats/],
      [[`--storage.model_dir=${at('events/seed_1')}`], /which is the directory of a run/],
    ] as const) {
      printed.clear();
      expect(await run(['train', file, '--repeat', '1', ...args])).toBe(2);
      expect(printed.err).toMatch(message);
    }
    for (const count of ['0', '-1', 'abc']) {
      printed.clear();
      expect(await run(['train', file, `--repeat=${count}`])).toBe(2);
      expect(printed.err).toContain(`expected a whole number of at least 1 for --repeat <n>, got ${count}.`);
    }
    printed.clear();
    expect(await run(['train', at('events/seed_1'), '--repeat', '2'])).toBe(2);
    expect(printed.err).toMatch(/expected a configuration file with --repeat/);
  });
});

test('graphs: each seed is the run that it would be alone', async () => {
  const { links } = await tinyGraphs(folder);
  writeFileSync(at('links.yaml'), stringify(tinyFile(links, at('repeats'))));
  const done = await repeat(at('links.yaml'), 2);
  expect(done.runs.map(({ seed }) => seed)).toEqual([7, 8]);
  printed.clear();
  const alone = ['--model.random_seed=8', `--storage.model_dir=${at('alone')}`];
  expect(await run(['train', at('links.yaml'), '--json', ...alone])).toBe(0);
  expect(JSON.parse(readFileSync(at('alone/done.json'), 'utf8')).test).toEqual(done.runs[1].test);
  expect(existsSync(at('repeats/seed_7/model.safetensors'))).toBe(true);
});
