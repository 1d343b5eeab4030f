/** Tables and edges that a checkpoint has cut otherwise than the run that opens it: cut again to be trained, read as they are. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { type BufferedTable, PartitionLayout, repartitionTable } from 'skein/storage';
import { initializeStorage, type SkeinConfig } from 'skein/train';
import { expect, test } from 'vitest';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(40, 300, 3);
const dataset = writeDataset(folder(), {
  ...{ numNodes: 40, numRelations: 3, train: rows.subarray(0, 750), test: rows.subarray(750) },
});
const buffered = (partitions: number) => ({
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: partitions, buffer_capacity: 2 } },
});
const epochs = (model_dir: string, num_epochs: number, storage: object, training: object = {}): SkeinConfig =>
  tinyConfig(dataset, {
    storage: { ...storage, model_dir },
    training: { num_epochs, resume_training: num_epochs > 1, ...training },
  });

/** Every file below a folder with when it was written. */
const filesOf = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => `${name} ${statSync(join(path, name)).mtimeMs}`)
    .toSorted();

test('a run that was all in memory continues through a buffer, which then keeps its partitions', async () => {
  const at = folder();
  const inFile = { edges: { type: 'FLAT_FILE' } };
  // Its edges are sorted for 5 partitions, those of the buffer are 4.
  const [first] = (await run(epochs(at, 1, inFile, { bucket_partitions: 5 }))).losses;
  const { losses, events } = await run(epochs(at, 2, { ...buffered(4), ...inFile }));
  expect(losses.length).toBe(1);
  expect(losses[0]).toBeLessThan(first);
  expect(events.find(({ event }) => event === 'epoch')?.['items']).toBe(250);
  await expect(run(epochs(at, 3, { ...buffered(3), ...inFile }))).rejects.toThrow(
    /num_partitions: expected 4, as the run in .* has, got 3\. A run keeps its partitions/,
  );
  expect((await run(epochs(at, 3, {}))).losses.length).toBe(1);
});

async function cutInPieces(path: string): Promise<{ manifest: TableManifest; values: Float32Array }> {
  const opened = await PreparedDataset.open(dataset);
  const { storage, table } = await initializeStorage(tinyConfig(dataset), opened, { tableDirectory: path });
  const values = (await storage.embeddings?.range(0, 40)) as Float32Array;
  const whole = (await table?.checkpoint()) as TableManifest;
  return { manifest: await repartitionTable(path, whole, new PartitionLayout(40, 6, { pieces: 2 })), values };
}

test.each([
  ['in memory', {}],
  ['through a buffer', buffered(3)],
])('a table that is only read %s is read as it is cut', async (_, storage) => {
  const path = folder();
  const { manifest, values } = await cutInPieces(path);
  const before = filesOf(path);
  const opened = await PreparedDataset.open(dataset);
  const config = tinyConfig(dataset, { storage });
  const places = { tableDirectory: path, manifest, readOnly: true };
  const made = await initializeStorage(config, opened, places);
  made.storage.residency.setOrdering([Int32Array.of(0, 1)]);
  await made.storage.residency.load();
  expect(await made.storage.embeddings?.range(0, 40)).toEqual(values);
  expect((made.table as BufferedTable).buffer.layout.pieces).toBe(2);
  await made.storage.residency.unload(false);
  expect(filesOf(path)).toEqual(before);
  const none = { tableDirectory: folder(), readOnly: true };
  await expect(initializeStorage(config, opened, none)).rejects.toThrow(
    /expected the manifest of a checkpoint/,
  );
});
