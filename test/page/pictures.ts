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
    view('stream', '#/stream/events', '.feed li'),
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
for (const colorScheme of ['light', 'dark'] as const)
  for (const width of [390, 768, 1280]) {
    const size = `${width}-${colorScheme}`;
    const wanted = views(node, relation).filter(
      ({ name }) => all || chosen.includes(`${name} ${width} ${colorScheme}`),
    );
    if (wanted.length === 0) continue;
    const page = await ui.another({ colorScheme, viewport: { width, height: width === 390 ? 844 : 860 } });
    for (const one of wanted) await take(page, one, size);
    await page.close();
  }
await ui.close();
rmSync(runs, { recursive: true, force: true });
for (const problem of ui.problems) console.error(problem);
process.exitCode = ui.problems.length > 0 ? 1 : 0;
