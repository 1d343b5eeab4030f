/** Small files for the tests of readers: a folder that is removed again, .npy and .npz from arrays. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { onTestFinished } from 'vitest';

type Content = string | Uint8Array;

/** A folder with these files, for the duration of a test. */
export function makeFolder(files: Readonly<Record<string, Content>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'skein-events-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

/** A file in a folder of its own. */
export function makeFile(name: string, content: Content): string {
  return join(makeFolder({ [name]: content }), name);
}

/** The bytes of a .npy file, version 1. */
export function npy(shape: readonly number[], data: Float32Array | Float64Array | BigInt64Array): Buffer {
  const descr = data instanceof Float32Array ? '<f4' : data instanceof Float64Array ? '<f8' : '<i8';
  const sides = `${shape.join(', ')}${shape.length === 1 ? ',' : ''}`;
  const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sides}), }\n`;
  const start = Buffer.from('\x93NUMPY\x01\x00\x00\x00', 'latin1');
  start.writeUInt16LE(header.length, 8);
  return Buffer.concat([
    start,
    Buffer.from(header, 'latin1'),
    Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  ]);
}

/** The bytes of an .npz file: a zip archive whose members are stored as they are. */
export function npz(arrays: Readonly<Record<string, Buffer>>): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [key, data] of Object.entries(arrays)) {
    const name = Buffer.from(`${key}.npy`);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt32LE(crc32(data), 10);
    shared.writeUInt32LE(data.length, 14);
    shared.writeUInt32LE(data.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), shared, tail, name]));
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(locals.length, 8);
  end.writeUInt16LE(locals.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}
