/** The command line as a process: exit codes, where text and JSON go. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { skein as main, root } from '../programs.js';

function skein(...args: string[]): { code: number | null; out: string; err: string } {
  const done = spawnSync(process.execPath, [...main, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

it('prints help and version with code 0', () => {
  expect(skein('--help')).toMatchObject({ code: 0, err: '' });
  expect(skein('--version').out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it('prints one JSON object per line with --json', () => {
  const { code, out, err } = skein('info', '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject({ event: 'done', node: process.versions.node });
});

it("takes the package's examples if the working directory has none", () => {
  const work = mkdtempSync(join(tmpdir(), 'skein-examples-'));
  const config = (name: string) =>
    spawnSync(process.execPath, [...main, 'config', name], { cwd: work, encoding: 'utf8' });
  try {
    const own = config('examples/umls-complex.yaml');
    expect({ code: own.status, err: own.stderr }).toEqual({
      code: 0,
      err: `note: examples/umls-complex.yaml is not in this directory; using the package's file ${root}/examples/umls-complex.yaml\n`,
    });
    expect(own.stdout).toContain('dataset_dir: umls');
    expect(config('examples/none.yaml')).toMatchObject({ status: 2 });
    mkdirSync(join(work, 'examples'));
    writeFileSync(join(work, 'examples/umls-complex.yaml'), 'other: 1\n');
    expect(config('examples/umls-complex.yaml').stderr).toContain('got other.');
  } finally {
    rmSync(work, { recursive: true });
  }
});

it.each([
  [['inform'], /^skein: expected a command, got inform\. Did you mean info\?\n$/],
  [['info', '--jsn'], /^skein: info: expected a known option, got --jsn\. Did you mean --json\?\n$/],
  [['quickstart', '--training.num_epochs=5'], /expected a known option, got --training.num_epochs=5\./],
  [['train', 'x.yaml', '--num-epochs', '3'], /got --num-epochs\. Did you mean --training\.num_epochs=3\?\n$/],
  [['train', 'x.yaml', '--epoch=3'], /got --epoch=3\. Did you mean --train\.epoch=3\?\n$/],
  [
    ['train'],
    /^skein: train: expected <config\|run>, got none\. See "node dist\/cli\/main\.js train --help"\.\n$/,
  ],
  [['info', 'a', 'b'], /^skein: info: expected no more arguments than 1, got 2\. See .*\n$/],
  [['serve'], /^skein: serve: expected <run>, got none\. See .*\n$/],
  [['info', '--training.num_epochs=5'], /expected --dataset.key=value with an event file, got --training/],
  [
    ['quickstart', '--seed', 'x'],
    /^skein: quickstart: expected a whole number of at least 0 for --seed <n>, got x\. .*\n$/,
  ],
])('rejects %j with code 2', (args, message) => {
  const { code, out, err } = skein(...args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(message);
});
