/** Exported models compute in onnxruntime what they compute here, on graphs with everything that graphs can have. */
import * as ort from 'onnxruntime-web';
import { Graph, gnn, manualSeed, nn, noGrad, randn, type Tensor } from 'skein';
import { exportOnnx, type OnnxOptions, onnxInputs, toOrt } from 'skein/interop';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { largestDifference, runOnnx } from './onnx-session.js';

const tolerance = 1e-4;
const features = 6;

/** Repeated edges, self loops (some twice), nodes without edges into them, nodes without any at the end. */
function wildGraph(
  seed: number,
  options: { numNodes?: number; numEdges?: number; weighted?: boolean } = {},
): Graph {
  const { numNodes = 23, numEdges = 90, weighted = false } = options;
  const random = new Random(seed);
  const used = Math.max(1, numNodes - 4);
  const pick = (): number => Math.floor(random.nextFloat() * used);
  const src = Int32Array.from({ length: numEdges }, pick);
  const dst = Int32Array.from({ length: numEdges }, (_, i) => (i % 9 === 0 ? src[i] : Math.max(2, pick())));
  for (let i = 0; i + 1 < numEdges && i < 12; i += 3) {
    src[i + 1] = src[i];
    dst[i + 1] = dst[i];
  }
  const edgeWeight = weighted ? Float32Array.from(src, () => 0.1 + random.nextFloat()) : undefined;
  return Graph.fromEdges(src, dst, { numNodes, ...(edgeWeight === undefined ? {} : { edgeWeight }) });
}

/** Parameters and statistics as training might leave them: no zeros, no ones. */
function stir<M extends nn.Module>(model: M, seed: number): M {
  const random = new Random(seed);
  for (const [name, t] of [...model.namedParameters(), ...model.namedBuffers()]) {
    if (t.dtype !== 'f32') continue;
    const values = t.floats;
    const lo = name.endsWith('runningVar') ? 0.5 : -0.8;
    for (let i = 0; i < values.length; i++) values[i] = lo + 1.6 * random.nextFloat();
  }
  return model.eval();
}

type Callable = nn.Module & { forward(graph: Graph, x: Tensor, edges?: Tensor): Tensor };

interface Case {
  readonly name: string;
  make(): nn.Module;
  readonly options?: OnnxOptions;
  readonly edgeDim?: number;
}

const sizes = [features, 8, 5];
const cases: Case[] = [
  { name: 'GCN', make: () => new gnn.GCN(sizes, { dropout: 0.5 }) },
  { name: 'GCN that widens', make: () => new gnn.GCN([features, 3, 9]) },
  { name: 'GCN without self loops', make: () => new gnn.GCN(sizes, { selfLoops: false }) },
  { name: 'GCN with edge weights', make: () => new gnn.GCN(sizes), options: { edgeWeight: true } },
  {
    name: 'GCN with batch norm, residual, jumping knowledge',
    make: () => new gnn.GCN([features, 8, 8, 5], { norm: 'batch', residual: true, jumpingKnowledge: 'cat' }),
  },
  { name: 'GraphSAGE mean', make: () => new gnn.GraphSAGE(sizes) },
  { name: 'GraphSAGE gcn', make: () => new gnn.GraphSAGE(sizes, { aggregator: 'gcn' }) },
  { name: 'GraphSAGE max', make: () => new gnn.GraphSAGE(sizes, { aggregator: 'max' }) },
  {
    name: 'GraphSAGE pool',
    make: () => new gnn.GraphSAGE(sizes, { aggregator: 'pool', activation: 'gelu' }),
  },
  {
    name: 'GraphSAGE with layer norm, residual, jumping knowledge',
    make: () =>
      new gnn.GraphSAGE([features, 8, 8, 5], { norm: 'layer', residual: true, jumpingKnowledge: 'max' }),
  },
  { name: 'GraphSAGE by ScatterND', make: () => new gnn.GraphSAGE(sizes), options: { scatter: 'nd' } },
  { name: 'GAT', make: () => new gnn.GAT([features, 4, 5], { heads: 3, outHeads: 2 }) },
  {
    name: 'GAT without self loops',
    make: () => new gnn.GAT([features, 4, 5], { heads: 2, selfLoops: false }),
  },
  {
    name: 'GAT with edge features',
    make: () => new gnn.GAT([features, 4, 5], { heads: 2, edgeDim: 3 }),
    edgeDim: 3,
  },
  {
    name: 'GAT by ScatterND',
    make: () => new gnn.GAT([features, 4, 5], { heads: 2 }),
    options: { scatter: 'nd' },
  },
  { name: 'GATv2', make: () => new gnn.GAT([features, 4, 5], { heads: 3, v2: true }) },
  {
    name: 'GATv2 with edge features',
    make: () => new gnn.GAT([features, 4, 5], { heads: 2, v2: true, edgeDim: 3 }),
    edgeDim: 3,
  },
  { name: 'GIN', make: () => new gnn.GIN(sizes) },
  { name: 'GIN with ε and batch norm', make: () => new gnn.GIN(sizes, { trainEps: true, norm: 'batch' }) },
  { name: 'GCNConv', make: () => new gnn.GCNConv(features, 5, { bias: false }) },
  {
    name: 'SAGEConv, unit rows',
    make: () => new gnn.SAGEConv(features, 5, { normalize: true, root: false }),
  },
  { name: 'SAGEConv mean of projections', make: () => new gnn.SAGEConv(features, 9, { project: true }) },
  { name: 'GATConv', make: () => new gnn.GATConv(features, 5, { heads: 2, concat: false, slope: 0.1 }) },
  {
    name: 'GATv2Conv, shared weights',
    make: () => new gnn.GATv2Conv(features, 5, { heads: 2, shareWeights: true }),
  },
  { name: 'GINConv', make: () => new gnn.GINConv(new nn.MLP([features, 7, 5]), { eps: 0.3 }) },
  ...(['sum', 'mean', 'max'] as const).map((reduce) => ({
    name: `GraphConv ${reduce}`,
    make: () => new gnn.GraphConv(features, 5, { reduce }),
    options: { edgeWeight: true },
  })),
  { name: 'SGConv', make: () => new gnn.SGConv(features, 5, { hops: 3 }) },
  { name: 'APPNP', make: () => new gnn.APPNP({ steps: 4 }) },
  { name: 'LightGCN', make: () => new gnn.LightGCN({ hops: 3 }) },
];

async function compare({ make, options = {}, edgeDim }: Case, graph: Graph, seed: number): Promise<number> {
  manualSeed(seed);
  const model = stir(make(), seed) as Callable;
  const x = randn([graph.numNodes, features]);
  const edges = edgeDim === undefined ? null : randn([graph.numEdges, edgeDim]);
  const want = noGrad(() => (edges === null ? model.forward(graph, x) : model.forward(graph, x, edges)));
  const inputs = onnxInputs(graph, x, {
    edgeWeight: options.edgeWeight === true,
    ...(edges === null ? {} : { edgeAttr: edges }),
  });
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, view]) => [name, toOrt(ort, view)]));
  const { y } = await runOnnx(exportOnnx(model, options), feeds);
  expect(y.dims).toEqual(want.shape);
  return largestDifference(y.data, want.dataSync() as ArrayLike<number>);
}

describe('models in onnxruntime equal the models here', () => {
  for (const each of cases) {
    it(each.name, async () => {
      const weighted = each.options?.edgeWeight === true;
      for (const seed of [1, 2, 3])
        expect(await compare(each, wildGraph(seed, { weighted }), seed)).toBeLessThan(tolerance);
    });
  }
});
