/** GraphMixer against its formulas, computed by loops in f64. */
import { TemporalGraph } from 'skein/graph';
import { TemporalNeighborSampler } from 'skein/sample';
import { type TemporalBatch, TemporalLoader } from 'skein/temporal';
import { fromTypedArray, manualSeed, noGrad, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { GraphMixer } from '#internal/temporal/models/graph-mixer/graph-mixer.js';
import { fixedFrequencies } from '#internal/temporal/models/graph-mixer/recent-tokens.js';

const [numNodes, dimEdge, dimNode, dimTime, dimOut, count, gap] = [9, 3, 2, 4, 6, 4, 90];

function makeGraph(nodeWidth: number): TemporalGraph {
  const random = new Random(4);
  const draw = (size: number): Float32Array =>
    Float32Array.from({ length: size }, () => random.nextFloat() - 0.5);
  const events = 60;
  return new TemporalGraph(
    {
      src: Int32Array.from({ length: events }, () => random.nextInt(4)),
      dst: Int32Array.from({ length: events }, () => 4 + random.nextInt(5)),
      time: Float64Array.from({ length: events }, (_, i) => 3 * i),
      features: draw(events * dimEdge),
    },
    {
      numNodes,
      ...(nodeWidth === 0
        ? {}
        : { nodeFeatures: fromTypedArray(draw(numNodes * nodeWidth), [numNodes, nodeWidth]) }),
    },
  );
}

function makeModel(nodeWidth: number): GraphMixer {
  manualSeed(7);
  return new GraphMixer({
    ...{ neighbors: count, dimTime, dimOut, layers: 2, dimEdge, dimNode: nodeWidth },
    ...{ tokenExpansion: 0.5, channelExpansion: 2, dropout: 0.3, timeGap: gap },
  }).eval();
}

function batchOf(graph: TemporalGraph, rows: readonly number[], fanout = count): TemporalBatch {
  const sampler = new TemporalNeighborSampler(graph, { fanouts: [fanout] });
  const negatives = { amount: 1, draw: (events: Int32Array) => events.map((row) => 4 + (row % 5)) };
  const loader = new TemporalLoader(graph, { sampler, negatives, batchSize: 10 });
  return loader.batch(Int32Array.from(rows), { epoch: 0, step: 0 });
}

type Rows = number[][];
const matrix = (t: Tensor): Rows => {
  const [n, m] = t.shape;
  const data = t.dataSync();
  return Array.from({ length: n }, (_, i) => Array.from(data.slice(i * m, (i + 1) * m), Number));
};
const vector = (t: Tensor | null): number[] => Array.from((t as Tensor).dataSync(), Number);
const apply = ({ weight, bias }: { weight: Tensor; bias: Tensor | null }, x: readonly number[]): number[] => {
  const b = vector(bias);
  return matrix(weight).map((row, i) => row.reduce((sum, w, j) => sum + w * x[j], b[i]));
};
/** erf by its series and its continued fraction would be long; Simpson's rule is exact enough here. */
const erf = (x: number): number => {
  const n = 200;
  const f = (t: number): number => Math.exp(-t * t);
  let sum = f(0) + f(x);
  for (let i = 1; i < n; i++) sum += (i % 2 === 0 ? 2 : 4) * f((x * i) / n);
  return ((2 / Math.sqrt(Math.PI)) * x * sum) / (3 * n);
};
const gelu = (x: number): number => 0.5 * x * (1 + erf(x / Math.SQRT2));
const normalize = (
  x: readonly number[],
  { weight, bias }: { weight: Tensor | null; bias: Tensor | null },
): number[] => {
  const mean = x.reduce((a, b) => a + b) / x.length;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / x.length;
  const [g, b] = [vector(weight), vector(bias)];
  return x.map((v, i) => ((v - mean) / Math.sqrt(variance + 1e-5)) * g[i] + b[i]);
};
const transpose = (x: Rows): Rows => x[0].map((_, j) => x.map((row) => row[j]));
const plus = (a: Rows, b: Rows): Rows => a.map((row, i) => row.map((v, j) => v + b[i][j]));

/** z of a node at a time, from the events before it. */
function expected(model: GraphMixer, graph: TemporalGraph, node: number, time: number): number[] {
  const past = Array.from(graph.time.keys())
    .filter((row) => graph.time[row] < time && (graph.src[row] === node || graph.dst[row] === node))
    .slice(-count);
  const omega = Array.from({ length: dimTime }, (_, i) => Math.sqrt(dimTime) ** (-i / Math.sqrt(dimTime)));
  const features = graph.features as Float32Array;
  const tokens: Rows = Array.from({ length: count }, (_, k) => {
    const row = past[past.length - count + k];
    if (row === undefined) return new Array<number>(dimEdge + dimTime).fill(0);
    return [
      ...features.slice(row * dimEdge, (row + 1) * dimEdge),
      ...omega.map((w) => Math.cos(w * (time - graph.time[row]))),
    ];
  });
  let x = tokens.map((token) => apply(model.project, token));
  for (const { tokenNorm, tokenMix, channelNorm, channelMix } of model.blocks) {
    const mix = (layer: typeof tokenMix, row: number[]): number[] =>
      apply(layer.second, apply(layer.first, row).map(gelu));
    const across = transpose(x).map((channel) => mix(tokenMix, normalize(channel, tokenNorm)));
    x = plus(x, transpose(across));
    x = plus(
      x,
      x.map((token) => mix(channelMix, normalize(token, channelNorm))),
    );
  }
  const mixed = transpose(x).map((channel) => channel.reduce((a, b) => a + b) / count);
  if (graph.nodeFeatures === null) return apply(model.output, mixed);
  const all = matrix(graph.nodeFeatures);
  const near = past.filter((row) => time - graph.time[row] < gap);
  const sums = all[node].map((own, j) => {
    const others = near.map((row) => all[graph.src[row] === node ? graph.dst[row] : graph.src[row]][j]);
    return own + (others.length === 0 ? 0 : others.reduce((a, b) => a + b) / others.length);
  });
  return apply(model.output, [...mixed, ...sums]);
}

describe.each([dimNode, 0])('GraphMixer with node features of width %i', (nodeWidth) => {
  const graph = makeGraph(nodeWidth);
  const model = makeModel(nodeWidth);

  test('embeddings are those of the formulas, also of nodes with few events', () => {
    const batch = batchOf(graph, [0, 1, 2, 5, 30, 59]);
    const rows = matrix(model.forward(batch).embeddings);
    expect(rows).toHaveLength(18);
    for (const [i, row] of rows.entries()) {
      const wanted = expected(model, graph, batch.rootNodes[i], batch.rootTimes[i]);
      // f32 against f64, over about 100 additions.
      for (const [j, value] of row.entries()) expect(value).toBeCloseTo(wanted[j], 4);
    }
  });

  test('more sampled events than tokens change only the node features', () => {
    const [few, many] = [batchOf(graph, [40, 50]), batchOf(graph, [40, 50], 20)];
    const [a, b] = [few, many].map((batch) => matrix(model.forward(batch).embeddings));
    if (nodeWidth === 0) expect(b).toEqual(a);
    else expect(b).not.toEqual(a);
  });

  test('a root has the same bits in slices of evaluation', () => {
    const batch = batchOf(graph, [40, 50, 55]);
    const [one] = matrix(model.forward(batch).embeddings);
    const crowd = batchOf(graph, [40, ...Array.from({ length: 1500 }, (_, i) => 30 + (i % 30))]);
    const rows = noGrad(() => matrix(model.forward(crowd).embeddings));
    expect(rows).toHaveLength(4503);
    expect(rows[0]).toEqual(one);
  });
});

test('frequencies fall from 1 by a fixed factor', () => {
  expect(Array.from(fixedFrequencies(4))).toEqual([1, 2 ** -0.5, 0.5, 2 ** -1.5].map(Math.fround));
});

test('all parameters have the requested type and come from the requested generator', () => {
  const make = (): GraphMixer =>
    new GraphMixer({
      ...{ neighbors: count, dimTime, dimOut, layers: 2, dimEdge, dimNode: 0 },
      ...{ tokenExpansion: 0.5, channelExpansion: 2, dropout: 0.3, timeGap: gap },
      ...{ dtype: 'f64', random: new Random(3) },
    });
  const [a, b] = [make(), make()].map((model) => [...model.parameters()]);
  expect(new Set(a.map(({ dtype }) => dtype))).toEqual(new Set(['f64']));
  for (const [i, parameter] of a.entries()) expect(parameter.floats).toEqual(b[i].floats);
});
