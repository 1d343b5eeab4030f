/**
 * One form for homogeneous and heterogeneous graphs: nodes of one type after those of the other, edges likewise, types
 * by name. Partitioning and renumbering work on this form; it is temporary.
 */
import { Graph, HeteroGraph } from '../../graph/index.js';
import { expected, ValueError } from '../../util/errors.js';

/** DGL's names for the types of a homogeneous graph. */
export const onlyNodeType = '_N';
export const onlyEdgeType = '_N:_E:_N';

export interface FlatGraph {
  readonly numNodes: number;
  readonly nodeTypeNames: readonly string[];
  /** 'src:relation:dst' */
  readonly edgeTypeNames: readonly string[];
  /** First node of each type, and the total number of nodes. */
  readonly nodeOffsets: Int32Array;
  readonly edgeOffsets: Int32Array;
  readonly src: Int32Array;
  readonly dst: Int32Array;
}

export function flattenGraph(where: string, graph: Graph | HeteroGraph): FlatGraph {
  if (graph instanceof HeteroGraph) return flattenHetero(where, graph);
  if (!(graph instanceof Graph) || graph.isBipartite)
    throw new ValueError(
      expected(
        where,
        'a HeteroGraph or a Graph',
        'graph',
        graph instanceof Graph ? 'a bipartite graph' : graph,
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

function flattenHetero(where: string, graph: HeteroGraph): FlatGraph {
  const { nodeTypes, edgeTypes } = graph;
  for (const name of [...nodeTypes, ...edgeTypes.flat()]) {
    if (!/[:/]/.test(name)) continue;
    throw new ValueError(
      expected(
        where,
        "type names without ':' and '/'",
        'graph',
        name,
        'Partition files name edge types a:b:c.',
      ),
    );
  }
  const { graph: flat } = graph.toHomogeneous();
  const { src, dst } = flat.edges();
  return {
    numNodes: flat.numNodes,
    nodeTypeNames: [...nodeTypes],
    edgeTypeNames: edgeTypes.map((type) => type.join(':')),
    nodeOffsets: prefixSum(nodeTypes.map((type) => graph.numNodes(type))),
    edgeOffsets: prefixSum(edgeTypes.map((type) => graph.numEdges(type))),
    src,
    dst,
  };
}

function prefixSum(counts: readonly number[]): Int32Array {
  const sums = new Int32Array(counts.length + 1);
  counts.forEach((count, i) => {
    sums[i + 1] = sums[i] + count;
  });
  return sums;
}
