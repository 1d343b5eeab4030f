/**
 * Makes new graphs: reversed, undirected, with or without self loops, subgraphs. No function changes its argument; edge
 * weights are kept, fields are not (copy those you need by `edgeIds`).
 */
import { kernels } from '../native/index.js';
import type { Ids } from '../tensor/index.js';
import { toInt32 } from '../tensor/ops/common.js';
import { checkInteger, ValueError } from '../util/errors.js';
import { checkOptionNames } from '../util/option-names.js';
import { checkNodeIds } from './adjacency.js';
import { Block } from './block.js';
import { Graph, type GraphOptions } from './graph.js';

/** Reverses every edge; edge ids stay. */
export function reverse(graph: Graph): Graph {
  const { src, dst } = graph.edges();
  return rebuild(graph, dst, src, graph.edgeWeight, true);
}

/** Adds an edge v → v of weight 1 to every node, after the others; with `remaining`, only to nodes that have none. */
export function addSelfLoops(graph: Graph, options: { readonly remaining?: boolean } = {}): Graph {
  checkOptionNames('addSelfLoops', options, { remaining: true });
  if (options.remaining === true) return graph.withSelfLoops();
  const { src, dst } = graph.edges();
  const n = graph.numNodes;
  const from = new Int32Array(src.length + n);
  const to = new Int32Array(src.length + n);
  from.set(src);
  to.set(dst);
  for (let v = 0; v < n; v++) from[src.length + v] = to[src.length + v] = v;
  const weight = graph.edgeWeight;
  if (weight === null) return Graph.fromEdges(from, to, { numNodes: n });
  const edgeWeight = new Float32Array(from.length).fill(1);
  edgeWeight.set(weight);
  return Graph.fromEdges(from, to, { numNodes: n, edgeWeight });
}

/** Removes the edges v → v. */
export function removeSelfLoops(graph: Graph): Graph {
  checkSquare('removeSelfLoops', graph);
  return edgeSubgraph(graph, (src, dst) => src !== dst).graph;
}

/** Adds the other direction of every edge and merges multi-edges, which keep their largest weight. */
export function toUndirected(graph: Graph): Graph {
  checkSquare('toUndirected', graph);
  const { src, dst } = graph.edges();
  const weight = graph.edgeWeight;
  const n = src.length;
  const from = new Int32Array(2 * n);
  const to = new Int32Array(2 * n);
  from.set(src);
  from.set(dst, n);
  to.set(dst);
  to.set(src, n);
  return coalesceEdges(from, to, weight === null ? null : [weight, weight], graph.numNodes);
}

/** Sorts edges by (destination, source) and merges equal pairs, which keep their largest weight. */
function coalesceEdges(
  from: Int32Array,
  to: Int32Array,
  weights: readonly [Float32Array, Float32Array] | null,
  numNodes: number,
): Graph {
  const total = from.length;
  const byFrom = sortOrder(from, numNodes, null);
  const order = sortOrder(to, numNodes, byFrom);
  const src = new Int32Array(total);
  const dst = new Int32Array(total);
  const weight = weights === null ? null : new Float32Array(total);
  let n = 0;
  for (const i of order) {
    const repeated = n > 0 && src[n - 1] === from[i] && dst[n - 1] === to[i];
    if (!repeated) {
      src[n] = from[i];
      dst[n] = to[i];
      n++;
    }
    if (weight !== null && weights !== null) {
      const half = total / 2;
      const w = i < half ? weights[0][i] : weights[1][i - half];
      weight[n - 1] = repeated ? Math.max(weight[n - 1], w) : w;
    }
  }
  const options: GraphOptions =
    weight === null ? { numNodes } : { numNodes, edgeWeight: weight.subarray(0, n) };
  return Graph.fromEdges(src.subarray(0, n), dst.subarray(0, n), options);
}

/** Returns the stable order of `keys`, applied after an earlier order. */
function sortOrder(keys: Int32Array, count: number, before: Int32Array | null): Int32Array {
  const n = keys.length;
  let sorted = keys;
  if (before !== null) {
    sorted = new Int32Array(n);
    kernels().gatherRows(keys, before, sorted, n, 4);
  }
  const order = new Int32Array(n);
  kernels().groupByKey(sorted, new Int32Array(count + 1), order, n, count);
  if (before === null) return order;
  const result = new Int32Array(n);
  kernels().gatherRows(before, order, result, n, 4);
  return result;
}

export interface Subgraph {
  readonly graph: Graph;
  /** The nodes of the old graph, in the order of the new ids. */
  readonly nodeIds: Int32Array;
  /** The edges of the old graph, in the order of the new ids. */
  readonly edgeIds: Int32Array;
}

/** Selects nodes, numbered in the given order, and all edges between them. */
export function subgraph(graph: Graph, nodes: Ids): Subgraph {
  checkSquare('subgraph', graph);
  const nodeIds = toInt32('subgraph', 'nodes', nodes).slice();
  checkNodeIds('subgraph', 'nodes', nodeIds, graph.numNodes);
  const place = new Int32Array(graph.numNodes).fill(-1);
  nodeIds.forEach((node, i) => {
    if (place[node] >= 0)
      throw new ValueError(
        `subgraph: expected every node once, got ${node} at positions ${place[node]} and ${i}.`,
      );
    place[node] = i;
  });
  const kept = edgeSubgraph(graph, (src, dst) => place[src] >= 0 && place[dst] >= 0);
  const { src, dst } = kept.graph.edges();
  const options = weightOption(kept.graph.edgeWeight);
  return {
    graph: Graph.fromEdges(
      src.map((u) => place[u]),
      dst.map((v) => place[v]),
      { numNodes: nodeIds.length, ...options },
    ),
    nodeIds,
    edgeIds: kept.edgeIds,
  };
}

/** Selects edges in the given order, or those that a function accepts, with all nodes. */
export function edgeSubgraph(
  graph: Graph,
  keep: Ids | ((src: number, dst: number, edge: number) => boolean),
): { graph: Graph; edgeIds: Int32Array } {
  const { src, dst } = graph.edges();
  let ids: Int32Array;
  if (typeof keep === 'function') {
    const all = new Int32Array(src.length);
    let n = 0;
    for (let e = 0; e < src.length; e++) if (keep(src[e], dst[e], e)) all[n++] = e;
    ids = all.slice(0, n);
  } else {
    ids = toInt32('edgeSubgraph', 'keep', keep).slice();
    checkNodeIds('edgeSubgraph', 'keep', ids, src.length);
  }
  const weight = graph.edgeWeight;
  const pick = (a: Int32Array): Int32Array => Int32Array.from(ids, (e) => a[e]);
  const kept = weight === null ? null : Float32Array.from(ids, (e) => weight[e]);
  return { graph: rebuild(graph, pick(src), pick(dst), kept, false), edgeIds: ids };
}

/** Makes the block of all edges into the given nodes, for exact message passing of one layer. */
export function inBlock(graph: Graph, nodes: Ids): Block {
  checkSquare('inBlock', graph);
  const seeds = toInt32('inBlock', 'nodes', nodes);
  checkNodeIds('inBlock', 'nodes', seeds, graph.numNodes);
  const { offsets, indices, edgeIds } = graph.adjacency;
  const place = new Int32Array(graph.numNodes).fill(-1);
  const newOffsets = new Int32Array(seeds.length + 1);
  for (let i = 0; i < seeds.length; i++) {
    if (place[seeds[i]] >= 0)
      throw new ValueError(`inBlock: expected every node once, got ${seeds[i]} again at position ${i}.`);
    place[seeds[i]] = i;
    newOffsets[i + 1] = newOffsets[i] + (offsets[seeds[i] + 1] - offsets[seeds[i]]);
  }
  const edges = newOffsets[seeds.length];
  const rows = new Int32Array(edges);
  const parentEdgeIds = new Int32Array(edges);
  const srcIds: number[] = Array.from(seeds);
  const positionWeights = graph.positionWeights('f32')?.dataSync<Float32Array>() ?? null;
  const weights = positionWeights === null ? null : new Float32Array(edges);
  let n = 0;
  for (const seed of seeds) {
    for (let p = offsets[seed]; p < offsets[seed + 1]; p++, n++) {
      const u = indices[p];
      if (place[u] < 0) place[u] = srcIds.push(u) - 1;
      rows[n] = place[u];
      parentEdgeIds[n] = edgeIds === null ? p : edgeIds[p];
      if (weights !== null) weights[n] = (positionWeights as Float32Array)[p];
    }
  }
  return Block.trusted(newOffsets, rows, srcIds.length, {
    srcIds: Int32Array.from(srcIds),
    parentEdgeIds,
    weights,
    parent: graph,
  });
}

/** Joins several graphs in one: node and edge ids of each follow those of the one before. */
export function disjointUnion(graphs: readonly Graph[]): Graph {
  const numNodes = checkInteger(
    'disjointUnion',
    'nodes in all',
    total(graphs.map((g) => g.numNodes)),
    0,
    2 ** 31 - 1,
  );
  const edges = total(graphs.map((g) => g.numEdges));
  const src = new Int32Array(edges);
  const dst = new Int32Array(edges);
  const weighted = graphs.some((g) => g.edgeWeight !== null);
  const edgeWeight = new Float32Array(weighted ? edges : 0).fill(1);
  let node = 0;
  let edge = 0;
  for (const graph of graphs) {
    const ends = graph.edges();
    for (let i = 0; i < graph.numEdges; i++) {
      src[edge + i] = ends.src[i] + node;
      dst[edge + i] = ends.dst[i] + node;
    }
    if (graph.edgeWeight !== null) edgeWeight.set(graph.edgeWeight, edge);
    node += graph.numNodes;
    edge += graph.numEdges;
  }
  return Graph.fromEdges(src, dst, weighted ? { numNodes, edgeWeight } : { numNodes });
}

const total = (values: readonly number[]): number => values.reduce((sum, n) => sum + n, 0);

function rebuild(
  graph: Graph,
  src: Int32Array,
  dst: Int32Array,
  weight: Float32Array | null,
  turned: boolean,
): Graph {
  const { numSrcNodes, numDstNodes } = graph;
  const sides = graph.isBipartite
    ? { numSrc: turned ? numDstNodes : numSrcNodes, numDst: turned ? numSrcNodes : numDstNodes }
    : { numNodes: graph.numNodes };
  return Graph.fromEdges(src, dst, { ...sides, ...weightOption(weight) });
}

function weightOption(weight: Float32Array | null): { edgeWeight?: Float32Array } {
  return weight === null ? {} : { edgeWeight: weight };
}

function checkSquare(where: string, graph: Graph): void {
  if (graph.isBipartite)
    throw new ValueError(
      `${where}: expected a graph whose sources are its destinations, got a bipartite one.`,
    );
}
