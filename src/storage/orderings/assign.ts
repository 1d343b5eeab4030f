/**
 * From sets of resident partitions to a plan: which slot each partition takes, and in which state each edge bucket
 * (a, b), written a·p + b, is trained. Every bucket is assigned exactly once.
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
 * Slots for a sequence of sets of equal size: the first as `first` has it; after that a partition that stays keeps its
 * slot, and those admitted, ascending, take the slots that became free, ascending.
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

/** Slots of a plan: the first state ascends by partition id. */
export function placeInSlots(sets: readonly (readonly number[])[]): Int32Array[] {
  return place(Int32Array.from(sets[0]).sort(), sets);
}

/** Slots for states as a user lists them: the first in the order given. Leaves what `placeInSlots` made as it is. */
export function followStates(states: readonly (readonly number[])[]): Int32Array[] {
  return place(Int32Array.from(states[0]), states);
}

/** For every bucket its state, −1 for a bucket that no state holds. */
export type Assignment = Int32Array;

/** The first state that holds both partitions. */
export function assignFirst(states: readonly Int32Array[], partitions: number): Assignment {
  const chosen = new Int32Array(partitions * partitions).fill(-1);
  eachCandidate(states, partitions, (bucket, s) => {
    if (chosen[bucket] < 0) chosen[bucket] = s;
  });
  return chosen;
}

/** Any of the states that hold both partitions, each as likely: decorrelates the order and evens out the work. */
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
 * The state with the fewest buckets so far among those that hold both partitions, buckets with the fewest choices
 * first: all states get a share of the work that is as equal as a greedy rule makes it.
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

/** The buckets of each state, ascending. */
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

/** Partitions read after the first state: the cost of a plan. */
export function countSwaps(states: readonly Int32Array[]): number {
  let swaps = 0;
  for (let s = 1; s < states.length; s++) {
    const before = new Set(states[s - 1]);
    for (const k of states[s]) if (!before.has(k)) swaps++;
  }
  return swaps;
}
