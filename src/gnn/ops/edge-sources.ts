/**
 * Edges in the role of sources: the graph in which every edge has a node of its own, in slot order, that points to the
 * edge's destination. Aggregations and scores over edge features then need no copy of a node's row for every edge.
 */
import { Adjacency } from '../../graph/index.js';
import { identity } from '../../graph/ops/spmm.js';

const kept = new WeakMap<Adjacency, Adjacency>();

export function edgeSources(adjacency: Adjacency): Adjacency {
  let edges = kept.get(adjacency);
  if (edges === undefined) {
    const { offsets, numEdges } = adjacency;
    edges = Adjacency.trusted(offsets, identity(numEdges).subarray(0, numEdges), numEdges);
    kept.set(adjacency, edges);
  }
  return edges;
}
