/** Every operation over a graph on the GPU against the CPU: values and gradients. */
import { Graph } from 'skein/graph';
import type { Tensor } from 'skein/tensor';
import { describe, it } from 'vitest';
import { graphCases } from '../graph/op-cases.js';
import { input, makeCases, type OpCase } from '../ops/case.js';
import { compareOnGpu } from './compare-on-gpu.js';
import { useWebGpu } from './use-webgpu.js';

useWebGpu();

/**
 * Nodes 0 and 1 have more incoming and outgoing edges than one invocation should walk; the rest has few, node 5 none.
 */
function hubGraph(): Graph {
  const src: number[] = [];
  const dst: number[] = [];
  for (let i = 0; i < 1500; i++) {
    src.push(6 + (i % 14), i % 2);
    dst.push(i % 2, 6 + (i % 13));
  }
  return Graph.fromEdges(Int32Array.from(src), Int32Array.from(dst), { numNodes: 20 });
}

const hubs = hubGraph();
const attend = (v: Tensor, a: Tensor, b: Tensor): Tensor => hubs.attention(v, a, b, { dropout: 0.3 });
const hubCases: OpCase[] = [
  ...makeCases('aggregate', (x) => hubs.aggregate(x, { self: true }), {
    'hubs 1': [input([20, 1])],
    'hubs 3': [input([20, 3])],
    'hubs 130': [input([20, 130])],
  }),
  ...makeCases('aggregate', (x, w) => hubs.aggregate(x, { reduce: 'mean', weight: w }), {
    'hubs weighted': [input([20, 5, 4]), input([3000, 5])],
  }),
  ...makeCases('edgeSoftmax', (x) => hubs.edgeSoftmax(x), { hubs: [input([3000, 3])] }),
  ...makeCases('attention', attend, { hubs: [input([20, 3, 4]), input([20, 3]), input([20, 3])] }),
];

const empty = Graph.fromEdges(new Int32Array(0), new Int32Array(0), { numNodes: 4 });
const emptyCases: OpCase[] = [
  ...makeCases('aggregate', (x) => empty.aggregate(x), { 'no edges': [input([4, 3])] }),
  ...makeCases('aggregate', (x) => empty.aggregate(x, { reduce: 'max' }), { 'no edges': [input([4, 3])] }),
  ...makeCases('attention', (v, a, b) => empty.attention(v, a, b), {
    'no edges': [input([4, 2, 3]), input([4, 2]), input([4, 2])],
  }),
  ...makeCases('additiveScores', (a, b, w) => empty.additiveScores(a, b, w, null, 0.2), {
    'no edges': [input([4, 2, 3]), input([4, 2, 3]), input([2, 3])],
  }),
];

const cases = [...graphCases, ...hubCases, ...emptyCases];
const byOp = [...new Set(cases.map((c) => c.op))].map(
  (op) => [op, cases.filter((c) => c.op === op)] as const,
);

describe.each(byOp)('%s on webgpu', (_op, list) => {
  it.each(list.map((c) => [c.name, c] as const))('%s', (_name, spec) => compareOnGpu(spec, false));
  it.each(list.slice(0, 2).map((c) => [c.name, c] as const))('%s, strided', (_name, spec) =>
    compareOnGpu(spec, true),
  );
});
