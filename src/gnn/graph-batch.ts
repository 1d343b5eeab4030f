/**
 * Many small graphs as one: a disjoint union in which message passing stays within each graph, and where the nodes of a
 * graph are consecutive rows, so that pooling is a reduction of segments.
 */
import { disjointUnion, type Graph } from '../graph/index.js';
import { concat, type Tensor } from '../tensor/index.js';
import { expected, ShapeError, ValueError } from '../util/errors.js';

export class GraphBatch {
  readonly graph: Graph;
  /** [nodes of all graphs, F] */
  readonly x: Tensor;
  /** Nodes of graph g: offsets[g] … offsets[g+1]−1. */
  readonly offsets: Int32Array;

  private constructor(graph: Graph, x: Tensor, offsets: Int32Array) {
    this.graph = graph;
    this.x = x;
    this.offsets = offsets;
  }

  /**
   * @param features one tensor [nodes, F] per graph.
   * @example
   * const batch = GraphBatch.fromGraphs([a, b], [xa, xb]);
   * const perGraph = globalMeanPool(conv.forward(batch.graph, batch.x), batch.offsets);
   */
  static fromGraphs(graphs: readonly Graph[], features: readonly Tensor[]): GraphBatch {
    if (graphs.length === 0)
      throw new ValueError(expected('GraphBatch.fromGraphs', 'at least one graph', 'graphs', 'none'));
    if (features.length !== graphs.length) {
      const want = `${graphs.length} tensors (one per graph)`;
      throw new ShapeError(expected('GraphBatch.fromGraphs', want, 'features', features.length));
    }
    const offsets = new Int32Array(graphs.length + 1);
    for (const [g, graph] of graphs.entries()) {
      if (features[g].rank !== 2 || features[g].shape[0] !== graph.numNodes) {
        const want = `${graph.numNodes} rows of features`;
        throw new ShapeError(
          expected(
            'GraphBatch.fromGraphs',
            want,
            `features[${g}]`,
            `shape [${features[g].shape.join(', ')}]`,
          ),
        );
      }
      offsets[g + 1] = offsets[g] + graph.numNodes;
    }
    return new GraphBatch(disjointUnion(graphs), concat(features, 0), offsets);
  }

  get numGraphs(): number {
    return this.offsets.length - 1;
  }

  /** Returns the graph of each node. */
  graphOfNode(): Int32Array {
    const graphs = new Int32Array(this.offsets[this.numGraphs]);
    for (let g = 0; g < this.numGraphs; g++) graphs.fill(g, this.offsets[g], this.offsets[g + 1]);
    return graphs;
  }
}
