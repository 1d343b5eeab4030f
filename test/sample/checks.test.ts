import { Graph, HeteroGraph, SparseMatrix } from 'skein/graph';
import {
  ClusterSampler,
  EdgeSampler,
  type EdgeSeeds,
  type FeatureSource,
  HeteroNeighborSampler,
  type HeteroSeeds,
  LayeredNeighborSampler,
  NegativeSampler,
  NeighborSampler,
  NodeLoader,
  RandomWalkSampler,
  type SampleWeights,
} from 'skein/sample';
import { fromTypedArray, type Tensor } from 'skein/tensor';
import { ShapeError, ValueError } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { cycleOfSix, star } from './graphs.js';

const graph = cycleOfSix();
const { src, dst } = graph.edges();
const hetero = HeteroGraph.fromEdges({ a: 6 }, { 'a,to,a': { src, dst } });
const most = 2 ** 31 - 1;
const bad = <T>(value: unknown): T => value as T;

/** Runs `call` and checks the class of its error and the words of its message. */
function refuses(call: () => unknown, message: RegExp): void {
  expect(call).toThrow(ValueError);
  expect(call).toThrow(message);
}

describe('samplers reject arguments of the wrong type', () => {
  const samplers: [string, new (graph: Graph, options: never) => unknown, object][] = [
    ['NeighborSampler', NeighborSampler, { fanouts: [1] }],
    ['LayeredNeighborSampler', LayeredNeighborSampler, { layers: [1] }],
    ['EdgeSampler', EdgeSampler, { fanouts: [1] }],
    ['RandomWalkSampler', RandomWalkSampler, { length: 2 }],
    ['NegativeSampler', NegativeSampler, {}],
    ['ClusterSampler', ClusterSampler, { clusters: [0, 0, 0, 1, 1, 1] }],
  ];
  const bipartite = Graph.fromEdges([3], [0], { numSrc: 4, numDst: 1 });

  it.each(samplers)('%s', (name, Class, good) => {
    expect(() => new Class(graph, bad(good))).not.toThrow();
    for (const value of [null, undefined, 5, {}, [], new Int32Array(2), bipartite])
      refuses(() => new Class(bad(value), bad(good)), new RegExp(`^${name}: expected .*one node type`));
    for (const value of [null, 5, 'foo'])
      refuses(() => new Class(graph, bad(value)), new RegExp(`^${name}: expected an object for options`));
    if (name !== 'NegativeSampler')
      for (const value of [undefined, {}]) expect(() => new Class(graph, bad(value))).toThrow(ValueError);
  });

  it('options', () => {
    for (const weights of [null, 5, 'foo', {}, true])
      refuses(
        () => new NeighborSampler(graph, { fanouts: [1], weights: bad<SampleWeights>(weights) }),
        /weights/,
      );
    const words = Array.from({ length: 12 }, () => '1');
    refuses(() => new NeighborSampler(graph, { fanouts: [1], weights: bad<number[]>(words) }), /weights/);
    refuses(() => new NeighborSampler(graph, { fanouts: [1], replace: bad('yes') }), /replace, got "yes"/);
    refuses(() => new NeighborSampler(graph, { fanouts: [1], disjoint: bad(1) }), /disjoint, got 1/);
    refuses(() => new NegativeSampler(graph, { filter: bad('yes') }), /filter/);
    refuses(() => new LayeredNeighborSampler(graph, bad({})), /layers, got undefined/);
    refuses(() => new LayeredNeighborSampler(graph, { layers: [1], incoming: bad(0) }), /incoming/);
    const uniform = { type: 'UNIFORM', maxNeighbors: 2, replace: bad<boolean>('no') } as const;
    refuses(() => new LayeredNeighborSampler(graph, { layers: [uniform] }), /layers\[0\]\.replace/);
    refuses(() => new EdgeSampler(graph, { fanouts: [1], negatives: bad(null) }), /negatives/);
  });

  it('seeds', () => {
    const edges = new EdgeSampler(graph, { fanouts: [1] });
    for (const seeds of [5, null, undefined, 'foo'])
      refuses(() => edges.sample(bad<EdgeSeeds>(seeds)), /edge ids/);
    refuses(() => edges.sample({ src: bad(5), dst: [1] }), /src/);
    const sampler = new HeteroNeighborSampler(hetero, { fanouts: [1] });
    for (const seeds of [5, null]) refuses(() => sampler.sample(bad<HeteroSeeds>(seeds)), /seeds/);
    refuses(() => new HeteroNeighborSampler(hetero, bad(undefined)), /options/);
    refuses(() => new HeteroNeighborSampler(hetero, bad({})), /fanouts/);
    refuses(() => new HeteroNeighborSampler(hetero, { fanouts: [1], replace: bad('yes') }), /replace/);
  });

  it('loaders', () => {
    const sampler = new NeighborSampler(graph, { fanouts: [1] });
    for (const value of [null, undefined, 5, {}])
      refuses(() => new NodeLoader(bad(value), { seeds: [0], batchSize: 1 }), /sampler/);
    refuses(() => new NodeLoader(sampler, bad(undefined)), /options/);
    refuses(() => new NodeLoader(sampler, { seeds: [0], batchSize: 1, shuffle: bad('yes') }), /shuffle/);
  });
});

describe('samplers reject sizes beyond 32 bits', () => {
  it('draws with replacement', async () => {
    const message = /sampled edges for fanouts and seeds, got 2147483647/;
    const sampler = new NeighborSampler(graph, { fanouts: [most], replace: true });
    refuses(() => sampler.sample([0]), message);
    await expect(sampler.sampleAsync([0])).rejects.toThrow(message);
    refuses(() => sampler.sample([0, 1]), /got 4294967294/);
    refuses(() => new NeighborSampler(graph, { fanouts: [3, most], replace: true }).sample([0]), /fanouts/);
    const layers = [{ type: 'UNIFORM', maxNeighbors: most, replace: true }] as const;
    refuses(() => new LayeredNeighborSampler(graph, { layers }).sample([0]), message);
    const typed = new HeteroNeighborSampler(hetero, { fanouts: [most], replace: true });
    refuses(() => typed.sample({ a: [0] }), message);
    expect(typed.sample({ a: [] }).nodeIds.a.length).toBe(0);
  });

  it('but not large fan-outs that the graph cannot use up', () => {
    expect(new NeighborSampler(graph, { fanouts: [most, most] }).sample([0]).numEdges).toBe(6);
    // 1000^12 draws in theory; in fact six nodes that draw once each.
    const deep = new NeighborSampler(graph, { fanouts: new Array(12).fill(1000), replace: true });
    expect(deep.sample([0]).numEdges).toBe(6000);
    const endless = new Array(60).fill(most);
    expect(new NeighborSampler(graph, { fanouts: [...endless, 0], replace: true }).sample([]).numEdges).toBe(
      0,
    );
    expect(new NeighborSampler(star(3), { fanouts: [most], replace: true }).sample([1]).numEdges).toBe(0);
  });

  it('walks and negatives', () => {
    const walks = new RandomWalkSampler(graph, { length: 2 ** 20, walks: 2 ** 20 });
    refuses(() => walks.sample([0]), /seeds × walks × \(length \+ 1\), got "1 × 1048576 × 1048577"/);
    const negatives = new NegativeSampler(graph, { count: 2 ** 24 - 1 });
    refuses(() => negatives.sampleShared(most, 2 ** 24 - 1), /chunks × count/);
    refuses(() => negatives.sample(new Int32Array(200)), /nodes × count/);
    expect(negatives.sampleShared(most, 0).length).toBe(0);
  });
});

describe('weights', () => {
  it('whose sum overflows keep their proportions', () => {
    const sampler = new NeighborSampler(star(3), {
      fanouts: [4000],
      replace: true,
      weights: [1.7e308, 0.85e308, 1],
    });
    const counts = [0, 0, 0];
    for (const id of sampler.sample([0]).edgeIds) counts[id]++;
    expect(counts[2]).toBe(0);
    expect(counts[0] / 4000).toBeCloseTo(2 / 3, 1);
    expect(counts[1] / 4000).toBeCloseTo(1 / 3, 1);
  });
});

describe('feature functions', () => {
  const sampler = new NeighborSampler(graph, { fanouts: [2] });
  const run = async (features: FeatureSource, epochs = 1) => {
    const loader = new NodeLoader(sampler, { seeds: [0, 3], batchSize: 1, features });
    for (let epoch = 0; epoch < epochs; epoch++)
      for await (const { x, nodeIds } of loader.epoch(epoch)) expect(x.shape[0]).toBe(nodeIds.length);
  };

  it('must return one row per node', async () => {
    const what = /NodeLoader: expected .* for the result of the function features/;
    for (const value of [undefined, null, 5, new Float32Array(3)]) {
      await expect(run(() => bad<Tensor>(value))).rejects.toThrow(ValueError);
      await expect(run(async () => bad<Tensor>(value))).rejects.toThrow(what);
    }
    const few = fromTypedArray(new Float32Array(2), [1, 2]);
    await expect(run(() => few)).rejects.toThrow(ShapeError);
    await expect(run(() => few)).rejects.toThrow(what);
    await expect(run(() => SparseMatrix.fromDense(few))).rejects.toThrow(what);
  });

  it('keep the tensors they return', async () => {
    const x = fromTypedArray(new Float32Array(6), [3, 2]);
    await run(() => x, 3);
    const loader = new NodeLoader(sampler, { seeds: [0, 3], batchSize: 1, features: () => x });
    for await (const batch of loader.epoch(0)) {
      expect(batch.x).toBe(x);
      break;
    }
    expect(x.isDisposed).toBe(false);
    await run((ids) => SparseMatrix.fromDense(fromTypedArray(new Float32Array(ids.length), [ids.length, 1])));
  });
});
