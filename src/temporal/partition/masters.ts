/** Steps that the ways of partitioning share: degrees, sharing out nodes that nothing is known of, evening out. */
import type { TrainingEvents } from './types.js';

/** A part may hold this much more than the mean. */
export const slack = 1.1;

/** Events of every node; an event with itself counts once. */
export function degrees({ numNodes, src, dst }: TrainingEvents): Int32Array {
  const degree = new Int32Array(numNodes);
  for (let i = 0; i < src.length; i++) {
    degree[src[i]]++;
    if (src[i] !== dst[i]) degree[dst[i]]++;
  }
  return degree;
}

/** Nodes by events, the fewest first; equal ones by id. */
function byDegree(degree: Int32Array): Int32Array {
  return Int32Array.from(degree.keys()).sort((a, b) => degree[a] - degree[b] || a - b);
}

function smallest(loads: ArrayLike<number>): number {
  let best = 0;
  for (let p = 1; p < loads.length; p++) if (loads[p] < loads[best]) best = p;
  return best;
}

export function countParts(parts: Int32Array, numParts: number): Int32Array {
  const loads = new Int32Array(numParts);
  for (const part of parts) if (part >= 0) loads[part]++;
  return loads;
}

/** Gives nodes without a part (−1) to the smallest part, in the order of their ids. */
export function placeRest(master: Int32Array, numParts: number): void {
  const loads = countParts(master, numParts);
  for (let v = 0; v < master.length; v++) {
    if (master[v] >= 0) continue;
    master[v] = smallest(loads);
    loads[master[v]]++;
  }
}

/** Moves nodes of few events out of parts that are too large, so that none exceeds the mean by more than the slack. */
export function evenOut(master: Int32Array, numParts: number, degree: Int32Array): void {
  const loads = countParts(master, numParts);
  const mean = master.length / numParts;
  const limit = Math.max(Math.ceil(mean), Math.floor(slack * mean));
  if (loads.every((load) => load <= limit)) return;
  for (const v of byDegree(degree)) {
    if (loads[master[v]] <= limit) continue;
    loads[master[v]]--;
    master[v] = smallest(loads);
    loads[master[v]]++;
  }
}
