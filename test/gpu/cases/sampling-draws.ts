/** Groups F and G: draws are uniform, and depend on seed, step and node alone. */
import { GPUSampler, type GpuDevice } from 'skein/gpu';
import { NeighborSampler } from 'skein/sample';
import type { HostSample } from '#internal/gpu/sampling/host-sample.js';
import { equal, ok } from './assert.js';
import type { GpuCase } from './case.js';
import { equalBatches, sharedLeaves, skewedGraph, withSampler } from './sampling-graphs.js';

/** Checks uniformity. Nodes draw independently, so one batch is as many trials as it has nodes. */
async function uniform(
  gpu: GpuDevice,
  degree: number,
  k: number,
  rows: number,
  steps: number,
): Promise<void> {
  const hits = new Int32Array(degree);
  const pairs = new Map<number, number>();
  await withSampler(gpu, sharedLeaves(rows, degree), { sizes: [k], seed: 11 }, async (sampler) => {
    const seeds = Int32Array.from({ length: rows }, (_, v) => v);
    for (let step = 0; step < steps; step++) {
      const [{ eId }] = (await sampler.sample(seeds, { step })).adjs;
      equal(eId.length, rows * k, 'draws');
      for (let e = 0; e < eId.length; e++) hits[eId[e] % degree]++;
      if (degree === 20) countPairs(pairs, eId, k);
    }
  });
  const trials = rows * steps;
  const p = k / degree;
  // The maximum deviation over thousands of nodes is larger than over a few.
  const bound = (degree > 1000 ? 5.2 : 4) * Math.sqrt(trials * p * (1 - p));
  for (const [i, hit] of hits.entries())
    ok(
      Math.abs(hit - trials * p) < bound,
      `neighbour ${i} drawn ${hit} times, expected ${trials * p} ± ${bound}`,
    );
  if (degree === 20) {
    const expected = (trials * k * (k - 1)) / (20 * 19);
    let chi2 = 0;
    for (const count of pairs.values()) chi2 += (count - expected) ** 2 / expected;
    equal(pairs.size, 190, 'pairs');
    ok(chi2 < 290, `χ² over pairs is ${chi2}`);
  }
}

function countPairs(pairs: Map<number, number>, eId: Int32Array, k: number): void {
  for (let e = 0; e < eId.length; e += k)
    for (let a = e; a < e + k; a++)
      for (let b = a + 1; b < e + k; b++) {
        const pair = (eId[a] % 20) * 20 + (eId[b] % 20);
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
}

/** The edges that each node took. */
function byNode({ allNode, adjs }: HostSample): Map<number, number[]> {
  const edges = new Map<number, number[]>();
  const [{ col, eId }] = adjs;
  for (let e = 0; e < eId.length; e++) {
    const node = allNode[col[e]];
    edges.set(node, [...(edges.get(node) ?? []), eId[e]]);
  }
  return edges;
}

async function repeats(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(300, 4000);
  const seeds = Int32Array.from({ length: 60 }, (_, i) => i * 3);
  const first = new GPUSampler(gpu, graph, { seed: 4, sizes: [5, 3] });
  const second = new GPUSampler(gpu, graph, { seed: 4, sizes: [5, 3] });
  try {
    const steps = [await first.sample(seeds), await first.sample(seeds), await first.sample(seeds)];
    const differ = (a: HostSample, b: HostSample) => `${a.adjs[0].eId}` !== `${b.adjs[0].eId}`;
    ok(differ(steps[0], steps[1]) && differ(steps[1], steps[2]), 'each call draws differently');
    for (const [step, sample] of steps.entries()) {
      const again = await second.sample(seeds, { step });
      equalBatches(again.batch, sample.batch, `step ${step} of another sampler`);
    }
    const other = await first.sample(seeds, { epoch: 1, step: 0 });
    ok(differ(other, steps[0]), 'another epoch draws differently');
  } finally {
    first.release();
    second.release();
  }
}

async function anyOrder(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(300, 4000);
  const seeds = Int32Array.from({ length: 60 }, (_, i) => i * 3);
  await withSampler(gpu, graph, { seed: 4, sizes: [5] }, async (sampler) => {
    const all = byNode(await sampler.sample(seeds, { step: 2 }));
    const reversed = byNode(await sampler.sample(seeds.toReversed(), { step: 2 }));
    for (const [node, edges] of all) equal(reversed.get(node), edges, `edges of node ${node}`);
    const alone = byNode(await sampler.sample([30], { step: 2 }));
    equal(alone.get(30), all.get(30), 'edges of a node by itself');
  });
}

async function manyAtOnce(gpu: GpuDevice): Promise<void> {
  const graph = skewedGraph(300, 4000);
  const cpu = new NeighborSampler(graph, { fanouts: [5, -1], seed: 4 });
  for (const table of ['dense', 'hash'] as const) {
    const options = { seed: 4, sizes: [5, -1], table, reserveEdges: 100 };
    await withSampler(gpu, graph, options, async (sampler) => {
      const seedsOf = (step: number) =>
        Int32Array.from({ length: 5 + step }, (_, i) => (i * 17 + step) % 300);
      const steps = [0, 1, 2, 3, 4, 5, 6, 7];
      const batches = await Promise.all(steps.map((step) => sampler.sampleAsync(seedsOf(step), { step })));
      for (const step of steps)
        equalBatches(batches[step], cpu.sample(seedsOf(step), { step }), `${table}, batch ${step} of eight`);
    });
  }
}

export const cases: readonly GpuCase[] = [
  { group: 'F', name: 'degree 20, k = 5: nodes and pairs', run: (gpu) => uniform(gpu, 20, 5, 20_000, 1) },
  { group: 'F', name: 'degree 2, k = 1', run: (gpu) => uniform(gpu, 2, 1, 20_000, 1) },
  { group: 'F', name: 'degree 6, k = 5', run: (gpu) => uniform(gpu, 6, 5, 20_000, 1) },
  { group: 'F', name: 'degree 5000, k = 5', run: (gpu) => uniform(gpu, 5000, 5, 500, 40) },
  { group: 'F', name: 'degree 120, k = 80', run: (gpu) => uniform(gpu, 120, 80, 4000, 1) },
  { group: 'G', name: 'the same seed and step draw the same, the next step another', run: repeats },
  { group: 'G', name: 'the draws of a node do not depend on the batch', run: anyOrder },
  { group: 'G', name: 'concurrent batches', run: manyAtOnce },
];
