/**
 * Layers and functions that the values of PyTorch Geometric do not cover, against plain PyTorch
 * (scripts/golden/gnn.py).
 */
import {
  AttentionalPool,
  correctAndSmooth,
  HGTConv,
  JumpingKnowledge,
  RGCNConv,
  SAGEConv,
  SIGN,
  signFeatures,
  TransformerConv,
} from 'skein/gnn';
import { HeteroGraph } from 'skein/graph';
import { Linear, type Module } from 'skein/nn';
import { concat, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { expectClose } from '../nn/golden.js';
import { type Array64, expectRecordedLayer, goldenGraph, readGolden, toTensor } from './conv-golden.js';

interface Smoothed {
  readonly soft: Array64;
  readonly ids: readonly number[];
  readonly labels: readonly number[];
  readonly out: Array64;
}

interface PlainFile extends ReturnType<typeof readGolden> {
  readonly jumping: { readonly layers: readonly Array64[]; readonly cat: Array64; readonly max: Array64 };
  readonly correct_and_smooth: { readonly autoscale: Smoothed; readonly fixed: Smoothed };
}

const file = readGolden('gnn') as PlainFile;
const graph = goldenGraph(file);
const f64 = { dtype: 'f64' } as const;

type Run = readonly [Module, (x: Tensor) => Tensor];

/** Nodes 0–4 are of type a, 5–10 of type b. */
function typedGraph(): HeteroGraph {
  const lists: Record<string, [number[], number[]]> = {};
  const typeOf = (v: number): string => (v < 5 ? 'a' : 'b');
  const local = (v: number): number => (v < 5 ? v : v - 5);
  for (const of of 'ab') for (const to of 'ab') lists[`${of},to,${to}`] = [[], []];
  file.src.forEach((u, e) => {
    const v = file.dst[e];
    const [src, dst] = lists[`${typeOf(u)},to,${typeOf(v)}`];
    src.push(local(u));
    dst.push(local(v));
  });
  return HeteroGraph.fromEdges({ a: 5, b: 6 }, lists);
}

const layers: Readonly<Record<string, () => Run>> = {
  sage_gcn: () => {
    const layer = new SAGEConv(5, 3, { ...f64, aggregator: 'gcn' });
    return [layer, (x) => layer.forward(graph, x)];
  },
  rgcn_blocks: () => {
    const layer = new RGCNConv(4, 6, { ...f64, relations: 4, blocks: 2 });
    return [layer, (x) => layer.forward(graph, x, Int32Array.from(file.edge_type))];
  },
  sign: () => {
    const layer = new SIGN([4, 2, 3], { ...f64, hops: 2 });
    return [layer, (x) => layer.forward(signFeatures(graph, x, 2))];
  },
  transformer_beta: () => {
    const layer = new TransformerConv(5, 2, { ...f64, heads: 2, concat: false, beta: true, edgeDim: 2 });
    return [layer, (x) => layer.forward(graph, x, toTensor(file.edge_attr))];
  },
  attentional_pool: () => {
    const layer = new AttentionalPool(new Linear(4, 1, f64), new Linear(4, 3, f64));
    return [layer, (x) => layer.forward(x, Int32Array.of(0, 4, 9, 9, 11))];
  },
  hgt: () => {
    const typed = typedGraph();
    const edgeTypes = typed.edgeTypes.map((type) => type.join());
    const layer = new HGTConv({ inFeatures: { a: 4, b: 4 }, edgeTypes }, 4, { ...f64, heads: 2 });
    return [
      layer,
      (x) => {
        const y = layer.forward(typed, { a: x.slice(0, 5), b: x.slice(5, 11) });
        return concat([y.a, y.b], 0);
      },
    ];
  },
};

describe('layers have the values of plain PyTorch', () => {
  it('has a layer for every recorded case', () => {
    expect(Object.keys(layers).sort()).toEqual(file.cases.map(({ name }) => name).sort());
  });

  for (const recorded of file.cases) {
    it(`${recorded.name}: ${recorded.notes}`, () => {
      const [layer, run] = layers[recorded.name]();
      expectRecordedLayer(recorded, layer, run);
    });
  }

  it('JumpingKnowledge', () => {
    const known = file.jumping.layers.map(toTensor);
    for (const mode of ['cat', 'max'] as const)
      expectClose(new JumpingKnowledge(mode).forward(known), file.jumping[mode].data, 0, mode);
  });

  it('correctAndSmooth', () => {
    const { autoscale, fixed } = file.correct_and_smooth;
    const options = { correctSteps: 5, correctAlpha: 0.9, smoothSteps: 4, smoothAlpha: 0.8 };
    const byNode = ({ labels, ids }: Smoothed): Int32Array => {
      const all = new Int32Array(graph.numNodes).fill(-1);
      ids.forEach((id, i) => {
        all[id] = labels[i];
      });
      return all;
    };
    const run = (recorded: Smoothed, more: object): Tensor =>
      correctAndSmooth(graph, toTensor(recorded.soft), byNode(recorded), recorded.ids, {
        ...options,
        ...more,
      });
    expectClose(run(autoscale, {}), autoscale.out.data, 1e-12, 'autoscale');
    expectClose(run(fixed, { autoscale: false, scale: 0.7 }), fixed.out.data, 1e-12, 'fixed');
    const before = toTensor(fixed.soft);
    expect(() => correctAndSmooth(graph, before, [0], [1, 2])).toThrow(
      'correctAndSmooth: expected 11 labels',
    );
    expect(() => correctAndSmooth(graph, before, new Int32Array(11).fill(3), [1])).toThrow(
      'correctAndSmooth: expected ids from 0 to 2',
    );
  });
});
