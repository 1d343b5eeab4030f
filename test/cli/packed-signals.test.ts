/** Commands that open a packed model and are stopped by a signal leave nothing of it in the folder for temporary files. */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packModel } from 'skein/predict';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { skein } from '../programs.js';
import { runOf } from '../server/models.js';
import { workFolder } from './processes.js';
import { endServed, serveCommand } from './served.js';

const folder = workFolder();
const model = join(folder, 'model.tgz');

beforeAll(async () => {
  await packModel(await runOf('links'), model);
});
afterAll(endServed);

let folders = 0;
function temporaryFolder(): string {
  const path = join(folder, `tmp${folders++}`);
  mkdirSync(path);
  return path;
}

const unpacked = (path: string): string[] => readdirSync(path).filter((name) => /^skein-model-/.test(name));

test.each<[NodeJS.Signals, string[]]>([
  ['SIGINT', ['query', model, '--head', 'p1', '--relation', 'knows']],
  ['SIGTERM', ['eval', model]],
  ['SIGHUP', ['mcp', model]],
  ['SIGINT', ['mcp', model]],
])('%s while it is open: %j', async (signal, args) => {
  const TMPDIR = temporaryFolder();
  const child = spawn(process.execPath, [...skein, ...args], { env: { ...process.env, TMPDIR } });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, by) => resolve(by)));
  while (child.exitCode === null && unpacked(TMPDIR).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 2));
  child.kill(signal);
  expect(await ended).toBe(signal);
  expect(unpacked(TMPDIR)).toEqual([]);
});

test.each<[NodeJS.Signals, number | null]>([
  ['SIGTERM', 0],
  ['SIGHUP', null],
])('%s while it is served', async (signal, code) => {
  const TMPDIR = temporaryFolder();
  const { stop } = await serveCommand([model], { TMPDIR });
  expect(unpacked(TMPDIR)).toHaveLength(1);
  expect(await stop(signal)).toBe(code);
  expect(unpacked(TMPDIR)).toEqual([]);
});
