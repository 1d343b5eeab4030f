/** Graphs that tests share, and the plain loops that say what message passing means. */
import { Graph } from 'skein/graph';
import { Random } from 'skein/util';

/** Random edges with repeats and self loops; node 0 gets none in, the last node none out. */
export function randomGraph(nodes: number, edges: number, seed = 1, weighted = false): Graph {
  const random = new Random(seed);
  const draw = (n: number): number => random.nextInt(n);
  const src = Int32Array.from({ length: edges }, () => draw(nodes - 1));
  const dst = Int32Array.from({ length: edges }, () => 1 + draw(nodes - 1));
  if (!weighted) return Graph.fromEdges(src, dst, { numNodes: nodes });
  const edgeWeight = Float32Array.from({ length: edges }, () => 0.25 + random.nextFloat());
  return Graph.fromEdges(src, dst, { numNodes: nodes, edgeWeight });
}

/** A bipartite one: 9 sources, 6 destinations. */
export function bipartiteGraph(edges = 20, seed = 2): Graph {
  const random = new Random(seed);
  const draw = (n: number): number => random.nextInt(n);
  const src = Int32Array.from({ length: edges }, () => draw(9));
  const dst = Int32Array.from({ length: edges }, () => draw(6));
  return Graph.fromEdges(src, dst, { numSrc: 9, numDst: 6 });
}
