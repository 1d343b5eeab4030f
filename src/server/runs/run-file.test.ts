/** Links, pipes and directories in place of the files of a run: they are named, never followed or waited for. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { bufferFile } from '../../train/run/buffer-file.js';
import { readBuffer } from './read-buffer.js';
import { RunCourse } from './run-course.js';
import { checkRunFiles, readRunFile } from './run-file.js';
import { RunReader, readLog, runState } from './run-summary.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-run-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const outside = join(folder, 'outside');
writeFileSync(outside, '{"secret":"text of another file"}\n');

let made = 0;
function newRun(): string {
  const directory = join(folder, `run ${made++}`);
  mkdirSync(directory);
  return directory;
}

/** Entries that a run from elsewhere may have instead of a file. */
const wrong: readonly (readonly [string, RegExp, (path: string) => void])[] = [
  ['a link', /regular file.*a symbolic link/, (path) => symlinkSync(outside, path)],
  ['a pipe', /regular file.*a pipe/, (path) => execFileSync('mkfifo', [path])],
  ['a directory', /regular file.*a directory/, (path) => mkdirSync(path)],
];

for (const [what, message, make] of wrong) {
  it(`shows no log that is ${what}`, () => {
    const run = newRun();
    expect(readLog(run)).toEqual({ text: '', isWhole: true, problem: null });
    make(join(run, 'log.txt'));
    expect(readLog(run)).toEqual({ text: '', isWhole: true, problem: expect.stringMatching(message) });
  });

  it(`reads no records and no buffer that are ${what}`, () => {
    const run = newRun();
    make(join(run, 'metrics.jsonl'));
    expect(() => new RunCourse(join(run, 'metrics.jsonl')).refresh()).toThrow(message);
    make(join(run, bufferFile));
    expect(readBuffer(run)).toBeNull();
    expect(() => readRunFile(join(run, bufferFile))).toThrow(message);
  });

  for (const name of ['full_config.yaml', 'done.json', 'run.lock', 'metrics.jsonl'])
    it(`lists a run whose ${name} is ${what} with its problem`, async () => {
      const path = newRun();
      if (name !== 'full_config.yaml') writeFileSync(join(path, 'full_config.yaml'), 'model: {}\n');
      make(join(path, name));
      const summary = await new RunReader().summary({ name: 'one', path });
      expect(summary.problem).toMatch(message);
      expect(summary.problem).toContain(name);
    });
}

it('finds a pipe among the files of a checkpoint, also behind a link', () => {
  const run = newRun();
  mkdirSync(join(run, 'best'));
  writeFileSync(join(run, 'best', 'model.safetensors'), '');
  symlinkSync(outside, join(run, 'notes.txt'));
  checkRunFiles(run);
  execFileSync('mkfifo', [join(run, 'best', 'pipe')]);
  expect(() => checkRunFiles(run)).toThrow(/a pipe/);
  rmSync(join(run, 'best', 'pipe'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync(join(folder, 'pipe'), join(run, 'table.bin'));
  expect(() => checkRunFiles(run)).toThrow(/table\.bin, which is a pipe/);
});

it('reads no text file of more than 64 MiB', () => {
  const run = newRun();
  const path = join(run, 'done.json');
  writeFileSync(path, '');
  truncateSync(path, 64 * 2 ** 20 + 1);
  expect(() => readRunFile(path)).toThrow(/at most 64 MiB.*67,108,865 bytes/);
  expect(() => checkRunFiles(run)).toThrow(/at most 64 MiB/);
  expect(runState(run)).toBe('finished');
});
