/** Memory is reserved by these bounds, so no batch may exceed them; predicted work must order batches by size. */
import { describe, expect, it } from 'vitest';
import { Graph } from '../../graph/index.js';
import { NeighborSampler } from '../../sample/index.js';
import { Random } from '../../util/philox.js';
import { HopBounds } from './hop-bounds.js';
import { WorkEstimate } from './work-estimate.js';

function randomGraph(random: Random): Graph {
  const numNodes = 1 + random.nextInt(60);
  const draw = () => Math.floor(random.nextFloat() ** 2 * numNodes);
  const length = random.nextInt(400);
  return Graph.fromEdges(Int32Array.from({ length }, draw), Int32Array.from({ length }, draw), { numNodes });
}

describe('HopBounds', () => {
  it('holds for every batch, and exactly for the hop of the seeds', () => {
    const random = new Random(3);
    for (let trial = 0; trial < 300; trial++) {
      const graph = randomGraph(random);
      const offsets = graph.adjacency.offsets as Int32Array;
      const bounds = new HopBounds(offsets, graph.numEdges);
      const fanouts = Array.from({ length: 3 }, () => random.nextInt(8) - 1);
      const replace = random.nextInt(2) === 1;
      const order = Int32Array.from({ length: graph.numNodes }, (_, v) => v);
      const seeds = order.subarray(0, 1 + random.nextInt(graph.numNodes));
      const batch = new NeighborSampler(graph, { fanouts, replace }).sample(seeds, { step: trial });
      let bound = bounds.ofNodes(seeds, fanouts[0], replace);
      expect(batch.edgesPerHop[0]).toBe(bound.edges);
      for (let hop = 1; hop < 3; hop++) {
        bound = bounds.ofFound(bound.edges, seeds.length, fanouts[hop], replace);
        expect(batch.nodesPerHop[hop]).toBeLessThanOrEqual(bound.rows);
        expect(batch.edgesPerHop[hop]).toBeLessThanOrEqual(bound.edges);
      }
    }
  });

  it('assumes the nodes with the most edges for unknown nodes', () => {
    const bounds = new HopBounds(Int32Array.of(0, 5, 6, 6, 9), 9);
    expect([0, 1, 2, 3, 4].map((rows) => bounds.ofFound(rows, 0, -1, false).edges)).toEqual([0, 5, 8, 9, 9]);
    expect(bounds.ofFound(9, 2, 2, false)).toEqual({ rows: 2, edges: 4 });
    expect(bounds.ofFound(9, 0, 3, true)).toEqual({ rows: 4, edges: 12 });
    expect(new HopBounds(Int32Array.of(0), 0).ofFound(3, 0, -1, false)).toEqual({ rows: 0, edges: 0 });
  });
});

describe('WorkEstimate', () => {
  it('equals the mean work of a batch without repeated nodes', () => {
    const offsets = Int32Array.of(0, 4, 6, 6);
    expect(new WorkEstimate(offsets, Int32Array.of(3)).of(Int32Array.of(0, 1, 2))).toBe(3 + 3 + 2);
    // An edge leads to a node of degree 4 twice as often as to one of degree 2: (4·2 + 2·2) / 6 = 2 more each.
    expect(new WorkEstimate(offsets, Int32Array.of(-1, 2)).of(Int32Array.of(0))).toBe(1 + 4 * 3);
    expect(new WorkEstimate(offsets, Int32Array.of(2)).of(Int32Array.of(99))).toBe(1);
    expect(new WorkEstimate(offsets, new Int32Array(0)).of(new Int32Array(0))).toBe(1);
  });
});
