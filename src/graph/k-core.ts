/**
 * Cores of a graph: the k-core is the largest part in which every node has at least k neighbours. Nodes are peeled in order
 * of their degree (Batagelj and Zaversnik, "An O(m) algorithm for cores decomposition of networks", 2003).
 */

/** Edges src[i] → dst[i] between the nodes 0 … numNodes − 1. */
export interface CoreEdges {
  readonly numNodes: number;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

/** Returns for each node the largest k whose core has it. Directions, parallel edges and loops are ignored. */
export function coreNumbers(edges: CoreEdges): Int32Array {
  const { numNodes } = edges;
  const { offsets, neighbours, degrees } = simpleNeighbours(edges);
  const core = degrees.slice();
  // Nodes by degree: `first[d]` is the position of the first node of degree d in `order`.
  const highest = core.reduce((most, degree) => Math.max(most, degree), 0);
  const first = new Int32Array(highest + 2);
  for (const degree of core) first[degree + 1]++;
  for (let d = 0; d <= highest; d++) first[d + 1] += first[d];
  const order = new Int32Array(numNodes);
  const position = new Int32Array(numNodes);
  const next = first.slice();
  for (let node = 0; node < numNodes; node++) {
    position[node] = next[core[node]]++;
    order[position[node]] = node;
  }
  for (let i = 0; i < numNodes; i++) {
    const node = order[i];
    for (let k = offsets[node]; k < offsets[node] + degrees[node]; k++) {
      const other = neighbours[k];
      if (core[other] <= core[node]) continue;
      // Moves the neighbour to the front of its degree, which then begins one position later.
      const front = first[core[other]];
      const moved = order[front];
      order[position[other]] = moved;
      position[moved] = position[other];
      order[front] = other;
      position[other] = front;
      first[core[other]]++;
      core[other]--;
    }
  }
  return core;
}

/** Lists the neighbours of each node once: those of a node begin at its offset, and there are `degrees` of them. */
function simpleNeighbours({ numNodes, src, dst }: CoreEdges) {
  const offsets = new Float64Array(numNodes + 1);
  for (let e = 0; e < src.length; e++) {
    if (src[e] === dst[e]) continue;
    offsets[src[e] + 1]++;
    offsets[dst[e] + 1]++;
  }
  for (let node = 0; node < numNodes; node++) offsets[node + 1] += offsets[node];
  const neighbours = new Int32Array(offsets[numNodes]);
  const next = offsets.slice();
  for (let e = 0; e < src.length; e++) {
    if (src[e] === dst[e]) continue;
    neighbours[next[src[e]]++] = dst[e];
    neighbours[next[dst[e]]++] = src[e];
  }
  const degrees = new Int32Array(numNodes);
  for (let node = 0; node < numNodes; node++) {
    const own = neighbours.subarray(offsets[node], offsets[node + 1]).sort();
    let count = 0;
    for (let k = 0; k < own.length; k++) if (k === 0 || own[k] !== own[k - 1]) own[count++] = own[k];
    degrees[node] = count;
  }
  return { offsets, neighbours, degrees };
}
