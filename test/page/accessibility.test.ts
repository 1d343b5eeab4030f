/** Every view for readers with other means: contrast and roles by axe, all of it by keyboard, less motion, narrow screens. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDist } from '../browser/dist.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { makeRuns } from './make-runs.js';
import { type OpenedUi, openUi, showView } from './open-page.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-reach-'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let ui: OpenedUi;

/** Views with the element that shows that they are complete. */
const views: readonly (readonly [address: string, selector: string])[] = [
  ['#/runs', 'table.runs .sparkline'],
  ['#/run/links', '.chart canvas'],
  ['#/compare?runs=links,short', '.chart canvas'],
  ['#/map/links?node=person%207', '.names li'],
  ['#/map/nodes', '.legend li'],
  ['#/explore/links?node=person%203', 'aside table tr'],
  ['#/explore/nodes', '.chips li'],
  ['#/ask/links?head=person%204&relation=works%20in&known=1', 'table.answers tr'],
  ['#/ask/nodes?head=n3', 'table.answers tr'],
  ['#/ask/events?head=u1', 'table.answers tr'],
  ['#/data/links', '.numbers'],
  ['#/data/events', '.numbers'],
  ['#/stream/events', '.feed li'],
  ['#/run/missing', '[role=alert]'],
];

async function open(page: Page, [address, selector]: (typeof views)[number]): Promise<void> {
  await showView(page, address);
  await page.waitForSelector(selector);
}

/** Returns a line for each finding of axe that is serious or critical. */
async function findings(page: Page): Promise<string[]> {
  const { violations } = (await page.evaluate(
    `${axe}; axe.run(document, { resultTypes: ['violations'] })`,
  )) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`));
}

/** Returns a short description of the element that has the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const element = document.activeElement as HTMLElement | null;
    return element === null || element === document.body
      ? 'body'
      : `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.innerText.split('\n')[0]}`.trim();
  });

describe.skipIf(!hasChromium)(`page for all readers${withoutChromium}`, () => {
  beforeAll(async () => {
    buildDist();
    await makeRuns(folder);
    ui = await openUi([folder]);
  }, 180_000);
  afterAll(async () => {
    await ui?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(['light', 'dark'] as const)('has no serious finding of axe in %s colours', async (colorScheme) => {
    const page = await ui.another({ colorScheme, bypassCSP: true });
    const found: string[] = [];
    for (const view of views) {
      await open(page, view);
      found.push(...(await findings(page)).map((finding) => `${view[0]}: ${finding}`));
    }
    expect(found).toEqual([]);
    await page.close();
  });

  it('fits a phone: no view is wider than the screen', async () => {
    const page = await ui.another({ viewport: { width: 390, height: 844 }, hasTouch: true });
    const wide: string[] = [];
    for (const view of views) {
      await open(page, view);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > 390) wide.push(`${view[0]}: ${width}`);
    }
    expect(wide).toEqual([]);
    await page.close();
  });

  it('stands still for readers who want less motion', async () => {
    for (const reducedMotion of ['reduce', 'no-preference'] as const) {
      const page = await ui.another({ reducedMotion });
      const moving = await page.evaluate(() => {
        // The mark of a run that is being trained, which no run here is.
        const mark = Object.assign(document.createElement('span'), { className: 'state training' });
        document.getElementById('view')?.append(mark);
        const { animationName } = getComputedStyle(mark, '::before');
        mark.remove();
        return animationName;
      });
      expect(moving).toBe(reducedMotion === 'reduce' ? 'none' : 'pulse');
      await page.close();
    }
  });

  it('leads by keyboard from the link that skips the frame through every control, in order', async () => {
    const page = await ui.another();
    await page.waitForSelector('table.runs .sparkline');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('button Skip to the view');
    expect(await page.locator('.skip').boundingBox()).toMatchObject({ height: expect.any(Number) });
    expect((await page.locator('.skip').boundingBox())?.height).toBeGreaterThan(15);
    const order: string[] = [];
    for (let i = 0; i < 7; i++) {
      await page.keyboard.press('Tab');
      order.push(await focused(page));
      const outline = await page.evaluate(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement as Element);
        return outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth);
      });
      expect([order.at(-1), outline >= 2]).toEqual([order.at(-1), true]);
    }
    expect(order.slice(0, 4)).toEqual([
      'a Skein',
      'a Runs',
      expect.stringMatching(/^select/),
      'input Filter runs',
    ]);
    // The skip link moves the focus into the view.
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('view');
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('input Filter runs');
    await page.close();
  });

  it('chooses runs, opens them and changes views by keyboard', async () => {
    const { page } = ui;
    await open(page, views[0]);
    await page.focus('input[aria-label="Compare links"]');
    await page.keyboard.press('Space');
    await page.focus('input[aria-label="Compare short"]');
    await page.keyboard.press('Space');
    await page.focus('a:has-text("Compare 2 runs")');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.chart canvas');
    // A reader of the screen hears the new view.
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('view');
    await open(page, views[1]);
    await page.focus('summary:has-text("Log")');
    await page.keyboard.press('Enter');
    await page.waitForSelector('pre.log');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('log');
  });

  it('completes names by keyboard', async () => {
    const { page } = ui;
    await open(page, views[7]);
    const field = page.getByRole('combobox', { name: 'Head' });
    await field.fill('person 1');
    await page.waitForSelector('[role=option]:has-text("person 1"):visible');
    expect(await field.getAttribute('aria-expanded')).toBe('true');
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown');
    const active = await field.getAttribute('aria-activedescendant');
    const option = page.locator(`[id="${active}"]`);
    expect(await option.getAttribute('aria-selected')).toBe('true');
    const name = await option.innerText();
    await page.keyboard.press('Enter');
    expect(await field.inputValue()).toBe(name);
    expect(await field.getAttribute('aria-expanded')).toBe('false');
    await expect
      .poll(() => page.evaluate(() => location.hash))
      .toContain(new URLSearchParams({ head: name }).toString());
    await field.fill('person 2');
    await page.waitForSelector('[role=option]:has-text("person 2"):visible');
    await page.keyboard.press('ArrowUp');
    expect(await page.locator('[role=option][aria-selected=true]').innerText()).toBe(
      await page.locator('[role=option]:visible').last().innerText(),
    );
    await page.keyboard.press('Escape');
    expect(await field.getAttribute('aria-expanded')).toBe('false');
  });

  it('explores a graph and moves a map by keyboard', async () => {
    const { page } = ui;
    await open(page, views[5]);
    const before = await page.locator('.graph .node').count();
    await page.locator('.graph .node').nth(1).focus();
    await page.keyboard.press('e');
    await page.waitForFunction((count) => document.querySelectorAll('.graph .node').length > count, before);
    const name = (await page.locator('.graph .node').nth(1).getAttribute('aria-label'))?.split(':')[0];
    await page.locator('.graph .node').nth(1).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.graph .node.own text').textContent()).toBe(name);
    await open(page, views[4]);
    const canvas = page.locator('.canvas canvas');
    await canvas.focus();
    const picture = (): Promise<string> =>
      canvas.evaluate((element) => (element as HTMLCanvasElement).toDataURL());
    const isDrawn = (): Promise<boolean> =>
      canvas.evaluate((element) => {
        const drawn = element as HTMLCanvasElement;
        const { width, height } = drawn;
        return (
          drawn.toDataURL() !== Object.assign(document.createElement('canvas'), { width, height }).toDataURL()
        );
      });
    await expect.poll(isDrawn).toBe(true);
    const whole = await picture();
    await page.keyboard.press('+');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(picture).not.toBe(whole);
    await page.keyboard.press('0');
    await expect.poll(picture).toBe(whole);
  });

  it('reports no error', () => {
    expect(ui.problems.filter((one) => !/status of 404/.test(one))).toEqual([]);
  });
});
