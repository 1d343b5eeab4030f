/** The programs of docs/extending.md: custom types are trained and evaluated, and a custom task is fitted. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { skein as main } from '../programs.js';

const page = readFileSync(new URL('../../docs/extending.md', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'skein-docs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Blocks whose first line is a comment with the name of a file. */
const files = new Map(
  [...page.matchAll(/```(?:js|ts|yaml)\n(?:\/\/|#) (\S+\.\w+)\n([\s\S]*?)```/g)].map(([, name, text]) => [
    name,
    text,
  ]),
);
for (const [name, text] of files) writeFileSync(join(folder, name), text);

type Event = Readonly<Record<string, unknown>>;

function skein(...args: string[]): Event[] {
  const done = spawnSync(process.execPath, [...main, ...args, '--json'], { cwd: folder, encoding: 'utf8' });
  expect(done.status, done.stderr).toBe(0);
  return done.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

/** The command of the page that starts so, as arguments. */
function shown(start: string): string[] {
  const line = page.split('\n').find((one) => one.startsWith(`skein ${start}`));
  return (line ?? '').split(' ').slice(1);
}

test('types of a plugin are trained and evaluated by the commands of the page', () => {
  const rows = Array.from({ length: 200 }, (_, i) => `n${i % 20}\tr${i % 2}\tn${(i * 7 + (i % 2)) % 20}\n`);
  writeFileSync(join(folder, 'facts.tsv'), [...new Set(rows)].join(''));
  const split = ['--dataset-split', '0.6', '0.2', '0.2'];
  skein('preprocess', '--edges', 'facts.tsv', '--output-directory', 'facts', ...split);
  const train = [...shown('train custom.yaml'), '--model.random_seed=1'];
  const trained = skein(...train);
  expect(trained.at(-1)?.['test.worst_rank']).toBeGreaterThanOrEqual(1);
  expect(skein(...shown('eval runs/custom')).at(-1)?.['test']).toEqual(trained.at(-1)?.['test']);
  // What the page promises of its decoder: other scores than those of the one without the factor.
  const without = skein(...train, '--model.decoder.type=DISTMULT', '--storage.model_dir=runs/without');
  const losses = (events: readonly Event[]) =>
    events.flatMap(({ event, loss }) => (event === 'epoch' ? [loss] : []));
  expect(losses(trained)[0]).toBeTypeOf('number');
  expect(losses(trained)[0]).not.toBe(losses(without)[0]);
});

test('a layer of a plugin is trained by the command of the page', () => {
  const losses = (scale: number) =>
    skein(
      ...shown('train layers.yaml'),
      ...[`--model.encoder.layers[1][0].options.scale=${scale}`, `--storage.model_dir=runs/scale-${scale}`],
      // The graph has 12 training edges; those of a batch are left out of its neighbours.
      ...['--model.random_seed=1', '--training.batch_size=4'],
    ).flatMap(({ event, loss }) => (event === 'epoch' ? [loss as number] : []));
  const [half, whole] = [losses(0.5), losses(1)];
  expect(half).toHaveLength(5);
  expect(half).not.toEqual(whole);
});

test('a custom task is fitted', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  await import(join(folder, 'points.ts'));
  const [best, epochs, stopped, measured] = log.mock.calls[0];
  log.mockRestore();
  expect(best).toMatchObject({ value: expect.closeTo(1, 1) });
  expect(epochs).toBeGreaterThan(0);
  expect(['early', 'finished']).toContain(stopped);
  expect(measured.accuracy).toBeGreaterThan(0.9);
});
