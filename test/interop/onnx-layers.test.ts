/** ONNX export beyond whole models on whole graphs: layers, blocks, decoders, empty graphs, and what it rejects. */

import { readFileSync } from 'node:fs';
import * as ort from 'onnxruntime-web';
import {
  Block,
  fromTypedArray,
  Graph,
  gatherRows,
  gnn,
  manualSeed,
  NeighborSampler,
  nn,
  noGrad,
  randn,
  type Tensor,
} from 'skein';
import { rmat } from 'skein/data';
import { exportOnnx, onnxInputs, toOrt } from 'skein/interop';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { edgeDecoder } from '#internal/gnn/decoders/decoders.js';
import { edgeIndex, fromTensor, ids, largestDifference, runOnnx } from './onnx-session.js';

const tolerance = 1e-4;

async function compareLayer(layer: nn.Layer, x: Tensor): Promise<void> {
  layer.eval();
  const want = noGrad(() => layer.forward(x));
  const { y } = await runOnnx(exportOnnx(layer), { x: fromTensor(x) });
  expect(y.dims).toEqual(want.shape);
  expect(largestDifference(y.data, want.dataSync() as ArrayLike<number>)).toBeLessThan(tolerance);
}

describe('layers without a graph', () => {
  const names = ['relu', 'leakyRelu', 'elu', 'gelu', 'sigmoid', 'tanh', 'softplus', 'none'] as const;
  for (const name of names) {
    it(`Sequential with ${name}`, async () => {
      manualSeed(1);
      const layers = [new nn.Linear(4, 6), nn.activation(name), new nn.Dropout(0.5), new nn.Linear(6, 3)];
      await compareLayer(new nn.Sequential(layers), randn([9, 4]));
    });
  }

  for (const norm of ['batch', 'layer'] as const) {
    it(`MLP with ${norm} norm, trained a little`, async () => {
      manualSeed(2);
      const mlp = new nn.MLP([4, 8, 8, 2], { norm, dropout: 0.3, activation: 'elu' });
      const optimizer = new nn.Adam(mlp.parameters(), { lr: 0.05 });
      for (let step = 0; step < 5; step++) {
        mlp
          .forward(randn([16, 4]))
          .sum()
          .backward();
        optimizer.step();
        optimizer.zeroGrad();
      }
      await compareLayer(mlp, randn([7, 4]));
    });
  }

  it('norms without scale and shift, layers in f64', async () => {
    manualSeed(3);
    const plain = new nn.Sequential([
      new nn.LayerNorm(4, { affine: false }),
      new nn.BatchNorm1d(4, { affine: false }),
    ]);
    await compareLayer(plain, randn([5, 4]));
    const wide = new nn.Linear(4, 3, { dtype: 'f64' });
    const x = randn([5, 4], { dtype: 'f64' });
    await compareLayer(wide, x);
  });
});

/** A block of all neighbours of `targets` in a random graph; destinations come first among the sources. */
function makeBlock(random: Random, numDst: number, numSrc: number): Block {
  const offsets = new Int32Array(numDst + 1);
  const indices: number[] = [];
  for (let v = 0; v < numDst; v++) {
    const degree = v === 1 ? 0 : Math.floor(random.nextFloat() * 5);
    for (let k = 0; k < degree; k++) indices.push(Math.floor(random.nextFloat() * numSrc));
    if (v % 3 === 0) indices.push(v);
    offsets[v + 1] = indices.length;
  }
  return Block.fromCsc(offsets, Int32Array.from(indices), numSrc);
}

describe('models on blocks', () => {
  const sizes = [6, 8, 5];
  const models = {
    'GraphSAGE mean': () => new gnn.GraphSAGE(sizes, { residual: true, jumpingKnowledge: null }),
    'GraphSAGE pool': () => new gnn.GraphSAGE(sizes, { aggregator: 'pool' }),
    'GraphSAGE gcn': () => new gnn.GraphSAGE(sizes, { aggregator: 'gcn' }),
    GAT: () => new gnn.GAT([6, 4, 5], { heads: 2, norm: 'layer' }),
    GATv2: () => new gnn.GAT([6, 4, 5], { heads: 2, v2: true }),
    GIN: () => new gnn.GIN(sizes),
  };
  for (const [name, make] of Object.entries(models)) {
    it(name, async () => {
      manualSeed(4);
      const random = new Random(7);
      const blocks = [makeBlock(random, 12, 30), makeBlock(random, 5, 12)];
      const model = make().eval();
      const x = randn([30, 6]);
      const want = noGrad(() => model.forward(blocks, x));
      const feeds: Record<string, ReturnType<typeof ids>> = { x: fromTensor(x) };
      for (const [i, block] of blocks.entries()) {
        const { src, dst } = block.adjacency.edges();
        feeds[`edge_index_${i}`] = ids([...src, ...dst], [2, src.length]);
        feeds[`num_dst_${i}`] = ids([block.numDstNodes], [1]);
      }
      const { y } = await runOnnx(exportOnnx(model, { blocks: true }), feeds);
      expect(y.dims).toEqual([5, 5]);
      expect(largestDifference(y.data, want.dataSync() as ArrayLike<number>)).toBeLessThan(tolerance);
    });
  }

  it('GraphSAGE on what the sampler gives', async () => {
    manualSeed(8);
    const graph = rmat(200, { numEdges: 1500, seed: 3 });
    const features = randn([200, 6]);
    const batch = new NeighborSampler(graph, { fanouts: [4, 3] }).sample([5, 9, 100, 199], {
      epoch: 0,
      step: 1,
    });
    const model = new gnn.GraphSAGE(sizes).eval();
    const x = gatherRows(features, batch.nodeIds);
    const want = noGrad(() => model.forward(batch.blocks, x));
    const inputs = onnxInputs(batch.blocks, x);
    const feeds = Object.entries(inputs).map(([name, view]) => [name, toOrt(ort, view)]);
    const { y } = await runOnnx(exportOnnx(model, { blocks: true }), Object.fromEntries(feeds));
    expect(y.dims).toEqual([4, 5]);
    expect(largestDifference(y.data, want.dataSync() as ArrayLike<number>)).toBeLessThan(tolerance);
    const offset = Block.fromCsc(Int32Array.of(0, 1), Int32Array.of(0), 2, { dstOffset: 1 });
    expect(() => onnxInputs([offset], x)).toThrow(
      /destinations come first for graphs\[0\], got "them from row 1"/,
    );
  });

  it('rejects layers that need the whole graph, and data of edges', () => {
    expect(() => exportOnnx(new gnn.GCN(sizes), { blocks: true })).toThrow(/no GCNConv in a model on blocks/);
    expect(() => exportOnnx(new gnn.GIN(sizes), { blocks: true, edgeWeight: true })).toThrow(
      /no edge weights/,
    );
  });
});

describe('graphs with nothing in them', () => {
  const models = [
    new gnn.GCN([3, 2]),
    new gnn.GraphSAGE([3, 2], { aggregator: 'max' }),
    new gnn.GAT([3, 2, 2]),
  ];
  for (const model of models) {
    it(`${model.constructor.name} without edges, and without nodes`, async () => {
      const bytes = exportOnnx(model.eval());
      for (const numNodes of [4, 0]) {
        const graph = Graph.fromEdges(new Int32Array(0), new Int32Array(0), { numNodes });
        const x = randn([numNodes, 3]);
        const want = noGrad(() => model.forward(graph, x));
        const { y } = await runOnnx(bytes, { x: fromTensor(x), edge_index: edgeIndex(graph) });
        expect(y.dims).toEqual([numNodes, 2]);
        expect(largestDifference(y.data, want.dataSync() as ArrayLike<number>)).toBeLessThan(tolerance);
      }
    });
  }
});

describe('edge decoders', () => {
  for (const name of ['DISTMULT', 'COMPLEX', 'TRANSE', 'ROTATE', 'DOT'] as const) {
    it(name, async () => {
      manualSeed(5);
      const decoder = edgeDecoder(name, { dim: 8, numRelations: 3, method: 'ONLY_POS' });
      for (const p of decoder.parameters()) nn.init.normal(p, { std: 0.7 });
      const [src, dst] = [randn([11, 8]), randn([11, 8])];
      const relations = Int32Array.from({ length: 11 }, (_, i) => i % 3);
      const hasRelations = decoder.numRelations > 0;
      const want = noGrad(() =>
        decoder.forward({ src, dst, relations: hasRelations ? relations : null, rows: src }),
      );
      const feeds = { src: fromTensor(src), dst: fromTensor(dst) };
      const out = await runOnnx(
        exportOnnx(decoder),
        hasRelations ? { ...feeds, relation: ids(relations, [11]) } : feeds,
      );
      expect(largestDifference(out['score'].data, want.rhsPos.dataSync() as ArrayLike<number>)).toBeLessThan(
        tolerance,
      );
      expect(out['inverse_score'] === undefined).toBe(!hasRelations);
      if (hasRelations)
        expect(
          largestDifference(out['inverse_score'].data, want.lhsPos?.dataSync() as ArrayLike<number>),
        ).toBeLessThan(tolerance);
    });
  }
});

describe('errors of export', () => {
  it('names what it does not know', () => {
    class Own extends nn.Module {
      forward(x: Tensor): Tensor {
        return x;
      }
    }
    const unknown: [nn.Module, RegExp][] = [
      [new Own(), /got Own\. See docs\/onnx\.md/],
      [new nn.Sequential([new Own()]), /got Own/],
      [new gnn.RGCNConv(4, 4, { relations: 2 }), /got RGCNConv/],
      [
        new nn.Sequential([new nn.BatchNorm1d(4, { trackRunningStats: false })]),
        /running statistics for BatchNorm1d/,
      ],
    ];
    for (const [model, message] of unknown) expect(() => exportOnnx(model)).toThrow(message);
    expect(() => exportOnnx({} as nn.Module)).toThrow(/expected a module for model/);
    const linear = new nn.Linear(2, 2);
    expect(() => exportOnnx(linear, { scatter: 'other' as 'nd' })).toThrow(/'elements' or 'nd'/);
    expect(() => exportOnnx(linear, { metadata: { a: 1 as unknown as string } })).toThrow(
      /text for metadata\.a/,
    );
  });

  it('rejects classes that override what would be translated, and takes those that only add', () => {
    class Doubled extends nn.Linear {
      override forward(x: Tensor): Tensor {
        return super.forward(x).mul(2);
      }
    }
    class Named extends gnn.GCN {
      readonly purpose = 'papers';
      constructor() {
        super([3, 4, 2]);
      }
      label(): string {
        return this.purpose;
      }
    }
    expect(() => exportOnnx(new nn.Sequential([new Doubled(2, 2)]))).toThrow(/got Doubled/);
    expect(exportOnnx(new Named()).length).toBeGreaterThan(0);
  });

  it('keeps parameter names, version and metadata in the file', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const bytes = exportOnnx(new gnn.GCN([3, 4, 2]), { name: 'papers', metadata: { dataset: 'cora' } });
    const text = new TextDecoder('latin1').decode(bytes);
    for (const part of [
      'papers',
      'dataset',
      'cora',
      'layers.0.lin.weight',
      'layers.1.bias',
      'skein.version',
      version,
    ])
      expect(text).toContain(part);
  });

  it('does not change the model, and gives the same bytes twice', () => {
    manualSeed(6);
    const model = new gnn.GCN([3, 4, 2], { norm: 'batch' });
    expect(exportOnnx(model)).toEqual(exportOnnx(model));
    expect(model.training).toBe(true);
  });

  it('edge ids outside the graph are errors of the runtime', async () => {
    const bytes = exportOnnx(new gnn.GCN([3, 2]));
    const x = fromTensor(fromTypedArray(new Float32Array(6), [2, 3]));
    await expect(runOnnx(bytes, { x, edge_index: ids([0, 5, 1, 1], [2, 2]) })).rejects.toThrow();
  });
});
