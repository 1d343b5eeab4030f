/** Batches of graphs, pooling, and graph classification. */
import {
  AttentionalPool,
  GINGraphClassifier,
  GraphBatch,
  globalMaxPool,
  globalMeanPool,
  globalSumPool,
  SIGN,
  signFeatures,
} from 'skein/gnn';
import { Graph, inBlock } from 'skein/graph';
import { Adam, crossEntropy, Linear } from 'skein/nn';
import { argmax, full, manualSeed, ones, rand, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { randomGraph } from '../graph/graphs.js';
import { expectClose, expectFiniteDifferences } from '../nn/golden.js';

const rows = (n: number, width: number, seed = 1): Tensor =>
  rand([n, width], { lo: -1, hi: 1, dtype: 'f64', random: new Random(seed) });

describe('GraphBatch', () => {
  const sizes = [4, 1, 7];
  const graphs = sizes.map((n, i) =>
    n === 1 ? Graph.fromEdges([], [], { numNodes: 1 }) : randomGraph(n, 2 * n, i),
  );

  it('rejects invalid arguments', () => {
    expect(() => GraphBatch.fromGraphs([], [])).toThrow('GraphBatch.fromGraphs: expected at least one graph');
    expect(() => GraphBatch.fromGraphs(graphs, [])).toThrow('expected 3 tensors (one per graph)');
    const wrong = [rows(4, 2), rows(2, 2), rows(7, 2)];
    expect(() => GraphBatch.fromGraphs(graphs, wrong)).toThrow('expected 1 rows of features for features[1]');
  });

  it('keeps the nodes and edges of each graph separate', () => {
    const batch = GraphBatch.fromGraphs(
      graphs,
      sizes.map((n) => rows(n, 2, n)),
    );
    expect(batch.numGraphs).toBe(3);
    expect([...batch.offsets]).toEqual([0, 4, 5, 12]);
    expect([...batch.graphOfNode()]).toEqual([0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2]);
    const y = batch.graph.aggregate(batch.x);
    graphs.forEach((graph, g) => {
      const own = graph.aggregate(rows(sizes[g], 2, sizes[g]));
      expect(
        y
          .slice(batch.offsets[g], batch.offsets[g + 1])
          .dataSync()
          .slice(),
      ).toEqual(own.dataSync().slice());
    });
  });
});

describe('pooling', () => {
  const offsets = Int32Array.of(0, 3, 3, 7);
  const x = full([7, 1], 1, { dtype: 'f64' });
  x.dataSync().set([1, 5, 3, -2, -1, -4, -5]);

  it('reduces the nodes of each graph; a graph without nodes gives 0', () => {
    expect(globalSumPool(x, offsets).toArray()).toEqual([[9], [0], [-12]]);
    expect(globalMeanPool(x, offsets).toArray()).toEqual([[3], [0], [-3]]);
    expect(globalMaxPool(x, offsets).toArray()).toEqual([[5], [0], [-1]]);
  });

  it('attends to the nodes of each graph', () => {
    manualSeed(1);
    const pool = new AttentionalPool(new Linear(3, 1, { dtype: 'f64' }));
    const nodes = rows(7, 3).setRequiresGrad();
    const y = pool.forward(nodes, offsets);
    expect(y.shape).toEqual([3, 3]);
    expect([...y.slice(1, 2).dataSync()]).toEqual([0, 0, 0]);
    const { 'gate.weight': weight } = Object.fromEntries(pool.namedParameters());
    expectFiniteDifferences(() => pool.forward(nodes, offsets), { nodes, weight });
    const wide = new AttentionalPool(new Linear(3, 2, { dtype: 'f64' }));
    expect(() => wide.forward(nodes, offsets)).toThrow('AttentionalPool: expected shape [7, 1]');
    expect(() => pool.forward(nodes, offsets.subarray(0, 3))).toThrow(
      'AttentionalPool: expected offsets from 0 to 7',
    );
  });
});

describe('GINGraphClassifier', () => {
  /** Returns a ring of n nodes, or two rings of half the size: all degrees are equal. */
  function rings(n: number, split: boolean): Graph {
    const size = split ? n / 2 : n;
    const next = (v: number): number => (v % size === size - 1 ? v - size + 1 : v + 1);
    const from = Int32Array.from({ length: n }, (_, v) => v);
    const to = from.map(next);
    return Graph.fromEdges([...from, ...to], [...to, ...from], { numNodes: n });
  }

  it('rejects invalid arguments', () => {
    expect(() => new GINGraphClassifier([3, 2])).toThrow(
      'GINGraphClassifier: expected input, hidden and output',
    );
    expect(() => new GINGraphClassifier([3, 4, 2], { pool: 'min' as 'max' })).toThrow(
      'expected sum, mean, max',
    );
  });

  it('learns to distinguish rings from stars', () => {
    manualSeed(3);
    const star = (n: number): Graph => {
      const leaves = Int32Array.from({ length: n - 1 }, (_, i) => i + 1);
      const hub = new Int32Array(n - 1);
      return Graph.fromEdges([...leaves, ...hub], [...hub, ...leaves], { numNodes: n });
    };
    const graphs = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? rings(6 + i, false) : star(6 + i)));
    const batch = GraphBatch.fromGraphs(
      graphs,
      graphs.map((g) => ones([g.numNodes, 1])),
    );
    const labels = Int32Array.from(graphs, (_, i) => i % 2);
    const model = new GINGraphClassifier([1, 8, 8, 2], { pool: 'mean', trainEps: true });
    const optimizer = new Adam(model.parameters(), { lr: 0.02 });
    for (let step = 0; step < 60; step++) {
      optimizer.zeroGrad();
      crossEntropy(model.forward(batch), labels).backward();
      optimizer.step();
    }
    expect([...argmax(model.forward(batch), 1).dataSync()]).toEqual([...labels]);
  });

  it('cannot distinguish rings of the same degrees, as the theory predicts', () => {
    manualSeed(3);
    const pair = [rings(8, false), rings(8, true)];
    const batch = GraphBatch.fromGraphs(
      pair,
      pair.map((g) => ones([g.numNodes, 1], { dtype: 'f64' })),
    );
    const model = new GINGraphClassifier([1, 6, 2], { dtype: 'f64' }).eval();
    const y = model.forward(batch);
    expectClose(y.slice(0, 1), [...y.slice(1, 2).dataSync()], 1e-12, 'logits');
  });
});

describe('SIGN', () => {
  it('needs as many tensors as hops, of a whole graph', () => {
    const graph = randomGraph(9, 20);
    const features = signFeatures(graph, rows(9, 4), 2);
    expect(features.map((f) => f.shape)).toEqual([
      [9, 4],
      [9, 4],
      [9, 4],
    ]);
    const model = new SIGN([4, 3, 2], { hops: 2, dtype: 'f64' });
    expect(model.forward(features).shape).toEqual([9, 2]);
    expect(() => model.forward(features.slice(1))).toThrow('SIGN: expected 3 tensors (hops 0 … 2)');
    expect(() => signFeatures(inBlock(graph, [3]), rows(9, 4), 2)).toThrow(
      'signFeatures: expected a graph whose nodes',
    );
  });
});
