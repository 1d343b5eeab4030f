/** Composite samplers: several devices, CPU and device together, fallbacks, results that stay on the device. */
import {
  GPUSampler,
  type GpuDevice,
  GpuOneHopSampler,
  MixedGraphSampler,
  MultiGPUSampler,
  openGpuDevice,
  openSampler,
} from 'skein/gpu';
import { NeighborSampler, NodeLoader, OneHopSampler } from 'skein/sample';
import { DeviceError, Random, StateError, ValueError } from 'skein/util';
import { equal, ok, throws } from './assert.js';
import type { GpuCase } from './case.js';
import { equalBatches, skewedGraph, withSampler } from './sampling-graphs.js';

const graph = skewedGraph(300, 4000);
const seeds = Int32Array.from({ length: 30 }, (_, i) => i * 7);

async function onDevice(gpu: GpuDevice): Promise<void> {
  await withSampler(gpu, graph, { sizes: [5, 4], seed: 2 }, async (sampler) => {
    const host = await sampler.sample(seeds, { step: 3 });
    const sample = await sampler.sampleOnDevice(seeds, { step: 3 });
    equal(await sample.allNode.read(), host.allNode, 'allNode');
    equal(sample.batchSize, host.batchSize, 'batchSize');
    for (const [layer, adj] of sample.adjs.entries()) {
      const { row, col, eId, size } = host.adjs[layer];
      equal(await adj.row.read(), row, `adjs[${layer}].row`);
      equal(await adj.col.read(), col, `adjs[${layer}].col`);
      equal(await adj.eId.read(), eId, `adjs[${layer}].eId`);
      equal(await adj.edgeIndex.read(), [...row, ...col], `adjs[${layer}].edgeIndex`);
      equal(adj.edgeIndex.shape, [2, row.length], 'shape of the edge index');
      equal(adj.size, size, `adjs[${layer}].size`);
      equal((await adj.toHost()).eId, eId, 'an adj in host memory');
    }
    equalBatches((await sample.toHost()).batch, host.batch, 'the sample in host memory');
    sample.release();
    sample.release();
    await throws(() => sample.toHost(), StateError, /release/);
    await throws(() => sample.adjs[0].row.data, StateError);
    const empty = await sampler.sampleOnDevice([], { step: 3 });
    equal([empty.numNodes, empty.batchSize, empty.adjs.length], [0, 0, 2], 'a sample of no seeds');
    equal((await empty.adjs[0].edgeIndex.read()).length, 0, 'edge index of no edges');
    equal((await empty.toBatch()).numNodes, 0, 'a batch of no seeds');
    empty.release();
  });
}

async function loader(gpu: GpuDevice): Promise<void> {
  await withSampler(gpu, graph, { sizes: [5, 4], seed: 2 }, async (sampler) => {
    const cpu = new NeighborSampler(graph, { fanouts: [5, 4], seed: 2 });
    const options = { seeds, batchSize: 8, seed: 5 };
    const expected = new NodeLoader(cpu, options).epoch(1);
    for await (const { batch, step } of new NodeLoader(sampler, options).epoch(1)) {
      const { value } = await expected.next();
      ok(value !== undefined, 'as many batches');
      equalBatches(batch, value.batch, `batch ${step}`);
    }
    ok((await expected.next()).done === true, 'the same number of batches');
  });
}

async function severalDevices(gpu: GpuDevice): Promise<void> {
  const second = await openGpuDevice();
  const weights = Float32Array.from({ length: 4000 }, (_, i) => 1 + (i % 5));
  const multi = new MultiGPUSampler([gpu, second], graph, { seed: 2, weights, direction: 'out' });
  const shared = MultiGPUSampler.fromShared(multi.setSize([5, 4]).share(), second);
  try {
    const cpu = new NeighborSampler(graph, { fanouts: [5, 4], seed: 2, weights, direction: 'out' });
    for (let step = 0; step < 3; step++) {
      const expected = cpu.sample(seeds, { step });
      for (const rank of [0, 1]) {
        const { batch } = await multi.sample(seeds, rank);
        equalBatches(batch, expected, `rank ${rank}, step ${step}`);
      }
      equalBatches(await shared.sampleAsync(seeds, 0, { step }), expected, `shared, step ${step}`);
    }
    await throws(() => multi.sample(seeds, 2), ValueError, /rank/);
    ok(multi.share().indices.buffer instanceof SharedArrayBuffer, 'the graph is shared, not copied');
  } finally {
    multi.release();
    shared.release();
    second.destroy();
  }
}

/** Batches of very different size, in order, none lost. */
async function mixed(gpu: GpuDevice): Promise<void> {
  const random = new Random(5);
  const jobs = Array.from({ length: 17 }, () =>
    Int32Array.from({ length: random.nextInt(40) }, () => random.nextInt(300)),
  );
  const cpu = new NeighborSampler(graph, { fanouts: [5, 4], seed: 2 });
  for (const mode of ['mixed', 'gpu', 'cpu'] as const) {
    const sampler = new MixedGraphSampler(gpu, graph, { sizes: [5, 4], seed: 2, mode });
    try {
      let count = 0;
      for await (const { index, seeds: own, sample, engine } of sampler.epoch(jobs, 1)) {
        equal(index, count, `${mode}: order`);
        equal(own, jobs[index], `${mode}: seeds`);
        ok(mode === 'mixed' || engine === mode, `${mode}: engine`);
        equalBatches(sample.batch, cpu.sample(own, { epoch: 1, step: index }), `${mode}: batch ${index}`);
        count++;
      }
      equal(count, jobs.length, `${mode}: batches`);
      const { gpu: onGpu, cpu: onCpu } = sampler.loads;
      equal(
        (onGpu?.batches ?? 0) + (onCpu?.batches ?? 0),
        jobs.length,
        `${mode}: batches that engines count`,
      );
      if (mode === 'mixed')
        ok((onGpu?.batches ?? 0) > 0 && (onCpu?.batches ?? 0) > 0, 'both engines were used');
    } finally {
      sampler.release();
    }
  }
}

async function mixedErrors(gpu: GpuDevice): Promise<void> {
  const sampler = new MixedGraphSampler(gpu, graph, { sizes: [5], seed: 2 });
  try {
    const jobs = [[1], [2], [300], [3], [4]];
    let count = 0;
    const walk = async () => {
      for await (const _ of sampler.epoch(jobs)) count++;
    };
    await throws(walk, ValueError, /300 at position 0/);
    equal(count, 2, 'batches before the one with the error');
    for await (const { index } of sampler.epoch(jobs)) if (index === 1) break;
    for await (const { index } of sampler.epoch(jobs.slice(3))) count += 1 + index;
    equal(count, 5, 'continues after an error and after leaving early');
  } finally {
    sampler.release();
  }
  await throws(() => new MixedGraphSampler(null, graph, { sizes: [1] }), ValueError, /mode/);
  await throws(
    () => new MixedGraphSampler(gpu, graph, { sizes: [1], mode: 'uva' as never }),
    ValueError,
    /mode/,
  );
}

async function fallbacks(gpu: GpuDevice): Promise<void> {
  const cpu = new NeighborSampler(graph, { fanouts: [5, 4], seed: 2 });
  const said: string[] = [];
  const options = { sizes: [5, 4], seed: 2, onFallback: (text: string) => said.push(text) };
  const none = { requestAdapter: async () => null };
  const missing = await openSampler(graph, { ...options, gpu: { gpu: none } });
  equal(missing.engine, 'cpu', 'engine without an adapter');
  equal(said.length, 1, 'it is reported once');
  ok(/found no adapter/.test(said[0]), `the reason is given: ${said[0]}`);
  equalBatches((await missing.sample(seeds)).batch, cpu.sample(seeds, { step: 0 }), 'without an adapter');
  missing.release();

  const lost = await openGpuDevice();
  const sampler = await openSampler(graph, { ...options, gpu: lost });
  const plain = new GPUSampler(lost, graph, { sizes: [5] });
  equal(sampler.engine, 'webgpu', 'engine with a device');
  equalBatches((await sampler.sample(seeds)).batch, cpu.sample(seeds, { step: 0 }), 'before the loss');
  lost.destroy();
  const after = await Promise.all([sampler.sample(seeds), sampler.sample(seeds)]);
  for (const [i, { batch }] of after.entries())
    equalBatches(batch, cpu.sample(seeds, { step: 1 + i }), 'after the loss');
  equal(sampler.engine, 'cpu', 'engine after the loss');
  equal(said.length, 2, 'the loss is reported once');
  await throws(() => plain.sample(seeds), DeviceError, /lost/);
  const given = await openSampler(graph, { ...options, gpu });
  equal(given.setSize([3]).engine, 'webgpu', 'a device that is given is used');
  given.release();
}

async function oneHop(gpu: GpuDevice): Promise<void> {
  for (const relations of [null, Int32Array.from({ length: graph.numEdges }, (_, i) => i % 7)]) {
    const host = new OneHopSampler(graph, { relations, seed: 6 });
    for (const segmentBytes of [1 << 20, 1000]) {
      const device = new GpuOneHopSampler(gpu, host, { segmentBytes });
      const ids = Int32Array.of(3, 299, 0, 3, 41, 120);
      for (const incoming of [true, false]) {
        for (const [strategy, max, rate] of [
          ['ALL', -1, 0],
          ['UNIFORM', 4, 0],
          ['UNIFORM', 100, 0],
          ['DROPOUT', -1, 0.6],
        ] as const) {
          const at = { epoch: 1, step: 9 };
          const want = host.sample(ids, incoming, strategy, max, rate, at);
          const got = await device.sample(ids, incoming, strategy, max, rate, at);
          const what = `${strategy} ${max} ${rate} ${incoming ? 'in' : 'out'}`;
          equal(got.offsets, want.offsets, `${what}: offsets`);
          equal(got.edges.src, want.edges.src, `${what}: src`);
          equal(got.edges.dst, want.edges.dst, `${what}: dst`);
          if (relations === null) equal(got.edges.relations, null, `${what}: no relations`);
          else equal(got.edges.relations, want.edges.relations, `${what}: relations`);
        }
      }
      const none = await device.sample(new Int32Array(0), true);
      equal([none.offsets.length, none.edges.src.length], [0, 0], 'no nodes');
      await throws(() => device.sample(Int32Array.of(300), true), ValueError, /300 at position 0/);
      device.release();
    }
  }
}

export const cases: readonly GpuCase[] = [
  { group: 'H', name: 'a sample that stays on the device', run: onDevice },
  { group: 'G', name: 'a loader over the device draws what one over the CPU draws', run: loader },
  { group: 'G', name: 'two devices, and a sampler created from share()', run: severalDevices },
  { group: 'G', name: 'CPU and device together: in order, all of them', run: mixed },
  { group: 'H', name: 'CPU and device together: errors reach the caller', run: mixedErrors },
  {
    group: 'Q',
    name: 'no adapter, or a lost device: the CPU continues with the same batches',
    run: fallbacks,
  },
  { group: 'H', name: 'one hop: the edges that OneHopSampler draws', run: oneHop },
];
