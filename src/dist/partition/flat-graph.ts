/**
 * Graphs of one type and of many in one shape: nodes of one type after those of the other, edges likewise, types by name.
 * What is cut and renumbered is always this; nothing is kept of it afterwards.
 */
import { Graph, HeteroGraph } from '../../graph/index.js';
import { expected, ValueError } from '../../util/errors.js';

/** Types of a graph that has no names for them, as DGL calls them. */
export const onlyNodeType = '_N';
export const onlyEdgeType = '_N:_E:_N';

export interface FlatGraph {
  readonly numNodes: number;
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  /** First node of each type, and the number of all. */
  readonly nodeOffsets: Int32Array;
  readonly edgeOffsets: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

export function flatGraph(where: string, graph: Graph | HeteroGraph): FlatGraph {
  if (graph instanceof HeteroGraph) return flatHetero(where, graph);
  if (!(graph instanceof Graph) || graph.isBipartite)
    throw new ValueError(
      expected(
        where,
        'a HeteroGraph or a Graph',
        'graph',
        graph instanceof Graph ? 'a bipartite one' : graph,
      ),
    );
  const { src, dst } = graph.edges();
  return {
    numNodes: graph.numNodes,
    nodeTypeNames: [onlyNodeType],
    edgeTypeNames: [onlyEdgeType],
    nodeOffsets: Int32Array.of(0, graph.numNodes),
    edgeOffsets: Int32Array.of(0, src.length),
    src,
    dst,
  };
}

function flatHetero(where: string, graph: HeteroGraph): FlatGraph {
  const { nodeTypes, edgeTypes } = graph;
  for (const name of [...nodeTypes, ...edgeTypes.flat()]) {
    if (!/[:/]/.test(name)) continue;
    throw new ValueError(
      expected(
        where,
        "names of types without ':' and '/'",
        'graph',
        name,
        'Partitions name edge types a:b:c.',
      ),
    );
  }
  const { graph: flat } = graph.toHomogeneous();
  const { src, dst } = flat.edges();
  return {
    numNodes: flat.numNodes,
    nodeTypeNames: [...nodeTypes],
    edgeTypeNames: edgeTypes.map((type) => type.join(':')),
    nodeOffsets: runningSum(nodeTypes.map((type) => graph.numNodes(type))),
    edgeOffsets: runningSum(edgeTypes.map((type) => graph.numEdges(type))),
    src,
    dst,
  };
}

function runningSum(counts: readonly number[]): Int32Array {
  const sums = new Int32Array(counts.length + 1);
  counts.forEach((count, i) => {
    sums[i + 1] = sums[i] + count;
  });
  return sums;
}
