/** The stream of a served model in the page: events, the watermark, late ones and those set apart appear as they arrive. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDist } from '../browser/dist.js';
import { endServed, post, type Served, serveCommand } from '../cli/served.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { lastTime, runOf, scratch } from '../server/models.js';
import { launchBrowser, patience, showView, watchPage } from './open-page.js';

const state = join(scratch(), 'page-state');
const problems: string[] = [];
let served: Served;
let browser: Awaited<ReturnType<typeof launchBrowser>>;
let page: Awaited<ReturnType<typeof browser.newPage>>;

const event = (head: string, after: number, tail = 'i1') => ({ head, tail, time: lastTime + after });

async function append(...events: readonly object[]): Promise<readonly string[]> {
  const answer = await post(`${served.url}/events`, { events });
  return ((await answer.json()) as { outcomes: string[] }).outcomes;
}

/** Returns a number of the page by its label. */
const numberOf = (label: string): Promise<string> =>
  page
    .locator('.numbers div', { has: page.locator(`dt:text-is("${label}")`) })
    .locator('dd')
    .first()
    .innerText();

/** Waits until a number of the page is another text. */
async function changed(label: string, before: string): Promise<string> {
  await expect.poll(() => numberOf(label), { timeout: patience }).not.toBe(before);
  return numberOf(label);
}

describe.skipIf(!hasChromium)(`page of a stream${withoutChromium}`, () => {
  beforeAll(async () => {
    buildDist();
    rmSync(state, { recursive: true, force: true });
    served = await serveCommand([
      await runOf('events'),
      '--state',
      state,
      '--lateness',
      '60',
      '--late',
      'drop',
    ]);
    browser = await launchBrowser();
    page = await browser.newPage();
    watchPage(page, served.url, problems);
    await page.goto(`${served.url}/#/stream/events`);
    await page.waitForSelector('.numbers');
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    endServed();
  });

  it('shows events and the watermark as they arrive', async () => {
    const [events, watermark] = [await numberOf('events'), await numberOf('watermark')];
    expect(await append(event('u1', 100), event('u2', 200, 'i2'), event('newcomer', 400))).toContain(
      'accepted',
    );
    await changed('watermark', watermark);
    await changed('events', events);
    await page.waitForSelector('.feed li:has-text("u2")');
    // A later event lets the ones that wait pass.
    expect(await append(event('u3', 900))).toEqual(['waiting']);
    await page.waitForSelector('.feed li:has-text("newcomer")');
    await expect.poll(() => numberOf('waiting')).toBe('1');
  });

  it('counts events that come too late', async () => {
    expect(await numberOf('late')).toBe('0');
    expect(await append(event('u1', 10), event('u1', 20))).toEqual(['late', 'late']);
    await expect.poll(() => numberOf('late')).toBe('2');
  });

  it('shows events that were set apart, with the reason', async () => {
    const far = Date.now() / 1000 + 1e8 - lastTime;
    expect(await append(event('u4', far))).toEqual(['quarantined']);
    await expect.poll(() => numberOf('in quarantine')).toBe('1');
    const entry = page.locator('section:has(h2:text-is("Quarantine")) li').first();
    await expect.poll(() => entry.innerText()).toMatch(/u4 → i1[\s\S]*future/);
    // A second one joins the list of the open page.
    expect(await append(event('u5', far))).toEqual(['quarantined']);
    await page.waitForSelector('section:has(h2:text-is("Quarantine")) li:has-text("u5")');
  });

  it('recommends what may come next, and explores nodes that the stream brought', async () => {
    await page.waitForSelector('section:has(h2:has-text("Next for")) li');
    await showView(page, '#/explore/events?node=newcomer');
    await page.waitForSelector('.graph .node.own');
    expect(await page.locator('.graph .node.own text').textContent()).toBe('newcomer');
  });

  it('reports no error', () => {
    expect(problems).toEqual([]);
  });
});
