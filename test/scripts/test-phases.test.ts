/** The phases of the tests: every long test is in one of them, and an unknown name is rejected with the list. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../programs.js';

interface Phase {
  readonly name: string;
  readonly about: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly missing?: string | null;
}
const script = join(root, 'scripts/test-phases.mjs');
const { allPhases, missingForLevel } = (await import(script)) as {
  allPhases(): readonly Phase[];
  missingForLevel(level: string, info: string): string | null;
};
const phases = allPhases();

test('names are short words, each used once', () => {
  const names = phases.map(({ name }) => name);
  expect(names.filter((name) => !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
  for (const name of ['default', 'reference', 'wide', 'workers', 'level-portable', 'threads-1', 'pack'])
    expect(names).toContain(name);
});

test('every file of test/full is in one phase, and what a phase names is there', () => {
  const named = phases.flatMap(({ args }) => args.filter((word) => word.startsWith('test/full/'))).sort();
  const files = readdirSync(join(root, 'test/full')).filter((file) => file.endsWith('.test.ts'));
  expect(named).toEqual(files.map((file) => `test/full/${file}`).sort());
  const paths = phases.flatMap(({ args }) => args.filter((word) => /^(src|test)\//.test(word)));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('the folders of one phase of a level leave out no tests of kernels', () => {
  const level = phases.find(({ name }) => name === 'level-portable') as Phase;
  for (const folder of ['test/kernels/', 'test/ops/', 'test/gnn/', 'test/train/', 'src/train/'])
    expect(level.args).toContain(folder);
});

test.runIf(process.arch === 'x64')('every level has a phase that forces it', () => {
  for (const level of ['portable', 'avx2', 'avx512'])
    expect(phases.find(({ name }) => name === `level-${level}`)?.env).toEqual({ SKEIN_NATIVE: level });
});

test('a level that the processor cannot run is missing, by the name of what it lacks', () => {
  const avx2 = 'flags\t\t: fpu sse2 fma avx2 bmi2';
  expect(missingForLevel('portable', '')).toBeNull();
  expect(missingForLevel('avx2', avx2)).toBeNull();
  expect(missingForLevel('avx512', `${avx2} avx512f avx512bw avx512dq avx512vl\n`)).toBeNull();
  expect(missingForLevel('avx512', `${avx2} avx512f avx512dq avx512vl`)).toBe(
    'this processor cannot run level avx512: no avx512bw',
  );
});

test('an unknown name is refused with the names there are; --list says what they do', () => {
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts/test.mjs'), '--full', ...args], { encoding: 'utf8' });
  const { status, stderr } = run('--phase=defualt');
  expect(status).toBe(2);
  expect(stderr).toMatch(/expected one of default, reference, .*pack, .*gpu for --phase, got defualt/);
  const listed = run('--list').stdout.trim().split('\n');
  expect(listed.map((line) => line.split(' ')[0])).toEqual(phases.map(({ name }) => name));
});
