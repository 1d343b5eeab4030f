/** Runs a block of a page that serves models: `skein serve` in the background on a free port, then its `curl` requests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from 'vitest';
import { skein } from '../programs.js';
import { argumentsOf } from './page.js';

export async function runServed(commands: readonly string[], folder: string): Promise<void> {
  let server: { readonly child: ChildProcess; readonly url: string } | null = null;
  try {
    for (const command of commands) {
      const args = argumentsOf(command.replace(/ &$/, '').replace(/^npx skein/, 'skein'));
      if (args[0] === 'skein') server = await listen(args.slice(1), folder);
      else if (args[0] === 'curl' && server !== null) await request(command, args.slice(1), server.url);
      else throw new Error(`${command}: expected skein serve, then curl`);
    }
  } finally {
    const ended = new Promise((resolve) => server?.child.once('close', resolve));
    server?.child.kill('SIGTERM');
    if (server !== null) expect(await ended).toBe(0);
  }
}

function listen(args: readonly string[], cwd: string): Promise<{ child: ChildProcess; url: string }> {
  const port = args.indexOf('--port');
  const given = port < 0 ? args : args.toSpliced(port, 2);
  const child = spawn(process.execPath, [...skein, ...given, '--port', '0'], { cwd });
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (data: Buffer): void => {
      text += data.toString();
      const [, url] = /Listening on (http:\S+?),?\s/.exec(text) ?? [];
      if (url !== undefined) resolve({ child, url });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('close', (code) => reject(new Error(`skein ${args.join(' ')} ended with ${code}: ${text}`)));
  });
}

/** Sends the request of a `curl` command to the server, whatever port the page has. */
async function request(command: string, args: readonly string[], url: string): Promise<void> {
  const headers: Record<string, string> = {};
  let path = '';
  let body: string | undefined;
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--json') body = args[++i];
    else if (args[i] === '-H') {
      const [name, value] = args[++i].split(/: ?(.*)/);
      headers[name.toLowerCase()] = value;
    } else if (!args[i].startsWith('-')) {
      const { pathname, search } = new URL(args[i]);
      path = pathname + search;
    }
  }
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  expect([answer.status, await answer.text()], command).toEqual([200, expect.anything()]);
}
