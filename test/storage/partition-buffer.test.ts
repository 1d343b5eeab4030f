/** The partition buffer: the reference sequence of swaps, rows and ids, write-back, and what happens when IO fails. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import { PartitionBuffer, PartitionLayout, planEdgeBuckets } from 'skein/storage';
import { FormatError, StateError } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { TableFiles } from '#internal/storage/table-files.js';
import { column, countingInit, scratchFolder, table45, valueAt, wholeColumn } from './tables.js';

const folder = scratchFolder();

const states = [
  [0, 1],
  [0, 2],
  [0, 3],
  [0, 4],
  [1, 4],
  [1, 3],
  [1, 2],
  [2, 3],
  [2, 4],
  [3, 4],
];
const admits = [2, 3, 4, 1, 3, 2, 3, 4, 3];
const evicts = [1, 2, 3, 0, 4, 3, 1, 3, 2];

async function buffer45(prefetch: boolean, columns = [column('embeddings', 3)]): Promise<PartitionBuffer> {
  const buffer = new PartitionBuffer(await table45(await folder(), columns), 2, { prefetch });
  buffer.setOrdering(states);
  await buffer.load();
  return buffer;
}

const ids = (...list: number[]): Int32Array => Int32Array.from(list);

describe.each([true, false])('45 rows, 5 partitions, 2 in memory, prefetch %s', (prefetch) => {
  test('swaps in the given order', async () => {
    const buffer = await buffer45(prefetch);
    for (let s = 0; s < 9; s++) {
      expect(buffer.hasSwap()).toBe(true);
      expect(buffer.getNextAdmit()).toEqual([admits[s]]);
      expect(buffer.getNextEvict()).toEqual([evicts[s]]);
      await buffer.performNextSwap();
      expect([...buffer.slots].sort()).toEqual(states[s + 1]);
      for (const { partition, rows, globalStart, localStart } of buffer.localRanges()) {
        expect(rows).toBe(partition === 4 ? 5 : 10);
        const local = Int32Array.from({ length: rows }, (_, i) => localStart + i);
        const got = buffer.indexRead(local);
        expect([...got]).toEqual(Array.from(got, (_, i) => valueAt(globalStart + Math.floor(i / 3), i % 3)));
        expect([...buffer.toGlobal(local)]).toEqual(Array.from(local, (_, i) => globalStart + i));
        expect([...buffer.toLocal(buffer.toGlobal(local))]).toEqual([...local]);
      }
    }
    expect(buffer.hasSwap()).toBe(false);
    expect(buffer.getNextAdmit()).toEqual([]);
    await expect(buffer.performNextSwap()).rejects.toThrow(StateError);
    await buffer.unload();
  });

  test('global to local ids, now and after the next swap', async () => {
    const buffer = await buffer45(prefetch);
    const now = Array.from({ length: 45 }, (_, i) => (i < 20 ? i : -1));
    const next = now.map((_, i) => (i < 10 ? i : i >= 20 && i < 30 ? i - 10 : -1));
    expect([...buffer.getGlobalToLocalMap()]).toEqual(now);
    expect([...buffer.getGlobalToLocalMap(false)]).toEqual(next);
    await buffer.performNextSwap();
    expect([...buffer.getGlobalToLocalMap(true)]).toEqual(next);
    expect([...buffer.toLocal(ids(0, 15, 29))]).toEqual([0, -1, 19]);
    expect(buffer.numResidentRows).toBe(20);
    await buffer.unload();
  });

  test('changes survive eviction, and come back on the next visit', async () => {
    const buffer = await buffer45(prefetch);
    const expected = await wholeColumn(buffer.files);
    for (let s = 0; ; s++) {
      // One row of every resident partition, another one in each state.
      for (const { rows, localStart, globalStart } of buffer.localRanges()) {
        const row = s % rows;
        buffer.indexAdd(ids(localStart + row), Float32Array.of(1, 0, s));
        expected[(globalStart + row) * 3] += 1;
        expected[(globalStart + row) * 3 + 2] += s;
      }
      if (!buffer.hasSwap()) break;
      await buffer.performNextSwap();
    }
    await buffer.unload(true);
    expect([...(await wholeColumn(buffer.files))]).toEqual([...expected]);
  });

  test('partitions that did not change are not written', async () => {
    const buffer = await buffer45(prefetch);
    const before = buffer.files.manifest();
    while (buffer.hasSwap()) await buffer.performNextSwap();
    await buffer.unload(true);
    expect(buffer.files.manifest()).toEqual(before);
    await buffer.load();
    buffer.indexPut(ids(3), Float32Array.of(7, 8, 9));
    await buffer.flush();
    const versions = buffer.files.manifest().writable.map((file) => file.version);
    expect(versions).toEqual([6, 2, 3, 4, 5]);
    await buffer.unload(false);
    expect((await wholeColumn(buffer.files)).slice(9, 12)).toEqual(Float32Array.of(7, 8, 9));
  });

  test('unload without writing drops what is in memory', async () => {
    const buffer = await buffer45(prefetch);
    buffer.indexPut(ids(3), Float32Array.of(7, 8, 9));
    await buffer.unload(false);
    expect((await wholeColumn(buffer.files))[9]).toBe(3);
    expect(() => buffer.block()).toThrow('Call load() first');
  });

  test('a manifest of any instant stays valid while training continues', async () => {
    const buffer = await buffer45(prefetch);
    let saved = await buffer.checkpoint();
    let content = await wholeColumn(buffer.files);
    for (let s = 0; buffer.hasSwap(); s++) {
      buffer.indexAdd(ids(0, 12), new Float32Array(6).fill(1));
      await buffer.performNextSwap();
      const opened = await TableFiles.open(buffer.files.folder, saved);
      expect(await wholeColumn(opened)).toEqual(content);
      if (s % 3 === 2) {
        saved = await buffer.checkpoint();
        await buffer.files.removeUnreferenced([saved]);
        content = await wholeColumn(buffer.files);
      }
    }
    await buffer.unload();
  });

  test('a second ordering starts from what the first left', async () => {
    const buffer = await buffer45(prefetch);
    buffer.indexAdd(ids(0), Float32Array.of(100, 0, 0));
    buffer.setOrdering([
      [3, 0],
      [3, 1],
    ]);
    expect(buffer.hasSwap()).toBe(false);
    await buffer.load();
    expect([...buffer.slots]).toEqual([3, 0]);
    expect(buffer.indexRead(ids(10))[0]).toBe(100);
    await buffer.performNextSwap();
    expect([...buffer.slots]).toEqual([3, 1]);
    await buffer.unload();
  });

  test('state and features travel with the values; features are never written', async () => {
    const columns = [
      column('embeddings', 3),
      column('sum', 3),
      column('features', 2, { writable: false }),
      column('half', 4, { dtype: 'bf16' }),
    ];
    const buffer = await buffer45(prefetch, columns);
    const fixed = buffer.files.manifest().fixed;
    while (buffer.hasSwap()) {
      for (const { localStart, globalStart } of buffer.localRanges()) {
        expect(buffer.indexRead(ids(localStart), 'features')[0]).toBe(globalStart);
        expect(buffer.indexRead(ids(localStart), 'half')[0]).toBe(globalStart);
        buffer.indexPut(ids(localStart), Float32Array.of(globalStart, 2, 3), 'sum');
      }
      await buffer.performNextSwap();
    }
    expect(() => buffer.indexAdd(ids(0), new Float32Array(2), 'features')).toThrow(
      'expected a writable column',
    );
    await buffer.unload();
    expect(buffer.files.manifest().fixed).toEqual(fixed);
    expect((await wholeColumn(buffer.files, 1)).slice(90, 93)).toEqual(Float32Array.of(30, 2, 3));
  });

  test('a swap that needs a corrupt partition names it; the buffer continues when it is fixed', async () => {
    const buffer = await buffer45(prefetch);
    await buffer.performNextSwap();
    await buffer.performNextSwap();
    await buffer.unload();
    const path = buffer.files.filePath('writable', 2);
    const whole = await readFile(path);
    const broken = Uint8Array.from(whole);
    broken[5] ^= 4;
    await writeFile(path, broken);
    await buffer.load();
    await new Promise((resolve) => setTimeout(resolve, 30));
    await expect(buffer.performNextSwap()).rejects.toThrow(FormatError);
    await buffer.unload(false);
    await writeFile(path, whole);
    await buffer.load();
    await buffer.performNextSwap();
    expect(buffer.indexRead(ids(10))[0]).toBe(20);
    await buffer.unload();
  });
});

describe('in the background', () => {
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  test('a partition that is still being written is read when that is done', async () => {
    const buffer = new PartitionBuffer(await table45(await folder()), 2);
    const write = buffer.files.writeImage.bind(buffer.files);
    buffer.files.writeImage = async (k, image) => {
      await pause(20);
      await write(k, image);
    };
    buffer.setOrdering(Array.from({ length: 8 }, (_, s) => [0, 1 + (s % 2)]));
    await buffer.load();
    for (let s = 0; ; s++) {
      buffer.indexAdd(ids(10), Float32Array.of(1, 0, 0));
      expect(buffer.indexRead(ids(10))[0]).toBe(10 * (1 + (s % 2)) + Math.floor(s / 2) + 1);
      if (!buffer.hasSwap()) break;
      await buffer.performNextSwap();
    }
    await buffer.unload();
    const content = await wholeColumn(buffer.files);
    expect([content[30], content[60]]).toEqual([14, 24]);
  });

  test('a write that fails is thrown by the next call and by every one until it is given up', async () => {
    const buffer = await buffer45(true);
    buffer.files.writeImage = () => Promise.reject(new Error('no room'));
    buffer.markDirty();
    await buffer.performNextSwap();
    await pause(5);
    await expect(buffer.performNextSwap()).rejects.toThrow('no room');
    await expect(buffer.flush()).rejects.toThrow('no room');
    await expect(buffer.checkpoint()).rejects.toThrow('no room');
    await expect(buffer.unload(true)).rejects.toThrow('no room');
    await buffer.unload(false);
    expect((await wholeColumn(buffer.files)).length).toBe(135);
  });

  test('a write that fails immediately stops the swap; so does a removed folder', async () => {
    const buffer = await buffer45(false);
    buffer.markDirty();
    await rm(buffer.files.folder, { recursive: true });
    await expect(buffer.performNextSwap()).rejects.toThrow(
      /write: expected to write .*writable-00001.* got ENOENT/,
    );
    await expect(buffer.performNextSwap()).rejects.toThrow('a swap failed');
    await expect(buffer.unload(true)).rejects.toThrow('Unload without writing');
    expect(buffer.loaded).toBe(false);
  });

  test('groups of partitions: changes survive, a failed read leaves the swap to be tried again', async () => {
    const layout = new PartitionLayout(90, 12);
    const files = await TableFiles.create(await folder(), {
      layout,
      columns: [column('x', 1)],
      init: countingInit,
    });
    const buffer = new PartitionBuffer(files, 6);
    const options = {
      ordering: 'COMET',
      partitions: 12,
      capacity: 6,
      fineToCoarseRatio: 3,
      seed: 2,
    } as const;
    const plan = planEdgeBuckets({ ...options, epoch: 0 });
    const read = files.readImage.bind(files);
    let calls = 0;
    files.readImage = (kind, k, image) =>
      ++calls % 7 === 3 ? Promise.reject(new Error('gone')) : read(kind, k, image);
    let failures = 0;
    const expected = await wholeColumn(files);
    buffer.setOrdering(plan.states);
    await buffer.load();
    for (let s = 0; ; s++) {
      expect([...buffer.slots]).toEqual([...plan.states[s]]);
      for (const { rows, globalStart, localStart } of buffer.localRanges()) {
        for (let i = 0; i < rows; i++) {
          buffer.indexAdd(ids(localStart + i), Float32Array.of(s));
          expected[globalStart + i] += s;
        }
      }
      if (!buffer.hasSwap()) break;
      while (buffer.state === s) {
        await buffer.performNextSwap().catch((error: Error) => {
          expect(error.message).toBe('gone');
          failures++;
        });
      }
    }
    expect(failures).toBeGreaterThan(1);
    await buffer.unload();
    expect(await wholeColumn(files)).toEqual(expected);
  });

  test('unload in the midst of transfers waits for them', async () => {
    const buffer = await buffer45(true);
    let running = 0;
    const read = buffer.files.readImage.bind(buffer.files);
    buffer.files.readImage = async (kind, k, image) => {
      running++;
      await pause(10);
      await read(kind, k, image);
      running--;
    };
    await buffer.performNextSwap();
    expect(running).toBe(1);
    await buffer.unload(false);
    expect(running).toBe(0);
  });
});

describe('rows', () => {
  test('wrong ids, wrong shapes, the hole behind the short partition', async () => {
    const buffer = await buffer45(true);
    expect(() => buffer.indexRead([1, 2] as unknown as Int32Array)).toThrow('expected an Int32Array for ids');
    expect(() => buffer.indexRead(ids(20))).toThrow('expected an id from 0 to 19 for ids[0], got 20');
    expect(() => buffer.indexRead(ids(0, -1))).toThrow('for ids[1], got -1');
    expect(() => buffer.indexAdd(ids(0, 1), new Float32Array(3))).toThrow('expected 2 rows of 3 elements');
    expect(() => buffer.indexRead(ids(0), 'nothing')).toThrow('expected one of embeddings for column');
    expect(() => buffer.toLocal(ids(45))).toThrow('from 0 to 44');
    for (let i = 0; i < 3; i++) await buffer.performNextSwap();
    expect(buffer.numResidentRows).toBe(15);
    expect(buffer.indexRead(ids(14))[0]).toBe(44);
    expect(() => buffer.indexRead(ids(3, 15))).toThrow(
      'for ids[1], got 15. The slot holds a shorter partition',
    );
    await buffer.unload();
  });

  test('half-precision rows add in f32 and round once, equal ids together', async () => {
    for (const dtype of ['f16', 'bf16'] as const) {
      const buffer = await buffer45(false, [column('x', 1, { dtype })]);
      const step = dtype === 'f16' ? 2 ** -11 : 2 ** -8;
      buffer.indexPut(ids(1, 2), Float32Array.of(1, 1));
      // Half a unit in the last place twice is a whole one; each alone would round away.
      buffer.indexAdd(ids(1, 2, 1), Float32Array.of(step, step, step));
      expect([...buffer.indexRead(ids(1, 2))]).toEqual([1 + 2 * step, 1]);
      expect(await buffer.rows.readAsync(ids(1, 2, 9))).toEqual(buffer.indexRead(ids(1, 2, 9)));
      await buffer.unload();
    }
  });

  test('exceeded limits are named', async () => {
    const layout = new PartitionLayout(2 ** 30, 2 ** 10);
    const files = { layout, columns: [column('x', 8)] } as unknown as TableFiles;
    expect(() => new PartitionBuffer(files, 2 ** 9)).toThrow('for the block of column x, got 4294967296');
    expect(() => new PartitionBuffer(files, 0)).toThrow('for capacity, got 0');
    const create = TableFiles.create(await folder(), {
      layout: new PartitionLayout(2 ** 27, 1),
      columns: [column('x', 8)],
    });
    await expect(create).rejects.toThrow(
      'at most 4294967295 bytes for column x of one partition, got 4294967296',
    );
  });
});

test('everything in memory: local ids are global ids', async () => {
  const buffer = new PartitionBuffer(await table45(await folder()), 9);
  await buffer.load();
  expect(buffer.capacity).toBe(5);
  expect([...buffer.slots]).toEqual([0, 1, 2, 3, 4]);
  expect(buffer.hasSwap()).toBe(false);
  expect([...buffer.getGlobalToLocalMap()]).toEqual(Array.from({ length: 45 }, (_, i) => i));
  expect(buffer.numResidentRows).toBe(45);
  await buffer.unload();
});

test('a new ordering writes and reads only what moves', async () => {
  const buffer = await buffer45(true);
  const { traffic } = buffer.files;
  buffer.indexPut(ids(0, 10), Float32Array.of(50, 0, 0, 60, 0, 0));
  const before = { ...traffic };
  buffer.setOrdering([[0, 1]]);
  await buffer.load();
  expect(traffic.written).toBe(before.written);
  // 1 changes its slot, 0 makes room for it: both are written, then 1 is read back.
  buffer.setOrdering([[1, 2]]);
  await buffer.load();
  expect(traffic.written).toBe(before.written + 2 * 4096);
  expect([...buffer.indexRead(ids(0, 10))].filter((_, i) => i % 3 === 0)).toEqual([60, 20]);
  await buffer.unload();
  const content = await wholeColumn(buffer.files);
  expect([content[0], content[30]]).toEqual([50, 60]);
});

test('any table through any plan: what was added is there, exactly', async () => {
  const sizes = fc.record({
    rows: fc.integer({ min: 8, max: 60 }),
    partitions: fc.integer({ min: 2, max: 8 }),
    capacity: fc.integer({ min: 2, max: 6 }),
    prefetch: fc.boolean(),
    io: fc.constantFrom('auto' as const, 'buffered' as const),
    seed: fc.nat(1000),
  });
  await fc.assert(
    fc.asyncProperty(sizes, async ({ rows, partitions, capacity, prefetch, io, seed }) => {
      const layout = new PartitionLayout(rows, partitions);
      const files = await TableFiles.create(await folder(), {
        layout,
        columns: [column('x', 2)],
        init: countingInit,
        io,
      });
      const buffer = new PartitionBuffer(files, capacity, { prefetch });
      const counts = new Map<number, number>();
      for (let epoch = 0; epoch < 2; epoch++) {
        const plan = planEdgeBuckets({ ordering: 'COMET', partitions, capacity, seed, epoch });
        buffer.setOrdering(plan.states);
        await buffer.load();
        for (let s = 0; ; s++) {
          expect([...buffer.slots]).toEqual([...plan.states[s]]);
          for (const range of buffer.localRanges()) {
            for (let i = 0; i < range.rows; i++) {
              buffer.indexAdd(ids(range.localStart + i), Float32Array.of(0, 1));
              const id = range.globalStart + i;
              counts.set(id, (counts.get(id) ?? 0) + 1);
            }
          }
          if (!buffer.hasSwap()) break;
          await buffer.performNextSwap();
        }
      }
      await buffer.unload();
      const content = await wholeColumn(files);
      for (let id = 0; id < rows; id++) {
        expect(content[2 * id]).toBe(id);
        expect(content[2 * id + 1]).toBeCloseTo(valueAt(id, 1) + (counts.get(id) ?? 0), 3);
      }
    }),
    { numRuns: 15 },
  );
});
