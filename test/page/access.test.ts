/** Who may see the page and what it shows: tokens, one-time links, cookies, hosts, origins, paths of files, hostile addresses. */
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelSource, type ServeOptions } from '#internal/server/index.js';
import { RunCatalog } from '#internal/server/runs/run-catalog.js';
import { buildDist } from '../browser/dist.js';
import { send } from '../server/hostile.js';
import { closeAll, runOf, startModels, type TestServer } from '../server/models.js';

const token = 'a-token-of-some-length';
const html = { accept: 'text/html,application/xhtml+xml' };
let folder: string;
const failures: unknown[] = [];
const records: unknown[] = [];

beforeAll(async () => {
  buildDist();
  folder = dirname(await runOf('links'));
  await runOf('events');
});
afterAll(closeAll);

/** Starts the server of `skein ui`. */
function startUi(options: Partial<ServeOptions> = {}): Promise<TestServer> {
  return startModels({
    models: [],
    runs: new RunCatalog([folder]),
    openRun: (run) => modelSource(run, { command: 'ui' }),
    onError: (error) => failures.push(error),
    onRequest: (record) => records.push(record),
    ...options,
  });
}

/** Asks for a path as it is written: `fetch` would resolve its dots. */
function ask(
  { url }: TestServer,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, method, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (data: string) => {
        text += data;
        // An answer without end has begun.
        if (answer.headers['content-type'] === 'text/event-stream') answer.destroy();
      });
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end();
  });
}

const dataRoutes = [
  ...['/runs', '/runs/links', '/runs/links/log', '/runs/links/live', '/runs/links/names'],
  ...['/runs/links/neighborhood?node=p1', '/runs/links/map', '/runs/links/data', '/runs/events/recent'],
  ...['/runs/events/data', '/models', '/metrics', '/openapi.json', '/status', '/models/events/status'],
  ...['/models/events/quarantine', '/'],
];

describe('with a token', () => {
  let server: TestServer;
  let cookie: string;
  beforeAll(async () => {
    server = await startUi({ token });
  });

  it('shows no data without the token, and the page itself, which has none', async () => {
    for (const path of dataRoutes) {
      const { status, text } = await ask(server, path);
      expect([path, status, (JSON.parse(text) as { code: string }).code]).toEqual([
        path,
        401,
        'unauthorized',
      ]);
    }
    for (const path of ['/models/links/rank', '/models/events/events', '/login', '/logout'])
      expect([path, (await ask(server, path, {}, 'POST')).status]).toEqual([path, 401]);
    const page = await ask(server, '/', html);
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/^<!doctype html>/)]);
    const [, script] = /src="\.(\/assets\/[^"]+\.js)"/.exec(page.text) ?? [];
    expect((await ask(server, script)).status).toBe(200);
  });

  it('is opened once by a link, whose cookie replaces the token', async () => {
    const link = server.pageLink();
    expect(link).not.toContain(token);
    const { pathname, search } = new URL(link);
    const answer = await fetch(link, { headers: html });
    const set = answer.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/; HttpOnly/);
    expect(set).toMatch(/; SameSite=Strict/);
    expect(set).not.toContain(token);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    [cookie] = set.split(';');
    for (const path of dataRoutes.filter((one) => !/status|quarantine/.test(one)))
      expect([path, (await ask(server, path, { cookie })).status]).toEqual([path, 200]);
    expect((await ask(server, pathname + search)).status).toBe(401);
    expect((await ask(server, '/runs', { cookie: `${cookie}x` })).status).toBe(401);
    expect((await ask(server, '/runs', { cookie: cookie.replace(/=.*/, `=${token}`) })).status).toBe(401);
  });

  it('makes another link for the token, and none without', async () => {
    const { status, body } = await server.ask('/login', {}, { authorization: `Bearer ${token}` });
    expect([status, body.path]).toEqual([200, expect.stringMatching(/^\/login\?code=[\w-]{32}$/)]);
    expect((await ask(server, body.path, {}, 'HEAD')).status).toBe(401);
    expect((await ask(server, body.path)).status).toBe(200);
  });

  it('refuses pages of other origins, even with a cookie', async () => {
    const foreign = [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `${server.url}.evil.example` },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    ];
    for (const headers of foreign)
      for (const path of ['/runs', '/runs/links/live', '/runs/links', '/'])
        expect((await ask(server, path, { cookie, ...(headers as Record<string, string>) })).status).toBe(
          403,
        );
  });

  it('ends with the session', async () => {
    expect((await ask(server, '/logout', { cookie }, 'POST')).status).toBe(200);
    expect((await ask(server, '/runs', { cookie })).status).toBe(401);
  });

  it('never writes the token or the code of a link into records, metrics or descriptions', async () => {
    const bearer = { authorization: `Bearer ${token}` };
    const link = server.pageLink();
    await fetch(link);
    const texts = [JSON.stringify(records)];
    for (const path of ['/metrics', '/openapi.json', '/models', '/runs'])
      texts.push((await ask(server, path, bearer)).text);
    expect(records.length).toBeGreaterThan(50);
    for (const text of texts) {
      expect(text).not.toContain(token);
      expect(text).not.toContain(new URL(link).searchParams.get('code'));
    }
    expect(texts[1]).toContain('route="/login"');
  });
});

describe('on this machine', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startUi();
  });

  it('forbids code, markup and requests from elsewhere', async () => {
    const answer = await fetch(server.url, { headers: html });
    expect((answer.headers.get('content-security-policy') ?? '').split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self' data:",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const data = await fetch(`${server.url}/runs`);
    expect(data.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(data.headers.get('cache-control')).toBe('no-store');
  });

  it('answers to its own name only', async () => {
    for (const path of ['/', '/runs', '/runs/links/live', '/icon.svg'])
      expect((await ask(server, path, { ...html, host: 'evil.example' })).status).toBe(403);
  });

  it('serves its own files and no others', async () => {
    const { port } = new URL(server.url);
    const paths = [
      ...['/../package.json', '/../../../../etc/passwd', '/%2e%2e/package.json', '/..%2fpackage.json'],
      ...['/assets/../../index.js', '/assets/%2e%2e/%2e%2e/index.js', '/assets/', '/assets', '/icon.svg%00'],
      ...['/%00', '/index.html', '/icon.svg/', '//icon.svg', '/assets//index.js', '/.svg', '/__proto__'],
      ...['/constructor', '/main.tsx', '/vite.config.ts', '/%', '/%zz', '/runs/..%2f..%2fetc%2fpasswd/log'],
    ];
    for (const path of paths) {
      const bytes = Buffer.from(
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/html\r\n\r\n`,
      );
      const status = await send(Number(port), { name: path, bytes });
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
    }
    expect((await ask(server, '/icon.svg')).status).toBe(200);
    expect((await ask(server, '/icon.svg', {}, 'POST')).status).toBe(404);
    expect((await ask(server, '/', html, 'HEAD')).status).toBe(200);
  });

  it('refuses hostile addresses of runs: never an internal error', async () => {
    const names = [
      ...['%2e%2e%2f%2e%2e', '..%2f', '%00', '%ff', '%zz', '%F0%9F%92%A5', '%22', '%27', '%3Cscript%3E'],
      ...['__proto__', 'constructor', 'toString', 'run;', 'links%2Frun', 'links%5Crun', 'LINKS', '%20links'],
      'n'.repeat(5000),
    ];
    const parts = ['', '/log', '/live', '/names', '/neighborhood?node=x', '/map', '/recent', '/data'];
    const wrongQueries = [
      ...['?points=0', '?points=x', '?points=1e9', '?points=', '?points=5&points=6', '?other=1'],
      ...['/live?from=-1', '/live?from=x', '/live?from=1.5', '/log?x=1', '/data?x=1'],
      ...['/names?of=edges', '/names?of=__proto__', '/names?limit=0', '/names?limit=101', '/names?limit=NaN'],
      ...[`/names?text=${'x'.repeat(201)}`, '/names?text=a&text=b', '/names?__proto__=1'],
      ...[
        '/neighborhood',
        '/neighborhood?node=',
        '/neighborhood?node=stranger',
        '/neighborhood?node=p1&hops=0',
      ],
      ...['/neighborhood?node=p1&hops=99', '/neighborhood?node=p1&limit=1e6', '/neighborhood?node=__proto__'],
      ...[
        `/neighborhood?node=${'n'.repeat(9000)}`,
        '/neighborhood?node=%00',
        '/neighborhood?node=%3Cscript%3E',
      ],
      ...['/map?method=tsne', '/map?limit=1', '/map?limit=1e9', '/map?method=', '/recent', '/recent?limit=0'],
      ...['/unknown', '/', '/log/', '//log', '/live/x', '/%2e%2e/nothing'],
    ];
    const addresses = [
      ...names.flatMap((name) => parts.map((part) => `/runs/${name}${part}`)),
      ...wrongQueries.map((query) => `/runs/links${query}`),
      ...['/runs/events/map', '/runs/events/recent?limit=1001', '/runs/events/neighborhood?node=stranger'],
      ...['/runs/', '/runs?x=1', '/runs/links/../../etc/passwd', '/logout', '/models/nothing/status'],
    ];
    const accepted: string[] = [];
    for (const path of addresses) {
      const { status } = await ask(server, path);
      if (status < 400 || status > 499) accepted.push(`${path.slice(0, 80)}: ${status}`);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      for (const part of parts) {
        const { status } = await ask(server, `/runs/links${part}`, {}, method);
        if (status < 400 || status > 499) accepted.push(`${method} ${part}: ${status}`);
      }
    expect(accepted).toEqual([]);
    expect(failures).toEqual([]);
    expect((await ask(server, '/runs/links')).status).toBe(200);
  });

  it('opens more runs at once than it keeps open, and answers all', async () => {
    const runs = new RunCatalog([folder]);
    const copies = Array.from({ length: 9 }, (_, i) => `copy${i}`);
    const path = join(await runOf('links'), 'run');
    const list = () => copies.map((name) => ({ name, path }));
    const many = await startUi({
      runs: { roots: runs.roots, list, find: (name) => list().find((run) => run.name === name) },
    });
    const answers = await Promise.all(copies.map((name) => ask(many, `/runs/${name}/map?method=pca`)));
    expect(answers.map(({ status }) => status)).toEqual(copies.map(() => 200));
    expect(failures).toEqual([]);
  });
});

describe('behind a proxy that keeps a path', () => {
  it('works below the path only, and leads there', async () => {
    const server = await startUi({ token, basePath: '/skein' });
    const { pathname, search } = new URL(server.pageLink());
    expect(pathname).toBe('/skein/login');
    const answer = await fetch(`${server.url}${pathname}${search}`);
    expect(answer.headers.get('set-cookie')).toContain('Path=/skein/');
    const [cookie] = (answer.headers.get('set-cookie') ?? '').split(';');
    expect((await ask(server, '/skein/runs', { cookie })).status).toBe(200);
    expect((await ask(server, '/runs', { cookie })).status).toBe(404);
    expect((await ask(server, '/skeinx/runs', { cookie })).status).toBe(404);
    expect((await ask(server, '/skein/runs')).status).toBe(401);
    const made = await fetch(`${server.url}/skein/login`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${token}` } },
    });
    const { path } = (await made.json()) as { path: string };
    expect(path).toMatch(/^\/skein\/login\?code=/);
    expect((await fetch(`${server.url}${path}`)).status).toBe(200);
    const bare = await fetch(`${server.url}/skein`, { headers: html, redirect: 'manual' });
    expect([bare.status, bare.headers.get('location')]).toEqual([308, '/skein/']);
  });
});
