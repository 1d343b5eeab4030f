/** Edited manifests are rejected, with an error that names the problem, before a file is changed. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PartitionLayout, repartitionTable } from 'skein/storage';
import { FormatError, SkeinError } from 'skein/util';
import { expect, it } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { scratchFolder, table45 } from './tables.js';

const folder = scratchFolder();

type Edited = { -readonly [K in keyof TableManifest]: unknown };

it.each<[string, (manifest: TableManifest) => Partial<Edited>]>([
  [
    'a version that is a path',
    ({ writable }) => ({ writable: writable.map((file) => ({ ...file, version: '/../../evil' })) }),
  ],
  ['no columns', () => ({ columns: null })],
  ['a column that is nothing', () => ({ columns: [null] })],
  ['a file that is nothing', ({ writable }) => ({ writable: writable.map(() => null) })],
  ['files that are not a list', () => ({ writable: { length: 5 } })],
])('%s', async (_, edit) => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  const given = { ...manifest, ...edit(manifest) } as TableManifest;
  await expect(TableFiles.open(at, given)).rejects.toThrow(SkeinError);
});

it('a file of a version beyond all numbers does not keep the table from being written', async () => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  const oversized = ['writable-00000.v99999999999999999999.bin', 'spare-99999999999999999999.bin'];
  for (const name of oversized) writeFileSync(join(at, name), '');
  const files = await TableFiles.open(at, manifest);
  expect(files.nextVersion).toBeLessThan(100);
  await files.writePartition(0, [new Uint8Array(files.layout.rowsOf(0) * 12)]);
  await TableFiles.open(at, files.manifest());
  await files.removeUnreferenced([]);
  expect(readdirSync(at)).not.toContain(oversized[0]);
});

it('corruption that is found while a table is repartitioned is reported, and no new file stays', async () => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  const [name] = readdirSync(at).filter((file) => file.startsWith('writable-00003'));
  const bytes = readFileSync(join(at, name));
  bytes[5] ^= 1;
  writeFileSync(join(at, name), bytes);
  const before = readdirSync(at).sort();
  const cut = repartitionTable(at, manifest, new PartitionLayout(45, 9));
  await expect(cut).rejects.toThrow(FormatError);
  await expect(cut).rejects.toThrow(name);
  expect(readdirSync(at).sort()).toEqual(before);
});

it('a layout of other rows', async () => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  await expect(repartitionTable(at, manifest, new PartitionLayout(44, 2))).rejects.toThrow(
    /repartitionTable: expected a layout of 45 rows for layout/,
  );
});
