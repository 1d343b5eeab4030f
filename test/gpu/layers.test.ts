/**
 * Every graph layer on the GPU against the CPU: results, gradients of the input and of the parameters, on
 * whole graphs (multi-edges, self loops, isolated nodes, weights), a graph without edges, and a sampled block.
 */
import type { Features } from 'skein/gnn';
import { type Block, Graph, type MessageGraph, SparseMatrix } from 'skein/graph';
import type { Module } from 'skein/nn';
import { NeighborSampler } from 'skein/sample';
import { fromTypedArray, manualSeed, mul, rand, sum, Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import type { EdgeData, LayerCase } from '../gnn/check-layer.js';
import { layerCases } from '../gnn/layer-cases.js';
import { randomGraph } from '../graph/graphs.js';
import { worstError } from '../ops/check.js';
import { tolerance } from './compare-on-gpu.js';
import { useWebGpu } from './use-webgpu.js';

useWebGpu();

const graphs: Readonly<Record<string, Graph>> = {
  'a whole graph': randomGraph(17, 60),
  'a weighted graph': randomGraph(13, 40, 4, true),
  'a graph without edges': Graph.fromEdges([], [], { numNodes: 5 }),
};

function sampledBlock(): Block {
  const sampler = new NeighborSampler(randomGraph(40, 200, 6, true), { fanouts: [4], seed: 3 });
  return sampler.sample([3, 0, 17, 22, 39]).blocks[0];
}

interface Outcome {
  readonly result: Tensor;
  readonly gradients: ReadonlyMap<string, Tensor | null>;
}

/** Runs a layer forward and backward on the device to which `place` moves tensors. */
async function outcome(
  spec: LayerCase,
  graph: MessageGraph,
  x: Features,
  place: (t: Tensor) => Tensor,
): Promise<Outcome> {
  manualSeed(11);
  const layer: Module = spec.make(5, 3, { dtype: 'f32' });
  const onDevice = place !== stay;
  if (onDevice) layer.to('webgpu');
  const input = x instanceof Tensor ? place(x).setRequiresGrad() : x;
  const edges = edgeData(graph.numEdges);
  manualSeed(12);
  const y = spec.run(layer, graph, input, { ...edges, attr: place(edges.attr) });
  sum(mul(y, place(weightsFor(y)))).backward();
  const leaves = new Map([...layer.namedParameters()].map(([name, t]) => [name, t.grad] as const));
  if (input instanceof Tensor) leaves.set('x', input.grad);
  const gradients = new Map<string, Tensor | null>();
  for (const [name, t] of leaves) gradients.set(name, t === null ? null : await t.cpu());
  return { result: await y.detach().contiguous().cpu(), gradients };
}

const stay = (t: Tensor): Tensor => t;
const move = (t: Tensor): Tensor => t.to('webgpu');

function edgeData(count: number): EdgeData {
  const random = new Random(5);
  return {
    attr: rand([count, 2], { lo: -1, hi: 1, random }),
    type: Int32Array.from({ length: count }, () => random.nextInt(4)),
  };
}

function weightsFor(y: Tensor): Tensor {
  const values = Float32Array.from({ length: y.size }, (_, i) => ((i * 37 + 11) % 29) / 29 - 0.4);
  return fromTypedArray(values, y.shape);
}

async function compare(spec: LayerCase, graph: MessageGraph, x: Features): Promise<void> {
  const want = await outcome(spec, graph, x, stay);
  const got = await outcome(spec, graph, x, move);
  expect(worstError(got.result, want.result)).toBeLessThan(tolerance);
  expect([...got.gradients.keys()]).toEqual([...want.gradients.keys()]);
  for (const [name, gradient] of want.gradients) {
    const other = got.gradients.get(name) ?? null;
    expect(other === null, name).toBe(gradient === null);
    if (gradient !== null) expect(worstError(other as Tensor, gradient), name).toBeLessThan(tolerance);
  }
}

const rows = (n: number): Tensor => rand([n, 5], { lo: -1, hi: 1, random: new Random(3) });

describe.each(layerCases.map((c) => [c.name, c] as const))('%s on webgpu', (_name, spec) => {
  it.each(Object.entries(graphs))('as on the CPU on %s', (_kind, graph) =>
    compare(spec, graph, rows(graph.numNodes)),
  );

  if (spec.blocks)
    it('as on the CPU on a sampled block', () => {
      const block = sampledBlock();
      return compare(spec, block, rows(block.numSrcNodes));
    });

  if (spec.sparse)
    it('as on the CPU on sparse features', () => {
      const graph = graphs['a whole graph'];
      const x = rows(graph.numNodes);
      const data = x.dataSync<Float32Array>().map((v) => (v < 0 ? 0 : v));
      return compare(spec, graph, SparseMatrix.fromDense(fromTypedArray(data, x.shape)));
    });
});
