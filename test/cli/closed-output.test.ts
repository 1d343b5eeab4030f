/** Closed pipes and full disks: training finishes, commands that only print end, and no error prints a stack. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { wide } from '../wide.js';
import { prepareFacts, shell, skein, workFolder } from './processes.js';

const work = workFolder();
beforeAll(() => prepareFacts(work), 60_000);

const train = (run: string, more = ''): string =>
  `${skein} train facts.yaml --storage.model_dir=${run} --training.num_epochs=3 ${more}`;
const status = `echo "codes $\{PIPESTATUS[0]}"`;

const isWhole = (run: string): void => {
  expect(existsSync(join(work, run, 'done.json'))).toBe(true);
  expect(existsSync(join(work, run, 'model.safetensors'))).toBe(true);
  expect(existsSync(join(work, run, 'run.lock'))).toBe(false);
  expect(readFileSync(join(work, run, 'log.txt'), 'utf8')).toMatch(/epoch 3 [\s\S]*test /);
};

it.each(
  wide(
    [
      ['text', '', '2>/dev/null | head -1'],
      ['text-and-errors', '', '2>&1 | head -1'],
    ],
    [
      ['events', '--json', '2>/dev/null | head -1'],
      ['errors', '', '2> >(exec true) >/dev/null'],
    ],
  ),
)(
  'training finishes when its %s is closed',
  (name, more, readers) => {
    const { out, err } = shell(`${train(name, more)} ${readers}; ${status}`, work);
    expect(out, err).toMatch(/codes 0\n$/);
    isWhole(name);
  },
  240_000,
);

const hasMpi = spawnSync('mpirun', ['--version'], { stdio: 'ignore' }).status === 0;
it.skipIf(!hasMpi)(
  'so do several workers',
  () => {
    const command = train('workers').replace(' train ', ' run -n 2 train ');
    const { out, err } = shell(`${command} 2>/dev/null | head -1; ${status}`, work);
    expect(out, err).toMatch(/codes 0\n$/);
    isWhole('workers');
  },
  240_000,
);

describe('commands that only print', () => {
  it.each(['info --json', '--help', 'config facts', 'eval text'])(
    '%s ends quietly with code 0',
    (command) => {
      const { out, err } = shell(`${skein} ${command} | true; ${status}`, work);
      expect(out).toBe('codes 0\n');
      expect(err).not.toMatch(/EPIPE|at /);
    },
    240_000,
  );
});

describe.skipIf(!existsSync('/dev/full'))('a full disk behind stdout', () => {
  it.each(
    wide(
      [
        ['eval text', '--json'],
        ['train facts.yaml --storage.model_dir=full', ''],
      ],
      [['eval text', '']],
    ),
  )(
    '%s %s says so in one sentence and ends with code 1',
    (command, more) => {
      const { code, err } = shell(`${skein} ${command} ${more} > /dev/full`, work);
      expect(code).toBe(1);
      const said = err.split('\n').filter((line) => line.startsWith('skein:'));
      expect(said).toEqual([
        'skein: write: expected to write standard output, got ENOSPC. The disk is full; free some space.',
      ]);
      expect(err).not.toMatch(/^\s+at /m);
      if (command.startsWith('train')) expect(existsSync(join(work, 'full/done.json'))).toBe(true);
    },
    240_000,
  );

  it('behind stderr stops nothing', () => {
    const { code, out } = shell(`${skein} eval text 2> /dev/full`, work);
    expect(code).toBe(0);
    expect(out).toContain('mrr');
  }, 240_000);
});
