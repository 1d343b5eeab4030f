/**
 * The contract of all communicators, as one table of cases. All ranks run a case together; it throws when something is
 * wrong. Values are computed from ranks, so that each rank can check what it receives.
 */
import assert from 'node:assert/strict';
import type { CommArray, Communicator } from 'skein/dist';

export interface CommCase {
  readonly name: string;
  run(comm: Communicator): void | Promise<void>;
}

const next = ({ rank, size }: Communicator, step = 1) => (rank + step + size) % size;
const filled = (length: number, f: (i: number) => number) => Float32Array.from({ length }, (_, i) => f(i));

/** Values whose sum depends on the order of summation. */
const rough = (rank: number, length: number) =>
  filled(length, (i) => Math.fround(Math.sin(i * 12.9898 + rank * 78.233) * 10 ** ((i + rank) % 7)));

/** The documented tree over ranks, element by element. */
function treeSum(size: number, length: number): Float32Array {
  const rows = Array.from({ length: size }, (_, rank) => rough(rank, length));
  for (let stride = 1; stride < size; stride *= 2)
    for (let i = 0; i + stride < size; i += 2 * stride)
      for (let k = 0; k < length; k++) rows[i][k] += rows[i + stride][k];
  return rows[0];
}

const messages: CommCase[] = [
  {
    name: 'rank and size are whole numbers in range',
    run({ rank, size }) {
      assert.ok(Number.isInteger(rank) && rank >= 0 && rank < size);
    },
  },
  ...[0, 1, 1000, 1_000_000].map((length) => ({
    name: `a ring of ${length} floats where everybody sends first`,
    run(comm: Communicator) {
      comm.send(
        next(comm),
        filled(length, (i) => comm.rank * 7 + i),
        3,
      );
      const into = new Float32Array(length);
      comm.recv(next(comm, -1), into, 3);
      assert.deepEqual(
        into,
        filled(length, (i) => next(comm, -1) * 7 + i),
      );
    },
  })),
  {
    name: 'every element type and views into larger buffers',
    run(comm) {
      const types = [
        Float32Array,
        Float64Array,
        Int32Array,
        Uint32Array,
        Uint16Array,
        Int16Array,
        Uint8Array,
      ];
      for (const [tag, type] of types.entries()) {
        const block: CommArray = new type(10).fill(1);
        comm.send(next(comm), block.subarray(2, 5), tag);
        const into: CommArray = new type(10);
        comm.recv(next(comm, -1), into.subarray(4, 7), tag);
        assert.deepEqual(Array.from(into), [0, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
      }
    },
  },
  {
    name: 'arrays on shared memory',
    run(comm) {
      const data = new Int32Array(new SharedArrayBuffer(8)).fill(comm.rank);
      comm.send(next(comm), data);
      comm.recv(next(comm, -1), data);
      assert.deepEqual(Array.from(data), [next(comm, -1), next(comm, -1)]);
    },
  },
  {
    name: 'tags choose, and order is kept within a tag',
    run(comm) {
      const huge = 2 ** 40;
      comm.send(next(comm), Int32Array.of(1), 5);
      comm.send(next(comm), Int32Array.of(2), huge);
      comm.send(next(comm), Int32Array.of(3), 5);
      const got = [huge, 5, 5].map((tag) => {
        const into = new Int32Array(1);
        comm.recv(next(comm, -1), into, tag);
        return into[0];
      });
      assert.deepEqual(got, [2, 1, 3]);
    },
  },
  {
    name: 'non-blocking messages, posted before and after their partner',
    async run(comm) {
      const sizes = [10, 100_000];
      const into = sizes.map((length) => new Float64Array(length));
      const recvs = into.map((array, tag) => comm.irecv(next(comm, -1), array, tag));
      const sends = sizes.map((length, tag) =>
        comm.isend(next(comm), new Float64Array(length).fill(tag + 1), tag),
      );
      await Promise.all([...recvs, ...sends].map((handle) => handle.promise()));
      for (const handle of [...recvs, ...sends]) {
        assert.equal(handle.done, true);
        handle.wait();
      }
      for (const [tag, array] of into.entries()) assert.ok(array.every((value) => value === tag + 1));
    },
  },
  {
    name: 'handles that are never waited for',
    run(comm) {
      const into = Array.from({ length: 700 }, () => new Int32Array(2));
      for (const [tag, array] of into.entries()) {
        comm.irecv(next(comm, -1), array, tag);
        comm.isend(next(comm), Int32Array.of(tag, comm.rank), tag);
      }
      comm.barrier();
      const last = new Int32Array(1);
      comm.send(next(comm), Int32Array.of(1), 0);
      comm.recv(next(comm, -1), last, 0);
      assert.ok(into.every((array, tag) => array[0] === tag && array[1] === next(comm, -1)));
    },
  },
  {
    name: 'a message of another length is an error, and stays for a receive of the right length',
    run(comm) {
      comm.send(next(comm), new Float32Array(3).fill(2), 11);
      const text = /recv \(tag 11, from rank \d+\): expected 16 bytes from rank \d+, got 12/;
      assert.throws(() => comm.recv(next(comm, -1), new Float32Array(4), 11), text);
      const into = new Float32Array(3);
      comm.recv(next(comm, -1), into, 11);
      assert.deepEqual(into, new Float32Array(3).fill(2));
    },
  },
];

const collectives: CommCase[] = [
  ...[1, 5, 1023, 1024, 200_003].map((length) => ({
    name: `allReduce sums ${length} floats in the documented order`,
    run(comm: Communicator) {
      const data = rough(comm.rank, length);
      comm.allReduce(data);
      assert.deepEqual(data, treeSum(comm.size, length));
    },
  })),
  {
    name: 'allReduce: max and min, f64 and i32, NaN is seen, empty arrays',
    run(comm) {
      const top = Int32Array.of(comm.rank, -comm.rank);
      comm.allReduce(top, 'max');
      assert.deepEqual(top, Int32Array.of(comm.size - 1, 0));
      const low = Float64Array.of(comm.rank + 0.5, comm.rank === comm.size - 1 ? Number.NaN : 1);
      comm.allReduce(low, 'min');
      assert.deepEqual(low, Float64Array.of(0.5, Number.NaN));
      comm.allReduce(new Float32Array(0));
      const many = new Int32Array(5000).fill(1);
      comm.allReduce(many);
      assert.ok(many.every((value) => value === comm.size));
    },
  },
  {
    name: 'several reductions in flight while JavaScript computes',
    async run(comm) {
      const buckets = [10, 30_000, 5, 100_000].map((length, i) =>
        new Float32Array(length).fill(comm.rank + i),
      );
      const handles = buckets.map((bucket) => comm.allReduceAsync(bucket));
      handles[2].wait();
      await handles[1].promise();
      for (const handle of handles) handle.wait();
      const ranks = (comm.size * (comm.size - 1)) / 2;
      for (const [i, bucket] of buckets.entries())
        assert.ok(bucket.every((value) => value === ranks + i * comm.size));
    },
  },
  {
    name: 'reductions of two channels, called in another order on each rank',
    run(comm) {
      const own = new Float32Array(5000).fill(comm.rank);
      const other = new Float32Array(3).fill(1);
      const calls = [() => comm.allReduceAsync(own), () => comm.allReduceAsync(other, 'sum', 1)];
      if (comm.rank % 2 === 1) calls.reverse();
      for (const handle of calls.map((call) => call())) handle.wait();
      assert.ok(own.every((value) => value === (comm.size * (comm.size - 1)) / 2));
      assert.ok(other.every((value) => value === comm.size));
      assert.throws(() => comm.allReduceAsync(other, 'sum', 4), /from 0 to 3 for channel/);
    },
  },
  {
    name: 'allGather of different lengths',
    run(comm) {
      const parts = comm.allGather(new Int32Array(comm.rank * 2000).fill(comm.rank));
      assert.equal(parts.length, comm.size);
      for (const [rank, part] of parts.entries())
        assert.deepEqual(part, new Int32Array(rank * 2000).fill(rank));
    },
  },
  {
    name: 'broadcast from every root',
    run(comm) {
      for (let root = 0; root < comm.size; root++) {
        for (const length of [3, 50_000]) {
          const data = new Float64Array(length).fill(comm.rank === root ? root + 0.25 : -1);
          comm.broadcast(data, root);
          assert.ok(data.every((value) => value === root + 0.25));
        }
      }
    },
  },
  {
    name: 'allToAllv with unknown lengths',
    run(comm) {
      const length = (from: number, to: number) => ((from + 2 * to) % 3) * 900;
      const parts = Array.from({ length: comm.size }, (_, to) =>
        filled(length(comm.rank, to), () => comm.rank * 10 + to),
      );
      for (const [from, part] of comm.allToAllv(parts).entries())
        assert.deepEqual(
          part,
          filled(length(from, comm.rank), () => from * 10 + comm.rank),
        );
    },
  },
  {
    name: 'exchange in place of known lengths',
    run(comm) {
      const all = new Float32Array(comm.size * 4);
      const recvs = Array.from({ length: comm.size }, (_, q) => all.subarray(q * 4, q * 4 + 4));
      comm
        .exchange(
          recvs.map(() => filled(4, (i) => comm.rank + i)),
          recvs,
        )
        .wait();
      assert.deepEqual(
        all,
        filled(all.length, (i) => Math.floor(i / 4) + (i % 4)),
      );
    },
  },
];

const tables: CommCase[] = [
  {
    name: 'rows of other ranks: get, put, add, and requests before the table is there',
    async run(comm) {
      const rows = 50;
      const width = 3;
      const table = filled(rows * width, (i) => comm.rank * 1000 + i);
      const owner = next(comm);
      const out = new Float32Array(2 * width);
      const early = comm.size > 1 ? comm.getRows(owner, 'features', Int32Array.of(49, 0), out) : null;
      comm.registerTable('features', table, width);
      (early ?? comm.getRows(owner, 'features', Int32Array.of(49, 0), out)).wait();
      assert.deepEqual(
        out,
        Float32Array.of(147, 148, 149, 0, 1, 2).map((value) => value + owner * 1000),
      );
      comm.barrier();
      const one = Float32Array.of(1, 2, 3);
      await comm.putRows(owner, 'features', Int32Array.of(7), one).promise();
      comm.addRows(owner, 'features', Int32Array.of(7, 7), Float32Array.of(...one, ...one)).wait();
      comm.barrier();
      assert.deepEqual(table.slice(21, 24), Float32Array.of(3, 6, 9));
      comm.getRows(owner, 'features', new Int32Array(0), new Float32Array(0)).wait();
      comm.barrier();
      comm.unregisterTable('features');
    },
  },
  {
    name: 'many rows, from all owners',
    run(comm) {
      const width = 16;
      const table = filled(4000 * width, (i) => i + comm.rank);
      comm.registerTable('wide', table, width);
      const ids = Int32Array.from({ length: 3000 }, (_, i) => (i * 7) % 4000);
      const outs = Array.from({ length: comm.size }, () => new Float32Array(ids.length * width));
      const handles = outs.map((out, owner) => comm.getRows(owner, 'wide', ids, out));
      for (const [owner, out] of outs.entries()) {
        handles[owner].wait();
        assert.ok(
          out.every((value, i) => value === ids[Math.floor(i / width)] * width + (i % width) + owner),
        );
      }
      comm.barrier();
      comm.unregisterTable('wide');
    },
  },
  {
    name: 'allocated tables: zeros, other lengths on each rank, all kinds of requests',
    run(comm) {
      const rows = 100 * comm.rank + 3;
      const table = comm.allocateTable('allocated', { rows, width: 5, dtype: 'f64' });
      assert.deepEqual(table, new Float64Array(5 * rows));
      assert.throws(() => comm.allocateTable('allocated', { rows, width: 5, dtype: 'f64' }), /a new name/);
      for (let i = 0; i < table.length; i++) table[i] = comm.rank * 10_000 + i;
      comm.barrier();
      for (let owner = 0; owner < comm.size; owner++) {
        const ids = Int32Array.of(100 * owner + 2, 0, 100 * owner + 2, 1);
        const out = new Float64Array(20);
        comm.getRows(owner, 'allocated', ids, out).wait();
        assert.ok(out.every((v, i) => v === owner * 10_000 + ids[Math.floor(i / 5)] * 5 + (i % 5)));
        const range = /getRows \(table 'allocated'.*expected ids from 0 to \d+, got -1 at position 0/;
        assert.throws(
          () => comm.getRows(owner, 'allocated', Int32Array.of(-1), new Float64Array(5)).wait(),
          range,
        );
        assert.throws(
          () => comm.getRows(owner, 'allocated', Int32Array.of(0), new Float32Array(5)).wait(),
          /5 elements, or another type/,
        );
      }
      comm.barrier();
      const owner = next(comm);
      comm.addRows(owner, 'allocated', Int32Array.of(1), new Float64Array(5).fill(0.5)).wait();
      comm.putRows(owner, 'allocated', Int32Array.of(2), new Float64Array(5).fill(7)).wait();
      comm.barrier();
      assert.deepEqual(table.slice(5, 6), Float64Array.of(comm.rank * 10_000 + 5.5));
      assert.deepEqual(table.slice(10, 15), new Float64Array(5).fill(7));
      const empty = comm.allocateTable('empty', { rows: 0, width: 2, dtype: 'i32' });
      assert.equal(empty.length, 0);
    },
  },
  {
    name: 'a name refers to one table until it is unregistered; long names are truncated in errors',
    run(comm) {
      const long = 'n'.repeat(500);
      const table = new Float32Array(4);
      comm.registerTable(long, table, 2);
      comm.registerTable(long, table, 2);
      const text = /expected a new name, got 'n{60}…', .* Call unregisterTable first/;
      assert.throws(() => comm.registerTable(long, new Float32Array(4), 2), text);
      const wrong = comm.getRows(comm.rank, long, Int32Array.of(9), new Float32Array(2));
      assert.throws(() => wrong.wait(), /table 'n{60}…', 1 ids/);
      comm.unregisterTable(long);
      comm.registerTable(long, new Float32Array(6), 2);
      comm.unregisterTable(long);
    },
  },
  {
    name: 'a wrong id or width is named, and nothing is written',
    run(comm) {
      const table = new Float32Array(8);
      comm.registerTable('small', table, 2);
      comm.barrier();
      const owner = next(comm);
      const four = Float32Array.of(1, 1, 1, 1);
      const ids = Int32Array.of(3, 4);
      const range = /(put|get)Rows \(table 'small'.*expected ids from 0 to 3, got 4 at position 1/;
      assert.throws(() => comm.putRows(owner, 'small', ids, four).wait(), range);
      assert.throws(() => comm.getRows(owner, 'small', ids, four).wait(), range);
      const width = Float32Array.of(1, 1, 1);
      assert.throws(() => comm.addRows(owner, 'small', Int32Array.of(0), width).wait(), /2 elements/);
      comm.barrier();
      assert.ok(table.every((value) => value === 0));
      comm.unregisterTable('small');
    },
  },
];

const mistakes: CommCase[] = [
  {
    name: 'arguments are checked before anything is sent',
    run(comm) {
      const data = new Float32Array(2);
      assert.throws(() => comm.send(comm.size, data), /expected a whole number from 0 to \d+ for to/);
      assert.throws(() => comm.recv(-1, data), /for from/);
      assert.throws(() => comm.send(0, data, -1), /for tag/);
      assert.throws(() => comm.allReduce(data, 'mean' as 'sum'), /one of sum, max, min/);
      assert.throws(() => comm.allReduce(new Uint8Array(2) as unknown as Int32Array), /Float32Array/);
      assert.throws(() => comm.allToAllv([data, data, data, data, data, data]), /one array for each/);
      assert.throws(() => comm.registerTable('t', data, 3), /whole rows of 3/);
      assert.throws(() => comm.getRows(0, 't', Int32Array.of(1, 2), new Float32Array(3)), /2 rows/);
    },
  },
];

export const communicatorContract: readonly CommCase[] = [
  ...messages,
  ...collectives,
  ...tables,
  ...mistakes,
];
