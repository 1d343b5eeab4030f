/**
 * Pages with each entry of the package, built for production by four bundlers and run in Chromium: every page trains,
 * and no bundler warns. The bundlers are installed here, because no other test needs them.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenPage, openPage } from '../gpu/browser/chromium.js';
import { install, type Packed, pack, root } from './packed.js';
import { type BuiltPages, buildPages, pageFiles, pageNames, readmePage, runPage } from './pages.js';

const bundlers = ['esbuild', 'vite', 'rollup', 'webpack'];
const tools = [
  'esbuild',
  'vite@8',
  'rollup@4',
  '@rollup/plugin-node-resolve',
  '@rollup/plugin-terser',
  'webpack@5',
];
const names = [...pageNames, 'readme'];
let packed: Packed;
let project: string;
let paths: string[];

beforeAll(() => {
  packed = pack();
  project = install(packed, 'bundlers', { args: ['--ignore-scripts', ...tools] });
  cpSync(join(root, 'test/pack/bundle-pages.mjs'), join(project, 'bundle-pages.mjs'));
  paths = pageFiles(project, pageNames, { readme: readmePage() });
});

afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

describe.each(bundlers)('%s', (bundler) => {
  let pages: BuiltPages;
  let page: OpenPage;
  beforeAll(async () => {
    pages = buildPages(join(project, 'bundle-pages.mjs'), bundler, project, paths);
    page = await openPage({ html: '<!doctype html><title>Skein</title>', script: '', files: pages.built });
    // Rollup and Webpack take a minute or two, and much longer next to other work.
  }, 3_600_000);
  afterAll(() => page?.close());

  test('no page has a warning', () => {
    expect(pages.warnings).toEqual(Object.fromEntries(names.map((name) => [`${name}.js`, []])));
  });

  test.each(names)('%s trains', async (name) => {
    const { before, after } = await runPage(page, `/${bundler}/${name}.js`);
    expect(after).toBeLessThan(before / 2);
  });

  test.each([
    ['gnn', 66],
    ['readme', 104],
  ])('%s is at most %i kB, compressed', (name, limit) => {
    const { data } = pages.built[`/${bundler}/${name}.js`];
    const compressed = gzipSync(data, { level: 9 }).length;
    console.log(
      `${bundler} ${name}: ${(data.length / 1000).toFixed(0)} kB, ${(compressed / 1000).toFixed(0)} kB gzip`,
    );
    expect(compressed / 1000).toBeLessThan(limit);
  });
});
