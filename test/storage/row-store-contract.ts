/**
 * The contract of every row store as one table of cases, each with separate stores. A failed case throws; cases need no
 * test runner, so workers of an MPI job run the same table.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { RowArray, RowStore, StoreType } from 'skein/storage';

/** The size of the stores that cases ask for; all elements are 0. */
export const contractRows = 23;
export const contractWidth = 3;

export type OpenedStore = RowStore & { load?(): Promise<void>; unload?(write?: boolean): Promise<void> };

export interface RowStoreCase {
  readonly name: string;
  run(open: () => Promise<OpenedStore>, dtype: StoreType): Promise<void>;
}

export const blank = (dtype: StoreType, n: number): RowArray =>
  dtype === 'f64' ? new Float64Array(n) : dtype === 'i32' ? new Int32Array(n) : new Float32Array(n);

/** Whole numbers below 2^8: exact in every type, bf16 included. */
const values = (dtype: StoreType, n: number, start = 0): RowArray =>
  blank(dtype, n).map((_, i) => (start + i) % 61) as RowArray;

const rows = contractRows;
const width = contractWidth;

async function keepsPromises(open: () => Promise<OpenedStore>, dtype: StoreType): Promise<void> {
  const store = await open();
  await store.load?.();
  assert.deepEqual([store.rows, store.width, store.dtype], [rows, width, dtype]);
  const all = values(dtype, rows * width);
  await store.rangePut(0, all);
  assert.deepEqual(await store.range(0, rows), all);
  assert.deepEqual(await store.range(20, 3), all.slice(60));
  assert.equal((await store.range(23, 0)).length, 0);
  const ids = Int32Array.of(22, 0, 7, 0, 8);
  await store.prefetch(ids);
  const wanted = [22, 0, 7, 0, 8].flatMap((id) => [...all.slice(id * 3, id * 3 + 3)]);
  assert.deepEqual([...(await store.gather(ids))], wanted);
  const out = blank(dtype, 15);
  assert.equal(await store.gather(ids, out), out);
  assert.deepEqual([...out], wanted);
  // Of equal ids the last one stays; equal ids add up.
  await store.put(Int32Array.of(5, 9, 5), values(dtype, 9, 1));
  assert.deepEqual([...(await store.gather(Int32Array.of(5, 9)))], [7, 8, 9, 4, 5, 6]);
  await store.add(Int32Array.of(9, 5, 9), values(dtype, 9, 1));
  const sums = [...(await store.range(5, 1)), ...(await store.range(9, 1))];
  assert.deepEqual(sums, [11, 13, 15, 12, 15, 18]);
  assert.equal((await store.gather(new Int32Array(0))).length, 0);
  await store.flush();
  const kept = await store.range(0, rows);
  await store.unload?.(true);
  await store.load?.();
  assert.deepEqual(await store.range(0, rows), kept);
  await store.unload?.(false);
}

async function checkErrors(open: () => Promise<OpenedStore>, dtype: StoreType): Promise<void> {
  const store = await open();
  await store.load?.();
  const three = blank(dtype, 3);
  const fails = (done: Promise<unknown>, message: string) =>
    assert.rejects(done, (error: Error) => error.message.includes(message) || assert.fail(error.message));
  await fails(store.gather(Int32Array.of(0, 23)), 'an id from 0 to 22 for ids[1], got 23');
  await fails(store.gather([1] as unknown as Int32Array), 'an Int32Array for ids');
  await fails(store.put(Int32Array.of(-1), three), 'for ids[0], got -1');
  await fails(store.add(Int32Array.of(1, 2), three), 'expected 2 rows of 3 elements');
  await fails(store.range(22, 2), 'expected rows within 0 to 22 for the range');
  await fails(store.range(-1, 2), 'for the range');
  await fails(store.rangePut(22, blank(dtype, 6)), 'for the range');
  await fails(store.rangePut(0, blank(dtype, 4)), 'expected whole rows of 3 elements');
  const other = dtype === 'f64' ? new Float32Array(3) : new Float64Array(3);
  await fails(store.put(Int32Array.of(1), other), 'for values');
  await store.unload?.(false);
}

const calls = fc.array(
  fc.record({
    what: fc.constantFrom('gather', 'add', 'put'),
    ids: fc.array(fc.nat(rows - 1), { maxLength: 12 }),
    value: fc.integer({ min: 0, max: 3 }),
  }),
  { maxLength: 8 },
);

async function agreesWithArrays(open: () => Promise<OpenedStore>, dtype: StoreType): Promise<void> {
  await fc.assert(
    fc.asyncProperty(calls, async (list) => {
      const store = await open();
      await store.load?.();
      const model = blank(dtype, rows * width);
      for (const { what, ids: chosen, value } of list) {
        const ids = Int32Array.from(chosen);
        const data = blank(dtype, ids.length * width).map((_, i) => value + (i % 2)) as RowArray;
        const at = (i: number): number => ids[Math.floor(i / width)] * width + (i % width);
        if (what === 'gather') {
          const wanted = Array.from(data, (_, i) => model[at(i)]);
          assert.deepEqual([...(await store.gather(ids))], wanted);
        } else if (what === 'put') {
          await store.put(ids, data);
          data.forEach((x: number, i: number) => {
            model[at(i)] = x;
          });
        } else {
          await store.add(ids, data);
          data.forEach((x: number, i: number) => {
            model[at(i)] += x;
          });
        }
      }
      assert.deepEqual(await store.range(0, rows), model);
      await store.unload?.(false);
    }),
    { numRuns: 10 },
  );
}

export const rowStoreContract: readonly RowStoreCase[] = [
  { name: 'keeps the contract of a row store', run: keepsPromises },
  { name: 'rejects ids, ranges and values that do not fit', run: checkErrors },
  { name: 'agrees with plain arrays on any sequence of calls', run: agreesWithArrays },
];
