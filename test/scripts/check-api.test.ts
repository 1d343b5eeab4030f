/** The check of the public surface names the file, the name and what to do, and leaves a sound surface alone. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const scripts = fileURLToPath(new URL('../../scripts/', import.meta.url));
const made: string[] = [];

/** A package of two subpaths, `skein` and `skein/b`, with the files given. */
function makePackage(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'skein-api-'));
  made.push(root);
  const exports = { '.': { types: './dist/index.d.ts' }, './b': { types: './dist/b/index.d.ts' } };
  const all = {
    'src/index.ts': '',
    'src/b/index.ts': '',
    'package.json': JSON.stringify({ exports }),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

/** The text of docs/api.txt for a package. */
async function render(root: string): Promise<string> {
  const api = await import(pathToFileURL(join(scripts, 'api.mjs')).href);
  const { readPublicApi, Sources } = await import(pathToFileURL(join(scripts, 'public-api.mjs')).href);
  const sources = new Sources(root);
  return api.renderApi(sources, readPublicApi(root, sources));
}

/** Problems found in a package whose docs/api.txt is up to date. */
async function check(files: Readonly<Record<string, string>>): Promise<string[]> {
  const root = makePackage(files);
  mkdirSync(join(root, 'docs'), { recursive: true });
  if (!('docs/api.txt' in files)) writeFileSync(join(root, 'docs/api.txt'), await render(root));
  const { status, stderr } = spawnSync(process.execPath, [join(scripts, 'check-api.mjs'), root], {
    encoding: 'utf8',
  });
  const problems = stderr.split('\n').filter((line) => line !== '');
  expect(status).toBe(problems.length > 0 ? 1 : 0);
  return problems;
}

afterEach(() => {
  for (const root of made.splice(0)) rmSync(root, { recursive: true });
});

const own = { 'src/index.ts': "export * from './a.js';\n", 'src/a.ts': 'export const one = 1;\n' };

test('a name that no page mentions is found', async () => {
  expect(await check(own)).toEqual([
    'src/index.ts: exports one of src/a.ts, which no page, example or used signature mentions. ' +
      'Mention it in code in a page of docs/, or stop exporting it.',
  ]);
});

test.each<[string, string, string]>([
  ['prose', 'docs/a.md', 'There is one of them.\n'],
  ['another language', 'docs/a.md', '```yaml\none: 1\n```\n'],
  ["an object's member", 'docs/a.md', 'See `table.one`.\n'],
])('%s does not mention a name', async (_, page, text) => {
  expect(await check({ ...own, [page]: text })).toHaveLength(1);
});

test.each<[string, string, string]>([
  ['a span of code', 'README.md', 'See `one`.\n'],
  ['a program', 'docs/deep/a.md', "```ts\nimport { one } from 'skein';\n```\n"],
  ['an example', 'examples/a.ts', "import { one } from 'skein';\n"],
])('%s mentions a name', async (_, page, text) => {
  expect(await check({ ...own, [page]: text })).toEqual([]);
});

test('the signature of a used name uses others, bodies and private members do not', async () => {
  const files = {
    'src/index.ts': "export { A, type Hidden, type Options, type Result, type Part } from './a.js';\n",
    'src/a.ts': `
      export interface Options { part?: Part }
      export type Part = 1;
      export type Result = 2;
      export type Hidden = 3;
      class Base { run(): Result { return 2; } }
      export class A extends Base {
        private readonly hidden: Hidden = 3;
        constructor(options: Options = {}) { super(); const inner: Hidden = 3; }
      }`,
    'README.md': '`A`',
  };
  expect(await check(files)).toEqual([
    expect.stringMatching(/^src\/index\.ts: exports Hidden of src\/a\.ts/),
  ]);
});

test('a name with two meanings is found; the same declaration from two subpaths is not', async () => {
  const files = { ...own, 'README.md': '`one`' };
  expect(await check({ ...files, 'src/b/index.ts': "export { one } from '../a.js';\n" })).toEqual([]);
  expect(await check({ ...files, 'src/b/index.ts': 'export const one = 2;\n' })).toEqual([
    'src/b/index.ts: exports one of src/b/index.ts, but one of skein is declared in src/a.ts. ' +
      'Rename one, or add it to otherMeanings in scripts/check-api.mjs with the reason.',
  ]);
});

test('a declaration with two names is found', async () => {
  const files = { ...own, 'src/b/index.ts': "export { one as two } from '../a.js';\n", 'README.md': '`one`' };
  expect(await check(files)).toEqual([
    'src/b/index.ts: exports one of src/a.ts as one and as two. Keep one name.',
  ]);
});

test('a list of names that is not up to date is found', async () => {
  expect(await check({ ...own, 'README.md': '`one`', 'docs/api.txt': 'old' })).toEqual([
    'docs/api.txt: is not up to date with the exports of src/. Run npm run api and commit it.',
  ]);
});

test('the list has kinds and signatures in one line each, and the root refers to the other subpaths', async () => {
  const root = makePackage({
    'src/index.ts': "export * from './b/index.js';\nexport * as b from './b/index.js';\n",
    'src/b/index.ts': `
      /** Doc. */
      export function f<T>(
        x: T, // the input
        n = 1,
      ): T { return x; }
      export class C { #a = 1; /** @internal */ inner(): void {} static of(): C { return new C(); } get size(): number { return 1; } }
      export interface I { readonly a?: number; go(): void }
      export const g = (x: number): string => '';
      export { f as h };`,
  });
  expect((await render(root)).split('\n').slice(2)).toEqual([
    'skein (6)',
    '  C: class, see skein/b',
    '  I: interface, see skein/b',
    '  b: namespace of src/b/index.ts',
    '  f: function, see skein/b',
    '  g: function, see skein/b',
    '  h = f: function, see skein/b',
    '',
    'skein/b (5)',
    '  C: class C { static of(), size }',
    '  I: interface I { a?, go() }',
    '  f: function f<T>(x: T, n = 1): T',
    '  g: function g = (x: number): string',
    '  h = f: function f<T>(x: T, n = 1): T',
    '',
  ]);
});
