/**
 * Turns sets of resident partitions into a plan: the slot of each partition, and the buffer state in which each edge
 * bucket (a, b), numbered a·p + b, is trained. Every bucket is assigned exactly once.
 */
import type { Random } from '../../util/philox.js';

/** Calls `visit(bucket, state)` for every bucket that a state could train, states ascending. */
function eachCandidate(
  states: readonly Int32Array[],
  partitions: number,
  visit: (bucket: number, state: number) => void,
): void {
  for (let s = 0; s < states.length; s++) {
    for (const a of states[s]) for (const b of states[s]) visit(a * partitions + b, s);
  }
}

/**
 * Assigns slots for a sequence of sets of equal size, beginning with `first`: a partition that stays keeps its slot,
 * and admitted partitions, ascending, take the free slots, ascending.
 */
function place(first: Int32Array, sets: readonly ArrayLike<number>[]): Int32Array[] {
  const states = [first];
  for (const set of sets.slice(1)) {
    const before = states[states.length - 1];
    const wanted = new Set(Array.from(set));
    const resident = new Set(before);
    const admitted = [...wanted].filter((k) => !resident.has(k)).sort((a, b) => a - b);
    let next = 0;
    states.push(before.map((k) => (wanted.has(k) ? k : admitted[next++])));
  }
  return states;
}

/** Assigns the slots of a plan; the first state is in ascending order of partitions. */
export function placeInSlots(sets: readonly (readonly number[])[]): Int32Array[] {
  return place(Int32Array.from(sets[0]).sort(), sets);
}

/** Assigns slots for custom states; the first is in the given order. Results of `placeInSlots` do not change. */
export function followStates(states: readonly (readonly number[])[]): Int32Array[] {
  return place(Int32Array.from(states[0]), states);
}

/** The state of every bucket; −1 if no state has both its partitions. */
export type Assignment = Int32Array;

/** Assigns each bucket to the first state with both partitions. */
export function assignFirst(states: readonly Int32Array[], partitions: number): Assignment {
  const chosen = new Int32Array(partitions * partitions).fill(-1);
  eachCandidate(states, partitions, (bucket, s) => {
    if (chosen[bucket] < 0) chosen[bucket] = s;
  });
  return chosen;
}

/** Assigns each bucket to a random state with both partitions, which decorrelates the order and balances the work. */
export function assignRandomly(
  states: readonly Int32Array[],
  partitions: number,
  random: Random,
): Assignment {
  const left = new Int32Array(partitions * partitions);
  eachCandidate(states, partitions, (bucket) => left[bucket]++);
  for (let bucket = 0; bucket < left.length; bucket++) {
    left[bucket] = left[bucket] === 0 ? -1 : random.nextInt(left[bucket]);
  }
  const chosen = new Int32Array(left.length).fill(-1);
  eachCandidate(states, partitions, (bucket, s) => {
    if (left[bucket]-- === 0) chosen[bucket] = s;
  });
  return chosen;
}

/**
 * Assigns each bucket to the state with the fewest buckets among those with both partitions, buckets with the fewest
 * choices first: a greedy balance of the work.
 */
export function assignEvenly(states: readonly Int32Array[], partitions: number): Assignment {
  const choices = new Int32Array(partitions * partitions);
  const statesOf: number[][] = Array.from({ length: partitions }, () => []);
  eachCandidate(states, partitions, (bucket) => choices[bucket]++);
  for (let s = 0; s < states.length; s++) for (const k of states[s]) statesOf[k].push(s);
  const order = Int32Array.from(choices.keys()).sort((x, y) => choices[x] - choices[y] || x - y);
  const load = new Int32Array(states.length);
  const holds = states.map((state) => new Set(state));
  const chosen = new Int32Array(choices.length).fill(-1);
  for (const bucket of order) {
    const a = Math.floor(bucket / partitions);
    const b = bucket % partitions;
    let best = -1;
    for (const s of statesOf[a]) {
      if (holds[s].has(b) && (best < 0 || load[s] < load[best])) best = s;
    }
    chosen[bucket] = best;
    if (best >= 0) load[best]++;
  }
  return chosen;
}

/** Returns the buckets of each state, ascending. */
export function bucketsByState(assignment: Assignment, states: number): Int32Array[] {
  const counts = new Int32Array(states);
  for (const s of assignment) if (s >= 0) counts[s]++;
  const lists = Array.from(counts, (n) => new Int32Array(n));
  counts.fill(0);
  for (let bucket = 0; bucket < assignment.length; bucket++) {
    const s = assignment[bucket];
    if (s >= 0) lists[s][counts[s]++] = bucket;
  }
  return lists;
}

/** Counts the partitions that are read after the first state, the cost of a plan. */
export function countSwaps(states: readonly Int32Array[]): number {
  let swaps = 0;
  for (let s = 1; s < states.length; s++) {
    const before = new Set(states[s - 1]);
    for (const k of states[s]) if (!before.has(k)) swaps++;
  }
  return swaps;
}
