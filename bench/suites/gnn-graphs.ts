/** The graphs of the gnn suite, generated with the same bits in peers/gnn.py: R-MAT, and one of Cora's size. */
import { Graph, SparseMatrix } from 'skein/graph';
import { integers, mix } from '../inputs.js';
import { kept } from '../kept.js';

/** The R-MAT quadrants (0.57, 0.19, 0.19, 0.05) as thresholds of a 32-bit number. */
const thresholds = [0.57, 0.76, 0.95].map((p) => Math.floor(p * 2 ** 32));

/** Returns ends of R-MAT edges, all sources and then all destinations: a quadrant per bit, ids modulo `nodes`. */
function rmatEnds(nodes: number, edges: number, seed: number): Int32Array {
  const bits = Math.ceil(Math.log2(nodes));
  const ends = new Int32Array(2 * edges);
  const src = ends.subarray(0, edges);
  const dst = ends.subarray(edges);
  const [a, b, c] = thresholds;
  for (let bit = 0; bit < bits; bit++) {
    const salt = seed * 64 + bit;
    const value = 1 << bit;
    for (let i = 0; i < edges; i++) {
      const r = mix(i, salt);
      if (r >= b) src[i] += value;
      if ((r >= a && r < b) || r >= c) dst[i] += value;
    }
  }
  for (let i = 0; i < ends.length; i++) ends[i] %= nodes;
  return ends;
}

export function rmat(nodes: number, edges: number, seed: number): Graph {
  const ends = kept(`rmat-${nodes}-${edges}-${seed}`, () => rmatEnds(nodes, edges, seed));
  return Graph.fromEdges(ends.subarray(0, edges), ends.subarray(edges), { numNodes: nodes });
}

export const coraSize = { nodes: 2708, pairs: 5278, words: 1433, wordsPerNode: 18, classes: 7, train: 140 };

/**
 * Returns random data with as many nodes, edges, words and classes as Cora: the time of an epoch depends on nothing
 * else.
 */
export function coraLike(): { graph: Graph; features: SparseMatrix; labels: Int32Array; train: Int32Array } {
  const { nodes, pairs, words, wordsPerNode, classes, train } = coraSize;
  const a = integers(1, pairs, nodes);
  // Not a self loop: the next node instead.
  const b = integers(2, pairs, nodes).map((v, i) => (v === a[i] ? (v + 1) % nodes : v));
  const graph = Graph.fromEdges([...a, ...b], [...b, ...a], { numNodes: nodes });
  const offsets = Int32Array.from({ length: nodes + 1 }, (_, i) => i * wordsPerNode);
  const stride = Math.floor(words / wordsPerNode);
  // One word from each range of the vocabulary, so that none is repeated.
  const indices = integers(3, nodes * wordsPerNode, stride).map((w, i) => w + (i % wordsPerNode) * stride);
  const values = new Float32Array(indices.length).fill(1 / wordsPerNode);
  const features = SparseMatrix.fromCsr(offsets, indices, values, [nodes, words]);
  return {
    graph,
    features,
    labels: integers(4, nodes, classes),
    train: Int32Array.from({ length: train }, (_, i) => i),
  };
}
