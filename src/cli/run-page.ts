/**
 * The page of a run that trains (`skein train --ui`): `skein ui` in a process of its own. Requests, and the models that answer
 * them, then share no event loop, tensors or random state with training, so that its result and its speed stay what they are.
 * The process ends with this one, however that ends.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { RunCatalog } from '../server/runs/run-catalog.js';
import { StateError } from '../util/errors.js';
import { endChild } from './end-child.js';
import { freePort } from './free-port.js';

/** The port of `skein ui`, where it is free: the address then stays the same from run to run. */
const preferredPort = 8088;

/** Variables by which a launcher numbers its workers: the page is not one of them. */
const ofLaunchers = /^(OMPI_|PMIX?_|SLURM_PROCID$|SLURM_STEP_NUM_TASKS$)/;

export interface RunPage {
  /** Opens the page at the run. */
  readonly link: string;
  /** Resolves when its process has ended. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export interface RunPageOptions {
  /** A run, or a folder with runs. */
  readonly directory: string;
  readonly plugins: readonly string[];
}

/** Starts the page; rejects if it does not come up. */
export async function openRunPage({ directory, plugins }: RunPageOptions): Promise<RunPage> {
  const port = await freePort(preferredPort);
  const modules = plugins.flatMap((plugin) => ['--plugin', plugin]);
  const kept = Object.entries(process.env).filter(([name]) => !ofLaunchers.test(name));
  const child = fork(
    new URL('./main.js', import.meta.url),
    [...['ui', directory, '--json', '--port', String(port), ...modules]],
    {
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
      // A separate group: Ctrl+C first stops training, which the page still shows.
      detached: true,
      env: { ...Object.fromEntries(kept), SKEIN_THREADS: '1' },
    },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    const link = await linkOf(child);
    return { link: deepLink(link, directory), ended, close: () => endChild(child) };
  } catch (error) {
    await endChild(child);
    throw error;
  }
}

/** Reads the events of the process until it listens. */
async function linkOf(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as Readable });
  for await (const line of lines) {
    const event = JSON.parse(line) as { event: string; link?: string; message?: string };
    if (event.event === 'listening' && event.link !== undefined) {
      lines.close();
      // Later events are not read; a full pipe would stop the process.
      child.stdout?.resume();
      return event.link;
    }
    if (event.event === 'error') throw new StateError(event.message ?? 'ui: expected a page, got an error.');
  }
  throw new StateError('ui: expected a page, got the end of its process. Start it with "skein ui".');
}

/** Returns the address of the only run, unless the link carries a code, which leads to the list. */
function deepLink(link: string, directory: string): string {
  const runs = new RunCatalog([directory]).list();
  return runs.length === 1 && link.endsWith('/') ? `${link}#/run/${encodeURIComponent(runs[0].name)}` : link;
}
