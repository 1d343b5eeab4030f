/** Tables on disk: versions, checksums, what a manifest promises, what is removed and what is reused. */
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, truncate, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PartitionLayout } from 'skein/storage';
import { FormatError, StorageError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { column, countingInit, scratchFolder, table45, valueAt, wholeColumn } from './tables.js';

const folder = scratchFolder();

const expectedRows = (rows: number, width: number): number[] =>
  Array.from({ length: rows * width }, (_, i) => valueAt(Math.floor(i / width), i % width));

async function flip(path: string, position: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[position] ^= 1;
  await writeFile(path, bytes);
}

const bytesOf = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer);

describe('content', () => {
  test('create fills every row once, whatever the partitions; open finds it again', async () => {
    for (const partitions of [1, 2, 5, 6, 45]) {
      const at = await folder();
      const layout = new PartitionLayout(45, partitions);
      const files = await TableFiles.create(at, { layout, columns: [column('x', 3)], init: countingInit });
      expect([...(await wholeColumn(files))]).toEqual(expectedRows(45, 3));
      const manifest = JSON.parse(JSON.stringify(files.manifest())) as TableManifest;
      const again = await TableFiles.open(at, manifest);
      expect([...(await wholeColumn(again))]).toEqual(expectedRows(45, 3));
      expect(again.manifest()).toEqual(manifest);
    }
  });

  test('files larger than the staging memory, in both modes, are the same bytes', async () => {
    const width = 700;
    const layout = new PartitionLayout(13001, 2);
    const manifests: TableManifest[] = [];
    for (const io of ['auto', 'buffered'] as const) {
      const at = await folder();
      const files = await TableFiles.create(at, {
        layout,
        columns: [column('x', width), column('s', 1)],
        init: countingInit,
        io,
      });
      const values = new Float32Array(layout.rowsOf(1) * width);
      const state = new Float32Array(layout.rowsOf(1));
      await files.readPartition(1, [bytesOf(values), bytesOf(state)]);
      expect(values[0]).toBe(valueAt(layout.size, 0));
      expect(values[values.length - 1]).toBe(valueAt(13000, width - 1));
      expect(state[state.length - 1]).toBe(13000);
      if (io === 'buffered') expect(files.direct).toBe(false);
      manifests.push(files.manifest());
    }
    expect(manifests[0]).toEqual(manifests[1]);
  });

  test('direct transfers are used where the file system takes them', async () => {
    const at = await folder();
    const files = await table45(at);
    const probe = await open(
      join(at, 'probe'),
      constants.O_CREAT | constants.O_RDWR | constants.O_DIRECT,
    ).then(
      (file) => file.close().then(() => true),
      () => false,
    );
    // Without the addon memory cannot be aligned, so that the first transfer falls back.
    if (probe && process.env.SKEIN_NATIVE !== '0') expect(files.direct).toBe(true);
    expect([...(await wholeColumn(files))]).toEqual(expectedRows(45, 3));
  });

  test('half-precision columns hold the rounded values', async () => {
    const at = await folder();
    const columns = [column('h', 2, { dtype: 'f16' }), column('b', 2, { dtype: 'bf16' })];
    const files = await TableFiles.create(at, {
      layout: new PartitionLayout(4, 2),
      columns,
      init: ({ values }) =>
        void values.set([1.5, -2, 1 + 2 ** -11, 1 + 3 * 2 ** -11].slice(0, values.length)),
    });
    const views = [new Uint16Array(4), new Uint16Array(4)];
    await files.readPartition(
      0,
      views.map((v) => new Uint8Array(v.buffer)),
    );
    // Ties go to the even neighbour: down to 1, up to 1 + 2^-9.
    expect([...views[0]]).toEqual([0x3e00, 0xc000, 0x3c00, 0x3c02]);
    expect([...views[1]]).toEqual([0x3fc0, 0xc000, 0x3f80, 0x3f80]);
  });
});

describe('versions', () => {
  const rows = (value: number): Uint8Array => bytesOf(new Float32Array(30).fill(value));

  test('a manifest keeps its versions however often partitions are written', async () => {
    const files = await table45(await folder());
    const first = files.manifest();
    for (let round = 1; round <= 4; round++) await files.writePartition(1, [rows(round)]);
    const middle = files.manifest();
    await files.writePartition(1, [rows(9)]);
    await files.writePartition(2, [rows(9)]);
    const old = await wholeColumn(await TableFiles.open(files.folder, first));
    expect([...old]).toEqual(expectedRows(45, 3));
    const between = await wholeColumn(await TableFiles.open(files.folder, middle));
    expect(between[30]).toBe(4);
    expect(between[60]).toBe(20);
    expect((await wholeColumn(files))[60]).toBe(9);
  });

  test('versions that no manifest names are written over, so the folder does not grow', async () => {
    const files = await table45(await folder());
    const count = async (): Promise<number> => (await readdir(files.folder)).length;
    await files.writePartition(0, [rows(1)]);
    const before = await count();
    for (let i = 0; i < 10; i++) await files.writePartition(i % 4, [rows(i)]);
    expect(await count()).toBe(before);
  });

  test('removeUnreferenced keeps the present and the given, and nothing else', async () => {
    const files = await table45(await folder());
    const first = files.manifest();
    await files.writePartition(0, [rows(1)]);
    const second = files.manifest();
    await files.writePartition(0, [rows(2)]);
    await files.removeUnreferenced([second]);
    await expect(TableFiles.open(files.folder, first)).rejects.toThrow(StorageError);
    expect((await wholeColumn(await TableFiles.open(files.folder, second)))[0]).toBe(1);
    expect((await wholeColumn(files))[0]).toBe(2);
    await files.removeSpares();
    const versions = (await readdir(files.folder)).sort();
    expect(versions.length).toBe(6);
  });

  test('a reopened table never meets the versions of a run that was cut short', async () => {
    const files = await table45(await folder());
    const saved = files.manifest();
    for (let i = 0; i < 3; i++) await files.writePartition(0, [rows(i)]);
    await writeFile(join(files.folder, '.writable-00001.v99.bin.tmp'), 'half a file');
    const resumed = await TableFiles.open(files.folder, saved);
    await resumed.writePartition(0, [rows(7)]);
    expect(resumed.manifest().writable[0].version).toBeGreaterThan(files.manifest().writable[0].version);
    await resumed.removeUnreferenced([resumed.manifest()]);
    await resumed.removeSpares();
    expect((await readdir(files.folder)).length).toBe(5);
    expect((await wholeColumn(resumed))[0]).toBe(7);
  });

  test('a new version is not written over the longer half of one that was cut short', async () => {
    const files = await table45(await folder());
    const saved = files.manifest();
    const next = Math.max(...saved.writable.map(({ version }) => version)) + 1;
    // Of the same table, cut into longer partitions.
    await writeFile(join(files.folder, `.writable-00000.v${next}.bin.tmp`), new Uint8Array(1 << 14));
    const resumed = await TableFiles.open(files.folder, saved);
    await resumed.writePartition(0, [rows(7)]);
    const opened = await TableFiles.open(files.folder, resumed.manifest());
    expect((await wholeColumn(opened))[0]).toBe(7);
    await opened.removeUnreferenced([opened.manifest()]);
    expect((await readdir(files.folder)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  test('new versions come after all that a manifest names, also those that are not listed yet', async () => {
    const files = await table45(await folder());
    const opened = await TableFiles.open(files.folder, files.manifest());
    opened.startFrom(40);
    opened.startFrom(3);
    await opened.writePartition(0, [rows(7)]);
    expect(opened.manifest().writable[0].version).toBe(40);
    await files.restore(opened.manifest());
    expect(files.nextVersion).toBe(41);
  });

  test('columns that are only read are written once', async () => {
    const columns = [column('x', 3), column('features', 2, { writable: false })];
    const files = await table45(await folder(), columns);
    await files.writePartition(0, [rows(1), new Uint8Array(80)]);
    expect(files.manifest().fixed.every(({ version }) => version <= 10)).toBe(true);
    expect((await wholeColumn(files, 1))[2]).toBe(1);
    expect((await wholeColumn(files))[0]).toBe(1);
  });

  test('sync works on new and on reused files', async () => {
    const files = await table45(await folder());
    await files.sync();
    for (let i = 0; i < 3; i++) await files.writePartition(0, [rows(i)]);
    await files.sync();
    await files.sync();
    expect((await wholeColumn(await TableFiles.open(files.folder, files.manifest())))[0]).toBe(2);
  });
});

describe('damage', () => {
  test('one flipped bit anywhere in a file, padding included, is found and the file named', async () => {
    const files = await table45(await folder());
    const path = files.filePath('writable', 3);
    for (const position of [0, 119, 120, 4095]) {
      await flip(path, position);
      const reading = wholeColumn(files);
      await expect(reading).rejects.toThrow(FormatError);
      await expect(files.verify()).rejects.toThrow(/writable-00003/);
      await expect(reading).rejects.toThrow(/expected checksum 0x[0-9a-f]{8} in .*writable-00003.*, got 0x/);
      await flip(path, position);
    }
    await files.verify();
    expect((await wholeColumn(files)).length).toBe(135);
  });

  test('a missing, a truncated and an exchanged file', async () => {
    const files = await table45(await folder());
    const manifest = files.manifest();
    await truncate(files.filePath('writable', 1), 100);
    await expect(TableFiles.open(files.folder, manifest)).rejects.toThrow(
      /expected 4096 bytes in .*, got 100/,
    );
    await expect(wholeColumn(files)).rejects.toThrow('got 100. The file is truncated');
    await writeFile(files.filePath('writable', 1), await readFile(files.filePath('writable', 2)));
    await expect(wholeColumn(files)).rejects.toThrow('expected checksum');
    await unlink(files.filePath('writable', 1));
    await expect(TableFiles.open(files.folder, manifest)).rejects.toThrow('got ENOENT');
  });

  test('a manifest that does not fit', async () => {
    const files = await table45(await folder());
    const manifest = files.manifest();
    const open = (change: object): Promise<TableFiles> =>
      TableFiles.open(files.folder, { ...manifest, ...change } as TableManifest);
    await expect(open({ format: 'other' })).rejects.toThrow('expected skein-table version 1 for manifest');
    await expect(open({ formatVersion: 2 })).rejects.toThrow('got "skein-table 2"');
    await expect(open({ writable: manifest.writable.slice(1) })).rejects.toThrow('expected 5 files');
    await expect(open({ partitions: 0 })).rejects.toThrow('for partitions, got 0');
    await expect(open({ columns: [] })).rejects.toThrow('at least one column');
    await expect(open({ columns: [column('x', 3, { dtype: 'f64' as 'f32' })] })).rejects.toThrow(
      'f32, f16 or bf16',
    );
  });

  test('a folder that already has a table, and one that cannot be', async () => {
    const files = await table45(await folder());
    await expect(table45(files.folder)).rejects.toThrow('expected a folder without a table');
    const at = await folder();
    await writeFile(at, 'a file');
    await expect(table45(join(at, 'x'))).rejects.toThrow(StorageError);
    await mkdir(`${at}-dir`);
    await expect(table45(`${at}-dir`)).resolves.toBeInstanceOf(TableFiles);
  });
});
