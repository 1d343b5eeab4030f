/** Requests that never reach a route: their errors are JSON as all others, and end the connection. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeModel } from './fake-model.js';
import { closeAll, startModels, type TestServer } from './models.js';

let server: TestServer;
let port: number;
const failures: unknown[] = [];

beforeAll(async () => {
  server = await startModels({
    models: [fakeModel()],
    limits: { headersTimeout: 300, bodyTimeout: 600 },
    onError: (error) => failures.push(error),
  });
  port = Number(new URL(server.url).port);
});
afterAll(closeAll);

/** Sends bytes, some of them `more` times later; returns all that came until the connection was closed. */
function exchange(text: string, { drip = '', leave = false } = {}): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(text.replaceAll('HOST', `127.0.0.1:${port}`));
      if (leave) socket.destroy();
    });
    const timer = drip === '' ? undefined : setInterval(() => socket.write(drip), 50);
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(timer);
      resolve(received);
    });
  });
}

const post = 'POST /rank HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\n';

test.each([
  ['no Host header', 'GET /models HTTP/1.1\r\n\r\n', {}, 400, 'invalid', /Host header, got none/],
  [
    'a Host header with blanks',
    'GET / HTTP/1.1\r\nhost: a b\r\n\r\n',
    {},
    400,
    'invalid',
    /valid path and Host/,
  ],
  [
    'an expectation',
    `${post}expect: a-miracle\r\ncontent-length: 2\r\n\r\n{}`,
    {},
    417,
    'invalid',
    /"a-miracle"/,
  ],
  [
    'long headers',
    `GET / HTTP/1.1\r\nhost: HOST\r\nx: ${'y'.repeat(300_000)}\r\n\r\n`,
    {},
    431,
    'too_large',
    /16 KiB/,
  ],
  ['no HTTP', 'hello\r\n\r\n', {}, 400, 'invalid', /a request of HTTP\/1\.1/],
  ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01', {}, 400, 'invalid', /a request of HTTP\/1\.1/],
  [
    'two lengths',
    `${post}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
    {},
    400,
    'invalid',
    /HTTP\/1\.1/,
  ],
  [
    'wrong chunks',
    `${post}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    {},
    400,
    'invalid',
    /HTTP\/1\.1/,
  ],
  [
    ...([
      'long extensions of chunks',
      `${post}transfer-encoding: chunked\r\n\r\n2;${'x'.repeat(20_000)}\r\n`,
    ] as const),
    ...([{}, 413, 'too_large', /extensions/] as const),
  ],
  ['slow headers', 'GET / HTTP/1.1\r\nhost: HOST\r\n', { drip: 'x: y\r\n' }, 408, 'timeout', /sooner/],
  ['a slow body', `${post}content-length: 1000\r\n\r\n`, { drip: '[' }, 408, 'timeout', /sooner/],
  [
    'a slow body in chunks',
    `${post}transfer-encoding: chunked\r\n\r\n`,
    { drip: '1\r\n[\r\n' },
    408,
    'timeout',
    /sooner/,
  ],
] as const)('%s', async (_name, text, options, status, code, sentence) => {
  const received = await exchange(text, options);
  const [head, body] = received.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(head).toMatch(/^connection: close$/im);
  expect(head).toMatch(/^content-type: application\/json/im);
  expect(head).toMatch(/^cache-control: no-store$/im);
  expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(sentence), code });
  expect(failures).toEqual([]);
});

test('an expectation of 100-continue is answered as ever', async () => {
  const body = JSON.stringify({ names: ['p1'] });
  const received = await exchange(
    `POST /neighbors HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
});

test('an error is never taken for the answer to an earlier request', async () => {
  const body = JSON.stringify({ names: ['p1'] });
  const received = await exchange(
    `POST /neighbors HTTP/1.1\r\nhost: HOST\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}no HTTP\r\n\r\n`,
  );
  expect(received).not.toMatch(/^HTTP\/1\.1 400/);
});

test('clients that have left do no harm, and answers are counted', async () => {
  for (const text of [
    'hello\r\n\r\n',
    `GET / HTTP/1.1\r\nx: ${'y'.repeat(300_000)}`,
    'GET / HTTP/1.1\r\n\r\n',
  ])
    for (let i = 0; i < 10; i++) await exchange(text, { leave: true });
  expect((await server.ask('/health')).status).toBe(200);
  expect(failures).toEqual([]);
  const { body } = await server.ask('/metrics');
  for (const status of [400, 408, 413, 417, 431])
    expect(body).toMatch(
      new RegExp(`skein_http_requests_total\\{route="other",model="",status="${status}"\\} [1-9]`),
    );
  expect(body).toMatch(/skein_http_requests_in_flight 0/);
});
