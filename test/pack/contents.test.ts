/** The contents of the packed package: every file that it refers to, and no unneeded file. */
import { readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { parseSync } from 'oxc-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifest, type Packed, pack, root } from './packed.js';

let packed: Packed;
let paths: Set<string>;

beforeAll(() => {
  packed = pack();
  paths = new Set(packed.files.map((file) => file.path));
});

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const withEnding = (ending: string): string[] => [...paths].filter((path) => path.endsWith(ending));

/** Returns whether the package has a file, or a folder with files. */
function holds(path: string): boolean {
  const name = path.replace(/\/$/, '');
  return paths.has(name) || [...paths].some((file) => file.startsWith(`${name}/`));
}

test('it has the required files and no others', () => {
  for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'docs/browser.md', 'examples/karate-club.ts'])
    expect(paths).toContain(path);
  const folders = /^(dist|docs|examples|native)\/|^scripts\/build-(addon|lock)\.mjs$/;
  const pages = /^(package\.json|LICENSE|(README|ARCHITECTURE|CHANGELOG|CONTRIBUTING)\.md)$/;
  expect([...paths].filter((path) => !folders.test(path) && !pages.test(path))).toEqual([]);
  expect([...paths].filter((path) => /\.(test\.|tsbuildinfo|map$|node$|o$|gyp$)/.test(path))).toEqual([]);
});

test('it is small', () => {
  // The page has 60 kB, the pictures of the pages 250 kB.
  expect(packed.size).toBeLessThan(2.75 * 2 ** 20);
  expect(packed.unpackedSize).toBeLessThan(9 * 2 ** 20);
});

test('no JavaScript points to a source map', () => {
  expect(withEnding('.js').filter((path) => read(path).includes('sourceMappingURL'))).toEqual([]);
});

test('files named by package.json exist', () => {
  const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> };
  const targets = Object.values(manifest.exports).flatMap((t) =>
    typeof t === 'string' ? [t] : Object.values(t),
  );
  const named = [...targets, ...Object.values(bin)].map((path) => posix.normalize(path));
  expect(named.filter((path) => !paths.has(path))).toEqual([]);
});

test('links between pages lead to files of the package', () => {
  const lost = withEnding('.md').flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)\s#]+)(#[^)\s]*)?\)/g)]
      .map(([, target]) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => posix.join(posix.dirname(page), target))
      .filter((target) => !holds(target))
      .map((target) => `${page} -> ${target}`),
  );
  expect(lost).toEqual([]);
});

test('pages and examples named by messages exist', () => {
  const named = withEnding('.js').flatMap((path) =>
    [...read(path).matchAll(/\b(?:docs|examples)\/[\w./-]+\.(?:md|ts|ya?ml)\b/g)].map(([name]) => name),
  );
  expect(named.length).toBeGreaterThan(0);
  expect([...new Set(named)].filter((name) => !paths.has(name))).toEqual([]);
});

test('the JavaScript imports dependencies and Node.js alone', () => {
  const allowed = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
  const others = withEnding('.js')
    .filter((path) => path.startsWith('dist/'))
    .flatMap((path) => {
      const { module } = parseSync(path, read(path));
      const requests = [
        ...module.staticImports.map((one) => one.moduleRequest),
        ...module.staticExports.flatMap((one) => one.entries.map((entry) => entry.moduleRequest)),
      ];
      return requests.flatMap((request) => (request == null ? [] : [`${path}: ${request.value}`]));
    })
    .filter((line) => {
      const [, name] = line.split(': ');
      const bare = name.split('/').slice(0, name.startsWith('@') ? 2 : 1);
      return !name.startsWith('.') && !isBuiltin(name) && !allowed.has(bare.join('/'));
    });
  expect(others).toEqual([]);
});
