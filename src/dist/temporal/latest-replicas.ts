/** Finds the latest of the diverged replicas of each node. */
import type { TypedArray } from '../../native/index.js';
import { latestSlot } from '../../temporal/mailbox/check-delta.js';
import { isEarlier } from '../../temporal/mailbox/merge.js';
import { type StateArrays, type StateSizes, stateType } from '../../temporal/mailbox/state.js';
import type { Communicator } from '../comm/communicator.js';
import { eachArray, type NamedArrays, pickNodes, putNodes } from './owned-arrays.js';

/** Time and event of memory, then of the latest mail, of every node. */
interface Stamps {
  readonly times: Float64Array;
  readonly events: Int32Array;
}

/**
 * Returns for every node the row of the worker with the greatest (time, event) of memory, then of mail; among equals that of the
 * lowest rank. Collective: stamps are gathered first, then every row is sent once, from its winner to all others.
 */
export function latestReplicas(
  comm: Communicator,
  sizes: StateSizes,
  own: Readonly<NamedArrays>,
): NamedArrays {
  const { numNodes } = sizes;
  const mine = stampsOf(own as unknown as StateArrays, sizes);
  const times = comm.allGather(mine.times);
  const events = comm.allGather(mine.events);
  const stamps = times.map((time, q) => ({ times: time, events: events[q] }));
  const winners = Int32Array.from({ length: numNodes }, (_, node) => winnerOf(stamps, node));
  const nodesOf = Array.from({ length: comm.size }, (_, q) =>
    Int32Array.from(winners.keys()).filter((node) => winners[node] === q),
  );
  const won = pickNodes(sizes, own, nodesOf[comm.rank]);
  return eachArray(sizes, (name, width) => {
    const all: TypedArray = new (stateType(sizes, name))(numNodes * width);
    const parts = comm.allGather(won[name] as Float32Array);
    for (const [q, nodes] of nodesOf.entries()) putNodes(all, parts[q], nodes, width);
    return all;
  });
}

function stampsOf(arrays: StateArrays, { numNodes, slots }: StateSizes): Stamps {
  const times = new Float64Array(2 * numNodes);
  const events = new Int32Array(2 * numNodes);
  for (let node = 0; node < numNodes; node++) {
    times[2 * node] = arrays.memoryTime[node];
    events[2 * node] = arrays.memoryEvents[node];
    const slot = latestSlot(arrays, slots, node);
    times[2 * node + 1] = arrays.mailTime[slot];
    events[2 * node + 1] = arrays.mailEvents[slot];
  }
  return { times, events };
}

function winnerOf(stamps: readonly Stamps[], node: number): number {
  let best = 0;
  for (let q = 1; q < stamps.length; q++) if (isBefore(stamps[best], stamps[q], node)) best = q;
  return best;
}

/** Whether a's stamps of a node are less than b's, memory first. */
function isBefore(a: Stamps, b: Stamps, node: number): boolean {
  for (const i of [2 * node, 2 * node + 1]) {
    if (isEarlier(a.times[i], a.events[i], b.times[i], b.events[i])) return true;
    if (isEarlier(b.times[i], b.events[i], a.times[i], a.events[i])) return false;
  }
  return false;
}
