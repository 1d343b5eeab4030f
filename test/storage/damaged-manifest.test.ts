/** Manifests that were edited are refused by name before a file is touched. */
import { PartitionLayout, recutTable, TableFiles, type TableManifest } from 'skein/storage';
import { SkeinError } from 'skein/util';
import { expect, it } from 'vitest';
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
  ['files that are no list', () => ({ writable: { length: 5 } })],
])('%s', async (_, edit) => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  const given = { ...manifest, ...edit(manifest) } as TableManifest;
  await expect(TableFiles.open(at, given)).rejects.toThrow(SkeinError);
});

it('a layout of other rows', async () => {
  const at = await folder();
  const manifest = (await table45(at)).manifest();
  await expect(recutTable(at, manifest, new PartitionLayout(44, 2))).rejects.toThrow(
    /recutTable: expected a layout of 45 rows for layout/,
  );
});
