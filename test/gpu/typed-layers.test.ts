/**
 * Layers over several node types, pooling and models with components not covered by `layers.test.ts`, on the
 * GPU against the CPU: results and gradients of parameters and inputs.
 */
import {
  AttentionalPool,
  correctAndSmooth,
  GATConv,
  GATv2Conv,
  GCNConv,
  GIN,
  GINGraphClassifier,
  GraphBatch,
  GraphSAGE,
  globalMaxPool,
  HeteroConv,
  HGTConv,
  RGCN,
  SAGEConv,
} from 'skein/gnn';
import { fn, Graph, HeteroGraph } from 'skein/graph';
import { Linear, type Module } from 'skein/nn';
import { add, leakyRelu, manualSeed, mul, rand, sum, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { expect, it } from 'vitest';
import { randomGraph } from '../graph/graphs.js';
import { worstError } from '../ops/check.js';
import { tolerance } from './compare-on-gpu.js';
import { useWebGpu } from './use-webgpu.js';

useWebGpu();

const ends = (n: number, src: number, dst: number): [Int32Array, Int32Array] => {
  const random = new Random(n);
  const draw = (count: number) => Int32Array.from({ length: n }, () => random.nextInt(count));
  return [draw(src), draw(dst)];
};
const typed = HeteroGraph.fromEdges(
  { author: 6, paper: 8, venue: 3 },
  {
    'author,writes,paper': ends(14, 6, 8),
    'paper,cites,paper': ends(12, 8, 8),
    'venue,prints,paper': ends(6, 3, 8),
    'paper,by,author': ends(9, 8, 6),
  },
);
const edgeTypes = ['author,writes,paper', 'paper,cites,paper', 'venue,prints,paper', 'paper,by,author'];
const typedRows = (): Record<string, Tensor> => ({
  author: rows(6, 4),
  paper: rows(8, 4),
  venue: rows(3, 4),
});
const graph = randomGraph(17, 60);
const members = [randomGraph(5, 12, 1), Graph.fromEdges([], [], { numNodes: 1 }), randomGraph(7, 15, 2)];
const relations = Int32Array.from({ length: 60 }, (_, e) => e % 3);

const rows = (n: number, width: number): Tensor =>
  rand([n, width], { lo: -1, hi: 1, random: new Random(100 * n + width) });

interface Case {
  readonly name: string;
  make(): Module;
  /** Results from inputs, which are leaves. */
  run(module: Module, inputs: readonly Tensor[]): Tensor[];
  inputs(): Tensor[];
}

function asCase<M extends Module>(
  name: string,
  make: () => M,
  inputs: () => Tensor[],
  run: (module: M, inputs: readonly Tensor[]) => Tensor[],
): Case {
  return { name, make, inputs, run: (module, given) => run(module as M, given) };
}

const byType = ([author, paper, venue]: readonly Tensor[]): Record<string, Tensor> => ({
  author,
  paper,
  venue,
});
const typedInputs = (): Tensor[] => Object.values(typedRows());
const one = (): Tensor[] => [rows(17, 4)];

const cases: Case[] = [
  asCase(
    'HeteroConv',
    () =>
      new HeteroConv({
        'author,writes,paper': new SAGEConv(4, 5, { inDst: 4 }),
        cites: new GCNConv(4, 5),
        'venue,prints,paper': new GATConv(4, 5, { inDst: 4 }),
        'paper,by,author': new GATv2Conv(4, 5),
      }),
    typedInputs,
    (layer, x) => Object.values(layer.forward(typed, byType(x))),
  ),
  asCase(
    'HGTConv',
    () =>
      new HGTConv({ inFeatures: { author: 4, paper: 4, venue: 4 }, edgeTypes }, 6, {
        heads: 2,
      }),
    typedInputs,
    (layer, x) => Object.values(layer.forward(typed, byType(x))),
  ),
  asCase(
    'AttentionalPool',
    () => new AttentionalPool(new Linear(4, 1)),
    one,
    (pool, [x]) => [
      pool.forward(x, Int32Array.of(0, 5, 5, 17)),
      globalMaxPool(x, Int32Array.of(0, 3, 3, 17)),
    ],
  ),
  asCase(
    'GINGraphClassifier',
    () => new GINGraphClassifier([3, 6, 6, 2], { trainEps: true }),
    () => members.map((g) => rows(g.numNodes, 3)),
    (model, x) => [model.forward(GraphBatch.fromGraphs(members, x))],
  ),
  asCase(
    'GIN',
    () => new GIN([4, 6, 3]),
    one,
    (model, [x]) => [model.forward(graph, x)],
  ),
  asCase(
    'RGCN',
    () => new RGCN([4, 6, 3], { relations: 3, bases: 2 }),
    one,
    (model, [x]) => [model.forward(graph, x, relations)],
  ),
  asCase(
    'jumping knowledge and residuals',
    () => new GraphSAGE([4, 6, 6, 3], { jumpingKnowledge: 'max', residual: true, norm: 'layer' }),
    one,
    (model, [x]) => [model.forward(graph, x)],
  ),
  asCase(
    'a message function',
    () => new Linear(4, 4),
    one,
    (lin, [x]) => [
      graph.localScope(() => {
        graph.ndata.h = x;
        graph.updateAll(
          ({ src, dst }) => ({ m: leakyRelu(add(lin.forward(src.h), dst.h), 0.2) }),
          fn.mean('m', 'y'),
        );
        return graph.ndata.y;
      }),
    ],
  ),
];

async function outcome(spec: Case, place: 'cpu' | 'webgpu'): Promise<Map<string, Tensor>> {
  manualSeed(4);
  const module = spec.make().to(place);
  const inputs = spec.inputs().map((t) => t.to(place).setRequiresGrad());
  const results = spec.run(module, inputs);
  const total = results.map((y, i) => sum(mul(y, mul(y, 1 + i)))).reduce((a, b) => add(a, b));
  total.backward();
  const values = new Map<string, Tensor>();
  for (const [i, y] of results.entries()) values.set(`result ${i}`, await y.detach().contiguous().cpu());
  const leaves = [...module.namedParameters(), ...inputs.map((t, i) => [`input ${i}`, t] as const)];
  for (const [name, t] of leaves) if (t.grad !== null) values.set(name, await t.grad.cpu());
  return values;
}

it.each(cases.map((c) => [c.name, c] as const))('%s on webgpu as on the CPU', async (_name, spec) => {
  const want = await outcome(spec, 'cpu');
  const got = await outcome(spec, 'webgpu');
  expect([...got.keys()]).toEqual([...want.keys()]);
  for (const [name, value] of want)
    expect(worstError(got.get(name) as Tensor, value), name).toBeLessThan(tolerance);
});

it('functions on values in memory reject device tensors', () => {
  const probabilities = rows(17, 3).to('webgpu');
  expect(() => correctAndSmooth(graph, probabilities, new Int32Array(17), [0])).toThrow(
    'correctAndSmooth: expected probabilities in memory, got some on webgpu',
  );
});
