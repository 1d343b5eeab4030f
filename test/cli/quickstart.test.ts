/** The quickstart in its fast mode: a whole tour with an interrupt in it, and again from what is there. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeKernels } from '#internal/native/index.js';
import { skein } from '../programs.js';
import { isWide } from '../wide.js';

const work = mkdtempSync(join(tmpdir(), 'skein-quickstart-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

type Event = Readonly<Record<string, unknown>> & { readonly event: string };

interface Result {
  readonly code: number | null;
  readonly events: readonly Event[];
  readonly err: string;
}

function quickstart(args: readonly string[], onEvent?: (event: Event, child: ChildProcess) => void) {
  return new Promise<Result>((resolve) => {
    const child = spawn(process.execPath, [...skein, 'quickstart', '--fast', '--json', ...args], {
      cwd: work,
    });
    const events: Event[] = [];
    let [rest, err] = ['', ''];
    child.stdout.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        events.push(JSON.parse(line));
        onEvent?.(events[events.length - 1], child);
      }
    });
    child.stderr.on('data', (text) => {
      err += text;
    });
    child.on('close', (code) => resolve({ code, events, err }));
  });
}

/** Runs a command that serves the page, on a free port, and reads the page and the list of runs. */
async function showsPage(command: string): Promise<void> {
  const child = spawn('sh', ['-c', `exec ${command} --port 0`], { cwd: work });
  let text = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (data) => {
      text += data;
      const found = /Open (http:\S+)/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('close', (code) => reject(new Error(`${command} ended with ${code}: ${text}`)));
  });
  expect(await (await fetch(url, { headers: { accept: 'text/html' } })).text()).toContain('<title>Skein');
  const { runs } = (await (await fetch(new URL('runs', url))).json()) as { readonly runs: unknown[] };
  expect(runs).toHaveLength(1);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
}

const last = ({ events }: Result): Event | undefined => events[events.length - 1];

// Ranking 10,000 edges among 117,791 synsets takes the TypeScript kernels many minutes.
describe.skipIf(nativeKernels === null)('quickstart', () => {
  it('prepares, is interrupted, resumes, evaluates and answers', { timeout: 240_000 }, async () => {
    const cut = await quickstart([], ({ event }, child) => {
      if (event === 'config') setTimeout(() => child.kill('SIGINT'), 300);
    });
    const run = await quickstart([]);
    expect(run.code, run.err).toBe(0);
    const kinds = new Set([...cut.events, ...run.events].map(({ event }) => event));
    for (const kind of [
      'prepare',
      'config',
      'epoch',
      'eval',
      'trained',
      'neighbours',
      'hypernyms',
      'explanation',
    ])
      expect(kinds).toContain(kind);
    expect(last(run)).toMatchObject({
      event: 'done',
      mrr: expect.any(Number),
      'hypernym.mrr': expect.any(Number),
    });
    expect(run.err).toContain('Nearest to dog.n.01');
    // Text goes to stderr next to events: every line of training at most once.
    for (const line of ['epoch 1 ', 'validation ', 'test  '])
      expect(run.err.split(`\n${line}`).length).toBeLessThanOrEqual(2);
    expect(run.err).toMatch(/The quickstart took [\d.]+ s\./);
    const next = run.err.slice(run.err.indexOf('Try next:')).match(/^ {4}\S.*$/gm) ?? [];
    expect(next).toHaveLength(3);
    for (const command of next.filter((one) => !/ ui /.test(one))) {
      const done = spawnSync('sh', ['-c', command], { cwd: work, encoding: 'utf8' });
      expect(done.status, `${command}\n${done.stderr}`).toBe(0);
      expect(done.stdout).not.toBe('');
    }
    await showsPage(next.find((one) => / ui /.test(one)) ?? '');
    expect(existsSync(join(work, 'data/quickstart-fast/done.json'))).toBe(true);
    // A machine may be quick enough to be done before the signal.
    if (cut.code !== 0) expect(last(cut)).toMatchObject({ event: 'done', interrupted: true });
  });

  it('shows a finished run again without training it', { timeout: 240_000 }, async () => {
    const dataset = join(work, 'data/prepared/wordnet/dataset.yaml');
    const before = statSync(dataset).mtimeMs;
    const run = await quickstart([]);
    expect(run.code, run.err).toBe(0);
    expect(run.events.some(({ event }) => event === 'epoch')).toBe(false);
    expect(last(run)).toMatchObject({ event: 'done', mrr: expect.any(Number) });
    expect(statSync(dataset).mtimeMs).toBe(before);
  });

  const alone = async () => {
    const run = await quickstart(['--seed', '2']);
    expect(run.code, run.err).toBe(0);
    expect(existsSync(join(work, 'data/quickstart-fast-seed2/done.json'))).toBe(true);
  };
  if (isWide) it('trains in one go, under the name of its seed', alone);
});
