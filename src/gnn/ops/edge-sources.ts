/**
 * The graph in which every edge is a source node, by edge position, that points to the edge's destination. With it,
 * aggregations and scores over edge features need no copy of a node's row for every edge.
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
