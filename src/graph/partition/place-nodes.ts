/**
 * Partitioning algorithms that assign one partition to every node.
 *
 * METIS on multi-edges: an edge weighs as many edges as its two nodes have in common, and two sums are balanced: the
 * edges whose source is in a partition, and nodes. LDG: linear deterministic greedy (Stanton and Kliot, KDD 2012),
 * nodes in the order in which edges name them. Random: a shuffled order, dealt out in turn. Hash: the id modulo the
 * number of partitions, which needs no table.
 */
import { randperm } from '../../tensor/index.js';
import { Random } from '../../util/index.js';
import { degrees, evenOut, type GraphEdges, placeRest, slack } from './balance.js';
import { metisPartitionWeighted, type WeightedAdjacency } from './metis.js';

export function placeByMetis(edges: GraphEdges, numParts: number, seed: number): Int32Array {
  const { numNodes, src } = edges;
  const nodeWeights = new Int32Array(2 * numNodes);
  for (const u of src) nodeWeights[2 * u]++;
  for (let v = 0; v < numNodes; v++) nodeWeights[2 * v + 1] = 1;
  const graph = { ...countPairs(edges), nodeWeights, constraints: 2 };
  const { parts } = metisPartitionWeighted(graph, numParts, { seed });
  evenOut(parts, numParts, degrees(edges));
  return parts;
}

export function placeByLdg(edges: GraphEdges, numParts: number): Int32Array {
  const { numNodes, src, dst } = edges;
  const { offsets, indices, edgeWeights } = countPairs(edges);
  const mean = numNodes / numParts;
  const capacity = Math.max(Math.ceil(mean), Math.floor(((1 + slack) / 2) * mean));
  const parts = new Int32Array(numNodes).fill(-1);
  const loads = new Int32Array(numParts);
  const near = new Float64Array(numParts);
  const place = (v: number): void => {
    if (parts[v] >= 0) return;
    near.fill(0);
    for (let e = offsets[v]; e < offsets[v + 1]; e++) {
      const part = parts[indices[e]];
      if (part >= 0) near[part] += edgeWeights[e];
    }
    let best = -1;
    let most = -1;
    for (let p = 0; p < numParts; p++) {
      if (loads[p] >= capacity) continue;
      const score = near[p] * (1 - loads[p] / capacity);
      if (score > most || (score === most && loads[p] < loads[best])) {
        most = score;
        best = p;
      }
    }
    parts[v] = best;
    loads[best]++;
  };
  for (let i = 0; i < src.length; i++) {
    place(src[i]);
    place(dst[i]);
  }
  placeRest(parts, numParts);
  return parts;
}

export function placeRandomly(numNodes: number, numParts: number, seed: number): Int32Array {
  const parts = new Int32Array(numNodes);
  const order = randperm(numNodes, { random: new Random(seed) }).dataSync<Int32Array>();
  order.forEach((v, i) => {
    parts[v] = i % numParts;
  });
  return parts;
}

export function placeByHash(numNodes: number, numParts: number): Int32Array {
  return Int32Array.from({ length: numNodes }, (_, v) => v % numParts);
}

/**
 * Counts the edges between every pair of nodes: a symmetric adjacency with the counts as weights, without self loops.
 */
function countPairs({
  numNodes,
  src,
  dst,
}: GraphEdges): Pick<WeightedAdjacency, 'offsets' | 'indices' | 'edgeWeights'> {
  const keys = new Float64Array(src.length);
  let count = 0;
  for (let i = 0; i < src.length; i++) {
    const low = Math.min(src[i], dst[i]);
    const high = Math.max(src[i], dst[i]);
    if (low !== high) keys[count++] = low * numNodes + high;
  }
  const sorted = keys.subarray(0, count).sort();
  const low: number[] = [];
  const high: number[] = [];
  const weight: number[] = [];
  for (let i = 0; i < count; i++) {
    if (i > 0 && sorted[i] === sorted[i - 1]) {
      weight[weight.length - 1]++;
      continue;
    }
    low.push(Math.floor(sorted[i] / numNodes));
    high.push(sorted[i] % numNodes);
    weight.push(1);
  }
  const offsets = new Int32Array(numNodes + 1);
  for (let i = 0; i < low.length; i++) {
    offsets[low[i] + 1]++;
    offsets[high[i] + 1]++;
  }
  for (let v = 0; v < numNodes; v++) offsets[v + 1] += offsets[v];
  const next = offsets.slice(0, numNodes);
  const indices = new Int32Array(2 * low.length);
  const edgeWeights = new Int32Array(2 * low.length);
  const add = (from: number, to: number, w: number): void => {
    indices[next[from]] = to;
    edgeWeights[next[from]++] = w;
  };
  for (let i = 0; i < low.length; i++) {
    add(low[i], high[i], weight[i]);
    add(high[i], low[i], weight[i]);
  }
  return { offsets, indices, edgeWeights };
}
