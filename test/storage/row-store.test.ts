/** One contract for every row store, then what each has of its own, under Marius's names too. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FlatFile, InMemory, PartitionBufferStorage } from 'skein/marius';
import {
  FileStore,
  HotColdStore,
  MemoryStore,
  PartitionBufferStore,
  PartitionLayout,
  type RowArray,
  type StoreType,
} from 'skein/storage';
import { FormatError, StateError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import {
  blank,
  type OpenedStore,
  rowStoreContract,
  contractRows as rows,
  contractWidth as width,
} from './row-store-contract.js';
import { column, scratchFolder, table45 } from './tables.js';

const folder = scratchFolder();
const raw = (dtype: StoreType, data: RowArray): Uint8Array => {
  if (dtype !== 'f16' && dtype !== 'bf16') return new Uint8Array(data.buffer);
  return new Uint8Array(new Uint16Array(data.length).buffer);
};

async function rawFile(dtype: StoreType, data: RowArray): Promise<string> {
  const at = await folder();
  await mkdir(at);
  const path = join(at, 'rows.bin');
  await writeFile(path, raw(dtype, data));
  return path;
}

async function openStore(kind: string, dtype: StoreType): Promise<OpenedStore> {
  const shape = { rows, width, dtype };
  if (kind === 'memory') return new MemoryStore(blank(dtype, rows * width), shape) as unknown as OpenedStore;
  if (kind.startsWith('partition')) {
    const layout = new PartitionLayout(rows, 5);
    const columns = [column('x', width, { dtype: dtype as 'f32' })];
    const files = await TableFiles.create(await folder(), { layout, columns });
    return new PartitionBufferStore(files, kind === 'partition, all' ? 5 : 2) as unknown as OpenedStore;
  }
  if (kind.startsWith('hot')) {
    const cold = await openStore(kind.endsWith('file') ? 'file' : 'memory', dtype);
    const scores = Array.from({ length: rows }, (_, id) => (id * 7) % rows);
    const rowBytes = width * blank(dtype, 0).BYTES_PER_ELEMENT;
    if (kind.includes('fixed'))
      return new HotColdStore(cold, { size: 8 * rowBytes, scores, dynamicShare: 0.5 });
    return new HotColdStore(cold, { size: 3 * rowBytes });
  }
  const path = await rawFile(dtype, blank(dtype, rows * width));
  if (kind === 'file, direct') return new FileStore(path, shape, { io: 'auto' }) as unknown as OpenedStore;
  const Store = kind === 'file' ? FileStore : MemoryStore;
  return new Store(path, shape) as unknown as OpenedStore;
}

const kinds: [string, StoreType][] = [
  ...(['f32', 'f64', 'i32', 'f16', 'bf16'] as const).flatMap((dtype): [string, StoreType][] => [
    ['memory', dtype],
    ['memory with a file', dtype],
    ['file', dtype],
    ['file, direct', dtype],
    ['hot rows over memory', dtype],
    ['hot rows over a file', dtype],
    ['hot, some fixed, over a file', dtype],
  ]),
  ...(['f32', 'f16', 'bf16'] as const).flatMap((dtype): [string, StoreType][] => [
    ['partition', dtype],
    ['partition, all', dtype],
  ]),
];

describe.each(kinds)('%s, %s', (kind, dtype) => {
  test.each(rowStoreContract)('$name', async ({ run }) => {
    await run(() => openStore(kind, dtype), dtype);
  });
});

describe.each([
  ['InMemory', InMemory],
  ['FlatFile', FlatFile],
])('%s', (_, Store) => {
  const edges = Int32Array.of(3, 0, 1, 1, 2, 0, 0, 5, 2, 0, 1, 3, 1, 1, 1);
  const open = async (data = edges): Promise<InstanceType<typeof FlatFile<Int32Array>>> =>
    new Store(await rawFile('i32', data), {
      rows: data.length / 3,
      width: 3,
      dtype: 'i32',
    }) as unknown as FlatFile<Int32Array>;
  const rowsOf = (data: Int32Array): string[] =>
    Array.from({ length: data.length / 3 }, (_, i) => data.slice(3 * i, 3 * i + 3).join());

  test('Marius names: load twice, indexRead, indexAdd, indexPut, write, unload', async () => {
    const store = await open();
    await expect(store.rangePut(0, edges.slice(0, 3))).rejects.toThrow(StateError);
    await store.load();
    await store.load();
    expect([...(await store.indexRead(Int32Array.of(1)))]).toEqual([1, 2, 0]);
    await store.indexAdd(Int32Array.of(1), Int32Array.of(1, 1, 1));
    await store.indexPut(Int32Array.of(0), Int32Array.of(9, 9, 9));
    await store.write();
    await store.unload(true);
    await expect(store.range(0, 1)).rejects.toThrow('Call load() first');
    const bytes = await readFile(store.path);
    expect([...new Int32Array(bytes.buffer, bytes.byteOffset, 6)]).toEqual([9, 9, 9, 2, 3, 1]);
  });

  test('shuffle permutes whole rows, the same way for the same seed', async () => {
    const store = await open();
    await store.load();
    const order = await store.shuffle(5);
    const shuffled = await store.range(0, 5);
    expect(rowsOf(shuffled).sort()).toEqual(rowsOf(edges).sort());
    expect(rowsOf(shuffled)).toEqual(Array.from(order, (i) => rowsOf(edges)[i]));
    const again = await open();
    await again.load();
    expect(await again.shuffle(5)).toEqual(order);
    expect(await again.shuffle(6)).not.toEqual(order);
    for (const s of [store, again]) await s.unload();
  });

  test('sort by the first or the last column, stable; within edge buckets when there are sizes', async () => {
    const store = await open();
    await store.load();
    await store.sort(0);
    expect(rowsOf(await store.range(0, 5))).toEqual(['0,5,2', '0,1,3', '1,2,0', '1,1,1', '3,0,1']);
    await store.sort(-1);
    expect(rowsOf(await store.range(0, 5))).toEqual(['1,2,0', '1,1,1', '3,0,1', '0,5,2', '0,1,3']);
    await expect(store.sort(3)).rejects.toThrow('expected a column from -3 to 2');
    const sizes = join(await folder(), '..', 'sizes.txt');
    await writeFile(sizes, '2\n0\n2\n1\n');
    expect([...(await store.readPartitionSizes(sizes))]).toEqual([2, 0, 2, 1]);
    await store.sort(1);
    expect(rowsOf(await store.range(0, 5))).toEqual(['1,1,1', '1,2,0', '3,0,1', '0,5,2', '0,1,3']);
    const order = await store.shuffle(1);
    expect([...order.slice(0, 2)].sort()).toEqual([0, 1]);
    expect(order[4]).toBe(4);
    await writeFile(sizes, '2\nx\n');
    await expect(store.readPartitionSizes(sizes)).rejects.toThrow(
      'sizes.txt:2: expected a whole number, got "x"',
    );
    await writeFile(sizes, '2\n2\n');
    await expect(store.readPartitionSizes(sizes)).rejects.toThrow('add up to 5, got 4');
    await store.unload();
  });

  test('a file of another size is refused', async () => {
    const path = await rawFile('i32', edges.slice(0, 14));
    const store = new Store(path, { rows: 5, width: 3, dtype: 'i32' });
    await expect(store.load()).rejects.toThrow(FormatError);
    await expect(store.load()).rejects.toThrow('got 56. It must have 5 rows of 3 elements (i32)');
  });
});

test('FlatFile appends rows', async () => {
  const store = new FlatFile<Float32Array>(await rawFile('f32', new Float32Array(0)), { rows: 0, width: 2 });
  await store.load();
  await store.append(Float32Array.of(1, 2, 3, 4));
  await store.append(Float32Array.of(5, 6));
  expect(store.rows).toBe(3);
  expect([...(await store.range(1, 2))]).toEqual([3, 4, 5, 6]);
  await store.unload();
});

test('PartitionBufferStorage: ordering, local ids, a change outside the buffer is seen when it comes in', async () => {
  const store = new PartitionBufferStorage(await table45(await folder()), 2);
  store.setBufferOrdering([
    [0, 1],
    [0, 4],
    [0, 2],
  ]);
  await store.load();
  expect(store.getNumInMemory()).toBe(20);
  expect(store.buffer.numResidentRows).toBe(20);
  // Partition 4 is being read ahead; the change must not be lost.
  await store.rangePut(44, Float32Array.of(7, 7, 7));
  await store.rangePut(9, Float32Array.of(1, 1, 1, 2, 2, 2));
  expect([store.getNextAdmit(), store.getNextEvict()]).toEqual([[4], [1]]);
  await store.performNextSwap();
  expect([...store.indexRead(Int32Array.of(14, 9))]).toEqual([7, 7, 7, 1, 1, 1]);
  const drawn = store.getRandomIds(500, 3);
  expect(Math.max(...drawn)).toBe(14);
  expect(new Set(drawn).size).toBe(15);
  store.indexAdd(Int32Array.of(0), Float32Array.of(1, 0, 0));
  store.indexPut(Int32Array.of(1), Float32Array.of(4, 5, 6));
  expect(store.getGlobalToLocalMap()[44]).toBe(14);
  await store.performNextSwap();
  expect(store.hasSwap()).toBe(false);
  await store.sync();
  expect([...(await store.range(10, 1))]).toEqual([2, 2, 2]);
  await expect(store.shuffle()).rejects.toThrow("a row's partition follows from its id");
  await store.unload(true);
  expect([...(await store.range(0, 2))]).toEqual([1, Math.fround(0.1), Math.fround(0.2), 4, 5, 6]);
});

test('FileStore: a file that is opened for reading alone is read and never written', async () => {
  const path = join(await folder(), '..', 'read-only.bin');
  await writeFile(path, new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
  const store = new FileStore(path, { rows: 2, width: 2 }, { readOnly: true });
  await store.load();
  expect([...(await store.gather(Int32Array.of(1)))]).toEqual([3, 4]);
  await expect(store.put(Int32Array.of(0), Float32Array.of(9, 9))).rejects.toThrow(/write|EBADF/);
  await store.unload();
  expect(new Float32Array((await readFile(path)).buffer.slice(0, 16))[0]).toBe(1);
});
