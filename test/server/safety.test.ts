/** Who may ask: hosts, origins, tokens, content types. */
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { fakeModel } from './fake-model.js';
import { closeAll, startModels } from './models.js';

afterEach(closeAll);

const body = { names: ['a'] };
const token = 'a-token-of-some-length';

/** Asks with headers that fetch does not let a program set. */
function status(
  url: string,
  headers: Record<string, string>,
  method = 'GET',
  path = '/models',
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    request({ hostname, port, path, method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('hosts', () => {
  test('listens on this machine only, and answers to its own names', async () => {
    const { url } = await startModels({ models: [fakeModel()] });
    const { port } = new URL(url);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LOCALHOST:${port}`])
      expect(await status(url, { host })).toBe(200);
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost', '127.0.0.1:1'])
      expect(await status(url, { host })).toBe(403);
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.internal === false && address.family === 'IPv4');
    if (outside !== undefined) await expect(fetch(`http://${outside.address}:${port}/`)).rejects.toThrow();
  });

  test('other machines need a token', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1'])
      await expect(startModels({ models: [fakeModel()], host })).rejects.toThrow(
        /^serve: expected a token for a host that other machines reach, got .* without one\. Pass --token-file/,
      );
    await expect(startModels({ models: [fakeModel()], token: 'short' })).rejects.toThrow(
      /at least 16 characters/,
    );
  });

  test('a port that is in use is named before a model is opened', async () => {
    const { url } = await startModels({ models: [fakeModel()] });
    const model = fakeModel();
    const open = vi.spyOn(model, 'open');
    await expect(startModels({ models: [model], port: Number(new URL(url).port) })).rejects.toThrow(
      /expected a free port, got 127\.0\.0\.1:\d+ \(EADDRINUSE\)/,
    );
    expect(open).not.toHaveBeenCalled();
  });
});

describe('tokens', () => {
  test('every path but health needs the token', async () => {
    const { ask, url } = await startModels({ models: [fakeModel()], token });
    const without = await ask('/neighbors', body);
    expect([without.status, without.headers.get('www-authenticate'), without.body.code]).toEqual([
      401,
      'Bearer',
      'unauthorized',
    ]);
    for (const path of ['/', '/models', '/metrics', '/openapi.json', '/nothing'])
      expect((await ask(path)).status).toBe(401);
    for (const wrong of [
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
      token,
      'Bearer',
      `Bearer ${token} x`,
    ])
      expect((await ask('/neighbors', body, { authorization: wrong })).status).toBe(401);
    expect((await ask('/neighbors', body, { authorization: `Bearer ${token}` })).status).toBe(200);
    for (const path of ['/health', '/health/live', '/health/ready'])
      expect((await ask(path)).status).toBe(200);
    // A page that came by another name has no token, so the name does not matter.
    expect(await status(url, { host: 'models.example', authorization: `Bearer ${token}` })).toBe(200);
  });

  test('the token appears in no record and no answer', async () => {
    const records: unknown[] = [];
    const { ask } = await startModels({
      models: [fakeModel()],
      token,
      onRequest: (record) => records.push(record),
    });
    const headers = { authorization: `Bearer ${token}` };
    const texts: string[] = [];
    for (const path of ['/', '/models', '/metrics', '/openapi.json', '/nothing'])
      texts.push(JSON.stringify((await ask(path, undefined, headers)).body));
    expect(records).toHaveLength(5);
    expect(`${JSON.stringify(records)} ${texts.join(' ')}`).not.toContain(token);
  });
});

describe('origins', () => {
  test('pages of other origins are refused', async () => {
    const { ask, url } = await startModels({ models: [fakeModel()] });
    for (const origin of ['http://evil.example', 'null', `${url}.evil.example`, url.replace(/\d+$/, '1')]) {
      const answer = await ask('/neighbors', body, { origin });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    }
    expect(await status(url, { 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await status(url, { 'sec-fetch-site': 'same-origin' })).toBe(200);
    // A link to the page may be followed.
    expect(await status(url, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).toBe(200);
    expect((await ask('/neighbors', body, { origin: url })).status).toBe(200);
    expect(
      await status(
        url,
        { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
        'OPTIONS',
        '/neighbors',
      ),
    ).toBe(403);
  });

  test('listed origins are allowed, and only they', async () => {
    const origin = 'https://shop.example';
    const { ask, url } = await startModels({ models: [fakeModel()], corsOrigins: [origin] });
    const answer = await ask('/neighbors', body, { origin });
    expect([
      answer.status,
      answer.headers.get('access-control-allow-origin'),
      answer.headers.get('vary'),
    ]).toEqual([200, origin, 'Origin']);
    const before = await fetch(`${url}/neighbors`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    expect([before.status, before.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization, content-type, idempotency-key',
    ]);
    const wrong = await ask('/nothing', body, { origin });
    expect([wrong.status, wrong.headers.get('access-control-allow-origin')]).toEqual([404, origin]);
    expect((await ask('/neighbors', body, { origin: 'https://other.example' })).status).toBe(403);
  });

  test('text that a page could send without asking is refused', async () => {
    const { ask } = await startModels({ models: [fakeModel()] });
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
    ]) {
      const answer = await ask('/neighbors', JSON.stringify(body), { 'content-type': type });
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    }
    expect(
      (await ask('/neighbors', body, { 'content-type': 'application/json; charset=UTF-8' })).status,
    ).toBe(200);
  });
});

test('paths and methods that do not exist', async () => {
  const { ask, url } = await startModels({ models: [fakeModel()] });
  const missing = await ask('/nothing');
  expect([missing.status, missing.body.error]).toEqual([
    404,
    'expected a path of GET /, which lists them, got GET /nothing.',
  ]);
  const wrong = await ask('/neighbors');
  expect([wrong.status, wrong.headers.get('allow'), wrong.body.code]).toEqual([
    405,
    'POST',
    'method_not_allowed',
  ]);
  const put = await fetch(`${url}/models/fake`, { method: 'PUT' });
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  expect((await fetch(`${url}/health`, { method: 'HEAD' })).status).toBe(200);
});
