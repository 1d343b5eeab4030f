/**
 * The check of side effects names what a bundler would drop or warn of, by file and line, and leaves the rest alone.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const script = fileURLToPath(new URL('../../scripts/check-effects.mjs', import.meta.url));
const made: string[] = [];

/** Writes the files of src/ into an empty folder and returns the problems found there. */
function check(files: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(join(tmpdir(), 'skein-effects-'));
  made.push(root);
  writeFileSync(join(root, 'package.json'), '{ "sideEffects": ["./dist/bin/*.js"] }');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, 'src', name)), { recursive: true });
    writeFileSync(join(root, 'src', name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  const problems = stderr.split('\n').filter((line) => line !== '');
  expect(status).toBe(problems.length > 0 ? 1 : 0);
  return problems;
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

const method = 'export class Tensor {}\n';
test.each<[string, Record<string, string>, RegExp]>([
  [
    'a call',
    { 'a.ts': 'export const a = 1;\ninstall(a);\n' },
    /^src\/a\.ts:2: has a side effect when it loads/,
  ],
  ['a loop', { 'a.ts': 'for (const x of []) f(x);\n' }, /^src\/a\.ts:1: has a/],
  ['an assignment', { 'a.ts': 'Array.prototype.b = 1;\n' }, /^src\/a\.ts:1: has a/],
  ['a static block', { 'a.ts': 'export class A {\n  static { f(); }\n}\n' }, /^src\/a\.ts:2: has a/],
  [
    'an import without names',
    { 'a.ts': "\nimport './b.js';\n", 'b.ts': 'export {};\n' },
    /^src\/a\.ts:2: imports b\.ts without/,
  ],
  [
    'an import cycle',
    {
      'a.ts': "import { b } from './b.js';\n",
      'b.ts': "export * from './c.js';\n",
      'c.ts': "import './a.js';\n",
    },
    /import cycle: a\.ts -> b\.ts -> c\.ts -> a\.ts/,
  ],
  [
    'the class without its methods',
    {
      'tensor/tensor.ts': method,
      'tensor/methods.ts': "import { Tensor } from './tensor.js';\n",
      'nn/a.ts': "import { Tensor } from '../tensor/tensor.js';\n",
    },
    /^src\/nn\/a\.ts:1: imports Tensor from/,
  ],
])('%s is found', (_, files, message) => {
  expect(check(files).join('\n')).toMatch(message);
});

test('declarations, types and listed programs pass', () => {
  const problems = check({
    'a.ts': "import type { B } from './b.js';\nexport const a = f();\nexport interface A extends B {}\n",
    'b.ts':
      "import { a } from './a.js';\nexport type B = typeof a;\ndeclare module './a.js' { interface A {} }\n",
    'bin/main.ts': "import { a } from '../a.js';\nawait main(a);\n",
    'native/active.ts': 'setUp();\n',
    'a.test.ts': 'test();\n',
  });
  expect(problems).toEqual([]);
});
