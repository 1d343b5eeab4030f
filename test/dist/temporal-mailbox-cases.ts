/**
 * The mailbox that workers share, on its own: reading rows of mixed owners, merging rows of several workers for one node,
 * how much is sent, waiting changes, snapshots. Cases throw when something is wrong; outcomes are the same on all workers
 * and for any number of them.
 */
import assert from 'node:assert/strict';
import { type Communicator, DistributedStore, NodeOwners } from 'skein/dist';
import { SharedMailBox } from 'skein/temporal';
import { fromTypedArray, tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import type { StateDelta } from '#internal/temporal/mailbox/rows.js';
import type { TemporalCase } from './temporal-cases.js';
import { digestBox } from './temporal-cases.js';

const numNodes = 12;
const width = 2;

interface Box {
  readonly box: SharedMailBox;
  readonly store: DistributedStore;
}

function makeBox(comm: Communicator, owners = NodeOwners.ranges(numNodes, comm.size), slots = 1): Box {
  let store: DistributedStore | undefined;
  const box = new SharedMailBox({
    numNodes,
    memoryParam: { type: 'node', dim_out: width, mailbox_size: slots },
    store: (sizes, combine) => {
      store = new DistributedStore(sizes, combine, { comm, owners });
      return store;
    },
  });
  return { box, store: store as DistributedStore };
}

export const ids = (...nodes: number[]): Int32Array => Int32Array.from(nodes);
const every = Int32Array.from({ length: numNodes }, (_, v) => v);

/** Memory [value, value] and mail [value + 10 …] of each node, at one time. */
export function deltaOf(
  nodes: Int32Array,
  value: (node: number, i: number) => number,
  time: (i: number) => number,
  event: (i: number) => number,
): StateDelta {
  const rows = (columns: number, more: number): Float32Array =>
    Float32Array.from({ length: nodes.length * columns }, (_, p) => {
      const i = Math.floor(p / columns);
      return value(nodes[i], i) + more;
    });
  const times = Float64Array.from(nodes, (_, i) => time(i));
  const events = Int32Array.from(nodes, (_, i) => event(i));
  return {
    ...{ nodes, memoryTime: times, memoryEvents: events },
    memory: fromTypedArray(rows(width, 0), [nodes.length, width]),
    ...{ mailNodes: nodes, mailTime: times, mailEvents: events },
    mail: fromTypedArray(rows(2 * width, 10), [nodes.length, 2 * width]),
  };
}

/** The rows of a change that worker q has when rows are distributed in some order. */
function dealt(delta: StateDelta, order: readonly number[], comm: Communicator): StateDelta {
  const mine = order.filter((_, i) => i % comm.size === comm.rank);
  const memory = delta.memory.dataSync();
  const mail = delta.mail.dataSync();
  const pick = <T extends Float64Array | Int32Array>(all: T): T =>
    (all.constructor as unknown as { from(list: number[]): T }).from(mine.map((i) => all[i]));
  const rows = (all: ArrayLike<number>, w: number): Float32Array =>
    Float32Array.from(mine.flatMap((i) => Array.from({ length: w }, (_, k) => all[i * w + k])));
  return {
    ...{
      nodes: pick(delta.nodes),
      memoryTime: pick(delta.memoryTime),
      memoryEvents: pick(delta.memoryEvents),
    },
    memory: fromTypedArray(rows(memory, width), [mine.length, width]),
    ...{
      mailNodes: pick(delta.mailNodes),
      mailTime: pick(delta.mailTime),
      mailEvents: pick(delta.mailEvents),
    },
    mail: fromTypedArray(rows(mail, 2 * width), [mine.length, 2 * width]),
  };
}

export const nothing = (): StateDelta =>
  deltaOf(
    ids(),
    () => 0,
    () => 0,
    () => 0,
  );

function shuffled(n: number, seed: number): number[] {
  const random = new Random(seed);
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

export const mailboxCases: readonly TemporalCase[] = [
  {
    name: 'check 13: rows of mixed owners are the owners’ (memory id + 10, mail id + 20)',
    async run(comm) {
      const owners = new NodeOwners(
        every.map((v) => (v * 7) % comm.size),
        comm.size,
      );
      const { box } = makeBox(comm, owners);
      const mine = every.filter((v) => owners.ownerOf(v) === comm.rank);
      box.commit(
        deltaOf(
          mine,
          (v) => v + 10,
          () => 1,
          () => 3,
        ),
      );
      // Every worker requests different rows, some twice, one none.
      const asked = comm.rank === comm.size - 1 && comm.size > 1 ? ids() : ids(11, 0, 5 + comm.rank, 0, 7);
      const rows = box.read(asked);
      asked.forEach((v, i) => {
        assert.deepEqual([...rows.memory.dataSync()].slice(i * width, (i + 1) * width), [v + 10, v + 10]);
        assert.equal(rows.mail.dataSync()[i * 2 * width], v + 20);
        assert.deepEqual(
          [rows.memoryTime[i], rows.mailTime[i], rows.mailEvents[i], rows.mailCount[i]],
          [1, 1, 3, 1],
        );
      });
      assert.deepEqual(rows.nodes, asked);
      return digestBox(box);
    },
  },
  {
    name: 'check 14: the greatest (time, event) is kept, from any worker and in any order',
    async run(comm) {
      const random = new Random(9);
      const n = 60;
      const nodes = Int32Array.from({ length: n }, () => random.nextInt(numNodes));
      const times = Float64Array.from({ length: n }, () => 1 + random.nextInt(3));
      const delta = deltaOf(
        nodes,
        (_, i) => i,
        (i) => times[i],
        (i) => i,
      );
      const outcomes = [1, 2, 3, 4].map((seed) => {
        const { box } = makeBox(comm);
        box.commit(dealt(delta, shuffled(n, seed), comm));
        return digestBox(box);
      });
      assert.equal(new Set(outcomes).size, 1);
      return outcomes[0];
    },
  },
  {
    name: 'check 14: each row is sent once, to its owner',
    async run(comm) {
      const { box, store } = makeBox(comm);
      // All workers have rows of all nodes, several of each.
      const nodes = Int32Array.from([...every, ...every, ...every]);
      const event = (i: number): number => i * comm.size + comm.rank;
      box.commit(
        deltaOf(
          nodes,
          (v) => v,
          () => 2,
          event,
        ),
      );
      const foreign =
        numNodes - every.filter((v) => Math.floor((v * comm.size) / numNodes) === comm.rank).length;
      const { memoryRows, mailRows, readRows } = store.traffic;
      assert.deepEqual(
        { memoryRows, mailRows, readRows },
        { memoryRows: foreign, mailRows: foreign, readRows: 0 },
      );
      const before = store.traffic.readRows;
      const rows = box.readEach([every, every, ids(0, 0, 0)]);
      assert.equal(rows[2].memory.shape[0], 3);
      const own = numNodes - foreign;
      assert.equal(store.traffic.readRows - before, own * (comm.size - 1));
      assert.equal(box.localBytes * numNodes, box.bytes * own);
      return 'as promised';
    },
  },
  {
    name: 'check 13: workers with nothing to read or write join in',
    async run(comm) {
      const { box } = makeBox(comm);
      for (let step = 0; step < 3 * comm.size; step++) {
        const busy = step % comm.size === comm.rank;
        const read = box.read(busy ? every : ids());
        assert.equal(read.memoryTime.length, busy ? numNodes : 0);
        const turn = Math.floor(step / comm.size);
        // The written rows do not depend on the number of workers.
        box.commit(
          busy
            ? deltaOf(
                every,
                (v) => v + turn,
                () => turn,
                () => turn,
              )
            : nothing(),
        );
      }
      return digestBox(box);
    },
  },
  {
    name: 'waiting changes of all workers, in a snapshot and after it',
    async run(comm) {
      const { box } = makeBox(comm, undefined, 3);
      const order = Array.from({ length: numNodes }, (_, i) => i);
      box.commitAsync(
        dealt(
          deltaOf(
            every,
            (v) => v,
            () => 1,
            (i) => i,
          ),
          order,
          comm,
        ),
      );
      const snapshot = box.snapshot();
      const other = makeBox(
        comm,
        new NodeOwners(
          every.map((v) => v % comm.size),
          comm.size,
        ),
        3,
      ).box;
      other.restore(snapshot);
      box.drain();
      other.drain();
      assert.equal(digestBox(other), digestBox(box));
      assert.equal(other.version, box.version);
      other.grow(numNodes + 3);
      assert.equal(other.read(ids(numNodes + 2)).mailCount[0], 0);
      return digestBox(box);
    },
  },
  {
    name: 'an old time is rejected with the id of the node',
    async run(comm) {
      const { box } = makeBox(
        comm,
        new NodeOwners(
          every.map((v) => (numNodes - 1 - v) % comm.size),
          comm.size,
        ),
      );
      box.commit(
        comm.rank === 0
          ? deltaOf(
              ids(11),
              () => 1,
              () => 5,
              () => 5,
            )
          : nothing(),
      );
      const late =
        comm.rank === 0
          ? deltaOf(
              ids(11),
              () => 1,
              () => 4,
              () => 6,
            )
          : nothing();
      let refused = 0;
      try {
        box.check(late);
      } catch (error) {
        refused = 1;
        assert.match((error as Error).message, /at least 5 for the memory of node 11, got 4/);
      }
      const all = Int32Array.of(refused);
      comm.allReduce(all);
      assert.equal(all[0], 1);
      return 'refused';
    },
  },
  {
    name: 'gradients end at the store',
    async run(comm) {
      const { box } = makeBox(comm);
      const memory = tensor(new Float32Array(numNodes * width).fill(1), {
        ...{ shape: [numNodes, width], requiresGrad: true },
      });
      box.setMemoryLocal(every, memory, new Float64Array(numNodes).fill(1));
      assert.equal(box.getMemory(every).memory.requiresGrad, false);
      return digestBox(box);
    },
  },
];
