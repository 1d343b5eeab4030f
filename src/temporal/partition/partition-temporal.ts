/**
 * Partitions a stream of events for several workers: every node has one master, every event one owner. Only the training prefix
 * decides; the owners of later events follow from the masters. The same input gives the same partitions.
 */
import {
  type Assignment,
  countByPartition,
  placeByHash,
  placeByLdg,
  placeByMetis,
  placeBySpeed,
  placeRandomly,
  type TimedEdges,
} from '../../graph/partition/index.js';
import { checkInteger, checkNumber, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import type { EventStream } from '../event-stream.js';
import {
  type PartitionStats,
  partitionAlgorithms,
  type TemporalPartition,
  type TemporalPartitionOptions,
} from './types.js';

export function partitionTemporal(stream: EventStream, options: TemporalPartitionOptions): TemporalPartition {
  checkOptionNames('partitionTemporal', options, {
    algo: true,
    numParts: true,
    trainEnd: true,
    seed: true,
    hotRatio: true,
  });
  const where = 'partitionTemporal';
  const { algo } = options;
  if (!partitionAlgorithms.includes(algo))
    throw new ValueError(expected(where, `one of ${partitionAlgorithms.join(', ')}`, 'algo', algo));
  const { numNodes, src, dst, time } = stream;
  const numParts = checkInteger(where, 'numParts', options.numParts, 1, Math.max(1, numNodes));
  const trainEnd = checkInteger(where, 'trainEnd', options.trainEnd ?? src.length, 0, src.length);
  const seed = checkInteger(where, 'seed', options.seed ?? 0, 0, 2 ** 31 - 1);
  const hotRatio = checkNumber(where, 'hotRatio', options.hotRatio ?? 0.1, 0, 1);
  const training = {
    numNodes,
    src: src.subarray(0, trainEnd),
    dst: dst.subarray(0, trainEnd),
    time: time.subarray(0, trainEnd),
  };
  const assigned = assign(training, { algo, numParts, seed, hotRatio });
  const edgeOwner = ownAll(stream, assigned);
  return {
    algo,
    numParts,
    master: assigned.master,
    edgeOwner,
    sharedNodes: assigned.sharedNodes,
    stats: measure(training, assigned, numParts),
  };
}

/** Returns the nodes of partition `rank`: those it is the master of and the shared ones, ascending. */
export function nodesOfPartition({ master, sharedNodes }: TemporalPartition, rank: number): Int32Array {
  const has = Uint8Array.from(master, (part) => (part === rank ? 1 : 0));
  for (const v of sharedNodes) has[v] = 1;
  return Int32Array.from(has.keys()).filter((v) => has[v] === 1);
}

/** Returns the events that partition `rank` owns, ascending. */
export function eventsOfPartition({ edgeOwner }: TemporalPartition, rank: number): Int32Array {
  return Int32Array.from(edgeOwner.keys()).filter((row) => edgeOwner[row] === rank);
}

function assign(
  events: TimedEdges,
  options: Required<Omit<TemporalPartitionOptions, 'trainEnd'>>,
): Assignment {
  const { algo, numParts, seed, hotRatio } = options;
  const { numNodes, src } = events;
  if (algo === 'speed' || algo === 'memshare') return placeBySpeed(events, numParts, hotRatio);
  if (algo === 'dis_tgl') return placeBySpeed(events, numParts, 0);
  const nodes = {
    metis_for_tgnn: () => placeByMetis(events, numParts, seed),
    ldg: () => placeByLdg(events, numParts),
    LDG_for_tgnn: () => placeByLdg(events, numParts),
    random: () => placeRandomly(numNodes, numParts, seed),
    hash: () => placeByHash(numNodes, numParts),
  };
  const master = nodes[algo]();
  return { master, edgeOwner: src.map((u) => master[u]), sharedNodes: new Int32Array(0), dropped: 0 };
}

/** Assigns later events to the master of their source, or of their destination if only the source is shared. */
function ownAll(
  { src, dst, numNodes }: EventStream,
  { master, edgeOwner, sharedNodes }: Assignment,
): Int32Array {
  const isShared = new Uint8Array(numNodes);
  for (const v of sharedNodes) isShared[v] = 1;
  const all = new Int32Array(src.length);
  all.set(edgeOwner);
  for (let i = edgeOwner.length; i < src.length; i++) {
    all[i] = master[isShared[src[i]] > isShared[dst[i]] ? dst[i] : src[i]];
  }
  return all;
}

function measure(events: TimedEdges, assigned: Assignment, numParts: number): PartitionStats {
  const { master, edgeOwner, sharedNodes, dropped } = assigned;
  const { src, dst, numNodes } = events;
  const balance = (loads: Int32Array, total: number): number =>
    total === 0 ? 1 : (Math.max(...loads) * numParts) / total;
  const isShared = new Uint8Array(numNodes);
  for (const v of sharedNodes) isShared[v] = 1;
  const away = (v: number, part: number): boolean => isShared[v] === 0 && master[v] !== part;
  let cutEdges = 0;
  for (let i = 0; i < src.length; i++)
    if (away(src[i], edgeOwner[i]) || away(dst[i], edgeOwner[i])) cutEdges++;
  return {
    nodeBalance: balance(countByPartition(master, numParts), numNodes),
    edgeBalance: balance(countByPartition(edgeOwner, numParts), src.length),
    cutEdges,
    droppedEdges: dropped,
  };
}
