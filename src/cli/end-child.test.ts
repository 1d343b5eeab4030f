/** The end of a forked process: in order if it ends when it is disconnected, by force if it does not. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { endChild } from './end-child.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-child-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a program and waits for its first message. */
async function start(program: string): Promise<ChildProcess> {
  const path = join(folder, 'child.mjs');
  writeFileSync(path, program);
  const child = fork(path, { execArgv: [] });
  await new Promise((resolve) => child.once('message', resolve));
  return child;
}

it('waits for a process that ends in order', async () => {
  const child = await start(`process.once('disconnect', () => process.exit(7)); process.send('up');`);
  await endChild(child);
  expect([child.exitCode, child.signalCode]).toEqual([7, null]);
  await endChild(child);
});

it('kills a process that does not end', async () => {
  const child = await start(
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.send('up');`,
  );
  await endChild(child, 20);
  expect(child.signalCode).toBe('SIGKILL');
});
