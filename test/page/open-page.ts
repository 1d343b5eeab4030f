/** The page of `skein ui` in headless Chromium, over runs in a folder. Requests to other hosts fail the test. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { modelSource, type RunningServer, type ServeOptions, serve } from '#internal/server/index.js';
import { RunCatalog } from '#internal/server/runs/run-catalog.js';
import { executablePath } from '../gpu/browser/chromium.js';

export interface OpenedUi {
  readonly server: RunningServer;
  readonly browser: Browser;
  readonly page: Page;
  /** Opens a view by its address behind the hash, and waits until it has loaded. */
  show(address: string): Promise<void>;
  /** Opens another page, such as one in dark colours, with a browser profile of its own. */
  another(options?: BrowserContextOptions): Promise<Page>;
  /** Errors of the pages, and requests to other hosts. */
  readonly problems: string[];
  close(): Promise<void>;
}

/** Starts Chromium with WebGL in software, without any names of hosts: a machine that is not connected. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    headless: true,
    args: [
      ...['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

/** Milliseconds for what a page waits for: enough on a busy machine, and less than a test has. */
export const patience = 60_000;

/** Records errors of a page, and requests to other hosts than that of `url`. */
export function watchPage(page: Page, url: string, problems: string[]): void {
  page.setDefaultTimeout(patience);
  page.on('pageerror', (error) => problems.push(`page: ${error.stack ?? error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on('request', (request) => {
    const { host, protocol } = new URL(request.url());
    if (host !== new URL(url).host && protocol.startsWith('http'))
      problems.push(`request to ${request.url()}`);
  });
}

/** Opens a view by its address behind the hash, and waits until it has loaded. */
export async function showView(page: Page, address: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, address);
  await page.waitForFunction(
    () =>
      document.querySelector('#view > *') !== null &&
      !/…$/m.test(document.querySelector('#view > p.quiet')?.textContent ?? ''),
  );
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
  const browser = await launchBrowser();
  const another = async (context: BrowserContextOptions = {}): Promise<Page> => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...context });
    watchPage(page, server.url, problems);
    await page.goto(server.pageLink());
    await page.waitForSelector('header nav');
    return page;
  };
  const page = await another();
  return {
    ...{ server, browser, page, problems, another },
    show: (address) => showView(page, address),
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
