/** Views of the page in a browser: the partition buffer, colours of the map, classes, and the quarantine of a stream. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelSource } from '#internal/server/index.js';
import { buildDist } from '../browser/dist.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { type OpenedUi, openUi } from './open-page.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-views-'));
const runs = join(folder, 'runs');
let ui: OpenedUi;

/** Trains a run with a partition buffer, one of nodes with classes, and one of events. */
async function makeViewedRuns(): Promise<void> {
  const rows = Array.from({ length: 90 }, (_, i) => [
    [`person ${i}`, 'lives in', `city ${i % 5}`] as const,
    [`person ${i}`, 'knows', `person ${(i + 5) % 90}`] as const,
  ]).flat();
  const config = {
    'training.form': 'NEGATIVES',
    'training.candidates': 'RESIDENT',
    'storage.edges.type': 'FLAT_FILE',
    'storage.embeddings': { type: 'PARTITION_BUFFER', options: { num_partitions: 6, buffer_capacity: 2 } },
  };
  await (await fitLinks(rows, { directory: join(runs, 'links'), epochs: 2, config })).close();
  const nodes = Array.from({ length: 40 }, (_, i) => ({
    id: `n${i}`,
    x: i % 2,
    kind: ['odd', 'even'][i % 2],
  }));
  const edges = nodes.map(({ id }, i) => [id, `n${(i + 2) % 40}`] as const);
  await (
    await fitNodes({ nodes, edges }, { label: 'kind', directory: join(runs, 'nodes'), epochs: 20 })
  ).close();
  const stream = Array.from({ length: 200 }, (_, i) => ({
    head: `u${i % 7}`,
    tail: `v${(i * 3) % 5}`,
    time: 1_700_000_000 + 60 * i,
  }));
  await (await fitEvents(stream, { epochs: 1, directory: join(runs, 'events') })).close();
}

describe.skipIf(!hasChromium)(`views of the page${withoutChromium}`, () => {
  beforeAll(async () => {
    buildDist();
    await makeViewedRuns();
    ui = await openUi([runs], {
      openRun: (run) =>
        modelSource(run, {
          command: 'ui',
          ...(run.name === 'events' ? { stream: { state: join(folder, 'state') } } : {}),
        }),
    });
  }, 180_000);
  afterAll(async () => {
    await ui?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const text = (): Promise<string> => ui.page.innerText('#view');

  it('shows the partition buffer, and moves it with the slider and by playing', async () => {
    await ui.show('#/run/links');
    await ui.page.waitForSelector('.schedule svg');
    expect(await text()).toMatch(/All rows: [\d.]+ KiB, 34 % of them in memory/);
    const described = (): Promise<string> => ui.page.innerText('.schedule p');
    expect(await described()).toContain('It is the last state of the epoch.');
    await ui.page.focus('.schedule input[type=range]');
    await ui.page.keyboard.press('Home');
    expect(await described()).toMatch(
      /^State 1 of \d+ has partitions \d, \d in memory and trains [\d,]+ edges\. Next it evicts \d/,
    );
    await ui.page.click('.schedule button:has-text("Play")');
    await ui.page.waitForFunction(() =>
      /^State 3/.test(document.querySelector('.schedule p')?.textContent ?? ''),
    );
    await ui.page.click('.schedule button:has-text("Pause")');
    const [download] = await Promise.all([
      ui.page.waitForEvent('download'),
      ui.page.click('.schedule button:has-text("SVG")'),
    ]);
    expect(download.suggestedFilename()).toBe('partition-buffer-of-links.svg');
  });

  /** Number of points of a colour on the canvas, by its red, green and blue. */
  const pixelsLike = (color: string): Promise<number> =>
    ui.page.evaluate((name) => {
      const wanted = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
      const value = Number.parseInt(wanted.slice(1), 16);
      const canvas = document.querySelector('.canvas canvas') as HTMLCanvasElement;
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d') as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, 0);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        const far = [16, 8, 0].map((shift, k) => Math.abs(data[i + k] - ((value >> shift) & 255)));
        if (data[i + 3] > 150 && Math.max(...far) < 8) count++;
      }
      return count;
    }, color);

  it('colours the map in several ways, in the address, and draws again each time', async () => {
    await ui.show('#/map/links?colour=tail+lives+in');
    await ui.page.waitForSelector('.canvas canvas');
    expect(await text()).toContain('city 4');
    await ui.page.waitForFunction(() => document.querySelectorAll('.map .legend li').length === 5);
    await ui.page.waitForTimeout(300);
    expect(await pixelsLike('--s4')).toBeGreaterThan(20);
    const choice = ui.page.locator('.map label:has-text("Colour") select');
    expect(await choice.locator('option').allInnerTexts()).toEqual([
      'by relation',
      'by lives in',
      'by number of edges',
    ]);
    await choice.selectOption('relation');
    await ui.page.waitForFunction(() => location.hash.includes('colour=relation'));
    expect(await text()).toContain('head of lives in');
    await ui.page.waitForTimeout(300);
    // Each person is as often the head of both relations: there is one group, and the fifth colour is gone.
    expect(await pixelsLike('--s0')).toBeGreaterThan(20);
    expect(await pixelsLike('--s4')).toBe(0);
  });

  it('chooses, zooms and selects on the map with keys and buttons alone', async () => {
    await ui.show('#/map/links');
    await ui.page.focus('.canvas canvas');
    await ui.page.keyboard.press('Enter');
    await ui.page.waitForSelector('h2:has-text("Nearest to")');
    await ui.page.click('button:has-text("List what is in view")');
    const listed = (): Promise<number> =>
      ui.page.evaluate(() =>
        Number(/(\d+) nodes selected/.exec(document.querySelector('aside')?.textContent ?? '')?.[1] ?? -1),
      );
    expect(await listed()).toBe(95);
    for (let i = 0; i < 4; i++) await ui.page.click('button[aria-label="Zoom in"]');
    await ui.page.click('button:has-text("List what is in view")');
    expect(await listed()).toBeLessThan(95);
    await ui.page.click('button[aria-label="Show all"]');
    await ui.page.click('button:has-text("List what is in view")');
    expect(await listed()).toBe(95);
  });

  it('says whether a predicted class is right, and colours nodes by class', async () => {
    await ui.show('#/explore/nodes?node=n3');
    await ui.page.waitForSelector('aside table.answers tr');
    await ui.page.waitForSelector('text=/trained with its class|has not seen its class/');
    expect(await ui.page.locator('.graph .legend').innerText()).toMatch(/even[\s\S]*odd/);
    expect(await ui.page.locator('.node.own').getAttribute('class')).toMatch(/ s0$/);
  });

  it('shows events as they arrive, and applies or deletes those in quarantine', async () => {
    await ui.show('#/stream/events');
    await ui.page.waitForSelector('.feed li');
    const send = async (tail: string, time: number): Promise<void> => {
      const { status } = await fetch(`${ui.server.url}/models/events/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ events: [{ head: 'u1', tail, time }] }),
      });
      expect(status).toBe(200);
    };
    await send('v4', 1_700_000_000 + 60 * 201);
    await ui.page.waitForFunction(() =>
      document.querySelector('.feed li')?.textContent?.startsWith('u1 → v4'),
    );
    const future = Math.floor(Date.now() / 1000) + 10 * 86_400;
    await send('v1', future);
    await send('v2', future + 60);
    await ui.page.waitForFunction(() => document.querySelectorAll('.quarantine li').length === 2);
    expect(await ui.page.innerText('.quarantine')).toContain('u1 → v1');
    await ui.page.click('.quarantine button[aria-label^="Delete u1 → v1"]');
    await ui.page.waitForFunction(() => document.querySelectorAll('.quarantine li').length === 1);
    await ui.page.click('.quarantine button[aria-label^="Apply u1 → v2"]');
    await ui.page.waitForSelector('.quarantine:has-text("Empty")');
    await ui.page.waitForFunction(() =>
      document.querySelector('.feed li')?.textContent?.startsWith('u1 → v2'),
    );
  });

  it('reports no error and asks no other host', () => {
    expect(ui.problems).toEqual([]);
  });
});
