/** The layer check names a wrong import by file and line, and leaves right ones alone. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/check-layers.mjs', import.meta.url));
const made: string[] = [];

/** Writes the files into an empty folder and returns the problems found there, one per line. */
function check(files: Readonly<Record<string, string>>): { code: number | null; problems: string[] } {
  const root = mkdtempSync(join(tmpdir(), 'skein-layers-'));
  made.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { code: status, problems: stderr.split('\n').filter((line) => line !== '') };
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

describe('wrong imports are found', () => {
  const wrong: [string, string, string, RegExp][] = [
    [
      'a lower layer',
      'src/tensor/a.ts',
      "\nimport { x } from '../nn/b.js';\n",
      /^src\/tensor\/a\.ts:2: .*src\/nn/,
    ],
    [
      'a type',
      'src/util/a.ts',
      "import type { X } from '../tensor/b.js';\n",
      /^src\/util\/a\.ts:1: .*src\/tensor/,
    ],
    [
      'several lines',
      'src/tensor/a.ts',
      "import {\n  x,\n  y,\n} from '../gnn/b.js';\n",
      /^src\/tensor\/a\.ts:4: .*src\/gnn/,
    ],
    ['an export', 'src/nn/a.ts', "export * from '../graph/b.js';\n", /^src\/nn\/a\.ts:1: /],
    [
      'a dynamic import',
      'src/nn/a.ts',
      "\n\nconst b = await import('../cli/b.js');\n",
      /^src\/nn\/a\.ts:3: /,
    ],
    [
      'what is for tests',
      'src/nn/a.ts',
      "import { b } from './testing/b.js';\n",
      /^src\/nn\/a\.ts:1: .*for tests only/,
    ],
    [
      'a Node module',
      'src/nn/a.ts',
      "import { join } from 'node:path';\n",
      /^src\/nn\/a\.ts:1: .*node:path.*browser/,
    ],
    [
      'a Node module without prefix',
      'src/graph/a.ts',
      "import fs from 'fs';\n",
      /^src\/graph\/a\.ts:1: imports fs/,
    ],
    [
      'an internal module in an example',
      'examples/a.ts',
      "import { a } from '#internal/nn/a.js';\n",
      /^examples\/a\.ts:1: .*exports of the package/,
    ],
    [
      'an internal module by name in the sources',
      'src/nn/a.ts',
      "import { a } from '#internal/nn/a.js';\n",
      /^src\/nn\/a\.ts:1: .*relative path/,
    ],
    ['an unknown folder', 'src/misc/a.ts', 'export const a = 1;\n', /^src\/misc\/a\.ts:1: .*list of layers/],
    [
      'an epoch outside the loop',
      'src/train/a.ts',
      '// batches.train.epoch(0)\nfor await (const b of task.batches.train.epoch(0)) step(b);\n',
      /^src\/train\/a\.ts:2: draws an epoch of training batches/,
    ],
    ['the root index', 'src/nn/a.ts', "import { a } from '../index.js';\n", /^src\/nn\/a\.ts:1: /],
    [
      'the package by name in src',
      'src/nn/a.ts',
      "import { a } from 'skein/tensor';\n",
      /^src\/nn\/a\.ts:1: /,
    ],
    [
      'sources in a test',
      'test/a.test.ts',
      "import { a } from '../src/nn/b.js';\n",
      /^test\/a\.test\.ts:1: .*by name/,
    ],
    [
      'the build in an example',
      'examples/a.ts',
      "import { a } from '../dist/index.js';\n",
      /^examples\/a\.ts:1: /,
    ],
    [
      'a place outside',
      'bench/a.ts',
      `const data = '${'..'}/shared/data';\n`,
      /^bench\/a\.ts:1: .*SKEIN_DATA/,
    ],
  ];
  test.each(wrong)('%s', (_, file, text, message) => {
    const { code, problems } = check({ [file]: text });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(message);
    expect(code).toBe(1);
  });
});

test('right imports pass', () => {
  const { code, problems } = check({
    'src/index.ts': "export * from './nn/index.js';\nexport * from './cli/a.js';\n",
    'src/tensor/a.ts':
      "import { k } from '../native/index.js';\nimport type { X } from '../util/x.js';\nimport { b } from './b.js';\n",
    'src/nn/a.ts':
      "/** import { x } from '../cli/x.js'; */\n// import('../cli/x.js')\nconst s = '// no comment';\n",
    'src/nn/a.test.ts': "import { readFileSync } from 'node:fs';\nimport { test } from 'vitest';\n",
    'src/nn/testing/b.ts': "import { vi } from 'vitest';\n",
    'src/nn/b.test.ts': "import { b } from './testing/b.js';\n",
    'src/storage/a.ts': "import { open } from 'node:fs/promises';\nimport { g } from '../graph/g.js';\n",
    'src/cli/main.ts': "import { t } from '../train/t.js';\nimport { Command } from 'commander';\n",
    'test/a.test.ts':
      "import { a } from 'skein';\nimport { b } from 'skein/nn';\nimport { c } from './cases/c.js';\n",
  });
  expect(problems).toEqual([]);
  expect(code).toBe(0);
});
