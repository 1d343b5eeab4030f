/**
 * The order in which node classification makes partitions of nodes resident, and the buffer state in which each
 * training node is used: a pure function of its options, random choices keyed by (seed, epoch).
 *
 * DISPERSED swaps one random group at a time until every partition has been in memory; a training node is used in one
 * of the states that hold its partition, each as likely. SEQUENTIAL keeps all partitions with training nodes in memory
 * for the whole epoch and fills the rest of the buffer at random: one state, no swap. It is meant for tables whose
 * training nodes have the lowest ids, and throws if these are in more partitions than the buffer has slots.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Random } from '../../util/philox.js';
import { placeInSlots } from './assign.js';
import { shuffle } from './beta.js';
import { checkStates } from './custom.js';

export const nodePartitionOrderings = ['DISPERSED', 'SEQUENTIAL', 'CUSTOM'] as const;
export type NodePartitionOrdering = (typeof nodePartitionOrderings)[number];

export interface NodePartitionOptions {
  readonly ordering: NodePartitionOrdering;
  readonly partitions: number;
  readonly capacity: number;
  readonly seed: number;
  readonly epoch: number;
  /** The number of training nodes in each partition. */
  readonly trainNodesPerPartition: ArrayLike<number>;
  /** DISPERSED: the number of partitions that are swapped together; divides both partitions and capacity. Default 1. */
  readonly fineToCoarseRatio?: number;
  /** CUSTOM: the resident partitions of each state. */
  readonly states?: readonly ArrayLike<number>[];
}

export interface NodePlan {
  readonly states: readonly Int32Array[];
  /** assigned[k][i]: the state in which the i-th training node of partition k is used. */
  readonly assigned: readonly Int32Array[];
}

const where = 'planNodePartitions';
/** Separates these draws from others that are keyed by the same seed and epoch. */
const stream = 0x0d15;

export function planNodePartitions(options: NodePartitionOptions): NodePlan {
  checkOptionNames('planNodePartitions', options, {
    ordering: true,
    partitions: true,
    capacity: true,
    seed: true,
    epoch: true,
    trainNodesPerPartition: true,
    fineToCoarseRatio: true,
    states: true,
  });
  const { ordering, trainNodesPerPartition: counts } = options;
  const partitions = checkInteger(where, 'partitions', options.partitions, 1);
  const capacity = checkInteger(where, 'capacity', options.capacity, 1);
  checkInteger(where, 'epoch', options.epoch);
  if (!nodePartitionOrderings.includes(ordering)) {
    throw new ValueError(
      expected(where, `one of ${nodePartitionOrderings.join(', ')}`, 'ordering', ordering),
    );
  }
  if (counts.length !== partitions) {
    throw new ValueError(expected(where, `${partitions} counts`, 'trainNodesPerPartition', counts.length));
  }
  for (let k = 0; k < partitions; k++) checkInteger(where, `trainNodesPerPartition[${k}]`, counts[k]);
  const random = new Random(options.seed).split(stream).split(options.epoch);
  const states = placeInSlots(
    capacity >= partitions
      ? [Array.from({ length: partitions }, (_, i) => i)]
      : ordering === 'DISPERSED'
        ? dispersedSets(options, random)
        : ordering === 'SEQUENTIAL'
          ? [sequentialSet(options, random)]
          : checkStates(where, options.states, partitions, capacity),
  );
  return { states, assigned: assignNodes(states, counts, random) };
}

function dispersedSets(options: NodePartitionOptions, random: Random): number[][] {
  const { partitions, capacity } = options;
  const ratio = checkInteger(where, 'fineToCoarseRatio', options.fineToCoarseRatio ?? 1, 1);
  if (partitions % ratio !== 0 || capacity % ratio !== 0) {
    const what = `a number that divides partitions ${partitions} and capacity ${capacity}`;
    throw new ValueError(expected(where, what, 'fineToCoarseRatio', ratio));
  }
  const members = shuffle(
    Array.from({ length: partitions }, (_, i) => i),
    random,
  );
  const expand = (groups: readonly number[]): number[] =>
    groups.flatMap((group) => members.slice(group * ratio, (group + 1) * ratio));
  const places = capacity / ratio;
  const buffer = Array.from({ length: places }, (_, i) => i);
  const sets = [expand(buffer)];
  for (let group = places; group < partitions / ratio; group++) {
    buffer[random.nextInt(places)] = group;
    sets.push(expand(buffer));
  }
  return sets;
}

function sequentialSet(options: NodePartitionOptions, random: Random): number[] {
  const { partitions, capacity, trainNodesPerPartition: counts } = options;
  const all = Array.from({ length: partitions }, (_, i) => i);
  const kept = all.filter((k) => counts[k] > 0);
  if (kept.length > capacity) {
    const advice =
      'The SEQUENTIAL ordering keeps them all in memory: prepare the data with the training nodes first (sequential_train_nodes), raise capacity, or use DISPERSED.';
    const what = `training nodes in at most ${capacity} partitions (capacity)`;
    throw new ValueError(
      expected(where, what, 'trainNodesPerPartition', `${kept.length} partitions`, advice),
    );
  }
  const others = shuffle(
    all.filter((k) => counts[k] === 0),
    random,
  );
  return [...kept, ...others.slice(0, capacity - kept.length)];
}

function assignNodes(states: readonly Int32Array[], counts: ArrayLike<number>, random: Random): Int32Array[] {
  const statesOf: number[][] = Array.from({ length: counts.length }, () => []);
  for (let s = 0; s < states.length; s++) for (const k of states[s]) statesOf[k].push(s);
  return statesOf.map((choices, k) => {
    if (choices.length === 0 && counts[k] > 0) {
      const got = `none with partition ${k}, which has ${counts[k]} training nodes`;
      throw new ValueError(`${where}: expected every partition with training nodes in states, got ${got}.`);
    }
    if (choices.length === 1) return new Int32Array(counts[k]).fill(choices[0]);
    return Int32Array.from({ length: counts[k] }, () => choices[random.nextInt(choices.length)]);
  });
}
