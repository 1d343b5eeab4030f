/** Cases of tables whose rows are distributed over workers. All ranks run a case together. */
import assert from 'node:assert/strict';
import { type Communicator, RemoteRowStore } from 'skein/dist';
import type { RowArray, StoreType } from 'skein/storage';
import type { NodeRange } from '#internal/dist/partition/partition-data.js';
import {
  blank,
  contractRows,
  contractWidth,
  type OpenedStore,
  rowStoreContract,
} from '../storage/row-store-contract.js';
import type { CommCase } from './communicator-contract.js';

/** Unequal shares; the last rank of three or more has none. */
function shares(size: number, rows: number): NodeRange[] {
  const holders = size > 2 ? size - 1 : size;
  const bounds = Array.from({ length: size + 1 }, (_, q) =>
    Math.round(rows * Math.min(1, (q / holders) ** 1.5)),
  );
  return bounds.slice(1).map((end, q) => ({ start: bounds[q], end }));
}

interface Settings {
  readonly cacheRows?: number;
  readonly deterministic?: boolean;
}

let opened = 0;

/** A store of zeros with a unique name. */
function open(comm: Communicator, dtype: StoreType, name: string, settings: Settings = {}) {
  const ranges = shares(comm.size, contractRows);
  const own = ranges[comm.rank];
  const local = blank(dtype, (own.end - own.start) * contractWidth);
  return new RemoteRowStore<RowArray>(name, local, { width: contractWidth, ranges, comm, ...settings });
}

/** Each rank in turn runs the case with stores whose rows the others serve: they open them and wait. */
function contractCase(dtype: StoreType, which: number, settings: Settings): CommCase {
  const { name, run } = rowStoreContract[which];
  return {
    name: `${dtype}, cache of ${settings.cacheRows ?? 0}: ${name}`,
    async run(comm) {
      for (let turn = 0; turn < comm.size; turn++) {
        const prefix = `contract-${opened++}`;
        const count = Int32Array.of(0);
        // A request waits until its table is there, so the others need to know how many to open only afterwards.
        const stores = Array.from({ length: 12 }, (_, i) => open(comm, dtype, `${prefix}-${i}`, settings));
        if (comm.rank === turn)
          await run(async () => stores[count[0]++ % stores.length] as unknown as OpenedStore, dtype);
        comm.barrier();
        for (const store of stores) store.close();
      }
    },
  };
}

const rough = (rank: number, length: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898 + rank * 78.233) * 10 ** ((i + rank) % 7));

const own: CommCase[] = [
  {
    name: 'deterministic additions are applied in rank order, bit for bit',
    async run(comm) {
      const store = open(comm, 'f32', `det-${opened++}`, { deterministic: true });
      const ids = (rank: number) => Int32Array.from({ length: 60 }, (_, i) => (i * (7 + rank) + rank) % 23);
      for (let round = 0; round < 3; round++) await store.add(ids(comm.rank), rough(comm.rank + round, 180));
      comm.barrier();
      const want = new Float32Array(23 * 3);
      for (let round = 0; round < 3; round++)
        for (let rank = 0; rank < comm.size; rank++) {
          const values = rough(rank + round, 180);
          ids(rank).forEach((id, i) => {
            for (let k = 0; k < 3; k++) want[id * 3 + k] += values[i * 3 + k];
          });
        }
      assert.deepEqual(await store.range(0, 23), want);
      comm.barrier();
      store.close();
    },
  },
  {
    name: 'concurrent plain additions of all ranks lose nothing',
    async run(comm) {
      const store = open(comm, 'i32', `add-${opened++}`);
      const ids = Int32Array.from({ length: 92 }, (_, i) => i % 23);
      await store.add(ids, new Int32Array(92 * 3).fill(comm.rank + 1));
      comm.barrier();
      const want = 4 * ((comm.size * (comm.size + 1)) / 2);
      assert.deepEqual(await store.range(0, 23), new Int32Array(23 * 3).fill(want));
      comm.barrier();
      store.close();
    },
  },
  {
    name: 'a cache answers for rows of others until it is refreshed, and keeps those used often',
    async run(comm) {
      const store = open(comm, 'f32', `cache-${opened++}`, { cacheRows: 4 });
      if (comm.rank === 0)
        await store.rangePut(
          0,
          Float32Array.from({ length: 69 }, (_, i) => i),
        );
      comm.barrier();
      const others = Array.from({ length: 23 }, (_, i) => i).filter(
        (id) => store.ranges.ownerOf(id) !== comm.rank,
      );
      if (others.length > 10) {
        const hot = Int32Array.from(others.slice(0, 2));
        for (let i = 0; i < 4; i++) await store.gather(hot);
        assert.deepEqual([store.stats.fetchedRows, store.stats.hits, store.stats.misses], [2, 6, 2]);
        for (const id of others.slice(2)) {
          assert.equal((await store.gather(Int32Array.of(id)))[0], id * 3);
        }
        await store.gather(hot);
        assert.equal(store.stats.hits, 8);
      }
      await store.prefetch(Int32Array.from(others.slice(0, 3)));
      comm.barrier();
      if (comm.rank === 0) await store.rangePut(0, new Float32Array(69).fill(5));
      comm.barrier();
      store.refresh();
      assert.deepEqual(await store.range(0, 23), new Float32Array(69).fill(5));
      comm.barrier();
      store.close();
    },
  },
  {
    name: 'rejects ranges that do not fit the workers and rows that do not fit the range',
    run(comm) {
      const ranges = shares(comm.size, 23);
      const make = (rows: number, list: readonly NodeRange[]) =>
        new RemoteRowStore('wrong', new Float32Array(rows * 2), { width: 2, ranges: list, comm });
      const { start, end } = ranges[comm.rank];
      assert.throws(() => make(end - start + 1, ranges), /rows of 2 elements for values/);
      assert.throws(
        () => make(end - start, [...ranges, { start: 23, end: 24 }]),
        /expected \d ranges for ranges/,
      );
      assert.throws(
        () => make(end - start, [{ start: 1, end: 23 }, ...ranges.slice(1)]),
        /a range that starts at 0/,
      );
    },
  },
];

export const storesCases: readonly CommCase[] = [
  ...(['f32', 'f64', 'i32'] as const).flatMap((dtype) => [0, 1].map((i) => contractCase(dtype, i, {}))),
  ...[0, 1].map((i) => contractCase('f32', i, { cacheRows: 5 })),
  // Runs ten times with a store of its own each, and more when it shrinks a failure.
  contractCase('f32', 2, {}),
  contractCase('f32', 2, { cacheRows: 5 }),
  ...own,
];
