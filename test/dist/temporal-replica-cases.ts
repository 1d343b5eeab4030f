/**
 * Modes that trade exactness for fewer messages: replicas of busy nodes behind a filter, and state that is not exchanged at
 * all. Cases throw when something is wrong. Check 15 of the notes on temporal systems.
 */
import assert from 'node:assert/strict';
import {
  type Communicator,
  divideByOwner,
  NodeOwners,
  ReplicaStore,
  type ReplicaStoreOptions,
  SeparateStore,
} from 'skein/dist';
import { TemporalGraph } from 'skein/graph';
import { SharedMailBox } from 'skein/temporal';
import { partitionTemporal } from '#internal/temporal/partition/partition-temporal.js';
import { makeEvents, numNodes } from '../temporal/stream.js';
import { digestBox, dropping, type TemporalCase, trainAndEvaluate, workerRig } from './temporal-cases.js';
import { deltaOf, ids, nothing } from './temporal-mailbox-cases.js';

const width = 2;

function makeBox(comm: Communicator, more: Partial<ReplicaStoreOptions> = {}, slots = 1) {
  let store: ReplicaStore | undefined;
  const owners = NodeOwners.roundRobin(12, comm.size);
  const box = new SharedMailBox({
    numNodes: 12,
    memoryParam: { type: 'node', dim_out: width, mailbox_size: slots },
    store: (sizes, combine) => {
      store = new ReplicaStore(sizes, combine, { comm, owners, sharedNodes: ids(3, 7), ...more });
      return store;
    },
  });
  return { box, store: store as ReplicaStore };
}

/** Throws unless all workers have equal values. */
function sameEverywhere(comm: Communicator, word: string): void {
  const all = comm.allGather(new TextEncoder().encode(word)).map((bytes) => new TextDecoder().decode(bytes));
  assert.deepEqual(new Set(all), new Set([word]));
}

const memoryOf = (box: SharedMailBox, node: number): number => box.getMemory([node]).memory.dataSync()[0];

/** Training twice gives the same, on all workers. */
async function repeats(comm: Communicator, file: string, kind: 'stale' | 'local'): Promise<string> {
  const graph = new TemporalGraph(makeEvents(120), { numNodes });
  const { master, edgeOwner, sharedNodes } = partitionTemporal(graph, {
    ...{ algo: 'speed', numParts: comm.size, hotRatio: 0.2 },
  });
  const outcome = (): Promise<string> => {
    const owners = NodeOwners.fromPartitions(master, comm.size, comm.size);
    return trainAndEvaluate(
      workerRig(comm, file, {
        division: divideByOwner((row) => edgeOwner[row]),
        store: (sizes, combine) =>
          kind === 'stale'
            ? new ReplicaStore(sizes, combine, { comm, owners, sharedNodes })
            : new SeparateStore(sizes, combine, { comm, owners }),
      }),
    );
  };
  const first = await outcome();
  sameEverywhere(comm, first);
  assert.equal(await outcome(), first);
  return 'repeats';
}

export const replicaCases: readonly TemporalCase[] = [
  {
    name: 'check 15: what was never sent is sent, what did not turn is kept back, but not for ever',
    async run(comm) {
      const { box, store } = makeBox(comm, { minDistance: 0.3, maxSkip: 2 });
      const told: number[] = [];
      for (let step = 1; step <= 6; step++) {
        const before = store.counts.sent;
        // Only the first worker changes node 3; its memory grows but does not turn.
        box.commit(
          comm.rank === 0
            ? deltaOf(
                ids(3),
                () => step,
                () => step,
                () => step,
              )
            : nothing(),
        );
        told.push(store.counts.sent - before);
      }
      const expected = comm.rank === 0 ? [1, 0, 0, 1, 0, 0] : [0, 0, 0, 0, 0, 0];
      assert.deepEqual(told, expected);
      assert.equal(store.counts.forced, comm.rank === 0 ? 1 : 0);
      // The first worker knows its own change at once, the others what was sent by the fourth.
      assert.equal(memoryOf(box, 3), comm.rank === 0 ? 6 : 4);
      box.drain();
      assert.equal(memoryOf(box, 3), 6);
      sameEverywhere(comm, digestBox(box));
      return 'as promised';
    },
  },
  {
    name: 'check 15: after a drain all replicas are the owner’s: the latest',
    async run(comm) {
      for (const slots of [1, 3]) {
        const { box } = makeBox(comm, { minDistance: 2, maxSkip: 100 }, slots);
        for (let step = 1; step <= 4; step++) {
          const event = step * comm.size + comm.rank;
          box.commit(
            deltaOf(
              ids(3, 7),
              () => event,
              () => event,
              () => event,
            ),
          );
        }
        // Nothing was sent: every worker has its own state.
        assert.equal(memoryOf(box, 7), 4 * comm.size + comm.rank);
        box.drain();
        assert.equal(memoryOf(box, 7), 4 * comm.size + comm.size - 1);
        assert.equal(box.getMail([3]).mail.dataSync()[0] > 10, true);
        const snapshot = box.snapshot();
        const other = makeBox(comm, {}, slots).box;
        other.restore(snapshot);
        assert.equal(digestBox(other), digestBox(box));
        sameEverywhere(comm, digestBox(box));
      }
      return 'as promised';
    },
  },
  {
    name: 'updates arrive one change later, and rows of others are exact all the time',
    async run(comm) {
      const { box, store } = makeBox(comm, { minDistance: 0, maxSkip: 0 });
      const last = comm.size - 1;
      const both = deltaOf(
        ids(3, 4),
        (v) => v,
        () => 1,
        () => 1,
      );
      box.commit(comm.rank === last ? both : nothing());
      assert.equal(memoryOf(box, 4), 4);
      assert.equal(memoryOf(box, 3), comm.rank === last ? 3 : 0);
      box.commit(nothing());
      assert.equal(memoryOf(box, 3), 3);
      // Shared rows are read without communication.
      const asked = store.traffic.readRows;
      for (let i = 0; i < 3; i++) box.read(ids(3, 7, 7));
      assert.equal(store.traffic.readRows, asked);
      box.reset();
      assert.equal(memoryOf(box, 3) + memoryOf(box, 4), 0);
      return 'as promised';
    },
  },
  {
    name: 'an older row that arrives late does not turn a replica back',
    async run(comm) {
      const { box } = makeBox(comm, { minDistance: 0, maxSkip: 0 });
      const early = comm.rank === 0;
      box.commit(
        deltaOf(
          ids(7),
          () => (early ? 1 : 2),
          () => (early ? 1 : 2),
          () => comm.rank,
        ),
      );
      box.commit(nothing());
      assert.equal(memoryOf(box, 7), comm.size === 1 ? 1 : 2);
      return 'as promised';
    },
  },
  ...(['stale', 'local'] as const).flatMap((kind) =>
    dropping
      .filter(([name]) => name === 'tgn' || name === 'apan')
      .map(([name, file]) => ({
        name: `${kind}: ${name} repeats itself, and all workers agree`,
        run: (comm: Communicator) => repeats(comm, file, kind),
      })),
  ),
];
