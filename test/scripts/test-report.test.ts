/**
 * Counting reports of vitest, real ones: what crashes or does not load has failed, for `npm test` and for mutations
 * alike.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../programs.js';

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly reasons: Readonly<Record<string, number>>;
}
const { countReport, firstFailure } = (await import(join(root, 'scripts/test-report.mjs'))) as {
  countReport(path: string, code: number): Counts;
  firstFailure(path: string): string;
};

const folder = mkdtempSync(join(tmpdir(), 'skein-report-'));
const files = {
  passes: `test('one', () => {}); test.skip('two (skipped: no wind)', () => {});`,
  fails: `test('one', () => {}); test('two', () => { throw new Error('no'); });`,
  dies: `test('one', () => {}); test('two', () => { process.kill(process.pid, 'SIGKILL'); }); test('three', () => {});`,
  unloadable: `throw new Error('no');`,
};
beforeAll(() => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, `${name}.test.mjs`), `import { test } from 'vitest';\n${text}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs one of the files as scripts/mutate.mjs does: the counts, and what failed first. */
function count(name: keyof typeof files): Counts & { readonly first: string } {
  const report = join(folder, `${name}.json`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = ['run', `${name}.test.mjs`, '--root', folder, '--pool=forks', '--reporter=json'];
  // Vitest inside vitest: without the settings that the outer one hands to its processes.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^VITE|^NODE_ENV$/.test(key)),
  );
  const { status } = spawnSync(process.execPath, [vitest, ...args, `--outputFile=${report}`], {
    cwd: folder,
    env,
  });
  return { ...countReport(report, status ?? 1), first: firstFailure(report) };
}

test('passed, failed and skipped tests are counted, with the reason of a skipped one', () => {
  expect(count('passes')).toMatchObject({ passed: 1, failed: 0, skipped: 1, reasons: { 'no wind': 1 } });
  expect(count('fails')).toMatchObject({ passed: 1, failed: 1, skipped: 0, first: 'two' });
});

test('a process that dies has failed', () => {
  const { failed, first } = count('dies');
  expect(failed).toBeGreaterThan(0);
  expect(first).toMatch(/did not finish|their process died/);
});

test('a file that does not load has failed', () => {
  expect(count('unloadable')).toMatchObject({
    passed: 0,
    failed: 1,
    first: expect.stringMatching(/unloadable\.test\.mjs did not finish/),
  });
});

test('a run without a report has failed, and so has one with an exit code that nothing explains', () => {
  const nowhere = join(folder, 'nowhere.json');
  expect(countReport(nowhere, 0)).toMatchObject({ passed: 0, failed: 1 });
  expect(firstFailure(nowhere)).toBe('the run ended without a report');
  const empty = join(folder, 'empty.json');
  const zeros = {
    numTotalTests: 0,
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
  };
  writeFileSync(empty, JSON.stringify({ ...zeros, testResults: [] }));
  expect(countReport(empty, 0).failed).toBe(0);
  expect(countReport(empty, 1).failed).toBe(1);
});
