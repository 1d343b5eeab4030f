/** Runs of a command line: their names, and one sentence about every other path. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseRunPaths } from './model-sources.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-paths-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates empty files below the folder. */
function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), '');
  }
}

beforeAll(() => {
  write(
    'facts.csv',
    'config.yaml',
    'model.tgz',
    'dataset/dataset.yaml',
    'folder/x',
    'unfinished/full_config.yaml',
  );
  for (const run of ['first', 'my run', 'fitted/run', '_x'])
    write(`${run}/full_config.yaml`, `${run}/done.json`, `${run}/model.safetensors`);
  write('unfinished/checkpoint_3/model.safetensors');
});

test.each([
  ['nothing', 'missing', /got .*missing, which does not exist\. Train first/],
  ['a file', 'facts.csv', /got the file .*facts\.csv\. Train first/],
  ['a configuration', 'config.yaml', /got the file .*config\.yaml\. Train first/],
  ['a dataset', 'dataset', /got the prepared dataset .*dataset\. Train first/],
  ['another folder', 'folder', /got .*folder, which has no full_config\.yaml\. Train first/],
  ['an unfinished run', 'unfinished', /got .*unfinished, whose training has not finished\. Resume it/],
])('%s gets one sentence', (_name, path, message) => {
  expect(() => parseRunPaths('serve', [join(folder, path)])).toThrow(
    new RegExp(
      `^serve: expected the directory of a finished run or a packed model \\(\\.tgz\\), ${message.source}[^\\n]*$`,
    ),
  );
});

test.each([
  ['first', 'first'],
  ['first/', 'first'],
  ['my run', 'my-run'],
  ['fitted', 'fitted'],
  ['fitted/run', 'fitted'],
  ['_x', 'x'],
  ['unfinished/checkpoint_3', 'unfinished'],
  ['model.tgz', 'model'],
])('the run %s is called %s', (path, name) => {
  expect(parseRunPaths('serve', [join(folder, path)])).toEqual([{ name, path: join(folder, path) }]);
});

test('names may be given, and differ', () => {
  const path = join(folder, 'first');
  expect(parseRunPaths('serve', [`shop=${path}`, path]).map(({ name }) => name)).toEqual(['shop', 'first']);
  expect(() => parseRunPaths('serve', [path, path])).toThrow(
    /expected a different name for each run, got first twice\. Name them: "first=/,
  );
  expect(() => parseRunPaths('serve', [`a b=${path}`])).toThrow(/expected a name of letters, digits/);
});
