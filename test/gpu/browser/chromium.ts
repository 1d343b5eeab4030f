/**
 * Headless Chromium with a page that holds a bundle: a small server on the loopback interface, whose headers isolate
 * the page so that it may use SharedArrayBuffer, and a browser with a separate profile and no other network access.
 *
 * Chromium uses a GPU if it can; otherwise SwiftShader, its bundled software adapter.
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

/** The served files: a page, the script that it loads from `page.js`, and other files by their path. */
export interface PageFiles {
  /** False hides WebGPU from the page (default true). */
  readonly webgpu?: boolean;
  readonly html: string;
  readonly script: string;
  readonly files?: Readonly<Record<string, { readonly type: string; readonly data: Uint8Array }>>;
}

export interface OpenPage {
  /** Evaluates an expression in the page; a promise is awaited. */
  evaluate(expression: string): Promise<unknown>;
  close(): Promise<void>;
}

export const executablePath = places.find((place) => existsSync(place)) ?? '';
export const hasChromium = executablePath !== '';
/** Suffix for the name of a test that is skipped without Chromium. */
export const withoutChromium = hasChromium ? '' : ' (skipped: Chromium is missing)';

async function serve({ html, script, files = {} }: PageFiles): Promise<Server> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/page.js';
    const file = files[request.url ?? ''];
    const type = isScript ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8';
    response.writeHead(request.url === '/' || isScript || file !== undefined ? 200 : 404, {
      'content-type': file?.type ?? type,
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
    });
    response.end(file?.data ?? (isScript ? script : html));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Loads the page; errors of its script are thrown here. */
async function load(browser: Browser, port: number, webgpu: boolean): Promise<Page> {
  const page = await browser.newPage();
  if (!webgpu) await page.addInitScript('delete Navigator.prototype.gpu');
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  await page.goto(`http://127.0.0.1:${port}/`);
  if (errors.length > 0) throw new Error(`browser tests: the page's script failed: ${errors.join('\n')}`);
  return page;
}

/** Starts Chromium with WebGPU: on the adapter it finds, or on its software adapter if it cannot use the driver. */
async function launch(port: number, webgpu: boolean): Promise<{ browser: Browser; page: Page }> {
  for (const more of [[], ['--use-webgpu-adapter=swiftshader']]) {
    const args = [...flags, ...more];
    const browser = await chromium.launch({ executablePath, headless: true, args });
    try {
      const page = await load(browser, port, webgpu);
      if (!webgpu || (await page.evaluate('navigator.gpu?.requestAdapter().then(Boolean)')) === true)
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

/** Starts Chromium with a page. */
export async function openPage(files: PageFiles): Promise<OpenPage> {
  const server = await serve(files);
  try {
    const { browser, page } = await launch((server.address() as AddressInfo).port, files.webgpu ?? true);
    return {
      evaluate: (expression) => page.evaluate(expression),
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
