/** How many edges a prepared graph has. */
import type { PreparedStats } from '../data/index.js';

/** dataset.yaml counts training edges alone where edges are split, as Marius does; nodes that are split leave all there. */
export function allEdges(stats: PreparedStats, nodesAreSplit: boolean): number {
  const { num_edges, num_valid, num_test } = stats;
  return nodesAreSplit ? num_edges : num_edges + Math.max(0, num_valid) + Math.max(0, num_test);
}
