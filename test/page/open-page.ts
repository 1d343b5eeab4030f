/** The page of `skein ui` in headless Chromium, over runs in a folder. Requests to other hosts fail the test. */
import { type Browser, chromium, type Page } from 'playwright-core';
import { modelSource, type RunningServer, type ServeOptions, serve } from '#internal/server/index.js';
import { RunCatalog } from '#internal/server/runs/run-catalog.js';
import { executablePath } from '../gpu/browser/chromium.js';

export interface OpenedUi {
  readonly server: RunningServer;
  readonly browser: Browser;
  readonly page: Page;
  /** Opens a view by its address behind the hash, and waits until it has loaded. */
  show(address: string): Promise<void>;
  /** Errors of the page, and requests to other hosts. */
  readonly problems: string[];
  close(): Promise<void>;
}

export async function openUi(
  folders: readonly string[],
  options: Partial<ServeOptions> = {},
): Promise<OpenedUi> {
  const problems: string[] = [];
  const onError = (error: unknown): void => {
    problems.push(`server: ${error instanceof Error ? error.stack : error}`);
  };
  const server = await serve({
    models: [],
    ...{ port: 0, reloadEvery: 0, onError, runs: new RunCatalog(folders) },
    openRun: (run) => modelSource(run, { command: 'ui', onError }),
    ...options,
  });
  const browser = await chromium.launch({
    executablePath,
    headless: true,
    args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
  });
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.on('pageerror', (error) => problems.push(`page: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url());
    if (host !== new URL(server.url).host && protocol.startsWith('http'))
      problems.push(`request to ${request.url()}`);
  });
  await page.goto(server.pageLink());
  await page.waitForSelector('header nav');
  return {
    ...{ server, browser, page, problems },
    async show(address) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, address);
      await page.waitForFunction(
        () =>
          document.querySelector('#view > *') !== null &&
          !/…$/m.test(document.querySelector('#view > p.quiet')?.textContent ?? ''),
      );
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
