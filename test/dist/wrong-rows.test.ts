/** Tables of trained rows reject ids and values that do not fit, before anything is sent or changed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DistributedEmbeddings, SelfCommunicator, WorkerGroup } from 'skein/dist';
import { MemoryEmbeddings, MemoryStore, PartitionLayout, rowSGD } from 'skein/storage';
import { afterAll, describe, expect, it } from 'vitest';
import { ownSlices } from '#internal/dist/stores/own-slices.js';
import { ShardEmbeddings } from '#internal/dist/stores/shard-embeddings.js';
import { openShardedRows } from '#internal/dist/stores/sharded-rows.js';
import { TableFiles } from '#internal/storage/table-files.js';

const root = mkdtempSync(join(tmpdir(), 'skein-wrong-rows-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const rows = 600;
const width = 2;
const optimizer = () => rowSGD({ learningRate: 1 });
const ids = (...values: number[]) => Int32Array.from(values);

async function table(pieces = 1) {
  const comm = new SelfCommunicator();
  const layout = new PartitionLayout(rows, pieces);
  const columns = optimizer().columns('x', width);
  const path = mkdtempSync(join(root, 't-'));
  const files = await TableFiles.create(path, { layout, columns, own: ownSlices(pieces, 0, 1) });
  return { files, group: new WorkerGroup({ comm }), optimizer: optimizer() };
}

/** Ids and gradients that every table of trained rows rejects. */
function wrongUpdates(made: { update(ids: Int32Array, gradient: Float32Array): void }): void {
  expect(() => made.update(ids(rows), new Float32Array(width))).toThrow('an id from 0 to 599 for ids[0]');
  expect(() => made.update(ids(-1), new Float32Array(width))).toThrow('an id from 0 to 599 for ids[0]');
  expect(() => made.update([1] as never, new Float32Array(width))).toThrow('an Int32Array for ids');
  expect(() => made.update(ids(1), new Float32Array(3))).toThrow('1 rows of 2 elements for gradient');
  expect(() => made.update(ids(1), new Float64Array(width) as never)).toThrow(
    'a Float32Array or a tensor of f32 for gradient',
  );
}

describe('ShardEmbeddings', () => {
  const all = Int32Array.from({ length: rows }, (_, i) => i);

  it.each([
    ['beyond the end', all.map((id) => (id === 7 ? rows : id)), /from 0 to 599, got node 600/],
    ['below 0', all.map((id) => (id === 7 ? -1 : id)), /from 0 to 599, got node -1/],
    ['twice', all.map((id) => (id === 7 ? 8 : id)), /every node of the dataset once, got node 7 0 times/],
    // A counter of one byte would wrap around to 1.
    ['257 times', Int32Array.of(...all, ...new Int32Array(256).fill(9)), /once, got node 9 257 times/],
  ])('a node %s', async (_, nodeIds, message) => {
    await expect(ShardEmbeddings.open({ ...(await table()), nodeIds })).rejects.toThrow(message);
  });

  it('updates', async () => {
    const made = await ShardEmbeddings.open({ ...(await table()), nodeIds: all });
    wrongUpdates(made);
    expect(made.data().every((value) => value === 0)).toBe(true);
  });
});

describe('DistributedEmbeddings', () => {
  it('ids, rows to fill and gradients', async () => {
    const { files, group, optimizer: step } = await table(2);
    const made = new DistributedEmbeddings(files, group, { column: 'x', optimizer: step });
    await made.load();
    wrongUpdates(made);
    await expect(made.gather(ids(rows))).rejects.toThrow('an id from 0 to 599 for ids[0], got 600');
    await expect(made.gather(ids(1), new Float32Array(1))).rejects.toThrow('1 rows of 2 elements for values');
    await expect(made.gather(ids(1), new Float64Array(2) as never)).rejects.toThrow(
      'Float32Array for values',
    );
    expect(() => made.resident(ids(rows))).toThrow('an id from 0 to 599 for ids[0], got 600');
    made.update(ids(3), Float32Array.of(1, 2));
    expect([...(await made.gather(ids(3)))]).toEqual([-1, -2]);
    await made.close();
  });
});

describe('MemoryEmbeddings', () => {
  const update = () => undefined;

  it('values, width and update', () => {
    const values = new Float32Array(6);
    expect(() => new MemoryEmbeddings(values, 0, update)).toThrow('a whole number of at least 1 for width');
    expect(() => new MemoryEmbeddings(values, 4, update)).toThrow('whole rows of 4 elements');
    expect(() => new MemoryEmbeddings([1] as never, 1, update)).toThrow('a Float32Array for values');
    expect(() => new MemoryEmbeddings(values, 2, undefined as never)).toThrow('a function for update');
    expect(() => new MemoryStore(values, { rows: 1.5, width: 4 })).toThrow(
      'a whole number of at least 0 for rows',
    );
  });

  it('ids and gradients', async () => {
    const made = new MemoryEmbeddings(new Float32Array(rows * width), width, update);
    wrongUpdates(made);
    await expect(made.residentAsync(ids(rows))).rejects.toThrow('an id from 0 to 599 for ids[0], got 600');
  });
});

it.each<[string, object, string]>([
  ['rows', { rows: -1 }, 'a whole number of at least 0 for rows, got -1'],
  ['width', { width: 0 }, 'a whole number of at least 1 for width, got 0'],
  ['comm', { comm: null }, 'a Communicator for comm, got null'],
  ['read', { read: 3 }, 'a function for read, got 3'],
])('openShardedRows: %s', async (_, wrong, message) => {
  const given = { rows: 4, width: 2, comm: new SelfCommunicator(), read: () => new Float32Array(8) };
  await expect(openShardedRows('rows', { ...given, ...wrong })).rejects.toThrow(
    `openShardedRows: expected ${message}`,
  );
});
