/** Layers of several steps on a list of blocks, one per step: the rows and gradients of the whole graph. */
import { APPNP, LightGCN, SGConv } from 'skein/gnn';
import type { MessageGraph } from 'skein/graph';
import { LayeredNeighborSampler, NeighborSampler } from 'skein/sample';
import { gatherRows, manualSeed, rand, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { randomGraph } from '../graph/graphs.js';
import { expectClose } from '../nn/golden.js';

const graph = randomGraph(60, 200, 9, true);
const seeds = Int32Array.of(5, 0, 59, 17);
const steps = 3;
const fanouts = new Array<number>(steps).fill(-1);
const sampled = new NeighborSampler(graph, { fanouts }).sample(seeds).blocks;
const dense = new LayeredNeighborSampler(graph, { layers: fanouts, outgoing: false })
  .sample(seeds)
  .takeBlocks();

type Run = (graphs: MessageGraph | readonly MessageGraph[], x: Tensor) => Tensor;
manualSeed(2);
const appnp = new APPNP({ steps, alpha: 0.2 }).eval();
const light = new LightGCN({ hops: steps });
const narrow = new SGConv(4, 2, { hops: steps, dtype: 'f64' });
const wide = new SGConv(4, 6, { hops: steps, dtype: 'f64' });
const layers: Record<string, Run> = {
  APPNP: (graphs, x) => appnp.forward(graphs, x),
  LightGCN: (graphs, x) => light.forward(graphs, x),
  'SGConv that narrows': (graphs, x) => narrow.forward(graphs, x),
  'SGConv that widens': (graphs, x) => wide.forward(graphs, x),
};

describe.each(Object.entries(layers))('%s', (_name, run) => {
  it.each([
    ['sampled blocks', sampled],
    ['a DENSE batch', dense],
  ] as const)('on %s', (_mode, blocks) => {
    const x = rand([60, 4], { dtype: 'f64' }).setRequiresGrad();
    const whole = gatherRows(run(graph, x), seeds);
    whole.sum().backward();
    const wanted = (x.grad as Tensor).clone();
    x.zeroGrad();
    const part = run(blocks, gatherRows(x, blocks[0].srcIds as Int32Array));
    part.sum().backward();
    expectClose(part, [...whole.dataSync()], 1e-12, 'rows');
    expectClose(x.grad as Tensor, [...wanted.dataSync()], 1e-12, 'gradient');
  });

  it('rejects one block and lists of another length', () => {
    const rows = rand([sampled[0].numSrcNodes, 4], { dtype: 'f64' });
    expect(() => run(sampled[0], rows)).toThrow(/whole graph or a list of blocks/);
    expect(() => run(sampled.slice(1), rows)).toThrow(/3 blocks \(one per step\)/);
  });
});
