/**
 * `npx tsx test/page/pictures.ts [folder] [--all]`: takes pictures of the page's views, after `npm run build`. By default those of
 * docs/ui.md, into docs/images/page; with --all every view at three widths in light and dark colours. The runs are trained first:
 * one on UMLS ($SKEIN_DATA/umls), small ones for the other tasks.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { fitLinks } from 'skein/predict';
import { post, serveCommand } from '../cli/served.js';
import { facts, makeRuns } from './make-runs.js';
import { openUi, showView } from './open-page.js';

const [folder = 'docs/images/page'] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const all = process.argv.includes('--all');

interface View {
  readonly name: string;
  readonly address: string;
  /** The element that shows that the view is complete. */
  readonly selector: string;
}

const view = (name: string, address: string, selector: string): View => ({ name, address, selector });

/** Views of a run of links, whose nodes have these names. */
const views = (node: string, relation: string): View[] => {
  const question = new URLSearchParams({ head: node, relation, known: '1' });
  return [
    view('runs', '#/runs', 'table.runs .sparkline'),
    view('run', '#/run/first', '.chart canvas'),
    view('compare', '#/compare?runs=first,second', '.chart canvas'),
    view('map', `#/map/first?method=umap&node=${encodeURIComponent(node)}`, '.names li'),
    view('explore', `#/explore/first?node=${encodeURIComponent(node)}`, 'aside table tr'),
    view('ask', `#/ask/first?${question}`, 'table.answers tr'),
    view('data', '#/data/first', '.numbers'),
    view('data-events', '#/data/events', '.numbers'),
  ];
};

/** Pictures of docs/ui.md: view, width and colours. */
const chosen = [
  'runs 1280 light',
  'run 1280 light',
  'map 1280 dark',
  'explore 1280 light',
  'explore 390 dark',
];

async function readTriples(): Promise<{ rows: [string, string, string][]; node: string; relation: string }> {
  const path = join(process.env['SKEIN_DATA'] ?? 'data', 'umls', 'train.txt');
  if (!existsSync(path)) return { rows: facts(), node: 'person 4', relation: 'works in' };
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const rows = lines.map((line) => line.split('\t').map((name) => name.replaceAll('_', ' ')));
  return { rows: rows as [string, string, string][], node: 'bacterium', relation: 'causes' };
}

async function take(page: Page, { name, address, selector }: View, size: string): Promise<void> {
  await showView(page, address);
  await page.waitForSelector(selector);
  // Points and charts are drawn in the next frames.
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${name}-${size}.png`), fullPage: all });
}

const sizes = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [390, 768, 1280].map((width) => ({ colorScheme, width, size: `${width}-${colorScheme}` })),
);
const contextOf = ({ colorScheme, width }: (typeof sizes)[number]) => ({
  ...{ colorScheme, viewport: { width, height: width === 390 ? 844 : 860 } },
});

/** Serves a stream, sends events for some seconds, one of them late and one of the far future, and takes its view. */
async function takeStream(): Promise<void> {
  const served = await serveCommand([
    join(runs, 'events'),
    '--state',
    join(runs, 'state'),
    '--lateness',
    '60',
  ]);
  const pages: Page[] = [];
  for (const size of sizes) {
    const page = await ui.browser.newPage(contextOf(size));
    await page.goto(`${served.url}/#/stream/events`);
    await page.waitForSelector('.feed li');
    pages.push(page);
  }
  const event = (i: number, after = 60 * i) => ({
    ...{ head: `u${(5 * i) % 7}`, tail: `v${(i * 3) % 5}`, time: 1_700_000_000 + 60 * 300 + after },
  });
  for (let step = 0; step < 40; step++) {
    const events = Array.from({ length: 1 + (step % 5) }, (_, i) => event(5 * step + i));
    if (step === 20) events.push(event(1, 0), event(2, 3e9));
    await post(`${served.url}/events`, { events });
    await pages[0].waitForTimeout(300);
  }
  for (const [i, { size }] of sizes.entries()) {
    await pages[i].bringToFront();
    await pages[i].waitForTimeout(1500);
    await pages[i].screenshot({ path: join(folder, `stream-${size}.png`), fullPage: true });
    await pages[i].close();
  }
  await served.stop();
}

const runs = mkdtempSync(join(tmpdir(), 'skein-pictures-'));
const { rows, node, relation } = await readTriples();
for (const [name, seed, epochs] of [
  ['first', 1, 60],
  ['second', 2, 25],
] as const)
  await (await fitLinks(rows, { epochs, seed, directory: join(runs, name) })).close();
await makeRuns(runs, ['nodes', 'events']);
const ui = await openUi([runs]);
mkdirSync(folder, { recursive: true });
for (const size of sizes) {
  const wanted = views(node, relation).filter(
    ({ name }) => all || chosen.includes(`${name} ${size.width} ${size.colorScheme}`),
  );
  if (wanted.length === 0) continue;
  const page = await ui.another(contextOf(size));
  for (const one of wanted) await take(page, one, size.size);
  await page.close();
}
if (all) await takeStream();
await ui.close();
rmSync(runs, { recursive: true, force: true });
for (const problem of ui.problems) console.error(problem);
process.exitCode = ui.problems.length > 0 ? 1 : 0;
