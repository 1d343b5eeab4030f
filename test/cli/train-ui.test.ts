/** `skein train --ui`: the page of a run while it trains. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { skein as main } from '../programs.js';
import { prepareFacts, workFolder } from './processes.js';

const folder = workFolder();

interface Event {
  readonly event: string;
  readonly url?: string;
  readonly mrr?: number;
}

/** Trains and calls `onPage` with the address of the page. */
async function train(options: string[], onPage: (url: string) => Promise<void>): Promise<Event[]> {
  const child = spawn(process.execPath, [...main, 'train', 'facts.yaml', '--json', ...options], {
    ...{ cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { ...process.env, SKEIN_THREADS: '1', SKEIN_TOKEN: '' },
  });
  let errors = '';
  child.stderr.on('data', (text) => {
    errors += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const events: Event[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as Event;
    events.push(event);
    if (event.event === 'ui') await onPage(event.url as string);
  }
  expect({ code: await ended, errors: errors.includes('Error') ? errors : '' }).toEqual({
    code: 0,
    errors: '',
  });
  return events;
}

it('shows the run while it trains, with the result that it has without a page, and ends with it', async () => {
  prepareFacts(folder);
  const keys = ['--training.num_epochs=40'];
  let page = '';
  let state = '';
  const events = await train(['--ui', '--storage.model_dir=shown', ...keys], async (url) => {
    page = url.replace(/#.*/, '');
    const { runs } = (await (await fetch(`${page}runs`)).json()) as {
      runs: { name: string; state: string }[];
    };
    expect(runs.map(({ name }) => name)).toEqual(['shown']);
    state = runs[0].state;
    expect(url).toBe(`${page}#/run/shown`);
  });
  expect(['training', 'finished']).toContain(state);
  expect(events.at(-1)?.event).toBe('done');
  await expect(fetch(page)).rejects.toThrow();
  const plain = await train(['--storage.model_dir=plain', ...keys], async () => {});
  const losses = (list: Event[]): unknown[] =>
    list.flatMap((one) => (one.event === 'epoch' ? [(one as unknown as { loss: number }).loss] : []));
  expect(losses(events)).toHaveLength(40);
  expect(losses(events)).toEqual(losses(plain));
}, 240_000);
