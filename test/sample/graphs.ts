/** Graphs for the sampler tests. */
import { Graph } from 'skein/graph';
import type { Batch } from 'skein/sample';
import { Random } from 'skein/util';

/** Many edges at few nodes, multi-edges and self loops included; the last tenth of the nodes is isolated. */
export function skewedGraph(numNodes: number, numEdges: number, seed = 1): Graph {
  const random = new Random(seed);
  const used = Math.max(1, Math.floor(numNodes * 0.9));
  const draw = () => Math.floor(random.nextFloat() ** 2 * used);
  const src = Int32Array.from({ length: numEdges }, draw);
  const dst = Int32Array.from({ length: numEdges }, draw);
  return Graph.fromEdges(src, dst, { numNodes });
}

/** Node v has the in-neighbours v − 1 and v + 1; the neighbours of 0 and 5 as in the published vector. */
export function cycleOfSix(): Graph {
  const indices = Int32Array.of(1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 4, 0);
  return Graph.fromCsc(Int32Array.of(0, 2, 4, 6, 8, 10, 12), indices);
}

/** Edges 1 … n → 0. */
export function star(leaves: number): Graph {
  const src = Int32Array.from({ length: leaves }, (_, i) => i + 1);
  return Graph.fromEdges(src, new Int32Array(leaves), { numNodes: leaves + 1 });
}

/** All of a batch as plain data. */
export function batchContents(batch: Batch): unknown {
  return {
    nodeIds: [...batch.nodeIds],
    seedRows: [...batch.seedRows],
    trees: batch.trees === null ? null : [...batch.trees],
    perHop: [batch.nodesPerHop, batch.edgesPerHop],
    edgeIds: [...batch.edgeIds],
    adjs: batch.adjs().map(({ row, col, eId, size }) => [[...row], [...col], [...eId], size]),
  };
}
