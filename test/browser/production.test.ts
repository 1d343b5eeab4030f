/**
 * Pages built for production, minified and without unused code, run in Chromium: the README's example and a GCN. Two
 * bundlers here; test/pack has all of them and every entry.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenPage, openPage } from '../gpu/browser/chromium.js';
import { buildPages, pageFiles, readmePage, runPage } from '../pack/pages.js';
import { buildDist, root } from './dist.js';

const project = mkdtempSync(join(tmpdir(), 'skein-pages-'));
const bundlers = ['esbuild', 'vite'];
const sizes: Record<string, number> = {};
let page: OpenPage;

beforeAll(async () => {
  buildDist();
  mkdirSync(join(project, 'node_modules'));
  symlinkSync(root, join(project, 'node_modules/skein'));
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  const pages = pageFiles(project, ['gnn'], { readme: readmePage() });
  const files = Object.assign(
    {},
    ...bundlers.map((bundler) => {
      const { built, warnings } = buildPages(
        join(root, 'test/pack/bundle-pages.mjs'),
        bundler,
        project,
        pages,
      );
      expect(warnings).toEqual({ 'gnn.js': [], 'readme.js': [] });
      for (const [path, { data }] of Object.entries(built)) sizes[path] = data.length;
      return built;
    }),
  );
  page = await openPage({ html: '<!doctype html><title>Skein</title>', script: '', files, webgpu: false });
}, 240_000);

afterAll(async () => {
  await page?.close();
  rmSync(project, { recursive: true });
});

test.each(bundlers)('%s: pages train', async (bundler) => {
  for (const name of ['gnn', 'readme']) {
    const { before, after } = await runPage(page, `/${bundler}/${name}.js`);
    expect(after, name).toBeLessThan(before / 2);
  }
});

test('a page with a GCN stays small', () => {
  // Before compression; a page that contains a whole further part of the package is larger by tens of kilobytes.
  for (const bundler of bundlers) expect(sizes[`/${bundler}/gnn.js`]).toBeLessThan(182_000);
});
