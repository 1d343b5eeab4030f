/** Weights of edges by how often their queries occur: the formula by hand. */
import { expect, it } from 'vitest';
import { MemoryEdges } from '../graph/storage/edge-splits.js';
import { GraphStorage } from '../graph/storage/graph-storage.js';
import { SubsamplingWeights } from './subsampling-weights.js';

it('is 1/√(#(head, relation) + #(relation, tail) + 6), with a mean of 1', async () => {
  // 0-0-1, 0-0-2, 0-1-2, 3-0-2
  const rows = Int32Array.of(0, 0, 1, 0, 0, 2, 0, 1, 2, 3, 0, 2);
  const storage = new GraphStorage({
    numNodes: 4,
    numRelations: 2,
    edges: { train: new MemoryEdges(rows, 3) },
  });
  const weights = new SubsamplingWeights(storage);
  await weights.prepare();
  const got = weights.ofEdges({
    src: Int32Array.of(0, 0, 0, 3),
    dst: Int32Array.of(1, 2, 2, 2),
    relations: Int32Array.of(0, 0, 1, 0),
  });
  const plain = [2 + 1, 2 + 2, 1 + 1, 1 + 2].map((count) => 1 / Math.sqrt(count + 6));
  const mean = plain.reduce((sum, w) => sum + w, 0) / 4;
  for (const [i, weight] of got.entries()) expect(weight).toBeCloseTo(plain[i] / mean, 6);
});
