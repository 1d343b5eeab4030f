/**
 * Every code block of README.md and docs/ is tested. Per page, in a temporary directory that setups.ts may fill first, in
 * the order of the page: blocks that name a file are written; shell commands of `skein` run; consecutive TypeScript blocks
 * form one program, which runs; YAML must be a valid configuration. page.ts has the exceptions.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasMpi, withoutMpi } from '../dist/launch.js';
import { root } from '../programs.js';
import type { Block } from './page.js';
import {
  describeSegment,
  moduleName,
  moduleText,
  needsMpi,
  pages,
  runCommand,
  runSegment,
  segmentsOf,
  setupOf,
  writeFile,
} from './run-page.js';

const work = mkdtempSync(join(tmpdir(), 'skein-pages-'));
// Optional peers that pages import.
symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'), 'junction');
afterAll(() => {
  process.chdir(root);
  rmSync(work, { recursive: true, force: true });
});

const title = (segment: readonly Block[]): string =>
  `line ${segment[0].line}: ${describeSegment(segment)}${needsMpi(segment) ? withoutMpi : ''}`;

for (const page of pages) {
  const segments = segmentsOf(page).filter(([{ run }]) => run !== 'gpu');
  if (segments.length === 0) continue;
  describe(page, () => {
    const folder = join(work, page.replace(/\W+/g, '-'));
    const { files = {}, commands = [], prelude = '' } = setupOf(page);
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFile(folder, name, text);
    beforeAll(() => {
      for (const command of commands) runCommand(command, folder);
    });
    for (const segment of segments)
      test.skipIf(needsMpi(segment) && !hasMpi)(title(segment), async () => {
        process.chdir(folder);
        for (const block of segment) if (block.file !== null) writeFile(folder, block.file, block.text);
        await runSegment(segment, page, folder, prelude);
      });
  });
}

test('TypeScript blocks have correct types', () => {
  const folder = join(root, '.cache', 'docs');
  rmSync(folder, { recursive: true, force: true });
  for (const page of pages) {
    for (const segment of segmentsOf(page))
      if (segment[0].language === 'ts')
        writeFile(
          folder,
          moduleName(page, segment[0]),
          moduleText(segment, segment[0].file === null ? (setupOf(page).prelude ?? '') : ''),
        );
  }
  const config = {
    extends: '../../tsconfig.json',
    compilerOptions: {
      ...{
        noUnusedLocals: false,
        noUnusedParameters: false,
        rootDir: '../..',
        incremental: false,
        lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
      },
      paths: Object.fromEntries(
        Object.entries({
          ...{
            skein: 'index.ts',
            'skein/marius': 'compat/marius/index.ts',
            'skein/native': 'native/public.ts',
          },
          ...{ 'skein/util': 'util/public.ts', 'skein/*': '*/index.ts' },
        }).map(([name, path]) => [name, [`../../src/${path}`]]),
      ),
    },
    include: ['*.ts'],
    exclude: [],
  };
  writeFile(folder, 'tsconfig.json', JSON.stringify(config));
  const tsc = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  expect(tsc.stdout).toBe('');
});
