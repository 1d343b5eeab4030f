/**
 * Cases of a table whose partitions several workers swap collectively, compared with the table of one process: the same
 * local ids, the same rows in every buffer state, in files and in memory. All ranks run a case together.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Communicator, DistributedEmbeddings, WorkerGroup } from 'skein/dist';
import {
  BufferedEmbeddings,
  BufferedTable,
  PartitionBuffer,
  PartitionLayout,
  repartitionTable,
  rowAdagrad,
  type TrainedRows,
} from 'skein/storage';
import { ownSlices } from '#internal/dist/stores/own-slices.js';
import type { ColumnInit } from '#internal/storage/partition-transfer.js';
import { TableFiles } from '#internal/storage/table-files.js';
import type { TableManifest } from '#internal/storage/table-manifest.js';
import type { ResidentRange, Tile } from '#internal/storage/trained-rows.js';
import type { CommCase } from './communicator-contract.js';

const width = 3;
const column = 'x';
const makeOptimizer = () => rowAdagrad({ learningRate: 0.1 });
const columns = makeOptimizer().columns(column, width, 'f32');
const init: ColumnInit = (piece) => {
  if (piece.column.name !== column) return makeOptimizer().init(piece);
  for (let i = 0; i < piece.values.length; i++) piece.values[i] = Math.sin(piece.start * width + i);
};

/** Slots as a plan has them: what stays keeps its place. */
const states = [
  [0, 1],
  [0, 2],
  [3, 2],
  [1, 2],
].map((state) => Int32Array.from(state));

interface Sizes {
  readonly rows: number;
  readonly pieces: number;
  readonly prefetch: boolean;
}

interface Both {
  readonly group: WorkerGroup;
  readonly folder: string;
  readonly shared: DistributedEmbeddings;
  /** An equal table in every process. */
  readonly alone: BufferedEmbeddings;
}

async function opened(
  comm: Communicator,
  folder: string,
  { rows, pieces, prefetch }: Sizes,
  manifest: TableManifest | null = null,
): Promise<Both> {
  const group = new WorkerGroup({ comm });
  const layout = new PartitionLayout(rows, 4 * pieces, { pieces });
  const own = ownSlices(pieces, comm.rank, comm.size);
  const path = join(folder, 'shared');
  await group.onRoot(() => (manifest === null ? TableFiles.prepare(path) : undefined));
  const files = await (manifest === null
    ? TableFiles.create(path, { layout, columns, init, own })
    : TableFiles.open(path, manifest, { own }));
  const shared = new DistributedEmbeddings(files, group, {
    ...{ column, optimizer: makeOptimizer(), partitions: 4, capacity: 2, prefetch },
  });
  const single = await TableFiles.create(mkdtempSync(join(folder, `${comm.rank}-`)), {
    layout: new PartitionLayout(rows, 4),
    ...{ columns, init },
  });
  const table = new BufferedTable(new PartitionBuffer(single, 2, { prefetch }));
  return { group, folder, shared, alone: new BufferedEmbeddings(table, column, makeOptimizer()) };
}

async function inFolder(comm: Communicator, work: (folder: string) => Promise<void>): Promise<void> {
  const group = new WorkerGroup({ comm });
  const folder = group.agree(group.isRoot ? mkdtempSync(join(tmpdir(), 'skein-swapped-')) : '');
  await work(folder);
  comm.barrier();
  if (group.isRoot) rmSync(folder, { recursive: true });
}

/** Different resident rows for every worker, some that several have, and none for one of them. */
function idsOf(ranges: readonly ResidentRange[], rank: number): Int32Array {
  const all = ranges.flatMap(({ localStart, rows }) =>
    Array.from({ length: rows }, (_, i) => localStart + i),
  );
  return Int32Array.from(rank === 1 ? [] : all.filter((id) => id % (rank + 2) === 0));
}

const gradientAt = (t: number, ids: Int32Array): Float32Array =>
  Float32Array.from({ length: ids.length * width }, (_, i) => Math.cos(t + ids[Math.floor(i / width)] + i));

/** The gradients of all workers, as one process would have them. */
function joined(group: WorkerGroup, t: number, ids: Int32Array) {
  const sums = new Map<number, Float32Array>();
  for (const [rank, list] of group.gather(ids).entries()) {
    const gradient = gradientAt(t + rank, list);
    for (const [i, id] of list.entries()) {
      const sum = sums.get(id) ?? new Float32Array(width);
      for (let j = 0; j < width; j++) sum[j] += gradient[i * width + j];
      sums.set(id, sum);
    }
  }
  const order = [...sums.keys()].sort((a, b) => a - b);
  return {
    ids: Int32Array.from(order),
    gradient: Float32Array.from(order.flatMap((id) => [...(sums.get(id) as Float32Array)])),
  };
}

async function epoch({ group, shared, alone }: Both, first = 0): Promise<void> {
  for (const { residency } of [shared, alone]) {
    residency.setOrdering(states.slice(first));
    await residency.load();
  }
  for (let t = first; t < states.length; t++) {
    const there = shared.residency.residentRanges();
    const plain = ({ localStart, globalStart, rows }: (typeof there)[number]) => [
      localStart,
      globalStart,
      rows,
    ];
    assert.deepEqual(there.map(plain), alone.residency.residentRanges().map(plain));
    const ids = idsOf(there, group.rank);
    assert.deepEqual(shared.residency.toGlobal(ids), alone.residency.toGlobal(ids));
    assert.deepEqual(shared.resident(ids).dataSync(), alone.resident(ids).dataSync());
    shared.update(ids, gradientAt(t + group.rank, ids));
    const all = joined(group, t, ids);
    alone.update(all.ids, all.gradient);
    if (t + 1 < states.length) for (const { residency } of [shared, alone]) await residency.nextState();
  }
}

async function rowsOf(table: TrainedRows): Promise<{ starts: number[]; values: number[] }> {
  const [starts, values]: [number[], number[]] = [[], []];
  for await (const { start, rows } of table.tiles() as AsyncIterable<Tile>) {
    starts.push(start);
    values.push(...rows);
  }
  return { starts, values };
}

/** Rows by tiles and by ids are those of one process. */
async function compare({ shared, alone }: Both, rank: number): Promise<void> {
  const [here, there] = [await rowsOf(shared), await rowsOf(alone)];
  assert.deepEqual(
    here.starts,
    [...here.starts].sort((a, b) => a - b),
  );
  assert.deepEqual(here.values, there.values);
  const some = Int32Array.from({ length: 7 * rank }, (_, i) => (i * 11 + rank) % shared.rows);
  assert.deepEqual(await shared.gather(some), await alone.gather(some));
}

function swapping(sizes: Sizes): CommCase {
  const how = sizes.prefetch ? ', reading ahead' : '';
  return {
    name: `${sizes.rows} rows in 4 partitions of ${sizes.pieces} pieces${how}`,
    run: (comm) =>
      inFolder(comm, async (folder) => {
        if (comm.size > sizes.pieces) return;
        const both = await opened(comm, folder, sizes);
        const { shared, alone } = both;
        await epoch(both);
        // Some rows in memory, changed; then none.
        await compare(both, comm.rank);
        for (const { residency } of [shared, alone]) await residency.release();
        await compare(both, comm.rank);
        const saved = await shared.checkpoint();
        await epoch(both, 1);
        await compare(both, comm.rank);
        const later = await rowsOf(shared);
        await shared.prune([saved]);
        await shared.restore(saved);
        assert.notDeepEqual((await rowsOf(shared)).values, later.values);
        await shared.close();
        // One process repartitions it, and the table is as it was saved.
        if (comm.rank > 0) return;
        const path = join(folder, 'shared');
        const whole = await repartitionTable(path, saved, new PartitionLayout(sizes.rows, 4));
        const buffer = new PartitionBuffer(await TableFiles.open(path, whole), 1);
        const again = new BufferedEmbeddings(new BufferedTable(buffer), column, makeOptimizer());
        const cut = new PartitionBuffer(await TableFiles.open(path, saved), 1);
        const asSaved = new BufferedEmbeddings(new BufferedTable(cut), column, makeOptimizer());
        assert.deepEqual((await rowsOf(again)).values, (await rowsOf(asSaved)).values);
      }),
  };
}

export const swappedCases: readonly CommCase[] = [
  swapping({ rows: 61, pieces: 3, prefetch: true }),
  swapping({ rows: 61, pieces: 5, prefetch: false }),
  swapping({ rows: 13, pieces: 3, prefetch: true }),
  {
    name: 'rows are updated by what ids are, not by the array that they were read with',
    run: (comm) =>
      inFolder(comm, async (folder) => {
        const both = await opened(comm, folder, { rows: 61, pieces: 5, prefetch: false });
        const { group, shared, alone } = both;
        for (const { residency } of [shared, alone]) {
          residency.setOrdering(states.slice(0, 1));
          await residency.load();
        }
        const step = (t: number, ids: Int32Array) => {
          shared.update(ids, gradientAt(t + comm.rank, ids));
          const all = joined(group, t, ids);
          alone.update(all.ids, all.gradient);
        };
        const ids = Int32Array.from({ length: 6 }, (_, i) => 4 * i + comm.rank);
        shared.resident(ids);
        // One worker reuses its array for other rows, the others keep theirs.
        if (comm.rank === 0) ids.set(ids.map((id) => id + 2));
        step(0, ids);
        shared.resident(ids);
        // The last worker has a copy of what was read.
        step(1, comm.rank === comm.size - 1 ? ids.slice() : ids);
        step(2, ids);
        await compare(both, comm.rank);
        await shared.close();
      }),
  },
  {
    name: 'a worker holds its share of the resident rows',
    run: (comm) =>
      inFolder(comm, async (folder) => {
        const both = await opened(comm, folder, { rows: 4000, pieces: 8, prefetch: true });
        const { shared, alone } = both;
        shared.setOrdering(states);
        await shared.load();
        const held = shared.buffer.capacity * shared.buffer.layout.size;
        const whole = alone.table.buffer.capacity * alone.table.buffer.layout.size;
        assert.ok(held <= (Math.ceil(8 / comm.size) / 8) * whole, `${held} of ${whole}`);
        const resident = both.group.sum([shared.buffer.numResidentRows])[0];
        assert.equal(resident, whole);
        await shared.close();
      }),
  },
];
