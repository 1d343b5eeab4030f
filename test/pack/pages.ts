/** Pages of test/pack/pages built by a bundler and run in a browser. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenPage } from '../gpu/browser/chromium.js';

const pages = fileURLToPath(new URL('./pages', import.meta.url));
const readme = fileURLToPath(new URL('../../README.md', import.meta.url));

export interface BuiltPages {
  /** Files by URL path, `/<bundler>/<page>.js`. */
  readonly built: Readonly<Record<string, { readonly type: string; readonly data: Uint8Array }>>;
  readonly warnings: Readonly<Record<string, readonly string[]>>;
}

/** Names of the pages, one per entry of the package. */
export const pageNames = readdirSync(pages)
  .map((file) => file.replace(/\.js$/, ''))
  .filter((name) => name !== 'fit');

/** The block of the README that trains a custom model: it needs no files, runs in a page, and is JavaScript too. */
export function readmeExample(): string {
  const blocks = [...readFileSync(readme, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text);
  const example = blocks.find((text) => text.includes('trainNodeClassifier'));
  if (example === undefined)
    throw new Error('README.md: expected a block with trainNodeClassifier, found none.');
  return example;
}

/** Returns the example as a page that sets the value that the test reads: the fraction of wrong answers. */
export function readmePage(): string {
  return `${readmeExample()}\nglobalThis.skeinResult = { before: 1, after: 1 - result.test.accuracy };\n`;
}

/** Copies pages into a project that has the package, and returns their paths. */
export function pageFiles(
  project: string,
  names: readonly string[],
  more: Readonly<Record<string, string>> = {},
): string[] {
  const folder = join(project, 'pages');
  mkdirSync(folder, { recursive: true });
  for (const name of ['fit', ...names]) cpSync(join(pages, `${name}.js`), join(folder, `${name}.js`));
  for (const [name, text] of Object.entries(more)) writeFileSync(join(folder, `${name}.js`), text);
  return [...names, ...Object.keys(more)].map((name) => join(folder, `${name}.js`));
}

/** @param script path of bundle-pages.mjs in a folder where the bundler is installed */
export function buildPages(
  script: string,
  bundler: string,
  project: string,
  paths: readonly string[],
): BuiltPages {
  const folder = join(project, 'out', bundler);
  // Vitest's NODE_ENV would make Vite build for tests.
  const { NODE_ENV: _, VITEST: _vitest, ...env } = process.env;
  const done = spawnSync(process.execPath, [script, bundler, folder, ...paths], {
    cwd: project,
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (done.status !== 0) throw new Error(`${bundler} failed:\n${done.stdout}${done.stderr}`);
  const files = readdirSync(folder).map((file) => [
    `/${bundler}/${file}`,
    { type: 'text/javascript; charset=utf-8', data: readFileSync(join(folder, file)) },
  ]);
  return { built: Object.fromEntries(files), warnings: JSON.parse(done.stdout) };
}

/** Loads a built page and returns its result: the loss before and after training. */
export async function runPage(page: OpenPage, path: string): Promise<{ before: number; after: number }> {
  const loaded = `delete globalThis.skeinResult; import('${path}').then(() => globalThis.skeinResult)`;
  return (await page.evaluate(loaded)) as { before: number; after: number };
}
