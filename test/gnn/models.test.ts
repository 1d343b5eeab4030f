/** Models: full graph, blocks and layer-wise inference agree; options, sparse features, training. */
import {
  GAT,
  GCN,
  GIN,
  GraphSAGE,
  inferLayerwise,
  type LayeredModel,
  type ModelOptions,
  RGCN,
  SAGEConv,
} from 'skein/gnn';
import { type Block, type Graph, inBlock, SparseMatrix } from 'skein/graph';
import { Adam, crossEntropy } from 'skein/nn';
import {
  backward,
  eye,
  type FloatDType,
  fromTypedArray,
  gatherRows,
  manualSeed,
  mul,
  rand,
  relu,
  sum,
  type Tensor,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { randomGraph } from '../graph/graphs.js';
import { expectClose } from '../nn/golden.js';

type Options = ModelOptions & { readonly dtype: FloatDType };

const makers: Readonly<Record<string, (sizes: readonly number[], options: Options) => LayeredModel>> = {
  GCN: (sizes, options) => new GCN(sizes, options),
  GraphSAGE: (sizes, options) => new GraphSAGE(sizes, options),
  'GraphSAGE pool': (sizes, options) => new GraphSAGE(sizes, { ...options, aggregator: 'pool' }),
  GAT: (sizes, options) => new GAT(sizes, { ...options, heads: 3, outHeads: 2 }),
  'GAT v2': (sizes, options) => new GAT(sizes, { ...options, heads: 2, v2: true }),
  GIN: (sizes, options) => new GIN(sizes, { ...options, trainEps: true }),
};

const variants: Readonly<Record<string, ModelOptions>> = {
  plain: {},
  'dropout, batch norm, residual': { dropout: 0.5, norm: 'batch', residual: true },
  'layer norm, jumping knowledge': { norm: 'layer', jumpingKnowledge: 'cat', activation: 'tanh' },
  'jumping knowledge of the largest, residual': { jumpingKnowledge: 'max', residual: true },
};

const graph = randomGraph(50, 160, 6);
const rows = (n: number, width: number, dtype: FloatDType): Tensor =>
  rand([n, width], { lo: -1, hi: 1, dtype, random: new Random(3) });

/** Blocks of all neighbours, the outermost first. */
function allNeighbours(whole: Graph, seeds: Int32Array, layers: number): Block[] {
  const blocks: Block[] = [];
  for (let i = 0, nodes = seeds; i < layers; i++) {
    blocks.unshift(inBlock(whole, nodes));
    nodes = blocks[0].srcIds as Int32Array;
  }
  return blocks;
}

for (const [name, make] of Object.entries(makers)) {
  describe(name, () => {
    it('drops on blocks what it drops on the full graph', () => {
      manualSeed(4);
      const attention = name.startsWith('GAT') ? { attentionDropout: 0.3 } : {};
      const options = { dropout: 0.4, jumpingKnowledge: 'cat', ...attention } as const;
      const model = make([6, 5, 5, 3], { ...options, dtype: 'f64' });
      const seeds = Int32Array.of(9, 0, 49, 30);
      const x = rows(50, 6, 'f64');
      const drawn = (run: () => Tensor): number[] => {
        manualSeed(8);
        return [...run().dataSync()];
      };
      const wanted = drawn(() => gatherRows(model.forward(graph, x), seeds));
      const blocks = allNeighbours(graph, seeds, model.layers.length);
      const got = drawn(() => model.forward(blocks, gatherRows(x, blocks[0].srcIds as Int32Array)));
      for (const [i, value] of wanted.entries()) expect(got[i]).toBeCloseTo(value, 10);
      manualSeed(9);
      expect([...gatherRows(model.forward(graph, x), seeds).dataSync()]).not.toEqual(wanted);
    });

    for (const [variant, options] of Object.entries(variants)) {
      const build = (dtype: FloatDType): LayeredModel => {
        manualSeed(4);
        return make([6, 5, 5, 3], { ...options, dtype }).eval();
      };

      it(`agrees on the full graph and on blocks (${variant})`, () => {
        const model = build('f64');
        const seeds = Int32Array.of(9, 0, 49, 30);
        const x = rows(50, 6, 'f64');
        const blocks = allNeighbours(graph, seeds, model.layers.length);
        const outcome = (y: Tensor): Tensor[] => {
          const r = Float64Array.from({ length: y.size }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4);
          model.zeroGrad();
          backward(sum(mul(y, fromTypedArray(r, y.shape))));
          return [y, ...model.parameters().map((p) => (p.grad as Tensor).clone())];
        };
        const wanted = outcome(gatherRows(model.forward(graph, x), seeds));
        const input = gatherRows(x, blocks[0].srcIds as Int32Array);
        outcome(model.forward(blocks, input)).forEach((t, i) => {
          expectClose(t, [...wanted[i].dataSync()], 1e-10, i === 0 ? 'logits' : `gradient ${i}`);
        });
      });

      it(`gives the same bytes layer by layer (${variant})`, () => {
        const model = build('f32').train();
        const x = rows(50, 6, 'f32');
        const y = inferLayerwise(model, graph, x, { batchSize: 7 });
        expect(model.training).toBe(true);
        expect(y.dataSync()).toEqual(model.eval().forward(graph, x).dataSync());
        expect(y.shape).toEqual([50, 3]);
      });
    }

    it('learns', () => {
      manualSeed(5);
      const model = make([6, 8, 3], { dtype: 'f32', dropout: 0.1 });
      const x = rows(50, 6, 'f32');
      const labels = Int32Array.from({ length: 50 }, (_, i) => i % 3);
      const optimizer = new Adam(model.parameters(), { lr: 0.02 });
      const losses: number[] = [];
      for (let step = 0; step < 40; step++) {
        optimizer.zeroGrad();
        const loss = crossEntropy(model.forward(graph, x), labels);
        loss.backward();
        optimizer.step();
        losses.push(loss.item());
      }
      expect(losses[39]).toBeLessThan(0.95 * losses[0]);
    });
  });
}

describe('RGCN', () => {
  const edgeType = Int32Array.from({ length: 160 }, (_, e) => (e * 7) % 5);
  const kinds = { free: {}, bases: { bases: 3 } };

  for (const [name, kind] of Object.entries(kinds)) {
    it(`takes the identity as features when it gets none (${name})`, () => {
      manualSeed(3);
      const model = new RGCN([50, 4, 3], { ...kind, relations: 5, dtype: 'f64' });
      const seeds = Int32Array.of(4, 0, 17);
      const blocks = allNeighbours(graph, seeds, 2);
      const outcome = (y: Tensor): Tensor[] => {
        const r = Float64Array.from({ length: y.size }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4);
        model.zeroGrad();
        backward(sum(mul(y, fromTypedArray(r, y.shape))));
        return [y, ...model.parameters().map((p) => (p.grad as Tensor).clone())];
      };
      const whole = outcome(gatherRows(model.forward(graph, null, edgeType), seeds));
      const others = {
        identity: outcome(gatherRows(model.forward(graph, eye(50, { dtype: 'f64' }), edgeType), seeds)),
        blocks: outcome(model.forward(blocks, null, edgeType)),
      };
      for (const [other, values] of Object.entries(others)) {
        values.forEach((t, i) => {
          expectClose(
            t,
            [...whole[i].dataSync()],
            1e-10,
            `${other}: ${i === 0 ? 'logits' : `gradient ${i}`}`,
          );
        });
      }
      const all = inferLayerwise(model, graph, null, { batchSize: 8, edgeData: edgeType });
      expect(all.dataSync()).toEqual(model.forward(graph, null, edgeType).dataSync());
    });
  }

  it('takes features, on the full graph, on blocks and layer by layer', () => {
    manualSeed(3);
    const model = new RGCN([6, 4, 2], { relations: 5, blocks: 2, norm: 'layer', residual: true });
    const x = rows(50, 6, 'f32');
    const y = model.forward(graph, x, edgeType);
    const seeds = Int32Array.of(4, 0, 17);
    const blocks = allNeighbours(graph, seeds, 2);
    const part = model.forward(blocks, gatherRows(x, blocks[0].srcIds as Int32Array), edgeType);
    expectClose(part, [...gatherRows(y, seeds).dataSync()], 1e-5, 'blocks');
    const all = inferLayerwise(model, graph, x, { batchSize: 8, edgeData: edgeType });
    expect(all.dataSync()).toEqual(y.dataSync());
  });

  it('rejects invalid arguments', () => {
    const model = new RGCN([50, 4, 3], { relations: 5 });
    expect(() => model.forward(graph, null)).toThrow('RGCN: expected the relation of each edge');
    expect(() => model.forward(graph, null, edgeType.subarray(1))).toThrow(
      'RGCNConv: expected 160 relations',
    );
    expect(() =>
      model.forward(
        graph,
        null,
        edgeType.map((r) => r + 1),
      ),
    ).toThrow('RGCNConv: expected ids from 0 to 4');
    expect(() => new RGCN([51, 3], { relations: 5 }).forward(graph, null, edgeType)).toThrow(
      'RGCNConv: expected a graph of 51 nodes',
    );
    expect(() => new RGCN([50, 4], { relations: 5, blocks: 3 })).toThrow(
      'RGCNConv: expected a divisor of both widths',
    );
    expect(() => new RGCN([50, 4], { relations: 5, blocks: 2, bases: 2 })).toThrow(
      'expected bases or blocks',
    );
  });
});

describe('models', () => {
  it('reject invalid arguments', () => {
    expect(() => new GCN([5])).toThrow('GCN: expected input and output sizes for sizes');
    expect(() => new GCN([5, 3], { jumpingKnowledge: 'cat' })).toThrow(
      'GCN: expected input, hidden and output',
    );
    expect(() => new GCN([5, 3], { norm: 'none' as 'batch' })).not.toThrow();
    expect(() => new GCN([5, 4, 3], { norm: 'none' as 'batch' })).toThrow(
      "GCN: expected 'batch', 'layer' or null",
    );
    const lstm = 'lstm' as 'cat';
    expect(() => new GCN([5, 4, 3], { jumpingKnowledge: lstm })).toThrow('There is no LSTM');
    const model = new GCN([6, 4, 3]);
    const x = rows(50, 6, 'f32');
    expect(() => model.forward([graph], x)).toThrow('GCN: expected 2 blocks (one per layer)');
    expect(() => model.forward(graph, null)).toThrow('GCN: expected a tensor or a SparseMatrix for x');
    expect(() => model.forward(graph, x, new Int32Array(160))).toThrow('GCN: expected no edge data');
    expect(() => new GIN([6, 3]).forward(graph, SparseMatrix.fromDense(x))).toThrow('GIN: expected dense');
  });

  it.each([{}, { normalize: true }, { aggregator: 'gcn' }, { aggregator: 'pool' }] as const)(
    'SAGE layers return relu of their result with { relu: true }: %o',
    (options) => {
      for (const outFeatures of [3, 9]) {
        const layer = new SAGEConv(5, outFeatures, options);
        const x = rand([graph.numNodes, 5], { lo: -1, hi: 1 });
        const sparse = SparseMatrix.fromDense(x);
        for (const features of [x, sparse]) {
          const want = relu(layer.forward(graph, features));
          expect(layer.forward(graph, features, { relu: true }).dataSync()).toEqual(want.dataSync());
        }
      }
    },
  );

  it('keep sparse features sparse and drop their entries', () => {
    const dense = rows(50, 6, 'f32');
    const sparse = SparseMatrix.fromDense(dense);
    for (const name of ['GCN', 'GraphSAGE', 'GAT']) {
      manualSeed(2);
      const model = makers[name]([6, 5, 3], { dtype: 'f32', dropout: 0.5, residual: true });
      model.eval();
      const wanted = model.forward(graph, dense);
      expectClose(model.forward(graph, sparse), [...wanted.dataSync()], 1e-5, name);
      const y = inferLayerwise(model, graph, sparse, { batchSize: 16 });
      expectClose(y, [...wanted.dataSync()], 1e-5, `${name} layer by layer`);
      model.train();
      expect(model.forward(graph, sparse).dataSync()).not.toEqual(model.forward(graph, sparse).dataSync());
    }
  });

  it('give blocks the features of their edges', () => {
    manualSeed(6);
    const model = new GAT([6, 4, 3], { heads: 2, edgeDim: 2, dtype: 'f64' });
    const x = rows(50, 6, 'f64');
    const edgeAttr = rows(160, 2, 'f64');
    const seeds = Int32Array.of(8, 21);
    const blocks = allNeighbours(graph, seeds, 2);
    const y = model.forward(blocks, gatherRows(x, blocks[0].srcIds as Int32Array), edgeAttr);
    const whole = gatherRows(model.forward(graph, x, edgeAttr), seeds);
    expectClose(y, [...whole.dataSync()], 1e-12, 'logits');
  });
});
