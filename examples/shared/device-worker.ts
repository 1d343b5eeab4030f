/**
 * The worker of gpu/two-devices: has a separate device, copies of the model and of the hot rows, and a share of every
 * batch. Graph and features are in memory that all workers share; gradients are averaged there.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { gnn, manualSeed, nn, scope } from 'skein';
import {
  enableWebGpu,
  GradientAverage,
  MultiCGPUFeature,
  MultiGPUSampler,
  openGpuDevice,
  type SharedFeature,
  type SharedSampler,
} from 'skein/gpu';
import { mul } from 'skein/tensor';
import { Random } from 'skein/util';

/** The task of a worker. */
export interface DeviceTask {
  readonly rank: number;
  /** Number of shares of every batch, independent of the number of devices. */
  readonly numShares: number;
  /** The shares of this worker. */
  readonly shares: readonly number[];
  readonly gradients: SharedArrayBuffer;
  readonly sampler: SharedSampler;
  readonly features: SharedFeature;
  readonly labels: Int32Array;
  readonly train: Int32Array;
  readonly sizes: readonly number[];
  readonly batchSize: number;
  readonly epochs: number;
  readonly seed: number;
}

export interface DeviceResult {
  readonly rank: number;
  readonly parameters: readonly Float32Array[];
}

/** Creates the initial model, equal on every worker. */
export function makeModel(sizes: readonly number[], seed: number): gnn.GraphSAGE {
  manualSeed(seed);
  return new gnn.GraphSAGE(sizes);
}

/** Returns one share of a batch. Shares are contiguous; their sizes differ by at most one. */
function takeShare(batch: Int32Array, numShares: number, share: number): Int32Array {
  const at = (i: number): number => Math.floor((batch.length * i) / numShares);
  return batch.subarray(at(share), at(share + 1));
}

async function train(task: DeviceTask): Promise<DeviceResult> {
  const { rank, labels, batchSize } = task;
  const gpu = await openGpuDevice();
  const sampler = MultiGPUSampler.fromShared(task.sampler, gpu);
  const features = await MultiCGPUFeature.fromShared(task.features, rank, [gpu]);
  const tensors = await enableWebGpu(gpu);
  const model = makeModel(task.sizes, task.seed).to('webgpu');
  const optimizer = new nn.Adam(model.parameters(), { lr: 0.02 });
  const average = new GradientAverage(task.gradients, { rank, parameters: model.parameters() });
  try {
    for (let epoch = 0; epoch < task.epochs; epoch++) {
      const order = shuffle(task.train, task.seed + epoch);
      for (let start = 0; start < order.length; start += batchSize) {
        const batch = order.subarray(start, start + batchSize);
        const shares = task.shares.map((share) => takeShare(batch, task.numShares, share));
        const size = shares.reduce((sum, seeds) => sum + seeds.length, 0);
        optimizer.zeroGrad();
        for (const [i, seeds] of shares.entries()) {
          if (seeds.length === 0) continue;
          const at = { epoch, step: start + task.shares[i] };
          const { blocks, nodeIds } = await sampler.sampleAsync(seeds, 0, at);
          const rows = await features.get(nodeIds);
          scope(() => {
            const targets = seeds.map((v) => labels[v]);
            const loss = nn.crossEntropy(model.forward(blocks, rows.toTensor(tensors)), targets);
            mul(loss, seeds.length / size).backward();
          });
          rows.release();
        }
        await average.step(size);
        optimizer.step();
      }
    }
    const parameters: Float32Array[] = [];
    for (const value of model.parameters()) parameters.push((await value.data()) as Float32Array);
    return { rank, parameters };
  } catch (error) {
    average.fail();
    throw error;
  } finally {
    sampler.release();
    features.release();
    tensors.release();
    gpu.destroy();
  }
}

/** Shuffles ids, in the same order on every worker. */
function shuffle(ids: Int32Array, seed: number): Int32Array {
  const order = ids.slice();
  const random = new Random(seed);
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.nextInt(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Starts a worker on this file; resolves with its result or rejects with its error. */
export function startDeviceWorker(task: DeviceTask): Promise<DeviceResult> {
  // A worker does not inherit the TypeScript loader, so it is registered there first.
  const start = `import('tsx/esm/api').then(({ register }) => (register(), import(${JSON.stringify(import.meta.url)})))`;
  return new Promise((resolve, reject) => {
    const worker = new Worker(start, { eval: true, workerData: task });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new Error(`the worker of rank ${task.rank} ended with code ${code}.`)),
    );
  });
}

if (!isMainThread) parentPort?.postMessage(await train(workerData as DeviceTask));
