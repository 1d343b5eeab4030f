/** The peak of a dry run is the peak of the program. */

import { GAT, GraphSAGE } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import { dryRun, manualSeed, poolStats, randn, resetPeak, scope } from 'skein/tensor';
import { describe, expect, it } from 'vitest';

const numNodes = 300;
const pairs = Array.from({ length: 2000 }, (_, i) => [(i * 7919) % numNodes, (i * 104_729 + 13) % numNodes]);
const graph = Graph.fromEdges(
  pairs.map(([u]) => u),
  pairs.map(([, v]) => v),
  { numNodes },
);
const labels = Int32Array.from({ length: numNodes }, (_, i) => i % 4);

const families = {
  SAGE: () => new GraphSAGE([16, 32, 32, 4]),
  GAT: () => new GAT([16, 8, 8, 4], { heads: 2 }),
};

function step(make: () => GraphSAGE | GAT): number {
  return scope(() => {
    const model = make();
    const optimizer = new Adam(model.parameters(), { lr: 0.01 });
    const loss = crossEntropy(model.forward(graph, randn([numNodes, 16])), labels);
    loss.backward();
    optimizer.step();
    for (const p of model.parameters()) p.dispose();
    return loss.item();
  });
}

describe('dryRun', () => {
  it.each(Object.entries(families))('predicts the peak of a step of %s', (_name, make) => {
    manualSeed(1);
    step(make);
    const before = poolStats().liveBytes;
    resetPeak();
    step(make);
    const peak = poolStats().peakBytes - before;
    const planned = dryRun(() => step(make)).peakBytes;
    expect(planned).toBe(peak);
    expect(peak).toBeGreaterThan(0);
  });

  it('gives the kernels back, also after an error', () => {
    expect(() =>
      dryRun(() => {
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(randn([4]).abs().sum().item()).toBeGreaterThan(0);
  });
});
