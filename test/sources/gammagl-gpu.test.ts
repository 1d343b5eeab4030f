/**
 * GammaGL's GPU sampler (`GPU_Muliti`): every code block of its page, line by line. The line of the document is in the comment
 * next to ours; docs/source-documents.md says why a form differs. Devices are numbers, as in the document.
 */
import { readFileSync } from 'node:fs';
import { SHARE_ENV, Worker } from 'node:worker_threads';
import * as tf from '@tensorflow/tfjs-core';
import '@tensorflow/tfjs-backend-cpu';
import {
  CGPUFeature,
  GPUSampler,
  gpuDevice,
  gradientMemory,
  MultiCGPUFeature,
  MultiGPUSampler,
  openGpuDevice,
} from 'skein/gpu';
import { toTfjs } from 'skein/interop';
import { NodeLoader } from 'skein/sample';
import { fromTypedArray } from 'skein/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { program } from '../programs.js';
import { accuracy, csr, data, newModel, numFeatures, trainLoader, trainOneStep } from './gammagl-data.js';
import type { RankResult } from './gammagl-worker.js';

afterEach(async () => {
  for (const number of [0, 1]) (await gpuDevice(number)).destroy();
});

/** Rows of the feature table, computed here. */
const rowsOf = (ids: ArrayLike<number>): number[] =>
  Array.from(ids).flatMap((id) => [...data.x.dataSync().subarray(id * numFeatures, (id + 1) * numFeatures)]);

describe('Installation', () => {
  it('one optional package takes the place of three', () => {
    // pip install CuPy; conda install Numba; pip install CURandRTC
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(peerDependencies.webgpu).toMatch(/\d/); // npm install webgpu
    expect(peerDependenciesMeta.webgpu).toEqual({ optional: true });
  });
});

describe('Use demo', () => {
  it('GammaGL', { timeout: 240_000 }, async () => {
    const rank = 0; //                                                 rank = 0
    // csr = sp.csr_matrix((np.ones((data.edge_index.shape[1],)), data.edge_index.numpy())): gammagl-data.ts
    const cgpuFeat = new CGPUFeature(csr, rank, '0.1G'); //            cgpu_feat = CGPUFeature(csr, rank, "0.1G")
    await cgpuFeat.fromCpuTensor(data.x); //                           cgpu_feat.from_cpu_tensor(data.x.numpy())
    const sampler = new GPUSampler(rank, csr); //                      sampler = GPUSampler(rank, csr)
    sampler.setSize([25, 10]); //                                      sampler.set_size([25, 10])
    const trained = newModel();
    const losses: number[] = [];
    for (let epoch = 0; epoch < 8; epoch++)
      for (const seed of trainLoader) {
        //                                                             for seed in train_loader:
        const { allNode, adjs, batch } = await sampler.sample(seed); //    all_node, adjs = sampler.sample(seed)
        const rows = await cgpuFeat.get(allNode); //                       cur_feat = cgpu_feat[all_node]
        const subgs = batch.blocks; //                                     adjs = [adj.cp2torch() for adj in adjs]
        const dstNode = allNode.subarray(0, seed.length); //               all_node = from_dlpack(all_node.toDlpack())
        const values = (await rows.toHost()) as Float32Array;
        const curFeat = fromTypedArray(values, rows.shape); //             cur_feat = from_dlpack(cur_feat.toDlpack())
        // data = {"x": cur_feat, "y": y, "dst_node": all_node[:seed.shape[0]], "subgs": adjs}
        const step = { x: curFeat, y: data.y, dstNode, subgs };
        // train_loss = train_one_step(data, tlx.convert_to_tensor([0]))
        losses.push(await trainOneStep(trained, step));
        if (epoch > 0) continue;
        expect([...values]).toEqual(rowsOf(allNode));
        expect([...dstNode]).toEqual([...seed]);
        expect(adjs.map(({ size }) => size[1])).toEqual([batch.blocks[0].numDstNodes, seed.length]);
        expectEdges(allNode, adjs);
      }
    expect(losses[losses.length - 1]).toBeLessThan(losses[0] / 2);
    expect(accuracy(trained)).toBeGreaterThan(0.9);
    // Both are on device 0, which holds the whole table.
    expect(sampler.device).toBe(await gpuDevice(0));
    expect(cgpuFeat.device).toBe(sampler.device);
    expect(cgpuFeat.stats.misses).toBe(0);
    sampler.release();
    cgpuFeat.release();
  });

  it('other graph learning library', async () => {
    await tf.setBackend('cpu');
    const cgpuFeat = new CGPUFeature(csr, 0, '0.1G'); //   cgpu_feat = CGPUFeature(csr, 0, "0.1G")
    await cgpuFeat.fromCpuTensor(data.x); //               cgpu_feat.from_cpu_tensor(data.feature.numpy())
    const sampler = new GPUSampler(0, csr); //             sampler = GPUSampler(0, csr)
    sampler.setSize([25, 10]);
    const before = tf.memory().numTensors;
    for (const seeds of trainLoader) {
      //                                                   for seeds in train_loader:
      const { allNode, adjs } = await sampler.sample(seeds); //   all_node, adjs = sampler.sample(seed)
      const rows = await cgpuFeat.get(allNode); //                cur_feat = cgpu_feat[all_node]
      // from tensorflow.python import from_dlpack: toTfjs of skein/interop
      const subgs = adjs.map((adj) => adj.toTfjs(tf)); //         adjs = [adj.cp2tf() for adj in adjs]
      const nodes = tf.tensor1d(allNode, 'int32'); //             all_node = from_dlpack(all_node.toDlpack())
      // The CPU back end of TensorFlow.js cannot read device memory; its WebGPU back end takes rows.view().
      const host = fromTypedArray((await rows.toHost()) as Float32Array, rows.shape);
      const curFeat = tf.tensor2d(host.dataSync(), [...rows.shape]); // cur_feat = from_dlpack(cur_feat.toDlpack())

      // The tensors are right: sums over the neighbours of the seeds, computed by TensorFlow.js and here.
      const { edgeIndex, size } = subgs[1];
      const sums = tf.tidy(() => {
        const [src, dst] = tf.unstack(edgeIndex) as tf.Tensor1D[];
        return tf.unsortedSegmentSum(tf.gather(curFeat, src), dst, size[1]);
      });
      const expected = new Float64Array(size[1] * numFeatures);
      const x = data.x.dataSync();
      for (const [e, v] of adjs[1].col.entries())
        for (let k = 0; k < numFeatures; k++)
          expected[v * numFeatures + k] += x[allNode[adjs[1].row[e]] * numFeatures + k];
      const worst = Math.max(...sums.dataSync().map((value, i) => Math.abs(value - expected[i])));
      expect(worst).toBeLessThan(1e-4);
      expect([...nodes.dataSync()]).toEqual([...allNode]);
      tf.dispose([sums, curFeat, nodes, ...subgs.flatMap((adj) => [adj.edgeIndex, adj.eId])]);
      rows.release();
      for (const adj of adjs) adj.release();
    }
    expect(tf.memory().numTensors).toBe(before);
    sampler.release();
    cgpuFeat.release();
  });

  it('rows of the host reach another library without a copy', async () => {
    await tf.setBackend('cpu');
    const cgpuFeat = new CGPUFeature(csr, null, '0.1G');
    await cgpuFeat.fromCpuTensor(data.x);
    const rows = await cgpuFeat.get(trainLoader[0]);
    const view = rows.view();
    const curFeat = toTfjs(tf, view) as tf.Tensor2D; // from_dlpack(cur_feat.toDlpack())
    expect([...curFeat.dataSync()]).toEqual(rowsOf(trainLoader[0]));
    curFeat.dispose();
    view.release();
    rows.release();
  });
});

describe('Multi-GPU', () => {
  it('two workers train on devices 0 and 1', { timeout: 240_000 }, async () => {
    const mlSp = new MultiGPUSampler(1, csr); //           ml_sp = MultiGPUSampler(1, csr)
    // multi_feat = Multi_CGPUFeature(1, [0, 1], ".1G", csr)
    const multiFeat = new MultiCGPUFeature(1, [0, 1], '.1G', csr);
    await multiFeat.fromCpuTensor(data.x); //              multi_feat.from_cpu_tensor(data.x.numpy())
    // dist.spawn(train, args=(ml_sp, ), nprocs=2, gpus='0,1')
    const gradients = gradientMemory(2, newModel().model.parameters());
    const shared = { sampler: mlSp.share(), feature: multiFeat.share(), gradients };
    const spawn = (rank: number): Promise<RankResult> =>
      new Promise((resolve, reject) => {
        const worker = new Worker(program('test/sources/gammagl-worker.ts'), {
          workerData: { rank, ...shared },
          env: SHARE_ENV,
        });
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    const results = await Promise.all([spawn(0), spawn(1)]);
    expect(results.map(({ rank }) => rank)).toEqual([0, 1]);
    for (const { losses } of results) expect(losses[losses.length - 1]).toBeLessThan(losses[0] / 2);
    for (const result of results) expect(result.accuracy).toBeGreaterThan(0.9);
    expect(results[1].parameters).toEqual(results[0].parameters);
    expect(results[1].losses).not.toEqual(results[0].losses);
    multiFeat.release();
    mlSp.release();
  });

  it('the default rank of both is their first argument; any rank samples and reads the same', async () => {
    const mlSp = new MultiGPUSampler(1, csr);
    mlSp.setSize([25, 10]);
    const multiFeat = new MultiCGPUFeature(1, [0, 1], '.1G', csr);
    await multiFeat.fromCpuTensor(data.x);
    const at = { epoch: 0, step: 0 };
    const [seed] = trainLoader;
    const samples = [await mlSp.sample(seed, 0, at), await mlSp.sample(seed, 1, at)];
    expect(samples[0].allNode).toEqual(samples[1].allNode);
    const onDefault = await mlSp.sampleOnDevice(seed, undefined, at);
    expect(onDefault.nodeBuffer.device).toBe(await gpuDevice(1));
    onDefault.release();
    for (const rank of [undefined, 0, 1]) {
      const rows = await multiFeat.get(samples[0].allNode, rank);
      expect(rows.device).toBe(await gpuDevice(rank ?? 1));
      expect([...(await rows.toHost())]).toEqual(rowsOf(samples[0].allNode));
      rows.release();
    }
    multiFeat.release();
    mlSp.release();
  });
});

describe('TODO in Future', () => {
  it('batches of seeds come shuffled from a loader', async () => {
    // dataset = tf.data.Dataset.from_tensor_slices(train_idx)
    // train_loader = dataset.shuffle(train_idx.shape[0]).batch(batch_size)
    const trainIdx = Int32Array.from({ length: 100 }, (_, i) => 2 * i);
    const sampler = new GPUSampler(0, csr, { sizes: [3] });
    const loader = new NodeLoader(sampler, { seeds: trainIdx, batchSize: 32, shuffle: true });
    const seeds: number[] = [];
    const sizes: number[] = [];
    for await (const batch of loader.epoch(0)) {
      sizes.push(batch.seeds.length);
      seeds.push(...batch.nodeIds.subarray(0, batch.seeds.length));
    }
    expect(sizes).toEqual([32, 32, 32, 4]);
    expect(seeds).not.toEqual([...trainIdx]);
    expect([...seeds].sort((a, b) => a - b)).toEqual([...trainIdx]);
    sampler.release();
  });
});

describe('devices by number', () => {
  it('equal numbers are one device; after destroy() the number is another one', async () => {
    const [first, again, other] = await Promise.all([gpuDevice(0), gpuDevice(0), gpuDevice(1)]);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    first.destroy();
    const next = await gpuDevice(0);
    expect(next).not.toBe(first);
    expect(next.isLost).toBe(false);
  });

  it('what is neither a device nor a number is rejected', async () => {
    const gpu = await openGpuDevice();
    for (const device of ['0', -1, 1.5, undefined, {}]) {
      expect(() => new GPUSampler(device as never, csr)).toThrow(/GPUSampler: expected .* for device/);
      expect(() => new CGPUFeature(csr, device as never)).toThrow(/CGPUFeature: expected .* for device/);
    }
    expect(() => new MultiGPUSampler(-1, csr)).toThrow(/for devices, got -1/);
    expect(() => new GPUSampler(0, csr).device).toThrow(/device 0 is opened by the first sample/);
    expect(new CGPUFeature(csr, 0, '0.1G').device).toBeNull();
    expect(() => new MultiGPUSampler(0, csr).sample([0], -1)).toThrow(/for rank, got -1/);
    gpu.destroy();
  });

  it('a sampler that was released before its device was open does not sample', async () => {
    const sampler = new GPUSampler(0, csr, { sizes: [2] });
    const pending = sampler.sample([0]);
    sampler.release();
    await expect(pending).rejects.toThrow(/after release\(\)/);
  });
});

/** Every sampled edge is one of the graph, and every node has as many as its hop draws: 25 for seeds, 10 for the others. */
function expectEdges(
  allNode: Int32Array,
  adjs: readonly { row: Int32Array; col: Int32Array; size: readonly [number, number] }[],
): void {
  const { offsets, indices } = csr.adjacency;
  const numSeeds = adjs[adjs.length - 1].size[1];
  for (const { row, col, size } of adjs) {
    const drawn = new Int32Array(size[1]);
    const strangers = col.filter((v, e) => {
      drawn[v]++;
      const node = allNode[v];
      return !indices.subarray(offsets[node], offsets[node + 1]).includes(allNode[row[e]]);
    });
    expect([...strangers]).toEqual([]);
    const degree = (v: number): number => offsets[allNode[v] + 1] - offsets[allNode[v]];
    expect([...drawn]).toEqual([...drawn.keys()].map((v) => Math.min(v < numSeeds ? 25 : 10, degree(v))));
  }
}
