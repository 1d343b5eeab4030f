/** Where prepared directories are built: two runs into one place, and what runs that were killed left behind. */
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { temporaryName } from '../../storage/temporary-name.js';
import { StorageError } from '../../util/errors.js';
import { buildFolder } from './output-folder.js';
import { PreparedDataset } from './prepared-dataset.js';
import { preprocess } from './preprocess.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const edges = join(folder, 'edges.csv');
writeFileSync(edges, 'a,b\nb,c\n');

const hidden = (): string[] => readdirSync(folder).filter((name) => name.startsWith('.'));

test.each(['absent', 'empty', 'with a model'])(
  'one of two runs into a directory wins (%s)',
  async (state) => {
    const outputDir = join(folder, `race ${state}`);
    if (state !== 'absent') mkdirSync(outputDir);
    if (state === 'with a model') writeFileSync(join(outputDir, 'model.txt'), 'mine');
    const runs = [1, 2, 3].map((seed) => preprocess({ edges, outputDir, seed, inProcess: true }));
    const ends = await Promise.allSettled(runs);
    const winner = ends.findIndex((end) => end.status === 'fulfilled');
    expect(ends.filter((end) => end.status === 'fulfilled')).toHaveLength(1);
    for (const end of ends) {
      if (end.status === 'fulfilled') continue;
      expect(end.reason).toBeInstanceOf(StorageError);
      expect(end.reason.message).toMatch(/preprocess: expected an output directory without prepared data/);
    }
    const { details } = await PreparedDataset.open(outputDir, { verify: true });
    expect(details?.seed).toBe(winner + 1);
    if (state === 'with a model') expect(readFileSync(join(outputDir, 'model.txt'), 'utf8')).toBe('mine');
    expect(hidden()).toEqual([]);
  },
);

test('a target that appears while the work continues is kept, unless it may be replaced', async () => {
  const outputDir = join(folder, 'appears');
  const build = (text: string, overwrite: boolean, then = async (): Promise<void> => {}) =>
    buildFolder(temporaryName(outputDir), { where: 'test', outputDir, overwrite }, async (path) => {
      mkdirSync(join(path, 'edges'));
      writeFileSync(join(path, 'edges/x'), text);
      writeFileSync(join(path, 'dataset.yaml'), text);
      await then();
    });
  await expect(build('slow', false, () => build('quick', false))).rejects.toThrow(
    /with edges, dataset\.yaml/,
  );
  expect(readFileSync(join(outputDir, 'edges/x'), 'utf8')).toBe('quick');
  await build('slow', true, () => build('quick', true));
  expect(readFileSync(join(outputDir, 'edges/x'), 'utf8')).toBe('slow');
});

test('folders of dead processes go; those of living ones, other machines and other outputs stay', async () => {
  const outputDir = join(folder, 'o');
  const dead = String(spawnSync(process.execPath, ['-e', '']).pid);
  const own = temporaryName(outputDir);
  const left = own.replace(`.${process.pid}-`, `.${dead}-`);
  const stays = [own, left.replace(/-[0-9a-f]{6}/, '-zzzzzz'), temporaryName(join(folder, 'other'))];
  for (const path of [left, ...stays]) mkdirSync(join(path, 'work'), { recursive: true });
  await preprocess({ edges, outputDir, inProcess: true });
  expect([left, ...stays].map((path) => existsSync(path))).toEqual([false, true, true, true]);
});
