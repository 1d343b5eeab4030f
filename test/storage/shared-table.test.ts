/** One table, several writers: each has partitions of its own, and what they tell each other makes one manifest. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PartitionLayout, repartitionTable } from 'skein/storage';
import { afterAll, expect, it } from 'vitest';
import type { ColumnInit } from '#internal/storage/partition-transfer.js';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableColumn, TableManifest } from '#internal/storage/table-manifest.js';

const root = mkdtempSync(join(tmpdir(), 'skein-shared-table-'));
afterAll(() => rmSync(root, { recursive: true }));
let count = 0;
const folder = (): string => join(root, `t${count++}`);

const columns: readonly TableColumn[] = [
  { name: 'a', width: 3, dtype: 'f32', writable: true },
  { name: 'half', width: 2, dtype: 'bf16', writable: true },
  { name: 'fixed', width: 1, dtype: 'f32', writable: false },
];
const init: ColumnInit = ({ column, start, values }) => {
  for (let i = 0; i < values.length; i++) values[i] = start * column.width + i;
};

/** The bytes of a partition's columns. */
async function read(files: TableFiles, k: number): Promise<Uint8Array[]> {
  const rows = files.layout.rowsOf(k);
  const views = files.columns.map((c) => new Uint8Array(rows * c.width * (c.dtype === 'f32' ? 4 : 2)));
  await files.readPartition(k, views);
  return views;
}

/** Every column, all partitions one after the other. */
async function whole(path: string, manifest: TableManifest): Promise<string[]> {
  const files = await TableFiles.open(path, manifest);
  const parts: Uint8Array[][] = [];
  for (let k = 0; k < files.layout.partitions; k++) parts.push(await read(files, k));
  return files.columns.map((_, i) => Buffer.concat(parts.map((views) => views[i])).toString('hex'));
}

it('writers of different partitions make the table that one makes', async () => {
  const layout = new PartitionLayout(23, 5);
  const alone = folder();
  const one = await TableFiles.create(alone, { layout, columns, init });
  const path = folder();
  await TableFiles.prepare(path);
  // Also: partitions 0, 1 and 4 for one of them, as if there were pieces.
  const ranges = [
    { first: 0, end: 2, of: 4 },
    { first: 2, end: 4, of: 4 },
  ];
  const both = await Promise.all(
    ranges.map((own) => TableFiles.create(path, { layout, columns, init, own })),
  );
  const tell = (): TableManifest => {
    const written = both.map((files) => files.ownVersions());
    for (const files of both) for (const versions of written) files.takeVersions(versions);
    const manifests = both.map((files) => files.manifest());
    expect(manifests[1]).toEqual(manifests[0]);
    return manifests[0];
  };
  const first = tell();
  expect(await whole(path, first)).toEqual(await whole(alone, one.manifest()));

  // A change of one partition by its owner: the other sees it, the first manifest still holds, and then it can go.
  const views = await read(both[1], 3);
  views[0].fill(7);
  await both[1].writePartition(3, views);
  const second = tell();
  expect((await read(both[0], 3))[0].every((byte) => byte === 7)).toBe(true);
  expect(await whole(path, first)).toEqual(await whole(alone, one.manifest()));
  await both[0].removeUnreferenced([second]);
  expect(readdirSync(path).filter((name) => name.startsWith('writable-00003'))).toEqual([
    `writable-00003.v${second.writable[3].version}.bin`,
  ]);
  expect(readdirSync(path).filter((name) => name.startsWith('spare'))).toEqual([]);
});

it('rejects a folder that has a table', async () => {
  const path = folder();
  await TableFiles.create(path, { layout: new PartitionLayout(4, 2), columns });
  await expect(TableFiles.prepare(path)).rejects.toThrow('a folder without a table');
});

it('a table that is divided for workers is merged and divided again with the same rows', async () => {
  const path = folder();
  const whole4 = new PartitionLayout(23, 4);
  const inPieces = new PartitionLayout(23, 12, { pieces: 3 });
  const old = await TableFiles.create(path, { layout: whole4, columns, init });
  const cut = await repartitionTable(path, old.manifest(), inPieces);
  expect(cut).toMatchObject({ formatVersion: 2, partitions: 12, pieces: 3, size: 2 });
  expect(await whole(path, cut)).toEqual(await whole(path, old.manifest()));
  const again = await repartitionTable(path, cut, whole4);
  expect(again).toMatchObject({ formatVersion: 1, partitions: 4 });
  expect(await whole(path, again)).toEqual(await whole(path, cut));
  expect(await repartitionTable(path, again, whole4)).toBe(again);
  await expect(old.restore(cut)).rejects.toThrow('expected a manifest of 23 rows in 4 partitions of 6');
});

it.each([
  [1, 4],
  [5, 2],
  [3, 23],
  [4, 8],
])('a table of %i partitions is the same in %i, and both stay', async (from, to) => {
  const path = folder();
  const old = await TableFiles.create(path, { layout: new PartitionLayout(23, from), columns, init });
  const before = old.manifest();
  const after = await repartitionTable(path, before, new PartitionLayout(23, to));
  expect(after.partitions).toBe(to);
  expect(await whole(path, after)).toEqual(await whole(path, before));
});
