/** Hot rows in memory over other tables: what is found, what is read, what is kept, for any budget. */

import { HotColdStore, MemoryStore } from 'skein/storage';
import { StateError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { ColdStore } from '#internal/storage/hot-cold-store.js';

const rows = 100;
const width = 4;
const rowBytes = 4 * width;
const table = (): Float32Array => Float32Array.from({ length: rows * width }, (_, i) => i);
const idsOf = (...ids: number[]): Int32Array => Int32Array.from(ids);
const wanted = (data: Float32Array, ids: Int32Array): number[] =>
  [...ids].flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);
/** Ids in some order, with repeats. */
const someIds = (n: number, seed: number): Int32Array =>
  Int32Array.from({ length: n }, (_, i) => ((i + seed) * 7919) % rows).map((id, i) => (i % 5 === 0 ? 3 : id));

/** A table that records reads and waits for a gate. */
class Watched extends MemoryStore {
  readonly read: number[][] = [];
  gate: Promise<void> = Promise.resolve();

  override async gather(ids: Int32Array, out?: Float32Array): Promise<Float32Array> {
    this.read.push([...ids]);
    const result = await super.gather(ids, out);
    await this.gate;
    return result;
  }
}

async function open(size: number | string, options: { scores?: number[]; dynamicShare?: number } = {}) {
  const data = table();
  const cold = new Watched(data, { rows, width });
  const store = new HotColdStore(cold as ColdStore<Float32Array>, { size, ...options });
  await store.load();
  cold.read.length = 0;
  return { data, cold, store };
}

const scores = Array.from({ length: rows }, (_, id) => (id * 37) % rows);

describe('budgets', () => {
  it.each([0, 1, rowBytes - 1, rowBytes, 20 * rowBytes, rows * rowBytes, rows * rowBytes + 1, '1G'])(
    'of %s bytes give the same rows',
    async (size) => {
      for (const options of [{}, { scores }, { scores, dynamicShare: 0 }, { scores, dynamicShare: 1 }]) {
        const { data, store } = await open(size, options);
        for (let batch = 0; batch < 6; batch++) {
          const ids = someIds(batch === 3 ? 0 : 64, batch);
          expect([...(await store.gather(ids))]).toEqual(wanted(data, ids));
        }
        const { fixedRows, dynamicCapacity } = store.stats;
        const bytes = size === '1G' ? 2 ** 30 : (size as number);
        expect(fixedRows + dynamicCapacity).toBe(Math.min(rows, Math.floor(bytes / rowBytes)));
      }
    },
  );

  it('holds the whole table when there is room', async () => {
    const { cold, store } = await open('1G', { scores });
    await store.gather(someIds(64, 1));
    expect(cold.read).toEqual([]);
    expect(store.stats).toMatchObject({ hits: 64, misses: 0, missRate: 0, fixedRows: rows });
  });

  it('rejects wrong sizes, and scores of another table', () => {
    const cold = new MemoryStore(table(), { rows, width });
    expect(() => new HotColdStore(cold, { size: '10' })).toThrow(
      'HotColdStore: expected a text such as "0.1G"',
    );
    expect(() => new HotColdStore(cold, { size: 0, scores: [1] })).toThrow('expected 100 scores');
    expect(() => new HotColdStore(cold, { size: 0, dynamicShare: 0.5 })).toThrow(
      'scores, which select the fixed rows',
    );
  });
});

describe('what is kept', () => {
  it('the rows of the highest scores stay', async () => {
    const { cold, store } = await open(10 * rowBytes, { scores, dynamicShare: 0 });
    const hot = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, 10);
    await store.gather(Int32Array.from(hot));
    expect(cold.read).toEqual([]);
    await store.gather(Int32Array.from(scores.keys()));
    expect(cold.read).toEqual([[...scores.keys()].filter((id) => !hot.includes(id))]);
    expect(store.stats).toMatchObject({ hits: 20, misses: 90, missRate: 90 / 110, coldRows: 90 });
  });

  it('rows that come and go: a set that fits is read once', async () => {
    const { cold, store } = await open(16 * rowBytes);
    const ids = Int32Array.from({ length: 16 }, (_, i) => 5 * i);
    for (let pass = 0; pass < 4; pass++) await store.gather(ids);
    expect(store.stats).toMatchObject({ hits: 48, misses: 16, coldRows: 16, dynamicRows: 16 });
    expect(cold.read.length).toBe(1);
  });

  it('a cache smaller than a batch works', async () => {
    const { data, store } = await open(2 * rowBytes);
    const all = Int32Array.from(scores.keys());
    for (let pass = 0; pass < 3; pass++) expect([...(await store.gather(all))]).toEqual([...data]);
    expect(store.stats.dynamicRows).toBe(2);
  });

  it('repeated ids are read once, in the order in which rows are stored', async () => {
    const { cold, store, data } = await open(0);
    const ids = idsOf(9, 2, 9, 7, 2, 9);
    expect([...(await store.gather(ids))]).toEqual(wanted(data, ids));
    expect(cold.read).toEqual([[2, 7, 9]]);
  });

  it('prefetch brings rows in', async () => {
    const { cold, store } = await open(4 * rowBytes);
    await store.prefetch(idsOf(8, 6, 8));
    await store.gather(idsOf(6, 8));
    expect(cold.read).toEqual([[6, 8]]);
    expect(store.stats).toMatchObject({ hits: 2, misses: 0 });
  });
});

describe('writes', () => {
  it('are seen in both tiers and below', async () => {
    const { data, store } = await open(10 * rowBytes, { scores, dynamicShare: 0.5 });
    const hot = scores.indexOf(99);
    await store.gather(idsOf(1, hot));
    const ids = idsOf(1, hot, 50);
    await store.put(ids, new Float32Array(12).fill(5));
    await store.add(idsOf(1, hot, 50, 1), new Float32Array(16).fill(0.5));
    const want = [6, 6, 6, 6, ...Array(8).fill(5.5)];
    expect([...(await store.gather(ids))]).toEqual(want);
    expect(wanted(data, ids)).toEqual(want);
    await store.rangePut(0, data.slice().fill(1));
    expect(new Set(await store.gather(ids))).toEqual(new Set([1]));
    expect(store.stats.hits).toBeGreaterThan(3);
  });

  it('a row that is read while it is written is not kept', async () => {
    const { cold, store } = await open(8 * rowBytes);
    let openGate = (): void => {};
    cold.gate = new Promise((resolve) => {
      openGate = resolve;
    });
    const reading = store.gather(idsOf(4));
    const writing = store.put(idsOf(4), new Float32Array(4).fill(-1));
    await writing;
    openGate();
    await reading;
    expect([...(await store.gather(idsOf(4)))]).toEqual([-1, -1, -1, -1]);
  });

  it('follow one another in order', async () => {
    const { data, store } = await open(8 * rowBytes);
    await store.gather(idsOf(4));
    const all = Array.from({ length: 9 }, (_, i) => store.put(idsOf(4), new Float32Array(4).fill(i)));
    await Promise.all([...all, store.add(idsOf(4), new Float32Array(4).fill(1))]);
    expect([...(await store.gather(idsOf(4)))]).toEqual([9, 9, 9, 9]);
    expect(data[16]).toBe(9);
  });

  it('that fail in the underlying table throw, and later ones succeed', async () => {
    const { cold, store } = await open(8 * rowBytes);
    const { put } = cold;
    cold.put = () => Promise.reject(new Error('disk full'));
    await expect(store.put(idsOf(1), new Float32Array(4))).rejects.toThrow('disk full');
    cold.put = put;
    await store.put(idsOf(1), new Float32Array(4).fill(2));
    expect([...(await store.gather(idsOf(1)))]).toEqual([2, 2, 2, 2]);
  });
});

it.each([
  ['fewer rows', () => new Float32Array(1)],
  ['more rows', () => new Float32Array(999)],
  ['another type', (ids: Int32Array) => new Float64Array(ids.length * width)],
  ['nothing', () => undefined],
])('a table below that gathers %s is refused', async (_, gather) => {
  for (const options of [{ size: 0 }, { size: 8 * rowBytes }, { size: 8 * rowBytes, scores }]) {
    const cold = new MemoryStore(table(), { rows, width });
    cold.gather = (async (ids: Int32Array) => gather(ids)) as never;
    const store = new HotColdStore(cold, options);
    const read = store.load().then(() => store.gather(idsOf(1, 2)));
    await expect(read).rejects.toThrow(/HotColdStore: gather of the underlying table: expected/);
  }
});

it('load comes first', async () => {
  const store = new HotColdStore(new MemoryStore(table(), { rows, width }), { size: 0 });
  await expect(store.gather(idsOf(1))).rejects.toThrow(StateError);
});
