/** Archives: only the files of the entry are taken out of them, whatever else they hold. */
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crc32 } from '../util/crc32.js';
import type { CatalogueEntry } from './catalogue.js';
import { findFiles } from './download.js';

let folder = '';
let address = '';
let server: Server;
const served = new Map<string, Uint8Array>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-download-'));
  server = createServer((request, response) => {
    const body = served.get(request.url ?? '');
    response.writeHead(body === undefined ? 404 : 200).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

const content = {
  '../../escape.txt': 'no',
  'set/raw/a.txt': 'first',
  'set/b.txt': 'second',
  'set/c.txt': 'unwanted',
};

function tar(): Uint8Array {
  const blocks = Object.entries(content).flatMap(([name, text]) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write(text.length.toString(8).padStart(11, '0'), 124);
    header.write('0', 156);
    header.write('ustar', 257);
    const body = Buffer.alloc(Math.ceil(text.length / 512) * 512);
    body.write(text);
    return [header, body];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

function zip(): Uint8Array {
  const locals: Buffer[] = [];
  const records: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(content)) {
    const packed = deflateRawSync(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(Buffer.from(text)), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(text.length, 18);
    common.writeUInt16LE(name.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    records.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, tail, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(records);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(records.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}

test.each([
  ['set.tgz', tar],
  ['set.zip', zip],
])('%s', async (archive, make) => {
  served.set(`/${archive}`, make());
  const root = join(folder, archive);
  const entry: CatalogueEntry = {
    title: 'test',
    licence: 'none',
    folder: 'set',
    files: [[{ name: 'raw/a.txt' }], [{ name: 'b.txt' }]],
    archive: `${address}/${archive}`,
    counts: {},
  };
  const paths = await findFiles('test', entry, { root, download: true });
  expect(paths).toEqual([join(root, 'set/raw/a.txt'), join(root, 'set/b.txt')]);
  expect(await Promise.all(paths.map((path) => readFile(path, 'utf8')))).toEqual(['first', 'second']);
  expect((await readdir(folder, { recursive: true })).filter((name) => /escape|c\.txt/.test(name))).toEqual(
    [],
  );
  served.delete(`/${archive}`);
  expect(await findFiles('test', entry, { root, download: true })).toEqual(paths);
});

test('an archive without a wanted file, and one that is truncated, are named', async () => {
  const entry = (archive: string): CatalogueEntry => ({
    ...{ title: 'test', licence: 'none', folder: 'set', files: [[{ name: 'd.txt' }]], counts: {} },
    archive: `${address}/${archive}`,
  });
  served.set('/none.tgz', tar());
  served.set('/cut.zip', zip().subarray(0, 100));
  const find = (archive: string) =>
    findFiles('test', entry(archive), { root: join(folder, 'x'), download: true });
  await expect(find('none.tgz')).rejects.toThrow(/download failed: download: expected d\.txt in the archive/);
  await expect(find('cut.zip')).rejects.toThrow(/download failed: cut\.zip: expected a zip archive/);
});
