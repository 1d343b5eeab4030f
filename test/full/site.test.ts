/**
 * The documentation as a site: `npm run docs:site` installs and builds it (a dead link fails the build), and a browser opens
 * it. Every page of docs/ and every public name is there, links within pages lead to headings, search finds, and nothing is
 * requested from another host.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, posix } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { executablePath, hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { root } from '../programs.js';

const dist = join(root, '.cache', 'site', 'dist');
const types: Readonly<Record<string, string>> = {
  ...{ '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' },
  ...{ '.json': 'application/json', '.png': 'image/png' },
};

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith(ending));

let pages: string[] = [];
const read = (page: string): string => readFileSync(join(dist, page), 'utf8');

beforeAll(() => {
  // As in a fresh clone.
  rmSync(join(root, 'docs/site/node_modules'), { recursive: true, force: true });
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/docs-site.mjs'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('site: built in')]);
  pages = filesIn(dist, '.html');
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`site: installed and built in ${seconds} s, ${pages.length} pages`);
});

test('every page of docs/ is a page of the site', () => {
  const expected = filesIn(join(root, 'docs'), '.md')
    .filter((page) => !page.startsWith('site/'))
    .map((page) => (page === 'README.md' ? 'contents.md' : page.replace(/README\.md$/, 'index.md')))
    .map((page) => page.replace(/\.md$/, '.html'));
  expect(expected.length).toBeGreaterThan(70);
  expect(expected.filter((page) => !pages.includes(page))).toEqual([]);
});

test('every public name is in the API reference', () => {
  const names = [
    ...readFileSync(join(root, 'docs/api.txt'), 'utf8').matchAll(/^(skein\S*) \(|^ {2}(\w+): (.*)$/gm),
  ];
  const missing: string[] = [];
  let subpath = '';
  for (const [, heading, name] of names) {
    if (heading !== undefined) {
      subpath = heading;
      continue;
    }
    const index = read(`api/${subpath.replace('/', '-')}/index.html`);
    if (!new RegExp(`>${name}(?:\\(\\))?<`).test(index)) missing.push(`${subpath} ${name}`);
  }
  expect(names.length).toBeGreaterThan(1000);
  expect(missing).toEqual([]);
});

test('anchors lead to headings', () => {
  const dead: string[] = [];
  for (const page of pages.filter((name) => !name.startsWith('api/'))) {
    const [, main] = /<main[^>]*>([\s\S]*)<\/main>/.exec(read(page)) ?? ['', read(page)];
    for (const [, path, anchor] of main.matchAll(/href="([^"#:]*)#([^"]+)"/g)) {
      const target = path === '' ? page : path.replace(/^\//, '').replace(/(^|\/)$/, '$1index.html');
      const file = path.startsWith('.') ? posix.join(posix.dirname(page), path) : target;
      if (!existsSync(join(dist, file)) || !read(file).includes(`id="${decodeURIComponent(anchor)}"`))
        dead.push(`${page}: ${path}#${anchor}`);
    }
  }
  expect(dead).toEqual([]);
});

test('no page names a script, style, font or image of another host', () => {
  const loads =
    /<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?\/\/|<link[^>]*\shref="(?:https?:)?\/\//;
  expect(pages.filter((page) => loads.test(read(page)))).toEqual([]);
  const styles = filesIn(dist, '.css').filter((file) => /url\((?:["']?)(?:https?:)?\/\//.test(read(file)));
  expect(styles).toEqual([]);
});

function serve(): Promise<Server> {
  const server = createServer(({ url = '/' }, response) => {
    const path = join(dist, decodeURIComponent(new URL(url, 'http://site').pathname));
    const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'index.html') : path;
    const isThere = file.startsWith(dist) && existsSync(file);
    response.writeHead(isThere ? 200 : 404, { 'content-type': types[extname(file)] ?? 'text/plain' });
    response.end(isThere ? readFileSync(file) : '');
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe.skipIf(!hasChromium)(`in a browser${withoutChromium}`, () => {
  let server: Server;
  let browser: Browser;
  let page: Page;
  let host = '';
  const problems: string[] = [];

  beforeAll(async () => {
    server = await serve();
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'] });
    page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
    page.on('pageerror', (error) => problems.push(`page: ${error.message}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol.startsWith('http') && url.host !== host) problems.push(`request to ${url.href}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.status()} ${response.url()}`);
    });
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(`http://${host}${path}`);
    await page.waitForLoadState('networkidle');
  };

  test('the start page has three programs in tabs', async () => {
    await open('/');
    expect(await page.innerText('h1')).toContain('Graph learning for TypeScript');
    for (const [tab, call] of [
      ['Links', 'fitLinks'],
      ['Nodes', 'fitNodes'],
      ['Events', 'fitEvents'],
    ]) {
      await page.click(`.vp-code-group label:has-text("${tab}")`);
      expect(await page.innerText('.vp-code-group div.active')).toContain(call);
    }
  });

  test('search finds guides and names', async () => {
    await open('/start.html');
    await page.keyboard.press('Control+k');
    await page.fill('#localsearch-input', 'partition buffer');
    await page.waitForSelector('.results a[href*="larger-than-memory"], .results a[href*="stores"]');
    await page.fill('#localsearch-input', 'GraphSAGE');
    await page.waitForSelector('.results a[href*="GraphSAGE"]');
  });

  test.each([
    '/guides/links.html',
    '/benchmarks.html',
    '/migration/pyg.html',
    '/api/skein-gnn/classes/GCNConv.html',
  ])('%s fits a telephone, light and dark', async (path) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width: 390, height: 844 });
      await open(path);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await page.locator('h1').count()).toBe(1);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  test('nothing failed, and nothing was requested from elsewhere', () => {
    expect(problems).toEqual([]);
  });
});
