/** A page that is open while runs are trained: curves grow, a kill is seen, a resumed run has one curve, the end is seen. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDist } from '../browser/dist.js';
import { prepareFacts } from '../cli/processes.js';
import { hasChromium, withoutChromium } from '../gpu/browser/chromium.js';
import { skein } from '../programs.js';
import { type OpenedUi, openUi } from './open-page.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-live-'));
let ui: OpenedUi;
let training: ChildProcess | undefined;

/** Starts training as a process; resolves with its exit code, null after a signal. */
function train(...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [...skein, 'train', ...args], {
    cwd: folder,
    env: { ...process.env, SKEIN_THREADS: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  training = child;
  return new Promise((resolve) => child.once('close', resolve));
}

describe.skipIf(!hasChromium)(`page of a run that is being trained${withoutChromium}`, () => {
  beforeAll(async () => {
    buildDist();
    prepareFacts(folder);
    ui = await openUi([folder]);
  }, 180_000);
  afterAll(async () => {
    training?.kill('SIGKILL');
    await ui?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Waits until the run that is open has a state, and at least so many epochs. Returns the number of epochs. */
  async function reach(state: string, least: number): Promise<number> {
    const shown = await ui.page.waitForFunction(
      ([wanted, epochs]) => {
        const text = document.querySelector('.bar .state')?.textContent ?? '';
        const [, name, epoch] = /^(\w+?)epoch (\d+) of/.exec(text) ?? [];
        return name === wanted && Number(epoch) >= epochs ? Number(epoch) : null;
      },
      [state, least] as const,
    );
    return (await shown.jsonValue()) as number;
  }

  const lossLabel = (): Promise<string | null> =>
    ui.page.locator('.chart [role=img]').first().getAttribute('aria-label');

  it('shows no runs, then one that has begun, without being loaded again', async () => {
    await ui.show('#/runs');
    expect(await ui.page.innerText('#view')).toContain('No runs yet');
    void train(
      'facts.yaml',
      ...[
        '--storage.model_dir=live',
        '--training.num_epochs=5000',
        '--training.checkpoint.interval=1',
        '--training.early_stopping.patience=100000',
      ],
    );
    await ui.page.waitForSelector('table.runs .state.training');
    await ui.page.click('table.runs a:has-text("live")');
  });

  it('adds epochs to the curves as they are trained', async () => {
    const first = await reach('training', 2);
    await ui.page.waitForSelector('.chart canvas');
    const before = await lossLabel();
    await reach('training', first + 2);
    await ui.page.waitForSelector('.badge.live');
    const [chart] = await ui.page.locator('.chart .uplot').elementHandles();
    await ui.page.waitForFunction(
      (label) => document.querySelector('.chart [role=img]')?.getAttribute('aria-label') !== label,
      before,
    );
    // The chart is the same one with more points: what its reader has zoomed into stays.
    expect(await chart.evaluate((element) => element.isConnected)).toBe(true);
  });

  it('shows that a killed run has stopped, and that a resumed one continues its curve to the end', async () => {
    const ended = new Promise((resolve) => training?.once('close', resolve));
    training?.kill('SIGKILL');
    await ended;
    const stopped = await reach('stopped', 4);
    const last = stopped + 3;
    const code = train('live', '--training.resume_training=true', `--training.num_epochs=${last}`);
    await reach('finished', last);
    expect(await code).toBe(0);
    expect(await ui.page.locator('.badge.live').count()).toBe(0);
    // The end of the run is its final evaluation, on the test split as well.
    await ui.page.waitForSelector('section table th:text-is("test")');
    const { curves } = (await (await fetch(`${ui.server.url}/runs/live`)).json()) as {
      curves: { epochs: { epoch: number }[] };
    };
    expect(curves.epochs.map(({ epoch }) => epoch)).toEqual(Array.from({ length: last }, (_, i) => i + 1));
    // One curve besides the axis of epochs.
    expect(await ui.page.locator('.chart').first().locator('.u-legend .u-series').count()).toBe(2);
    expect(await lossLabel()).toMatch(/^Training loss by epoch: training ends at \d/);
  });

  it('reports no error', () => {
    expect(ui.problems).toEqual([]);
  });
});
