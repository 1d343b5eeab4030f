/**
 * Steps that the partitioning algorithms share: degrees, placing nodes without edges, balancing the number of nodes.
 */

/** Edges of a graph as two columns. */
export interface GraphEdges {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** A partition may hold this many times the mean number of nodes. */
export const slack = 1.1;

/** Counts the edges of every node; a self loop counts once. */
export function degrees({ numNodes, src, dst }: GraphEdges): Int32Array {
  const degree = new Int32Array(numNodes);
  for (let i = 0; i < src.length; i++) {
    degree[src[i]]++;
    if (src[i] !== dst[i]) degree[dst[i]]++;
  }
  return degree;
}

/** Returns the nodes by ascending degree; ties by id. */
function sortByDegree(degree: Int32Array): Int32Array {
  return Int32Array.from(degree.keys()).sort((a, b) => degree[a] - degree[b] || a - b);
}

function indexOfSmallest(loads: ArrayLike<number>): number {
  let best = 0;
  for (let p = 1; p < loads.length; p++) if (loads[p] < loads[best]) best = p;
  return best;
}

/** Counts the elements of every partition; −1 is not counted. */
export function countByPartition(parts: Int32Array, numParts: number): Int32Array {
  const loads = new Int32Array(numParts);
  for (const part of parts) if (part >= 0) loads[part]++;
  return loads;
}

/** Assigns nodes without a partition (−1) to the smallest partition, in the order of their ids. */
export function placeRest(parts: Int32Array, numParts: number): void {
  const loads = countByPartition(parts, numParts);
  for (let v = 0; v < parts.length; v++) {
    if (parts[v] >= 0) continue;
    parts[v] = indexOfSmallest(loads);
    loads[parts[v]]++;
  }
}

/** Moves nodes of low degree out of partitions that exceed the mean number of nodes by more than the slack. */
export function evenOut(parts: Int32Array, numParts: number, degree: Int32Array): void {
  const loads = countByPartition(parts, numParts);
  const mean = parts.length / numParts;
  const limit = Math.max(Math.ceil(mean), Math.floor(slack * mean));
  if (loads.every((load) => load <= limit)) return;
  for (const v of sortByDegree(degree)) {
    if (loads[parts[v]] <= limit) continue;
    loads[parts[v]]--;
    parts[v] = indexOfSmallest(loads);
    loads[parts[v]]++;
  }
}
