/** The page in a browser: every view over real runs, and nothing that leaves the machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDist } from '../browser/dist.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { makeRuns } from './make-runs.js';
import { type OpenedUi, openUi } from './open-page.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-page-'));
let ui: OpenedUi;

describe.skipIf(!hasChromium)(`page${withoutChromium}`, () => {
  beforeAll(async () => {
    buildDist();
    await makeRuns(folder);
    ui = await openUi([folder]);
  }, 180_000);
  afterAll(async () => {
    await ui?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const text = (): Promise<string> => ui.page.innerText('#view');

  it('lists runs with state, result and course', async () => {
    await ui.show('#/runs');
    expect(await ui.page.locator('table.runs tbody tr').count()).toBe(4);
    expect(await text()).toMatch(/finished[\s\S]*mrr on test/);
    expect(await ui.page.locator('.sparkline').count()).toBeGreaterThan(3);
    // Epochs of a node model are compared by their loss, which the curve shows; the result is the accuracy.
    const nodes = ui.page.locator('table.runs tbody tr', { hasText: 'nodes' });
    expect(await nodes.locator('td:nth-child(4) small').innerText()).toMatch(/^accuracy on /);
    expect(await nodes.locator('td:nth-child(5) small').innerText()).toBe('loss');
    const label = 'loss of nodes on validation by epoch';
    const curve = nodes.locator('td:nth-child(5) svg');
    expect([await curve.getAttribute('aria-label'), await curve.locator('title').textContent()]).toEqual([
      label,
      label,
    ]);
    await ui.page.fill('input[type=search]', 'short');
    expect(await ui.page.locator('table.runs tbody tr').count()).toBe(1);
    await ui.page.fill('input[type=search]', '');
  });

  it('shows the curves, results and configuration of a run', async () => {
    await ui.show('#/run/links');
    await ui.page.waitForSelector('.chart canvas');
    expect(await text()).toContain('Training loss');
    expect(await text()).toMatch(/baseline: /);
    await ui.page.click('summary:has-text("Configuration")');
    expect(await text()).toContain('model.decoder.type');
    await ui.page.click('summary:has-text("Log")');
    await ui.page.waitForSelector('pre.log');
    expect(await text()).toMatch(/epoch 1 +loss/);
  });

  it('compares runs that were chosen in the list', async () => {
    await ui.show('#/runs');
    await ui.page.check('input[aria-label="Compare links"]');
    await ui.page.check('input[aria-label="Compare short"]');
    await ui.page.click('a:has-text("Compare 2 runs")');
    await ui.page.waitForSelector('.chart canvas');
    expect(await text()).toContain('training.num_epochs');
    // Each of the two has data of its own.
    expect(await text()).toContain('These figures are not comparable across all runs');
    expect(await ui.page.locator('td.best').count()).toBe(0);
  });

  it('marks the best of runs with the same data, and neither counts nor settings that no run has', async () => {
    const ofEvents = (await (await fetch(`${ui.server.url}/runs/events`)).json()) as {
      name: string;
      metrics: Record<string, Record<string, number>>;
    };
    const { metrics } = ofEvents;
    const worse = { ...metrics, test: { ...metrics['test'], mrr: -1, events: 1234 } };
    const page = await ui.another();
    await page.route('**/runs/again?*', (route) =>
      route.fulfill({ json: { ...ofEvents, name: 'again', metrics: worse } }),
    );
    await page.goto(`${page.url().split('#')[0]}#/compare?runs=events,again`);
    await page.waitForSelector('td.best');
    const row = page.locator('tr', { has: page.locator('th:text-matches("^mrr *test")') }).first();
    expect(await row.locator('td.best').count()).toBe(1);
    expect(await row.locator('td').first().getAttribute('class')).toContain('best');
    const counts = page.locator('tr', { has: page.locator('th:text-matches("^events *test")') });
    expect(await counts.locator('td').last().innerText()).toBe('1,234');
    expect(await counts.locator('td.best').count()).toBe(0);
    expect(await page.innerText('#view')).not.toMatch(/not comparable|events on validation/);
    await page.close();
  });

  it('keeps the view when another run is chosen, or shows its curves if it lacks the view', async () => {
    await ui.show('#/map/links');
    const choice = ui.page.locator('header select').first();
    await choice.selectOption('short');
    await ui.page.waitForFunction(() => location.hash === '#/map/short');
    await choice.selectOption('events');
    await ui.page.waitForFunction(() => location.hash === '#/run/events');
  });

  it.each(['pca', 'umap'])('draws the map by %s, and finds neighbours', async (method) => {
    await ui.show(`#/map/links?method=${method}`);
    await ui.page.waitForSelector('.canvas canvas');
    await ui.page.fill('.combobox input', 'person 7');
    await ui.page.click('[role=option]:has-text("person 7")');
    await ui.page.waitForSelector('text=Nearest to person 7');
    expect(await ui.page.locator('.names li').count()).toBe(15);
    const drawn = await ui.page.evaluate(() => {
      const canvas = document.querySelector('canvas') as HTMLCanvasElement;
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d') as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, 0);
      return context
        .getImageData(0, 0, copy.width, copy.height)
        .data.filter((_, i) => i % 4 === 3)
        .some((alpha) => alpha > 0);
    });
    expect(drawn).toBe(true);
  });

  it('explores a node: known edges, predicted ones, and whether they are right', async () => {
    await ui.show('#/explore/links?node=person%203');
    await ui.page.waitForSelector('.graph svg .node');
    expect(await ui.page.locator('.graph .node.own text').textContent()).toBe('person 3');
    await ui.page.waitForSelector('h2:has-text("What the model predicts")');
    await ui.page.waitForSelector('aside table tr');
    expect(await text()).toMatch(/learned from the data|held out/);
    const before = await ui.page.locator('.graph .node').count();
    await ui.page.locator('.graph .node').nth(1).click({ button: 'right' });
    await ui.page.waitForFunction(
      (count) => document.querySelectorAll('.graph .node').length > count,
      before,
    );
  });

  it('asks about every relation of the graph, also for a node without outgoing edges', async () => {
    await ui.show('#/explore/links?node=city%203');
    await ui.page.waitForSelector('aside table tr');
    expect(await text()).toContain('city 3 is the head of no edge in the data');
    const relation = ui.page.locator('label:has-text("Relation") select');
    expect((await relation.locator('option').allInnerTexts()).sort()).toEqual([
      'knows',
      'lives in',
      'works in',
    ]);
    await ui.show('#/explore/links?node=person%203');
    await ui.page.waitForSelector('aside td:has-text("learned from the data")');
    await ui.page.locator('label:has-text("Answers") select').selectOption('new');
    await ui.page.waitForFunction(() => {
      const shown = document.querySelector('aside table')?.textContent ?? '';
      return shown.includes('not known') && !shown.includes('learned from the data');
    });
  });

  it('offers to add the edges of a node that was tapped', async () => {
    const page = await ui.another({ viewport: { width: 390, height: 844 }, hasTouch: true });
    await page.goto(`${page.url().split('#')[0]}#/explore/links?node=person%203`);
    await page.waitForSelector('.graph .node');
    const before = await page.locator('.graph .node').count();
    await page.locator('.graph .node:not(.own) circle').first().tap();
    await page.click('button:has-text("Add the edges of")');
    await page.waitForFunction((count) => document.querySelectorAll('.graph .node').length > count, before);
    await page.close();
  });

  it('answers questions, and prints them as programs', async () => {
    await ui.show('#/ask/links?head=person%204&relation=works%20in&known=1');
    await ui.page.waitForSelector('table.answers tr');
    expect(await ui.page.locator('table.answers tr').first().innerText()).toContain('city 4');
    await ui.page.click('summary:has-text("from a program")');
    expect(await text()).toContain(
      'model.rank({ head: "person 4", relation: "works in" }, { k: 10, includeKnown: true })',
    );
    await ui.show('#/ask/nodes?head=n3');
    await ui.page.waitForSelector('table.answers tr');
    expect(await ui.page.locator('table.answers tr').first().innerText()).toMatch(/odd/);
  });

  it('opens reasons by keyboard: facts and paths, edges and features, past events, with fidelity', async () => {
    const why = async (name: string): Promise<string> => {
      const button = ui.page.locator(`button[aria-label="Why ${name}?"]`).first();
      await button.waitFor();
      expect(await button.getAttribute('aria-expanded')).toBe('false');
      await button.focus();
      await ui.page.keyboard.press('Enter');
      await ui.page.waitForSelector('.reasons[aria-busy=false]', { timeout: 60_000 });
      expect(await button.getAttribute('aria-expanded')).toBe('true');
      const panel = ui.page.locator(`#${await button.getAttribute('aria-controls')}`);
      return panel.innerText();
    };
    await ui.show('#/ask/links?head=person%204&relation=works%20in&known=1');
    expect(await why('city 4')).toMatch(
      /person 4 lives in city 4[\s\S]*pairs have the relation[\s\S]*fidelity⁺/,
    );
    await ui.page.keyboard.press('Enter');
    expect(await ui.page.locator('.reasons').count()).toBe(0);
    await ui.show('#/explore/nodes?node=n3');
    expect(await why('the class of n3')).toMatch(
      /\d+ of \d+[\s\S]*n3[\s\S]*Features[\s\S]*(falls by|rises by|does not change)[^-]*fidelity⁻[\s\S]*They are/,
    );
    await ui.show('#/ask/events?head=u3');
    await ui.page.waitForSelector('table.answers tr');
    const first = (await ui.page.locator('table.answers th').first().innerText()).trim();
    expect(await why(first)).toMatch(/Past events[\s\S]*u3/);
  });

  it('describes the data, of graphs and of streams', async () => {
    await ui.show('#/data/links');
    await ui.page.waitForSelector('.numbers');
    expect(await text()).toContain('lives in');
    await ui.show('#/data/events');
    await ui.page.waitForSelector('.numbers');
    expect(await text()).toContain('repeated pairs');
    expect(await text()).toContain('The longest time without an event is 60 seconds');
    await ui.show('#/stream/events');
    await ui.page.waitForSelector('.feed li');
    expect(await text()).toContain('Latest events');
    expect(await text()).toContain(`skein serve ${join(folder, 'events')}`);
    await ui.page.click('summary:has-text("Append events")');
    expect(await text()).toContain('/models/events/events');
  });

  it('has an empty state, deep links and a message for an unknown run', async () => {
    await ui.show('#/run/missing');
    await ui.page.waitForSelector('[role=alert]');
    expect(await text()).toContain('Expected the name of a run, got "missing"');
    await ui.page.click('main a:has-text("list of runs")');
    await ui.page.waitForSelector('table.runs');
  });

  it('reports no error and asks no other host', () => {
    expect(ui.problems.filter((one) => !/status of 404/.test(one))).toEqual([]);
  });
});
