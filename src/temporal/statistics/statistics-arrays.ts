/** The arrays of `EventStatistics`: their sizes, growth, copies and checks. `event-kernels.ts` describes their layout. */
import { type EventStatisticsArguments, eventLayout } from '../../native/event-kernels.js';
import { slotOf } from '../../native/reference/event-store.js';
import { expected, FormatError } from '../../util/errors.js';
import type { StateSnapshot } from '../temporal-state.js';

/** The arrays that events change. */
export type StatisticsArrays = Pick<
  EventStatisticsArguments,
  | 'nodeInts'
  | 'nodeTimes'
  | 'nodeValues'
  | 'pairInts'
  | 'pairTimes'
  | 'pairValues'
  | 'pairSlots'
  | 'relatedIds'
  | 'relatedCounts'
  | 'totals'
  | 'slots'
>;

/** The numbers of nodes, pairs and entries that arrays have room for. */
export interface Room {
  readonly nodes: number;
  readonly pairs: number;
  readonly related: number;
}

const { nodeInts, nodeValues, pairInts, pairValues, relations, relatedSlack } = eventLayout;

export function emptyArrays({ nodes, pairs, related }: Room): StatisticsArrays {
  return {
    nodeInts: new Int32Array(2 * nodes * nodeInts),
    nodeTimes: new Float64Array(2 * nodes),
    nodeValues: new Float32Array(2 * nodes * nodeValues),
    pairInts: new Int32Array(pairs * pairInts),
    pairTimes: new Float64Array(pairs),
    pairValues: new Float32Array(pairs * pairValues),
    // Half full at most.
    pairSlots: new Int32Array(2 * powerOfTwo(pairs)),
    relatedIds: new Int32Array(related),
    relatedCounts: new Float32Array(related * relations),
    totals: new Int32Array(3),
    slots: new Int32Array(2 * nodes),
  };
}

export function roomOf({ nodeTimes, pairTimes, relatedIds }: StatisticsArrays): Room {
  return { nodes: nodeTimes.length / 2, pairs: pairTimes.length, related: relatedIds.length };
}

export function bytesOf(arrays: StatisticsArrays): number {
  return Object.values(arrays).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

/** Returns the room for `events` more events, at least twice the old one where that does not suffice. */
export function roomFor(arrays: StatisticsArrays, events: number): Room {
  const now = roomOf(arrays);
  const [, pairs, related] = arrays.totals;
  const next = (room: number, needed: number): number => (needed <= room ? room : Math.max(needed, 2 * room));
  return {
    nodes: now.nodes,
    pairs: next(now.pairs, pairs + events),
    related: next(now.related, related + relatedSlack),
  };
}

/** Returns a copy with other room, for at least what is in use. */
export function withRoom(arrays: StatisticsArrays, room: Room): StatisticsArrays {
  const copy = emptyArrays(room);
  const { nodes } = roomOf(arrays);
  const [, pairs, related] = arrays.totals;
  const least = Math.min(nodes, room.nodes);
  copy.totals.set(arrays.totals);
  copy.nodeInts.set(arrays.nodeInts.subarray(0, 2 * least * nodeInts));
  copy.nodeTimes.set(arrays.nodeTimes.subarray(0, 2 * least));
  copy.nodeValues.set(arrays.nodeValues.subarray(0, 2 * least * nodeValues));
  copy.pairInts.set(arrays.pairInts.subarray(0, pairs * pairInts));
  copy.pairTimes.set(arrays.pairTimes.subarray(0, pairs));
  copy.pairValues.set(arrays.pairValues.subarray(0, pairs * pairValues));
  copy.relatedIds.set(arrays.relatedIds.subarray(0, related));
  copy.relatedCounts.set(arrays.relatedCounts.subarray(0, related * relations));
  if (copy.pairSlots.length === arrays.pairSlots.length) copy.pairSlots.set(arrays.pairSlots);
  else fillSlots(copy);
  return copy;
}

/** Copies what is in use, without what follows from the rest. */
export function savedArrays(arrays: StatisticsArrays, numNodes: number): StateSnapshot['arrays'] {
  const [, pairs, related] = arrays.totals;
  const { pairSlots: _, slots: __, ...saved } = withRoom(arrays, { nodes: numNodes, pairs, related });
  return saved;
}

/** Returns the arrays of a snapshot; throws if they do not fit together. */
export function restoredArrays(saved: StateSnapshot['arrays'], leastNodes: number): StatisticsArrays {
  const totals = saved['totals'];
  if (!(totals instanceof Int32Array) || totals.length !== 3 || totals.some((total) => total < 0))
    throw new FormatError(expected('EventStatistics.restore', 'three counts', 'totals', totals));
  const [, pairs, related] = totals;
  const nodes = (saved['nodeTimes']?.length ?? 0) / 2;
  const copy = emptyArrays({ nodes, pairs, related });
  for (const name of Object.keys(copy) as (keyof StatisticsArrays)[]) {
    if (name === 'pairSlots' || name === 'slots') continue;
    const [own, given] = [copy[name], saved[name]];
    if (given?.constructor !== own.constructor || given.length !== own.length)
      throw new FormatError(
        expected('EventStatistics.restore', `${own.length} numbers`, name, given?.length ?? 'none'),
      );
    own.set(given);
  }
  checkIndices(copy, { nodes, pairs, related });
  fillSlots(copy);
  const least = { nodes: Math.max(nodes, leastNodes), pairs: Math.max(pairs, 1024) };
  return withRoom(copy, { ...least, related: related + 2 * relatedSlack });
}

/** Throws if a stored index is beyond what it refers to. */
function checkIndices(arrays: StatisticsArrays, { nodes, pairs, related }: Room): void {
  const { nodeInts: ints, pairInts: records, relatedIds } = arrays;
  const fail = (name: string, got: number): never => {
    throw new FormatError(expected('EventStatistics.restore', 'an index in range', name, got));
  };
  const check = (name: string, index: number, limit: number): void => {
    if (index < 0 || index >= limit) fail(name, index);
  };
  for (let at = 0; at < ints.length; at += nodeInts) {
    check('a newest pair', ints[at + eventLayout.newestPair], pairs + 1);
    check('a row of related nodes', ints[at + 7], eventLayout.mostRelated + 1);
    check('a row of related nodes', ints[at + 6], related - ints[at + 7] + 1);
    for (let k = 8; k < nodeInts; k++) check('a partner', ints[at + k], nodes + 1);
  }
  for (let pair = 0; pair < pairs; pair++) {
    const at = pair * pairInts;
    check('a source', records[at], nodes);
    check('a destination', records[at + 1], nodes);
    // An older pair comes before: chains end.
    check('an older pair', records[at + eventLayout.olderPair], pair + 1);
  }
  for (let i = 0; i < related; i++) check('a related node', relatedIds[i], nodes);
}

function fillSlots(arrays: StatisticsArrays): void {
  const { pairInts: records, pairSlots, totals } = arrays;
  const store = { ...arrays, slotCount: pairSlots.length } as EventStatisticsArguments;
  for (let pair = 0; pair < totals[1]; pair++)
    pairSlots[slotOf(store, records[pair * pairInts], records[pair * pairInts + 1])] = pair + 1;
}

function powerOfTwo(least: number): number {
  let power = 1;
  while (power < least) power *= 2;
  return power;
}
