/**
 * The package in a browser: what a bundler takes in for each part, and the conformance cases in a page of headless Chromium.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleForBrowser } from './browser/bundle.js';
import { browserCases } from './browser/cases.js';
import { openTestPage, type TestPage } from './browser/chromium.js';

const parts = ['util', 'native', 'tensor', 'nn', 'graph', 'sample', 'gnn', 'temporal', 'interop', 'gpu'];

describe('bundles for the browser', () => {
  it.each(parts)('skein/%s takes in no module of Node and no folder that needs one', async (part) => {
    const { inputs, external } = await bundleForBrowser(`export * from 'skein/${part}';`);
    expect(external).toEqual([]);
    const folders = inputs.map((path) => path.match(/^src\/([a-z]+)\//)?.[1] ?? 'util');
    expect(folders.filter((folder) => !parts.includes(folder))).toEqual([]);
  });
});

describe('headless Chromium', () => {
  let page: TestPage;
  beforeAll(async () => {
    const { code } = await bundleForBrowser(`import './test/gpu/browser/page.ts';`);
    page = await openTestPage(code);
  }, 60_000);
  afterAll(() => page?.close());

  it.each(browserCases.map(({ group, name }, index) => [`${group}: ${name}`, index] as const))(
    '%s',
    async (_, index) => {
      expect(await page.run(index)).toBeNull();
    },
  );
});
