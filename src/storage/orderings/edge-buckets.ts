/**
 * The order in which link prediction visits edge buckets when only some partitions of the node table are in memory: a
 * pure function of its options, random choices keyed by (seed, epoch).
 *
 * OLD_BETA, NEW_BETA and ALL_BETA run through BETA states and differ in the state in which a bucket is trained: the
 * first that has both partitions, a random one, or the one with the least work (so that no state is idle: the originals
 * name ALL_BETA without defining it). COMET (Waleffe et al.: "MariusGNN", EuroSys 2023) runs BETA over groups of
 * partitions that are drawn again in every epoch. SEQUENTIAL and HILBERT are for comparison.
 */
import { checkInteger, expected, ValueError } from '../../util/errors.js';
import { checkOptionNames } from '../../util/option-names.js';
import { Random } from '../../util/philox.js';
import {
  type Assignment,
  assignEvenly,
  assignFirst,
  assignRandomly,
  bucketsByState,
  placeInSlots,
} from './assign.js';
import { betaStates, shuffle } from './beta.js';
import { checkStates } from './custom.js';
import { followWalk, hilbertWalk, sequentialWalk } from './traversal.js';

export const edgeBucketOrderings = [
  'COMET',
  'OLD_BETA',
  'NEW_BETA',
  'ALL_BETA',
  'SEQUENTIAL',
  'HILBERT',
  'CUSTOM',
] as const;
export type EdgeBucketOrdering = (typeof edgeBucketOrderings)[number];

export interface BufferPlan {
  /** The partition in each slot, state by state; a partition that stays keeps its slot. */
  readonly states: readonly Int32Array[];
  /** The buckets a·p + b to train in each state, ascending. Every bucket occurs once. */
  readonly buckets: readonly Int32Array[];
}

export interface EdgeBucketOptions {
  readonly ordering: EdgeBucketOrdering;
  readonly partitions: number;
  /** The number of resident partitions. */
  readonly capacity: number;
  readonly seed: number;
  readonly epoch: number;
  /** COMET: the number of partitions that are swapped together; divides both partitions and capacity. Default 1. */
  readonly fineToCoarseRatio?: number;
  /** COMET: the number of groups that stay resident for the whole epoch, those of the lowest partitions. Default 0. */
  readonly cachePartitions?: number;
  /** COMET and CUSTOM: assign a bucket to a random state with both partitions (default for COMET) or to the first. */
  readonly randomlyAssign?: boolean;
  /** CUSTOM: the resident partitions of each state. */
  readonly states?: readonly ArrayLike<number>[];
}

const where = 'planEdgeBuckets';
/** Separates these draws from others that are keyed by the same seed and epoch. */
const stream = 0x0bde;

/** @example planEdgeBuckets({ ordering: 'COMET', partitions: 16, capacity: 4, seed: 1, epoch: 0 }) */
export function planEdgeBuckets(options: EdgeBucketOptions): BufferPlan {
  checkOptionNames('planEdgeBuckets', options, {
    ordering: true,
    partitions: true,
    capacity: true,
    seed: true,
    epoch: true,
    fineToCoarseRatio: true,
    cachePartitions: true,
    randomlyAssign: true,
    states: true,
  });
  const { ordering } = options;
  const partitions = checkInteger(where, 'partitions', options.partitions, 1, 46340);
  const capacity = checkInteger(where, 'capacity', options.capacity, 1);
  checkInteger(where, 'epoch', options.epoch);
  if (!edgeBucketOrderings.includes(ordering)) {
    throw new ValueError(expected(where, `one of ${edgeBucketOrderings.join(', ')}`, 'ordering', ordering));
  }
  if (capacity >= partitions) {
    const all = Int32Array.from({ length: partitions }, (_, i) => i);
    return { states: [all], buckets: [sequentialWalk(partitions)] };
  }
  if (capacity < 2) {
    const advice = `A bucket needs two partitions; use a capacity of at least 2 of the ${partitions}.`;
    throw new ValueError(expected(where, 'a whole number of at least 2', 'capacity', capacity, advice));
  }
  const random = new Random(options.seed).split(stream).split(options.epoch);
  if (ordering === 'SEQUENTIAL' || ordering === 'HILBERT') {
    const walk = ordering === 'HILBERT' ? hilbertWalk(partitions) : sequentialWalk(partitions);
    const { sets, assignment } = followWalk(walk, partitions, capacity);
    return finish(placeInSlots(sets), assignment);
  }
  if (ordering === 'CUSTOM') return customPlan(options, random);
  const states = placeInSlots(
    ordering === 'COMET' ? cometSets(options, random) : betaStates(partitions, capacity, random),
  );
  return finish(states, assign(options, states, random));
}

function assign(options: EdgeBucketOptions, states: readonly Int32Array[], random: Random): Assignment {
  const { ordering, partitions } = options;
  if (ordering === 'ALL_BETA') return assignEvenly(states, partitions);
  const randomly = ordering === 'COMET' ? (options.randomlyAssign ?? true) : ordering === 'NEW_BETA';
  return randomly ? assignRandomly(states, partitions, random) : assignFirst(states, partitions);
}

function finish(states: Int32Array[], assignment: Assignment): BufferPlan {
  return { states, buckets: bucketsByState(assignment, states.length) };
}

/** Runs BETA over groups of `fineToCoarseRatio` partitions, which are drawn for every key. */
function cometSets(options: EdgeBucketOptions, random: Random): number[][] {
  const { partitions, capacity } = options;
  const ratio = checkInteger(where, 'fineToCoarseRatio', options.fineToCoarseRatio ?? 1, 1);
  const cache = checkInteger(where, 'cachePartitions', options.cachePartitions ?? 0);
  for (const [name, value] of [
    ['partitions', partitions],
    ['capacity', capacity],
  ] as const) {
    if (value % ratio !== 0) {
      const advice = 'Groups of partitions are swapped as a whole; choose numbers that divide.';
      throw new ValueError(expected(where, `a multiple of fineToCoarseRatio ${ratio}`, name, value, advice));
    }
  }
  const groups = partitions / ratio - cache;
  const places = capacity / ratio - cache;
  if (places < 2) {
    const advice = `The buffer has room for ${capacity / ratio} groups of ${ratio}; two must be free for swaps. Lower fineToCoarseRatio or cachePartitions, or raise capacity.`;
    const most = Math.max(0, capacity / ratio - 2);
    throw new ValueError(expected(where, `at most ${most}`, 'cachePartitions', cache, advice));
  }
  const cached = Array.from({ length: cache * ratio }, (_, i) => i);
  const members = shuffle(
    Array.from({ length: groups * ratio }, (_, i) => cache * ratio + i),
    random,
  );
  return betaStates(groups, places, random).map((state) => [
    ...cached,
    ...state.flatMap((group) => members.slice(group * ratio, (group + 1) * ratio)),
  ]);
}

function customPlan(options: EdgeBucketOptions, random: Random): BufferPlan {
  const { partitions, capacity } = options;
  const states = placeInSlots(checkStates(where, options.states, partitions, capacity));
  const assignment =
    options.randomlyAssign === true
      ? assignRandomly(states, partitions, random)
      : assignFirst(states, partitions);
  const missing = assignment.indexOf(-1);
  if (missing >= 0) {
    const pair = `partitions ${Math.floor(missing / partitions)} and ${missing % partitions}`;
    const advice = 'Their edges would never be trained; add a state with both.';
    throw new ValueError(
      `${where}: expected a state for every pair of partitions, got none with ${pair}. ${advice}`,
    );
  }
  return finish(states, assignment);
}
