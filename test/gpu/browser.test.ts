/**
 * The package in a browser: the modules that a bundler includes for each entry, and the conformance cases in headless
 * Chromium.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleForBrowser } from './browser/bundle.js';
import { browserCases } from './browser/cases.js';
import { hasChromium, type OpenPage, openPage, withoutChromium } from './browser/chromium.js';

const parts = ['util', 'native', 'tensor', 'nn', 'graph', 'sample', 'gnn', 'temporal', 'interop', 'gpu'];

describe('bundles for the browser', () => {
  it.each(parts)('skein/%s includes no module of Node and no folder that needs one', async (part) => {
    const { inputs, external } = await bundleForBrowser(`export * from 'skein/${part}';`);
    expect(external).toEqual([]);
    const folders = inputs.map((path) => path.match(/^src\/([a-z]+)\//)?.[1] ?? 'util');
    expect(folders.filter((folder) => !parts.includes(folder))).toEqual([]);
  });
});

describe.skipIf(!hasChromium)(`headless Chromium${withoutChromium}`, () => {
  let page: OpenPage;
  beforeAll(async () => {
    const { code } = await bundleForBrowser(`import './test/gpu/browser/page.ts';`);
    const html = '<!doctype html><title>Skein</title><script type="module" src="page.js"></script>';
    page = await openPage({ html, script: code });
  }, 240_000);
  afterAll(() => page?.close());

  it.each(browserCases.map(({ group, name }, index) => [`${group}: ${name}`, index] as const))(
    '%s',
    async (_, index) => {
      expect(await page.evaluate(`skeinPage.run(${index})`)).toBeNull();
    },
    240_000,
  );
});

it.skipIf(!hasChromium).each([
  ['the device of the page', true, /^Training on (?!the CPU)/],
  ['the CPU without WebGPU', false, /has no WebGPU.*\nTraining on the CPU/],
])(
  `examples/browser trains on %s and reports its accuracy${withoutChromium}`,
  async (_, webgpu, start) => {
    const { code } = await bundleForBrowser(`import './examples/browser/page.ts';`);
    const html = readFileSync(new URL('../../examples/browser/index.html', import.meta.url), 'utf8');
    const page = await openPage({ html, script: code, webgpu });
    try {
      const log = async () => String(await page.evaluate('document.querySelector("#log").textContent'));
      await expect.poll(log, { timeout: 240_000, interval: 200 }).toContain('accuracy');
      expect(await log()).toMatch(start);
      expect(Number((await log()).match(/unseen nodes: ([\d.]+) %/)?.[1])).toBeGreaterThan(90);
    } finally {
      await page.close();
    }
  },
  240_000,
);
