/** `skein serve` and `skein mcp` as processes: what they print, wrong paths, tokens, signals, and tools for a client. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { skein } from '../programs.js';
import { lastTime, runOf } from '../server/models.js';
import { workFolder } from './processes.js';
import { endServed, post, serveCommand } from './served.js';

const folder = workFolder();
let links: string;
let nodes: string;

beforeAll(async () => {
  links = await runOf('links');
  nodes = await runOf('nodes');
});
afterAll(endServed);

describe('serve', () => {
  test('answers by name, and a signal ends it in order', async () => {
    const { url, lines, stop } = await serveCommand([links, `people=${nodes}`]);
    expect(lines.slice(0, 3)).toEqual([
      'links: a model of links, answers score, rank, recommend, neighbors, embed, explain',
      'people: a model of nodes, answers classify, neighbors, embed, explain',
      `Listening on ${url}`,
    ]);
    const answer = await post(`${url}/models/people/classify`, { names: ['p1'] });
    expect(answer.status).toBe(200);
    expect(lines).toContain(`Page: ${url}/`);
    expect(await stop('SIGTERM')).toBe(0);
    expect(lines.at(-1)).toMatch(/^Stopping: /);
  });

  test('with --json every request is a line, without its token', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, 'a-token-from-a-file\n');
    const { url, lines, stop, errors } = await serveCommand([links, '--json', '--token-file', file]);
    expect((await post(`${url}/neighbors`, { names: ['p1'] })).status).toBe(401);
    const headers = { authorization: 'Bearer a-token-from-a-file' };
    expect((await post(`${url}/neighbors`, { names: ['p1'] }, headers)).status).toBe(200);
    expect(await stop('SIGINT')).toBe(0);
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.map(({ event }) => event)).toEqual([
      ...['opening', 'listening', 'request', 'request', 'stopping', 'done'],
    ]);
    expect(events[0]).toEqual({ event: 'opening', url });
    expect(events[3]).toEqual({
      ...{ event: 'request', method: 'POST', path: '/neighbors', status: 200, model: 'links' },
      ms: expect.any(Number),
    });
    expect(lines.join('\n') + errors()).not.toContain('a-token-from-a-file');
  });

  test('the token may come from the environment', async () => {
    const { url, stop } = await serveCommand([links], { SKEIN_TOKEN: 'a-token-from-the-environment' });
    expect((await fetch(`${url}/models`)).status).toBe(401);
    expect(await stop()).toBe(0);
  });
});

describe('serve --source', () => {
  const line = (user: string, at: number): string => `${JSON.stringify({ user, page: 'i1', at })}\n`;

  /** Returns the status once the stream has so many released events. */
  async function statusAt(url: string, version: number): Promise<Record<string, unknown>> {
    for (;;) {
      const status = (await (await fetch(`${url}/status`)).json()) as Record<string, unknown>;
      if ((status['version'] as number) >= version) return status;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  test('follows a file, resumes behind its last line, and a source that fails ends the server', async () => {
    const events = await runOf('events');
    const file = join(folder, 'clicks.ndjson');
    const args = [events, '--state', join(folder, 'clicks-state'), '--source', file];
    args.push('--source-fields', 'head=user,tail=page,time=at', '--new-nodes', 'allow');
    writeFileSync(file, line('u1', lastTime + 1) + line('new', lastTime + 2));
    const first = await serveCommand(args);
    expect(await statusAt(first.url, 2)).toMatchObject({ accepted: 2, newNodes: 1 });
    expect(await first.stop()).toBe(0);
    appendFileSync(file, `${line('u2', lastTime + 3)}not an event\n`);
    const second = await serveCommand(args);
    expect(await statusAt(second.url, 3)).toMatchObject({ accepted: 3, duplicates: 0, quarantined: 1 });
    writeFileSync(file, '');
    expect(await second.ended).toBe(2);
    expect(second.errors()).toMatch(/expected at least \d+ bytes of .*clicks\.ndjson/);
  });

  test('needs a durable stream', async () => {
    const failure = (...args: string[]): string =>
      spawnSync(process.execPath, [...skein, 'serve', ...args], { encoding: 'utf8' }).stderr;
    expect(failure(links, '--source', '-')).toMatch(/expected --state with --source, got none/);
    expect(failure(links, '--state', join(folder, 'unused'))).toMatch(
      /expected a model of events with --state, got models of links\. Leave --state out\./,
    );
  });
});

test('a command line that cannot be served ends with code 2 and one sentence', () => {
  const failure = (...args: string[]): string => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [...skein, ...args], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.trim().split('\n')).toHaveLength(1);
    return stderr;
  };
  expect(failure('serve', folder)).toMatch(
    /^skein: serve: expected the directory of a finished run or a packed model \(\.tgz\), got /,
  );
  expect(failure('serve', links, '--host', '0.0.0.0')).toMatch(
    /expected a token for a host that other machines/,
  );
  expect(failure('serve', links, '--token-file', join(folder, 'none'))).toMatch(/none/);
  expect(failure('serve', links, '--port', '99999')).toMatch(/from 0 to 65535 for port, got 99999/);
  expect(failure('serve', links, '--reload', '2147484')).toMatch(/from 0 to 86400 for --reload, got 2147484/);
  const source = ['serve', links, '--port', '0', '--state', join(folder, 'unused'), '--source'];
  expect(failure(...source, '-', '--source-fields', 'user')).toMatch(/expected pairs such as head=user/);
  expect(failure(...source, join(folder, 'missing'))).toMatch(/missing, got ENOENT/);
  expect(failure(...source, '-')).toMatch(/expected a model of events with --state, got models of links/);
});

describe('mcp', () => {
  test('a client lists tools, asks them, and gets errors that it can act on', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [...skein, 'mcp', links, `people=${nodes}`],
      stderr: 'ignore',
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    try {
      expect(client.getInstructions()).toMatch(/people: a model of nodes, answers classify/);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).sort()).toEqual([
        'classify',
        'explain',
        'neighbors',
        'rank',
        'recommend',
        'score',
      ]);
      const rank = tools.find(({ name }) => name === 'rank');
      expect(rank?.inputSchema).toMatchObject({
        type: 'object',
        required: ['questions', 'model'],
        properties: { k: { maximum: 100 }, model: { enum: ['links'] } },
      });
      const call = async (name: string, args: Record<string, unknown>) => {
        const { content, isError } = await client.callTool({ name, arguments: args });
        return { isError, text: (content as { text: string }[])[0].text };
      };
      const ranked = await call('rank', {
        model: 'links',
        questions: [{ head: 'p1', relation: 'knows' }],
        k: 2,
      });
      expect(ranked.isError).toBe(false);
      expect(JSON.parse(ranked.text).answers[0]).toHaveLength(2);
      const classes = await call('classify', { model: 'people', names: ['p1'] });
      expect(JSON.parse(classes.text).answers[0].name).toBe('p1');
      expect(
        await call('rank', { model: 'links', questions: [{ head: 'team', relation: 'knows' }] }),
      ).toEqual({
        isError: true,
        text: expect.stringMatching(/got "team"\. Did you mean team/),
      });
      expect(await call('rank', { model: 'people', questions: [{ head: 'p1' }] })).toEqual({
        isError: true,
        text: 'model: expected one of the models links, got "people".',
      });
      expect(await call('ranks', {})).toEqual({
        isError: true,
        text: expect.stringMatching(/^expected one of the tools .*, got "ranks"\. Did you mean rank\?$/),
      });
    } finally {
      await client.close();
    }
  });
});
