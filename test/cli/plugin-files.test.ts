/** `--plugin` with a file that is not a loadable module: the command reports that and ends. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { shell, skein, workFolder } from './processes.js';

const folder = workFolder();
writeFileSync(join(folder, 'run.yaml'), 'dataset: { path: events.csv }\nmodel: edge_bank\n');

const train = (plugin: string) => shell(`${skein} train run.yaml --plugin ${plugin}`, folder);

describe('a plugin that never ends', () => {
  test.each([
    ['its default export', 'export default () => new Promise(() => {});'],
    ['the module itself', 'await new Promise(() => {});'],
  ])('%s', (what, text) => {
    const name = `${what.replaceAll(' ', '-')}.mjs`;
    writeFileSync(join(folder, name), text);
    const { code, err } = train(name);
    expect(err).toContain(
      `train: expected a plugin that finishes loading, got ${join(folder, name)}, which awaits a promise`,
    );
    expect(code).toBe(2);
  });
});

test.skipIf(process.platform === 'win32')('a pipe, a device and a folder', () => {
  const pipe = join(folder, 'pipe.mjs');
  expect(shell('mkfifo pipe.mjs', folder).code).toBe(0);
  for (const path of [pipe, '/dev/zero', folder]) {
    const { code, err } = train(path);
    expect(err).toContain(`train: expected a file for --plugin, got ${path}, which is not a file.`);
    expect(code).toBe(2);
  }
});
