/**
 * Headless Chromium with a page that holds a bundle: a small server on the loopback interface, whose headers isolate the page
 * so that it may use SharedArrayBuffer, and a browser with a profile of its own that talks to nobody else.
 *
 * A graphics processor that Chromium can use is used; elsewhere it brings SwiftShader, its own software adapter.
 */
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/snap/bin/chromium',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const flags = [
  '--no-sandbox',
  '--enable-unsafe-webgpu',
  '--enable-features=Vulkan',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-quic',
  '--disable-sync',
];

export interface TestPage {
  /** Runs case `index` in the page; the message of its failure, or null. */
  run(index: number): Promise<string | null>;
  close(): Promise<void>;
}

function findChromium(): string {
  const found = places.find((place) => existsSync(place));
  if (found === undefined)
    throw new Error(
      'browser tests: expected Chromium, found none. On Debian install it with `npm run setup` or `sudo apt-get install chromium`.',
    );
  return found;
}

async function serve(script: string): Promise<Server> {
  const html = '<!doctype html><title>Skein</title><script type="module" src="/page.js"></script>';
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    response.writeHead(request.url === '/' || isScript ? 200 : 404, {
      'content-type': isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    });
    response.end(isScript ? script : html);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** A page whose script says nothing else than what `skeinPage` offers; errors of loading it are thrown here. */
async function load(browser: Browser, port: number): Promise<Page> {
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  await page.goto(`http://127.0.0.1:${port}/`);
  const ready = await page.evaluate('typeof skeinPage === "object"');
  if (ready !== true) throw new Error(`browser tests: the page's script did not load: ${errors.join('\n')}`);
  return page;
}

/** Chromium with WebGPU: on what it finds, or on its own software adapter where a driver is there that it cannot use. */
async function launch(port: number): Promise<{ browser: Browser; page: Page }> {
  for (const more of [[], ['--use-webgpu-adapter=swiftshader']]) {
    const args = [...flags, ...more];
    const browser = await chromium.launch({ executablePath: findChromium(), headless: true, args });
    try {
      const page = await load(browser, port);
      if ((await page.evaluate('navigator.gpu?.requestAdapter().then(Boolean)')) === true)
        return { browser, page };
    } catch (error) {
      await browser.close();
      throw error;
    }
    await browser.close();
  }
  throw new Error(
    'browser tests: expected Chromium to have a WebGPU adapter, it has none, not even a software one.',
  );
}

/** Starts Chromium with a page that runs `script`. */
export async function openTestPage(script: string): Promise<TestPage> {
  const server = await serve(script);
  try {
    const { browser, page } = await launch((server.address() as AddressInfo).port);
    return {
      run: (index) => page.evaluate(`skeinPage.run(${index})`),
      async close() {
        await browser.close();
        server.close();
      },
    };
  } catch (error) {
    server.close();
    throw error;
  }
}
