/** `skein search` as a process: killed twice and resumed, and with several jobs, it ends as an uninterrupted one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { skein as main } from '../programs.js';
import { prepareFacts, shell, skein, workFolder } from './processes.js';

const folder = workFolder();
const options =
  '--training.num_epochs=4 --model.encoder.layers[0][0].output_dim=8 --trials 4 --variant epoch';
const start = (name: string): string =>
  `search facts.yaml --space space.yaml ${options} --output-dir ${name}`;

beforeAll(() => {
  prepareFacts(folder, 1500);
  writeFileSync(
    join(folder, 'space.yaml'),
    'training.batch_size: [50, 200, 1000]\nmodel.regularizer: [{ type: N3, coef: 0.01 }, { type: NONE }]\n',
  );
}, 120_000);

/** Lines of the log of a search without times; those of trials that started again are left out. */
function log(name: string): Record<string, unknown>[] {
  const path = join(folder, name, 'trials.jsonl');
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => ({ ...JSON.parse(line), seconds: 0 }));
}

const done = (name: string) => log(name).filter(({ event }) => event === 'done');
const best = (name: string): string => readFileSync(join(folder, name, 'best.yaml'), 'utf8');

/** Starts a command and kills it when the log has this many results and another trial has started. */
async function kill(name: string, results: number, args: string): Promise<void> {
  const child = spawn(process.execPath, [...main, ...args.split(' ')], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...process.env, SKEIN_THREADS: '1' },
  });
  const ended = once(child, 'close');
  while (
    child.exitCode === null &&
    !(done(name).length >= results && log(name).at(-1)?.['event'] === 'started')
  )
    await setTimeout(5);
  child.kill('SIGKILL');
  await ended;
}

test('killed twice and resumed, or with two jobs, a search ends as an uninterrupted one', async () => {
  const whole = shell(`${skein} ${start('whole')} --json`, folder);
  expect(whole.code, whole.err).toBe(0);
  const result = JSON.parse(whole.out.trim().split('\n').at(-1) as string);
  expect(result).toMatchObject({ event: 'done', metric: 'mrr', interrupted: false });
  expect(result.trials).toHaveLength(4);
  expect(whole.err).toMatch(/rank correlation with mrr/);

  await kill('killed', 1, start('killed'));
  expect(done('killed').length).toBeLessThan(5);
  await kill('killed', 3, 'search killed');
  const resumed = shell(`${skein} search killed`, folder);
  expect(resumed.code, resumed.err).toBe(0);
  expect(best('killed')).toBe(best('whole'));
  expect(done('killed')).toEqual(done('whole'));

  const jobs = shell(`${skein} ${start('jobs')} --jobs 2`, folder);
  expect(jobs.code, jobs.err).toBe(0);
  expect(best('jobs')).toBe(best('whole'));
  const byTrial = (name: string) =>
    done(name).toSorted(
      (a, b) => Number(a['round']) - Number(b['round']) || Number(a['trial']) - Number(b['trial']),
    );
  expect(byTrial('jobs')).toEqual(byTrial('whole'));
}, 240_000);

test('says what it needs', () => {
  expect(shell(`${skein} search facts.yaml`, folder).err).toMatch(
    /expected a file or one of kg, kg-dropout, kg-large for --space/,
  );
  expect(shell(`${skein} search facts`, folder).err).toMatch(
    /expected a configuration file or the directory of a search/,
  );
  expect(shell(`${skein} search whole --space kg`, folder).err).toMatch(/expected only --trials, --jobs/);
}, 60_000);
