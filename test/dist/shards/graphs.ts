/** Graphs and partitions that distributed tests run on; the same on every worker. */
import { Graph } from 'skein/graph';
import { Random } from 'skein/util';

/** Multi-edges, self loops, isolated nodes, nodes without in-edges, and weights if asked for. */
export function mixedGraph(nodes: number, edges: number, weighted = false): Graph {
  const random = new Random(7);
  const draw = (n: number): number => Math.floor(random.nextFloat() * n);
  const src = new Int32Array(edges);
  const dst = new Int32Array(edges);
  const live = Math.max(1, Math.floor(nodes * 0.9));
  for (let e = 0; e < edges; e++) {
    src[e] = draw(live);
    dst[e] = e % 11 === 0 ? src[e] : draw(Math.max(1, live - 3));
    if (e % 13 === 1) {
      src[e] = src[e - 1];
      dst[e] = dst[e - 1];
    }
  }
  const edgeWeight = Float32Array.from({ length: edges }, () => 0.5 + random.nextFloat());
  return Graph.fromEdges(src, dst, weighted ? { numNodes: nodes, edgeWeight } : { numNodes: nodes });
}

/** Two groups of nodes with few edges between them, so that most shards of a partition by group are empty. */
export function groupedGraph(nodes: number, edges: number): Graph {
  const random = new Random(9);
  const draw = (n: number): number => Math.floor(random.nextFloat() * n);
  const group = Math.ceil(nodes / 4);
  const src = new Int32Array(edges);
  const dst = new Int32Array(edges);
  for (let e = 0; e < edges; e++) {
    const g = draw(4);
    src[e] = Math.min(nodes - 1, g * group + draw(group));
    dst[e] = Math.min(nodes - 1, (e % 29 === 0 ? (g + 1) % 4 : g) * group + draw(group));
  }
  return Graph.fromEdges(src, dst, { numNodes: nodes });
}

export type PartitionKind = 'random' | 'ranges' | 'gap';

/** 'gap': the last worker has no nodes at all (if there are several). */
export function partsOf(kind: PartitionKind, nodes: number, size: number): Int32Array {
  const random = new Random(5);
  const used = kind === 'gap' && size > 1 ? size - 1 : size;
  return Int32Array.from({ length: nodes }, (_, v) =>
    kind === 'ranges' ? Math.floor((v * size) / nodes) : Math.floor(random.nextFloat() * used),
  );
}
