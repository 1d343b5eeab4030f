/** `skein ui` as a process: the printed link opens the page once, and the token is printed nowhere. */
import { type ChildProcess, spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { skein } from '../programs.js';
import { runOf } from '../server/models.js';

const token = 'a-token-from-the-environment';
let child: ChildProcess | undefined;
afterAll(() => child?.kill('SIGKILL'));

it('prints a link that works once, and never the token', async () => {
  const folder = dirname(await runOf('links'));
  const process_ = spawn(process.execPath, [...skein, 'ui', folder, '--port', '0'], {
    env: { ...process.env, SKEIN_TOKEN: token },
  });
  child = process_;
  let printed = '';
  const link = await new Promise<string>((resolve, reject) => {
    process_.once('close', (code) => reject(new Error(`ended with ${code}: ${printed}`)));
    for (const stream of [process_.stdout, process_.stderr])
      stream.on('data', (data: Buffer) => {
        printed += data.toString();
        const [, found] = /Open (http:\S+)\n/.exec(printed) ?? [];
        if (found !== undefined) resolve(found);
      });
  });
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=[\w-]{32}$/);
  const { origin } = new URL(link);
  expect((await fetch(`${origin}/runs`)).status).toBe(401);
  const opened = await fetch(link);
  const [cookie] = (opened.headers.get('set-cookie') ?? '').split(';');
  const runs = await fetch(`${origin}/runs`, { headers: { cookie } });
  expect([opened.status, runs.status]).toEqual([200, 200]);
  expect((await fetch(link)).status).toBe(401);
  const ended = new Promise((resolve) => process_.once('close', resolve));
  process_.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(printed).not.toContain(token);
});

it('prints an address that a browser opens if it listens on every one, and how other machines reach it', async () => {
  const folder = dirname(await runOf('links'));
  const process_ = spawn(process.execPath, [...skein, 'ui', folder, '--port', '0', '--host', '0.0.0.0']);
  child = process_;
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    process_.once('close', (code) => reject(new Error(`ended with ${code}: ${printed}`)));
    process_.stdout.on('data', (data: Buffer) => {
      printed += data.toString();
      if (/On other machines.*\n/.test(printed)) resolve();
    });
  });
  expect(printed).toContain(`use the name of this machine (${hostname()}) instead of 127.0.0.1.`);
  const [, link = ''] = /Open (http:\S+)\n/.exec(printed) ?? [];
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=/);
  expect((await fetch(link)).status).toBe(200);
  const ended = new Promise((resolve) => process_.once('close', resolve));
  process_.kill('SIGTERM');
  expect(await ended).toBe(0);
});
