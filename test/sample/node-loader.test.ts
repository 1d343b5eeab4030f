import { SparseMatrix } from 'skein/graph';
import { type Batch, NeighborSampler, NodeLoader, type NodeLoaderOptions, type Sampler } from 'skein/sample';
import { fromTypedArray, type Ids, poolStats, scope, type Tensor } from 'skein/tensor';
import { describe, expect, it } from 'vitest';
import { batchContents, skewedGraph } from './graphs.js';

const graph = skewedGraph(200, 3000);
const features = fromTypedArray(
  Float32Array.from({ length: 200 * 7 }, (_, i) => i),
  [200, 7],
);
const labels = Int32Array.from({ length: 200 }, (_, i) => i % 5);
const seeds = Int32Array.from({ length: 75 }, (_, i) => 2 * i);
const sampler = new NeighborSampler(graph, { fanouts: [4, 3], seed: 3 });
const options = { seeds, batchSize: 10, features, labels, seed: 9 } satisfies NodeLoaderOptions;

/** A sampler that counts calls in flight and fails at one step. */
class WatchedSampler implements Sampler<Ids, Batch> {
  running = 0;
  most = 0;
  started = 0;
  constructor(readonly failAt = -1) {}
  sample(ids: Ids, at: { step: number }): Batch {
    return sampler.sample(ids, at);
  }
  async sampleAsync(ids: Ids, at: { step: number }): Promise<Batch> {
    this.started++;
    this.running++;
    this.most = Math.max(this.most, this.running);
    try {
      await new Promise((resolve) => setTimeout(resolve, 3));
      if (at.step === this.failAt) throw new Error(`step ${at.step} failed`);
      return await sampler.sampleAsync(ids, at);
    } finally {
      this.running--;
    }
  }
}

async function collect(loader: NodeLoader, epoch: number): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { step, seeds: own, batch, x, labels: y } of loader.epoch(epoch)) {
    all.push({ step, own: [...own], batch: batchContents(batch), x: x.toArray(), y: [...(y ?? [])] });
  }
  return all;
}

describe('NodeLoader', () => {
  it('rejects bad options', () => {
    const make = (changed: Partial<NodeLoaderOptions>) => () =>
      new NodeLoader(sampler, { ...options, ...changed });
    expect(make({ batchSize: 0 })).toThrow(/batchSize/);
    expect(make({ prefetch: -1 })).toThrow(/prefetch/);
    expect(make({ features: fromTypedArray(new Float32Array(4)) })).toThrow(/matrix/);
    expect(make({ features: 3 as unknown as Tensor })).toThrow(/features/);
  });

  it('goes through all seeds once per epoch, with their features and labels', async () => {
    const loader = new NodeLoader(sampler, options);
    expect(loader.length).toBe(8);
    const seen: number[] = [];
    for await (const batch of loader.epoch(0)) {
      seen.push(...batch.seeds);
      expect([...batch.nodeIds.subarray(0, batch.seeds.length)]).toEqual([...batch.seeds]);
      expect([...(batch.labels as Int32Array)]).toEqual(Array.from(batch.seeds, (id) => labels[id]));
      expect(batch.x.shape).toEqual([batch.nodeIds.length, 7]);
      batch.nodeIds.forEach((id, row) => {
        expect(batch.x.dataSync()[row * 7 + 6]).toBe(id * 7 + 6);
      });
      expect(batch.blocks.length).toBe(2);
    }
    expect(seen).not.toEqual([...seeds]);
    expect(seen.sort((a, b) => a - b)).toEqual([...seeds]);
  });

  it('gives the same batches for any prefetch, and others in another epoch', async () => {
    const want = await collect(new NodeLoader(sampler, { ...options, prefetch: 0 }), 3);
    for (const prefetch of [1, 2, 4, 20]) {
      expect(await collect(new NodeLoader(sampler, { ...options, prefetch }), 3)).toEqual(want);
    }
    expect(await collect(new NodeLoader(sampler, options), 4)).not.toEqual(want);
    expect(await collect(new NodeLoader(sampler, { ...options, seed: 10 }), 3)).not.toEqual(want);
  });

  it('keeps the order and drops a short batch on request', async () => {
    const loader = new NodeLoader(sampler, { seeds, batchSize: 10, shuffle: false, dropLast: true });
    const seen: number[] = [];
    for await (const batch of loader.epoch(0)) {
      seen.push(...batch.seeds);
      expect(() => batch.labels).toThrow(/expected labels/);
      expect(() => batch.x).toThrow(/features/);
    }
    expect(seen).toEqual([...seeds.subarray(0, 70)]);
    const empty = new NodeLoader(sampler, { seeds: [], batchSize: 10 });
    expect(await collect(empty, 0)).toEqual([]);
  });

  it.each([
    [0, 1],
    [1, 1],
    [3, 3],
  ])('with prefetch %i has at most %i batches in flight', async (prefetch, most) => {
    const watched = new WatchedSampler();
    const loader = new NodeLoader(watched, { ...options, prefetch });
    for await (const batch of loader.epoch(0)) {
      expect(watched.started).toBeLessThanOrEqual(batch.step + 1 + prefetch);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(watched.most).toBe(most);
  });

  it('leaves nothing running after break', async () => {
    const watched = new WatchedSampler();
    const loader = new NodeLoader(watched, { ...options, prefetch: 4 });
    for await (const batch of loader.epoch(0)) if (batch.step === 1) break;
    expect(watched.running).toBe(0);
    expect(watched.started).toBeLessThan(8);
    const abandoned = loader.epoch(1);
    await abandoned.next();
    await abandoned.return();
    expect(watched.running).toBe(0);
  });

  it('reports an error at the batch it belongs to, and leaves nothing running', async () => {
    const watched = new WatchedSampler(3);
    const loader = new NodeLoader(watched, { ...options, prefetch: 4 });
    const steps: number[] = [];
    const loop = async () => {
      for await (const batch of loader.epoch(0)) steps.push(batch.step);
    };
    await expect(loop()).rejects.toThrow('step 3 failed');
    expect(steps).toEqual([0, 1, 2]);
    expect(watched.running).toBe(0);
  });

  it('rejects seeds, features or labels that do not fit the graph', async () => {
    const run = async (changed: Partial<NodeLoaderOptions>) => {
      for await (const batch of new NodeLoader(sampler, { ...options, ...changed }).epoch(0)) void batch;
    };
    await expect(run({ seeds: [1, 200] })).rejects.toThrow(/200 at position/);
    const few = fromTypedArray(new Float32Array(20), [10, 2]);
    await expect(run({ features: few })).rejects.toThrow(/a row for node/);
    await expect(run({ labels: new Int32Array(3) })).rejects.toThrow(/a label for node/);
  });

  it('disposes x when the next batch is requested, unless reuse is false', async () => {
    let last: Tensor | null = null;
    for await (const batch of new NodeLoader(sampler, options).epoch(0)) {
      expect(last?.isDisposed ?? true).toBe(true);
      last = scope(() => batch.x);
    }
    const kept: Tensor[] = [];
    for await (const batch of new NodeLoader(sampler, { ...options, reuse: false }).epoch(0))
      kept.push(batch.x);
    expect(kept.every((x) => !x.isDisposed)).toBe(true);
  });

  it('reuses the memory of earlier batches', async () => {
    const wide = fromTypedArray(new Float32Array(200 * 512), [200, 512]);
    const loader = new NodeLoader(sampler, { ...options, features: wide });
    for await (const batch of loader.epoch(0)) void batch;
    const before = poolStats();
    for (let epoch = 1; epoch < 5; epoch++) for await (const batch of loader.epoch(epoch)) void batch;
    expect(poolStats().allocations - before.allocations).toBeLessThan(16);
  });

  it('takes sparse features and features from a function', async () => {
    const sparse = SparseMatrix.fromDense(features);
    for await (const batch of new NodeLoader(sampler, { ...options, features: sparse }).epoch(0)) {
      expect(batch.x).toBeInstanceOf(SparseMatrix);
      expect(batch.x.rows).toBe(batch.nodeIds.length);
    }
    const read = async (ids: Int32Array) => fromTypedArray(Float32Array.from(ids), [ids.length, 1]);
    for await (const batch of new NodeLoader(sampler, { ...options, features: read }).epoch(0)) {
      expect([...batch.x.dataSync()]).toEqual([...batch.nodeIds]);
    }
  });
});
