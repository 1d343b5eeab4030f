/** Small random graphs by destination and calls of the sampling kernels, for their tests. */
import type { Kernels } from '#internal/native/index.js';
import { randomIds } from './harness.js';

export interface Csc {
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  readonly numNodes: number;
}

/** Edges with skewed degrees: node v of n is drawn in proportion to about 1/√v; the last tenth has no edges. */
export function skewedGraph(numNodes: number, numEdges: number, seed = 1): Csc {
  const used = Math.max(1, Math.floor(numNodes * 0.9));
  const u = randomIds(numEdges, 1 << 20, seed);
  const v = randomIds(numEdges, 1 << 20, seed + 1);
  const skew = (r: number) => Math.floor((r / (1 << 20)) ** 2 * used);
  return fromPairs(
    numNodes,
    Array.from(u, (r, i) => [skew(r), skew(v[i])] as const),
  );
}

/** By destination, edges of one destination in the order given. */
export function fromPairs(numNodes: number, edges: readonly (readonly [src: number, dst: number])[]): Csc {
  const rows: number[][] = Array.from({ length: numNodes }, () => []);
  for (const [src, dst] of edges) rows[dst].push(src);
  const offsets = new Int32Array(numNodes + 1);
  for (let i = 0; i < numNodes; i++) offsets[i + 1] = offsets[i] + rows[i].length;
  return { offsets, indices: Int32Array.from(rows.flat()), numNodes };
}

export interface SampleOptions {
  readonly fanouts: readonly number[];
  readonly seeds: ArrayLike<number>;
  readonly weights?: Uint32Array;
  readonly drops?: readonly number[];
  readonly replace?: boolean;
  readonly disjoint?: boolean;
  readonly key?: Uint32Array;
  readonly step?: number;
  readonly capacity?: number;
}

export interface Sample {
  readonly status: number;
  readonly map: Int32Array;
  readonly nodes: Int32Array;
  readonly trees: Int32Array | null;
  readonly seedRows: Int32Array;
  readonly offsets: Int32Array;
  readonly indices: Int32Array;
  readonly slots: Int32Array;
  readonly nodesPerHop: Int32Array;
  readonly edgesPerHop: Int32Array;
}

export function runSample(kernels: Kernels, graph: Csc, options: SampleOptions): Sample {
  const seeds = Int32Array.from(options.seeds);
  const hops = options.fanouts.length;
  const capacity = options.capacity ?? 20_000;
  const map = new Int32Array(graph.numNodes).fill(-1);
  const nodes = new Int32Array(seeds.length + capacity);
  const trees = options.disjoint === true ? new Int32Array(seeds.length + capacity) : null;
  const seedRows = new Int32Array(seeds.length);
  const offsets = new Int32Array(seeds.length + capacity + 1);
  const indices = new Int32Array(capacity);
  const slots = new Int32Array(capacity);
  const perHop = new Int32Array(2 * hops + 1);
  const status = kernels.sampleNeighbors({
    offsets: graph.offsets,
    indices: graph.indices,
    weights: options.weights ?? null,
    seeds,
    numSeeds: seeds.length,
    fanouts: Int32Array.from(options.fanouts),
    drops: options.drops === undefined ? null : Uint32Array.from(options.drops),
    hops,
    replace: options.replace ?? false,
    key: options.key ?? Uint32Array.of(1, 2, 3, 4),
    step: options.step ?? 0,
    tag: 0,
    map,
    seedRows,
    nodeIds: nodes,
    trees,
    localOffsets: offsets,
    localIndices: indices,
    positions: slots,
    perHop,
    capacity,
  });
  const sum = (part: Int32Array) => part.reduce((a, b) => a + b, 0);
  const nodesPerHop = perHop.slice(0, hops + 1);
  const edgesPerHop = perHop.slice(hops + 1);
  const n = sum(nodesPerHop);
  const edges = sum(edgesPerHop);
  return {
    status,
    map,
    nodes: nodes.slice(0, n),
    trees: trees === null ? null : trees.slice(0, n),
    seedRows,
    offsets: offsets.slice(0, n - nodesPerHop[hops] + 1),
    indices: indices.slice(0, edges),
    slots: slots.slice(0, edges),
    nodesPerHop,
    edgesPerHop,
  };
}
