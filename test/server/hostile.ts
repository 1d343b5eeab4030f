/** Requests that no honest client sends, for tests and for bench/serve.ts: each must get a 4xx or a closed connection. */
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface HostileRequest {
  readonly name: string;
  /** Everything that is sent, head and body. */
  readonly bytes: Buffer;
}

type Headers = Readonly<Record<string, string>>;

const json = { 'content-type': 'application/json' };

/** Returns the status of the answer; 0 if the connection was closed without one. */
export function send(port: number, { bytes }: HostileRequest, milliseconds = 10_000): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const finish = (): void => {
      clearTimeout(timer);
      socket.destroy();
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? [];
      resolve(Number(status ?? 0));
    };
    // -1: neither an answer nor an end.
    const timer = setTimeout(() => {
      socket.destroy();
      resolve(-1);
    }, milliseconds);
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (text.includes('\r\n\r\n')) finish();
    });
    socket.on('error', finish);
    socket.on('close', finish);
    socket.write(bytes);
  });
}

/** Requests against a server of links on `port` with the given limits of a body and its depth. */
export function hostileRequests(port: number, maxBody: number): HostileRequest[] {
  const host = `127.0.0.1:${port}`;
  const request = (
    name: string,
    method: string,
    path: string,
    headers: Headers = {},
    body: string | Buffer = '',
  ): HostileRequest => {
    const bytes = Buffer.from(body);
    const all = {
      host,
      ...(bytes.length > 0 || method === 'POST' ? { 'content-length': String(bytes.length) } : {}),
      ...headers,
    };
    const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}\r\n`);
    return {
      name,
      bytes: Buffer.concat([
        Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'),
        bytes,
      ]),
    };
  };
  const post = (name: string, path: string, body: unknown, headers: Headers = {}): HostileRequest =>
    request(
      name,
      'POST',
      path,
      { ...json, ...headers },
      body instanceof Buffer || typeof body === 'string' ? body : JSON.stringify(body),
    );
  const rank = (question: unknown, more: object = {}) => ({ questions: [question], ...more });
  const good = { head: 'p1', relation: 'knows' };
  const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);

  const bodies: readonly (readonly [string, unknown])[] = [
    ['nothing', ''],
    ['no JSON', '{"questions":'],
    ['a number', '5'],
    ['null', 'null'],
    ['a list', []],
    ['NaN', '{"questions":[{"head":NaN}]}'],
    ['comments', '/* */ {}'],
    ['two values', '{} {}'],
    ['lists without end', '['.repeat(100_000)],
    ['deep lists', deep(100_000, '[', ']')],
    ['deep objects', deep(5_000, '{"a":', '}').replace('}', '1}')],
    ['deep inside', `{"questions":[{"head":${deep(50, '[', ']')}}]}`],
    ['a prototype', '{"__proto__":{"k":1},"questions":[{"head":"p1"}]}'],
    ['a constructor', '{"constructor":{"prototype":{}},"questions":[{"head":"p1"}]}'],
    ['an unknown key', rank(good, { kk: 1 })],
    ['a long key', rank(good, { ['x'.repeat(50_000)]: 1 })],
    ['many keys', rank(good, Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key${i}`, 1])))],
    ['no questions', rank(good, { questions: [] })],
    ['too many questions', rank(good, { questions: Array(5000).fill(good) })],
    ['questions as an object', { questions: { 0: good } }],
    ['questions as text', { questions: 'p1' }],
    ['a question of null', rank(null)],
    ['a question of a list', rank(['p1', 'knows'])],
    ['an empty question', rank({})],
    ['both ends', rank({ ...good, tail: 'p2' })],
    ['no relation', rank({ head: 'p1' })],
    ['an unknown node', rank({ ...good, head: 'p1\u0000' })],
    ['an empty name', rank({ ...good, head: '' })],
    ['a long name', rank({ ...good, head: 'p'.repeat(100_000) })],
    ['a name of 900 letters', rank({ ...good, head: 'q'.repeat(900) })],
    ['a name of half a character', '{"questions":[{"head":"\\ud800","relation":"knows"}]}'],
    ['a name of directions', rank({ ...good, head: '\u202e1p' })],
    ['a name of a path', rank({ ...good, head: '../../etc/passwd' })],
    ['a name of a key', rank({ ...good, head: '__proto__' })],
    ['a name of a method', rank({ ...good, head: 'constructor' })],
    ['a name of true', rank({ ...good, head: true })],
    ['a name of an object', rank({ ...good, head: { toString: 'p1' } })],
    ['a number too large', '{"questions":[{"head":1e999,"relation":"knows"}]}'],
    ['a negative node', rank({ ...good, head: -1 })],
    ['an unknown relation', rank({ ...good, relation: 'hates' })],
    ['k of 0', rank(good, { k: 0 })],
    ['k of a fraction', rank(good, { k: 1.5 })],
    ['k below 0', rank(good, { k: -5 })],
    ['k of text', rank(good, { k: '3' })],
    ['k too large', rank(good, { k: 1e9 })],
    ['k beyond numbers', `{"questions":[{"head":"p1","relation":"knows"}],"k":1e400}`],
    ['k of null', rank(good, { k: null })],
    ['too many answers', rank(good, { questions: Array(900).fill(good), k: 10_000 })],
    ['candidates of another word', rank(good, { candidates: 'none' })],
    ['a flag of text', rank(good, { includeKnown: 'yes' })],
    ['a time of text', rank({ ...good, time: 'yesterday' })],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from('{"questions":[]}', 'utf16le')],
    ['zeros', Buffer.alloc(1000)],
    ['too many bytes', `{"questions":"${'x'.repeat(maxBody)}"}`],
  ];
  const headers: readonly (readonly [string, Headers])[] = [
    ['another type', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a file', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['no type', { 'content-type': '' }],
    ['another character set', { 'content-type': 'application/json; charset=utf-16' }],
    ['a compressed body', { 'content-encoding': 'gzip' }],
    ['another host', { host: 'evil.example' }],
    ['a host with another port', { host: '127.0.0.1:1' }],
    ['no host', { host: '' }],
    ['a foreign origin', { origin: 'http://evil.example' }],
    ['no origin', { origin: 'null' }],
    ['an origin that begins like ours', { origin: `http://${host}.evil.example` }],
    ['an origin of another port', { origin: 'http://127.0.0.1:1' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
  ];
  const paths: readonly (readonly [string, string])[] = [
    ['GET', '/../../etc/passwd'],
    ['GET', '/%2e%2e/%2e%2e/etc/passwd'],
    ['GET', '/models/..%2f..%2fetc%2fpasswd'],
    ['GET', '/models/%00'],
    ['GET', '/models/%zz'],
    ['GET', '/models/__proto__'],
    ['GET', '/models/constructor'],
    ['GET', `/models/${'m'.repeat(5000)}`],
    ['GET', '/rank'],
    ['GET', '//rank'],
    ['GET', '/rank/'],
    ['GET', '/RANK'],
    ['PUT', '/rank'],
    ['DELETE', '/models/links'],
    ['PATCH', '/rank'],
    ['OPTIONS', '/rank'],
    ['POST', '/models'],
    ['POST', '/metrics'],
    ['POST', '/'],
    ['POST', '/models/links/load'],
    ['POST', '/models/other/rank'],
    ['TRACE', '/'],
    ['BREW', '/coffee'],
    ['GET', `/${'a'.repeat(20_000)}`],
    ['GET', '/quarantine'],
    ['GET', '/status'],
  ];
  const raw: readonly (readonly [string, string])[] = [
    ['no HTTP', 'hello\r\n\r\n'],
    ['another version', `GET / HTTP/9.9\r\nhost: ${host}\r\n\r\n`],
    ['no Host header', 'GET / HTTP/1.1\r\n\r\n'],
    [
      'a length and chunks',
      `POST /rank HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'two lengths',
      `POST /rank HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
    ],
    ['a negative length', `POST /rank HTTP/1.1\r\nhost: ${host}\r\ncontent-length: -5\r\n\r\n`],
    [
      'a length that no body has',
      `POST /rank HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n`,
    ],
    [
      'chunks of a wrong size',
      `POST /rank HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    ],
    ['long headers', `GET / HTTP/1.1\r\nhost: ${host}\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
    ['many headers', `GET / HTTP/1.1\r\nhost: ${host}\r\n${'x: y\r\n'.repeat(10_000)}\r\n`],
    [
      'an upgrade',
      `GET /nothing HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n`,
    ],
    ['a proxy', `CONNECT evil.example:443 HTTP/1.1\r\nhost: ${host}\r\n\r\n`],
    ['a whole address', 'GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\n\r\n'],
  ];
  return [
    ...bodies.map(([name, body]) => post(`/rank with ${name}`, '/rank', body)),
    ...headers.map(([name, more]) => post(`/rank with ${name}`, '/rank', rank(good), more)),
    post('/rank with a body of gzip', '/rank', gzipSync(JSON.stringify(rank(good))), {
      'content-encoding': 'gzip',
    }),
    ...paths.map(([method, path]) => request(`${method} ${path.slice(0, 60)}`, method, path)),
    ...raw.map(([name, text]) => ({ name, bytes: Buffer.from(text, 'latin1') })),
    ...['score', 'neighbors', 'embed', 'recommend', 'classify', 'events'].flatMap((path) =>
      [{}, [], null, { edges: 5, names: 5, events: 5 }, { names: [null] }, { edges: [{ head: 'p1' }] }].map(
        (body, i) => post(`/${path} with wrong body ${i}`, `/${path}`, body),
      ),
    ),
  ];
}
