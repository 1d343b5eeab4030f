/** Names that contain markup are shown as text: nodes, relations, classes, metrics, settings, logs and folders. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fitEvents, fitLinks, fitNodes } from 'skein/predict';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDist } from '../browser/dist.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { type OpenedUi, openUi } from './open-page.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-names-'));
/** Markup that would set `hacked`, in the forms that reach elements, attributes, addresses and style. */
const image = '<img src=x onerror="hacked=1">';
const names = [
  image,
  '"><script>hacked=1</script>',
  "'><svg onload=hacked=1>",
  'javascript:hacked=1',
  '</title></style><script>hacked=1</script>',
  '{{hacked=1}}`hacked=1`',
  'a/b?c#d&e=%2F%00',
  '💥 \u202egnp.exe\u0007',
  '__proto__',
];
const relation = '<b onmouseover=hacked=1>knows</b>';
let ui: OpenedUi;

async function makeRuns(): Promise<void> {
  const nodes = [...names, ...Array.from({ length: 20 }, (_, i) => `n${i}`)];
  const facts = nodes.flatMap((head, i): [string, string, string][] =>
    [1, 2, 5].map((step) => [head, step === 2 ? 'plain' : relation, nodes[(i + step) % nodes.length]]),
  );
  await (
    await fitLinks(facts, { epochs: 3, directory: join(folder, `${image.replaceAll('/', '')}`) })
  ).close();
  const people = nodes.map((id, i) => ({ id, x: i % 2, y: i % 3, kind: i % 2 ? image : '"><i>odd</i>' }));
  const edges = nodes.map((id, i): [string, string] => [id, nodes[(i + 2) % nodes.length]]);
  const options = { label: 'kind', epochs: 3, directory: join(folder, 'nodes') };
  await (await fitNodes({ nodes: people, edges }, options)).close();
  const events = Array.from({ length: 200 }, (_, i) => ({
    ...{ head: nodes[i % 11], tail: nodes[(i * 3) % 7], time: 1_700_000_000 + 60 * i },
  }));
  await (await fitEvents(events, { epochs: 1, directory: join(folder, 'events') })).close();
  // A run of another user may have anything in its records and its log.
  const run = join(folder, 'nodes', 'run');
  const record = { event: 'eval', set: 'validation', epoch: 3, [image]: 0.5, accuracy: 0.5 };
  const baseline = { event: 'baseline', baseline: '<script>hacked=1</script>', set: 'test', accuracy: 0.1 };
  const epoch = { event: 'epoch', epoch: 4, loss: 0.1, seconds: 1, stages: { [image]: 1, __proto__x: 2 } };
  for (const line of [record, baseline, epoch])
    appendFileSync(join(run, 'metrics.jsonl'), `${JSON.stringify(line)}\n`);
  appendFileSync(join(run, 'log.txt'), `</pre>${image}<script>hacked=1</script>\n`);
}

describe.skipIf(!hasChromium)(`names that contain markup${withoutChromium}`, () => {
  let runs: readonly string[];
  beforeAll(async () => {
    buildDist();
    await makeRuns();
    ui = await openUi([folder]);
    const list = (await (await fetch(`${ui.server.url}/runs`)).json()) as { runs: { name: string }[] };
    runs = list.runs.map(({ name }) => name);
  }, 180_000);
  afterAll(async () => {
    await ui?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const linkRun = (): string => runs.find((name) => name !== 'nodes' && name !== 'events') as string;

  /** Opens a view and checks that no name became an element or ran. */
  async function checkView(address: string, selector: string): Promise<string> {
    await ui.show(address);
    await ui.page.waitForSelector(selector);
    // Errors of images come later than their elements.
    await ui.page.waitForTimeout(50);
    expect(await ui.page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    expect(await ui.page.locator('#view :is(img, script, i, b, iframe, object, style)').count()).toBe(0);
    expect(
      await ui.page.locator('[onerror], [onload], [onmouseover], a[href^="javascript:" i]').count(),
    ).toBe(0);
    return ui.page.innerText('#view');
  }

  it('has names of runs that need no quotes anywhere', () => {
    expect(runs).toHaveLength(3);
    for (const name of runs) expect(name).toMatch(/^[\w.-]+$/);
  });

  it('shows runs, curves, settings and logs', async () => {
    await checkView('#/runs', 'table.runs tbody tr');
    await checkView('#/run/nodes', '.chart canvas');
    for (const summary of ['Configuration', 'Log']) await ui.page.click(`summary:has-text("${summary}")`);
    await ui.page.waitForSelector('pre.log');
    const text = await checkView('#/run/nodes', 'pre.log');
    expect(text).toContain(image);
    expect(text).toContain('baseline: <script>hacked=1</script>');
    expect(text).toContain(`</pre>${image}`);
    await checkView(`#/compare?runs=${runs.join(',')}`, '.chart canvas');
  });

  it.each(names)('explores and asks about %j', async (name) => {
    const node = new URLSearchParams({ node: name, head: name, relation: 'plain' });
    const explored = await checkView(`#/explore/${linkRun()}?${node}`, '.graph svg .node');
    expect(await ui.page.locator('.graph .node.own').getAttribute('aria-label')).toContain(name);
    expect(explored).toContain('knows');
    const asked = await checkView(`#/ask/${linkRun()}?${node}&known=1`, 'table.answers tr');
    expect(asked).not.toContain('Did you mean');
    if (name !== image) return;
    await checkView(`#/ask/nodes?${node}`, 'table.answers tr');
    await checkView(`#/explore/events?${node}`, '.graph svg .node, [role=alert]');
  });

  it('shows maps, data and streams, and completes names', async () => {
    await checkView(`#/map/${linkRun()}?node=${encodeURIComponent(image)}`, '.names li');
    expect(await ui.page.innerText('aside')).toContain(`Nearest to ${image}`);
    await checkView('#/map/nodes', '.legend li');
    expect(await ui.page.innerText('.legend')).toContain(image);
    expect(await checkView(`#/data/${linkRun()}`, '.numbers')).toContain(relation);
    await checkView('#/data/events', '.numbers');
    await checkView('#/stream/events', '.feed li');
    await ui.show(`#/ask/${linkRun()}`);
    await ui.page.fill('.combobox input >> nth=0', '<img');
    await ui.page.waitForSelector('[role=option]:visible');
    expect(await ui.page.locator('[role=option]:visible').first().innerText()).toBe(image);
    await checkView(`#/ask/${linkRun()}`, '.combobox');
  });

  it('saves pictures in which names are text', async () => {
    await ui.show(`#/explore/${linkRun()}?node=${encodeURIComponent(image)}`);
    await ui.page.waitForSelector('.graph svg .node');
    const [download] = await Promise.all([
      ui.page.waitForEvent('download'),
      ui.page.click('.save button:has-text("SVG")'),
    ]);
    const svg = readFileSync(await download.path(), 'utf8');
    expect(svg).toContain('&lt;img src=x');
    expect(svg).not.toMatch(/<(script|img|foreignObject|i|b)\b|<[^>]* on\w+=/i);
    const [png] = await Promise.all([
      ui.page.waitForEvent('download'),
      ui.page.click('.save button:has-text("PNG")'),
    ]);
    expect(
      readFileSync(await png.path())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  });

  it.each([
    ...[
      '#/run/%',
      '#/%zz/%',
      '#/constructor',
      '#/__proto__/x',
      '#/toString',
      `#/run/${image}`,
      '#//',
      '#/run/',
    ],
    ...['#/compare?runs=%00,%00', '#/run/nodes?smooth=NaN&logx=<b>', '#/ask/nodes?ask=constructor&k=-5'],
    ...['#/explore/nodes?node=n1&hops=1e9', '#/map/nodes?method=<script>', '#/stream/nodes', '#/map/events'],
  ])('shows something for the address %s', async (address) => {
    await ui.show(address);
    await ui.page.waitForSelector('#view :is(h1, h2, [role=alert], .chart, .quiet)');
    expect(await ui.page.locator('header nav a').first().isVisible()).toBe(true);
    expect(await ui.page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
  });

  it('reports no error but answers for unknown names, and asks no other host', () => {
    const unexpected = ui.problems.filter((one) => !/status of 4(00|04|09)/.test(one));
    expect(unexpected).toEqual([]);
  });
});
