/**
 * `tsx bench/page.ts [--runs 20] [--epochs 10000] [--nodes 100000] [--rounds 5] [--folder DIR]`: the page of `skein ui` in headless
 * Chromium. Prints the time from navigation to painted charts for many runs with long curves, right after the server has started
 * and again later, and the times between frames while a map of many points is dragged. Chromium draws in software here, so a
 * graphics card is faster. `--runs 0` or `--nodes 0` leaves a part out.
 * Run it on an idle machine, after `npm run build`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { fitLinks } from 'skein/predict';
import { launchBrowser } from '../test/page/open-page.js';
import { median, quantile } from './statistics.js';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    epochs: { type: 'string', default: '10000' },
    nodes: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '5' },
    folder: { type: 'string' },
  },
});
const [runs, epochs, nodes, rounds] = [values.runs, values.epochs, values.nodes, values.rounds].map(Number);
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'skein-bench-page-'));

/** Copies a small run several times, each with the records of many epochs. */
async function makeLongRuns(): Promise<string> {
  const place = join(folder, `long-${runs}-${epochs}`);
  if (existsSync(place)) return place;
  console.error('making long runs …');
  const seed = join(folder, 'seed');
  const facts = Array.from({ length: 200 }, (_, i) => [`e${i % 50}`, 'r', `e${(7 * i) % 50}`] as const);
  await (await fitLinks(facts, { directory: seed, epochs: 1 })).close();
  for (let run = 0; run < runs; run++) {
    cpSync(join(seed, 'run'), join(place, `run${run}`), { recursive: true });
    const lines = Array.from({ length: epochs }, (_, i) => linesOf(run, i + 1)).join('');
    writeFileSync(join(place, `run${run}`, 'metrics.jsonl'), lines);
  }
  return place;
}

/** Returns the lines of an epoch, with an evaluation after every tenth. */
function linesOf(run: number, epoch: number): string {
  const noise = Math.sin(run * 91 + epoch * 17) / 20;
  const time = new Date(1.8e12 + epoch * 1000).toISOString();
  const seconds = 0.9 + noise;
  const stages = { load: 0.2 + noise, compute: 0.5 + noise, update: 0.1, evaluate: 0.1 };
  const rate = Math.round(1e5 + 1e4 * noise);
  const trained = { loss: 1 / Math.sqrt(epoch) + noise / 10 + run / 100, seconds, items_per_second: rate };
  const line = { time, event: 'epoch', epoch, items: 100_000, ...trained, memory: 4e8 + epoch, stages };
  const metrics = { mrr: 0.5 - 1 / (epoch + 2) + noise / 10, mr: 20 + noise, 'hits@1': 0.3, 'hits@10': 0.7 };
  const evaluation = { time, event: 'eval', set: 'validation', epoch, seconds: 0.1, ...metrics };
  return `${JSON.stringify(line)}\n${epoch % 10 === 0 ? `${JSON.stringify(evaluation)}\n` : ''}`;
}

/** Trains a model with many nodes for one epoch. */
async function makeLargeRun(): Promise<string> {
  const place = join(folder, `large-${nodes}`);
  if (existsSync(place)) return place;
  console.error('training a large run …');
  const facts = Array.from(
    { length: 2 * nodes },
    (_, i) => [`e${i % nodes}`, `r${i % 5}`, `e${(i * 7919 + 13) % nodes}`] as const,
  );
  mkdirSync(place);
  await (await fitLinks(facts, { directory: join(place, 'large'), epochs: 1, config: sizes })).close();
  return place;
}

/** Narrow rows, since their width matters to the server only. */
const sizes = { 'model.encoder.layers[0][0].output_dim': 32 };

const children = new Set<ChildProcess>();

function startUi(place: string): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const main = new URL('../dist/cli/main.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, 'ui', place, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  return new Promise((resolve, reject) => {
    let text = '';
    child.once('close', (code) => reject(new Error(`ui ended with ${code}`)));
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      const [, url] = /"listening","url":"(http:[^"]+)"/.exec(text) ?? [];
      if (url !== undefined) resolve({ url, child });
    });
  });
}

/** The name of a function that the compiler of this file calls in functions that it did not compile for pages. */
const helper = 'globalThis.__name = (value) => value;';

/** Opens an address; returns the milliseconds from navigation to the frame after `selector` matches. */
async function timeToPaint(browser: Browser, address: string, selector: string): Promise<number> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  await page.addInitScript(helper);
  await page.addInitScript((wanted) => {
    const look = (): void => {
      if (document.querySelector(wanted) === null) requestAnimationFrame(look);
      // The frame that has it is painted before the next one begins.
      else requestAnimationFrame(() => Object.assign(globalThis, { painted: performance.now() }));
    };
    requestAnimationFrame(look);
  }, selector);
  await page.goto(address);
  const painted = await page.waitForFunction(() => (globalThis as { painted?: number }).painted);
  const milliseconds = (await painted.jsonValue()) as number;
  await page.close();
  return milliseconds;
}

/** Milliseconds that a reader needs to open the printed link. */
const readersPause = 2000;

async function measureCurves(browser: Browser): Promise<void> {
  const place = await makeLongRuns();
  const names = Array.from({ length: runs }, (_, i) => `run${i}`).join(',');
  const [cold, first, warm, list]: number[][] = [[], [], [], []];
  for (let round = 0; round < rounds; round++) {
    const { url, child } = await startUi(place);
    cold.push(await timeToPaint(browser, `${url}/#/compare?runs=${names}`, '.chart .uplot canvas'));
    warm.push(await timeToPaint(browser, `${url}/#/compare?runs=${names}`, '.chart .uplot canvas'));
    list.push(await timeToPaint(browser, `${url}/#/runs`, 'table.runs .sparkline'));
    child.kill('SIGTERM');
    const again = await startUi(place);
    await setTimeout(readersPause);
    first.push(await timeToPaint(browser, `${again.url}/#/compare?runs=${names}`, '.chart .uplot canvas'));
    again.child.kill('SIGTERM');
  }
  console.log(`${runs} runs of ${epochs} epochs, milliseconds from navigation to painted charts, median:`);
  console.log(`  as the server starts         ${median(cold).toFixed(0)} (${shown(cold)})`);
  console.log(`  two seconds after it started ${median(first).toFixed(0)} (${shown(first)})`);
  console.log(`  later requests               ${median(warm).toFixed(0)} (${shown(warm)})`);
  console.log(`  list of runs, later          ${median(list).toFixed(0)} (${shown(list)})`);
}

const shown = (some: readonly number[]): string => some.map((value) => value.toFixed(0)).join(', ');

/** Drags the map for two seconds; returns the milliseconds between frames. */
function drag(page: Page): Promise<number[]> {
  return page.evaluate(async () => {
    const canvas = document.querySelector('.canvas canvas') as HTMLCanvasElement;
    canvas.setPointerCapture = () => undefined;
    const { left, top } = canvas.getBoundingClientRect();
    const send = (type: string, x: number): boolean =>
      canvas.dispatchEvent(
        new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: left + x, clientY: top + 200 }),
      );
    const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
    const gl = canvas.getContext('webgl2');
    const pixel = new Uint8Array(4);
    send('pointerdown', 200);
    const times: number[] = [];
    for (let i = 0; i < 120; i++) {
      send('pointermove', 205 + 100 * Math.sin(i / 10) + i / 10);
      times.push(await frame());
      // Waits until the frame has been drawn, not only ordered.
      gl?.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    }
    send('pointerup', 200);
    return times.slice(1).map((time, i) => time - times[i]);
  });
}

async function measureMap(browser: Browser): Promise<void> {
  const { url, child } = await startUi(await makeLargeRun());
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } });
  page.setDefaultTimeout(300_000);
  await page.addInitScript(helper);
  const started = performance.now();
  await page.goto(`${url}/#/map/large`);
  await page.waitForSelector('.canvas canvas');
  const loaded = performance.now() - started;
  const renderer = await page.evaluate(() => {
    const gl = document.createElement('canvas').getContext('webgl2');
    const info = gl?.getExtension('WEBGL_debug_renderer_info');
    return String(
      info === null || info === undefined ? 'unknown' : gl?.getParameter(info.UNMASKED_RENDERER_WEBGL),
    );
  });
  await drag(page);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(...(await drag(page)));
  times.sort((a, b) => a - b);
  console.log(`map of ${nodes} points, drawn by ${renderer}`);
  console.log(`  from navigation to the map   ${(loaded / 1000).toFixed(1)} s, with opening the model`);
  for (const share of [0.5, 0.95, 0.99])
    console.log(`  p${100 * share} between frames        ${quantile(times, share).toFixed(1)} ms`);
  await page.close();
  child.kill('SIGTERM');
}

const browser = await launchBrowser();
try {
  if (runs > 0) await measureCurves(browser);
  if (nodes > 0) await measureMap(browser);
} finally {
  await browser.close();
  for (const child of children) child.kill('SIGTERM');
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}
