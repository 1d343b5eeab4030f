/** Hostile requests: all get a 4xx or a closed connection, none a 5xx, and the server continues to answer. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostileRequests, send } from './hostile.js';
import { closeAll, startKind, type TestServer } from './models.js';

const maxBody = 200_000;
let server: TestServer;
let port: number;
const failures: unknown[] = [];

beforeAll(async () => {
  server = await startKind('links', {
    limits: { maxBody, headersTimeout: 300, bodyTimeout: 600, idleTimeout: 1000 },
    onError: (error) => failures.push(error),
  });
  port = Number(new URL(server.url).port);
});
afterAll(closeAll);

test('every hostile request is refused', async () => {
  const requests = hostileRequests(port, maxBody);
  expect(requests.length).toBeGreaterThan(140);
  const accepted: string[] = [];
  for (const request of requests) {
    const status = await send(port, request);
    if (status !== 0 && (status < 400 || status > 499)) accepted.push(`${request.name}: ${status}`);
  }
  expect(accepted).toEqual([]);
  expect(failures).toEqual([]);
  const { status } = await server.ask('/rank', { questions: [{ head: 'p1', relation: 'knows' }] });
  expect(status).toBe(200);
});

test.each([
  ['headers without end', 'GET / HTTP/1.1\r\nhost: x\r\n', 'x: y\r\n'],
  [
    'a body without end',
    'POST /rank HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n',
    '[',
  ],
  [
    'chunks without end',
    'POST /rank HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    '1\r\n[\r\n',
  ],
])('a slow client with %s is closed', async (_name, head, drop) => {
  const started = performance.now();
  const text = await new Promise<string>((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1');
    const drip = setInterval(() => socket.write(drop), 100);
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(drip);
      resolve(received);
    });
    socket.write(head.replace('HOST', `127.0.0.1:${port}`));
  });
  expect(text === '' || /^HTTP\/1\.1 4\d\d/.test(text)).toBe(true);
  expect(performance.now() - started).toBeLessThan(8000);
  expect(failures).toEqual([]);
});

test('a client that leaves early does no harm', async () => {
  for (let i = 0; i < 5; i++)
    await new Promise<void>((resolve) => {
      const body = JSON.stringify({ questions: Array(500).fill({ head: 'p1', relation: 'knows' }) });
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(
          `POST /rank HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
          () => setTimeout(() => socket.destroy(), 2),
        );
      });
      socket.on('close', () => resolve());
    });
  expect((await server.ask('/health')).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(failures).toEqual([]);
  const { body } = await server.ask('/metrics');
  expect(body).toMatch(/skein_http_requests_in_flight 0/);
  expect(body).toMatch(/skein_model_waiting_requests\{model="links",kind="links"\} 0/);
});
