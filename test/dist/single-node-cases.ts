/** Cases of many workers that share one machine's memory. All ranks run a case together. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Communicator,
  currentCommunicator,
  FileLock,
  LocalLock,
  type PartitionData,
  PartitionDataManager,
  RemoteRowStore,
  setCommunicator,
} from 'skein/dist';
import { loadTensors } from 'skein/storage';
import { add, fromTypedArray, Tensor } from 'skein/tensor';
import { enterSingleNode } from '#internal/dist/single-node/spilling-communicator.js';
import type { CommCase } from './communicator-contract.js';
import { splitGraph } from './sampling-graph.js';

/** A folder known to all ranks; rank 0 creates it. */
async function sharedFolder(comm: Communicator): Promise<string> {
  const bytes = new Uint8Array(200);
  if (comm.rank === 0) new TextEncoder().encodeInto(await mkdtemp(join(tmpdir(), 'skein-node-')), bytes);
  comm.broadcast(bytes);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

/** Runs with a separate manager, and checks that nothing is left behind. */
function withManager(
  name: string,
  run: (comm: Communicator, manager: PartitionDataManager, folder: string) => void | Promise<void>,
): CommCase {
  return {
    name,
    async run(comm) {
      const folder = await sharedFolder(comm);
      const before = currentCommunicator();
      const lock = new FileLock(join(folder, 'lock'));
      const manager = new PartitionDataManager(comm.rank, lock, {
        folder: join(folder, 'partition_rank_'),
        minBytes: 0,
      });
      try {
        await run(comm, manager, folder);
      } finally {
        manager.delete();
        setCommunicator(before);
      }
      assert.equal(existsSync(manager.folder), false);
      assert.equal(lock.held, false);
      comm.barrier();
      if (comm.rank === 0) await rm(folder, { recursive: true });
    },
  };
}

const megabytes = (n: number) => Float32Array.from({ length: n * 2 ** 18 }, (_, i) => i % 1000);
const residentBytes = () => Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]) * 4096;

export const singleNodeCases: readonly CommCase[] = [
  withManager('memory goes to disk and comes back to the same places', async (comm, manager) => {
    manager.partitionData = splitGraph(comm).pd as PartitionData;
    manager.masks = { train: Int32Array.of(1, 2, 3) };
    const features = megabytes(16);
    manager.features = fromTypedArray(features);
    // Created after the manager, so it is managed without registration.
    const made = Tensor.allocate('f32', [16 * 2 ** 18]);
    const array = made.dataSync<Float32Array>();
    array.set(features);
    const edges = manager.partitionData.allShardEdges[0].src;
    const wanted = edges.slice();
    for (let i = 0; i < 3; i++) {
      array[5] = i;
      const before = residentBytes();
      manager.precallFunc();
      assert.ok(manager.isSpilled && !manager.lock.held);
      if (process.platform === 'linux') {
        const gone = before - residentBytes();
        // What was given back is known exactly; the process as a whole also grows by some megabytes of the engine's heap.
        assert.ok(manager.stats.lastReleased > 31.9 * 2 ** 20, `released: ${manager.stats.lastReleased}`);
        assert.ok(gone > 22 * 2 ** 20, `resident: ${gone} fewer`);
        // Pages at the ends may be shared with other memory, so they stay resident.
        assert.equal(features[2_000_777], 0);
      }
      manager.callbackFunc();
      assert.ok(!manager.isSpilled && manager.lock.held);
      assert.equal(array[5], i);
      assert.equal(array[1_000_001], 1);
      assert.equal(features[2_000_777], 777);
      assert.deepEqual(edges, wanted);
      assert.deepEqual(manager.masks.train, Int32Array.of(1, 2, 3));
      assert.equal(made.dataSync(), array);
      // Other workers take their turn.
      manager.lock.release();
      comm.barrier();
    }
    const { spills, bytesWritten, bytesRead } = manager.stats;
    assert.equal(spills, 3);
    // What does not change is written once and read each time.
    assert.ok(bytesWritten > 64 * 2 ** 20 && bytesWritten < 72 * 2 ** 20, `${bytesWritten}`);
    assert.ok(bytesRead > 96 * 2 ** 20, `${bytesRead}`);
    const { tensors } = await loadTensors(join(manager.folder, 'partition.safetensors'));
    assert.ok('features' in tensors && 'shard-0/src' in tensors && 'masks/train' in tensors);
  }),
  withManager(
    'every operation that waits hands the machine over, with the same results',
    async (comm, manager, folder) => {
      const spilling = enterSingleNode(comm, manager);
      assert.equal(currentCommunicator(), spilling);
      const x = Tensor.allocate('f32', [50_000]);
      x.dataSync<Float32Array>().fill(comm.rank + 1);
      const sum = Tensor.allocate('f32', [50_000]);
      const mark = join(folder, 'computing');
      for (let round = 0; round < 4; round++) {
        // Only the holder computes: if another ran between these lines, its mark would be here.
        writeFileSync(mark, '', { flag: 'wx' });
        const own = add(x, x);
        rmSync(mark);
        sum.dataSync<Float32Array>().set(own.dataSync<Float32Array>());
        spilling.allReduce(sum.dataSync<Float32Array>());
        assert.equal(sum.dataSync<Float32Array>()[49_999], comm.size * (comm.size + 1));
        const next = (comm.rank + 1) % comm.size;
        const before = (comm.rank + comm.size - 1) % comm.size;
        const into = Tensor.allocate('f32', [50_000]);
        const received = spilling.irecv(before, into.dataSync<Float32Array>(), round);
        const sent = spilling.isend(next, own.dataSync<Float32Array>(), round);
        received.wait();
        await sent.promise();
        assert.equal(into.dataSync<Float32Array>()[777], 2 * (before + 1));
        assert.equal(own.dataSync<Float32Array>()[0], 2 * (comm.rank + 1));
        const parts = spilling.allToAllv(
          Array.from({ length: comm.size }, (_, q) => Int32Array.of(comm.rank, q)),
        );
        assert.deepEqual(
          parts.map((part) => [...part]),
          parts.map((_, q) => [q, comm.rank]),
        );
      }
      if (comm.size > 1) assert.ok(manager.stats.spills >= 8);
      spilling.barrier();
    },
  ),
  withManager('tables stay in memory, for others read them at any time', async (comm, manager) => {
    const spilling = enterSingleNode(comm, manager);
    const rows = Tensor.allocate('f32', [20_000]);
    rows.dataSync<Float32Array>().fill(comm.rank + 1);
    const ranges = Array.from({ length: comm.size }, (_, q) => ({ start: q * 1000, end: (q + 1) * 1000 }));
    const store = new RemoteRowStore('rows', rows.dataSync<Float32Array>(), {
      width: 20,
      ranges,
      comm: spilling,
    });
    spilling.barrier();
    for (let q = 0; q < comm.size; q++) {
      const got = store.gatherSync(Int32Array.of(q * 1000 + 7));
      assert.ok(got.every((value) => value === q + 1));
    }
    spilling.barrier();
    store.close();
  }),
  withManager('tensors by name; what is refused', (comm, manager) => {
    assert.equal(manager.doesFileExist('h'), false);
    manager.saveTensor('h', fromTypedArray(Float32Array.of(1, 2, comm.rank)));
    assert.equal(manager.doesFileExist('h'), true);
    assert.deepEqual([...manager.loadTensor('h').dataSync()], [1, 2, comm.rank]);
    assert.throws(() => manager.loadTensor('k'), /expected a saved name for label, got "k"\. There are: h/);
    assert.throws(() => manager.saveTensor('../h', fromTypedArray(Float32Array.of(1))), /letters, digits/);
    manager.save();
    assert.throws(() => manager.save(), /expected one save\(\) before load\(\)/);
    assert.throws(() => manager.removeFiles(), /state that is only in these files/);
    manager.load();
    manager.load();
    manager.removeFiles();
    assert.equal(manager.doesFileExist('h'), false);
    assert.throws(() => new PartitionDataManager(0, null as unknown as FileLock), /a lock for lock/);
  }),
  {
    name: 'a lock has one holder at a time',
    async run(comm) {
      const folder = await sharedFolder(comm);
      const lock = new FileLock(join(folder, 'deep', 'lock'));
      for (let i = 0; i < 50; i++) {
        lock.acquire();
        // If two were here at the same time, one would find the other's file.
        writeFileSync(join(folder, 'inside'), '', { flag: 'wx' });
        rmSync(join(folder, 'inside'));
        lock.release();
      }
      assert.throws(() => lock.release(), /got release\(\) alone/);
      lock.acquire();
      assert.throws(() => lock.acquire(), /expected acquire\(\) once/);
      lock.release();
      comm.barrier();
      assert.ok((await readdir(folder)).includes('deep'));
      comm.barrier();
      if (comm.rank === 0) await rm(folder, { recursive: true });
      const local = new LocalLock();
      local.acquire();
      assert.throws(() => local.acquire(), /expected acquire\(\) once/);
      local.release();
      assert.throws(() => local.release(), /got release\(\) alone/);
    },
  },
];
