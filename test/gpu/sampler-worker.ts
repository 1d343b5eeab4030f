/** A worker thread that samples on a separate device over the graph of the main thread. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { MultiGPUSampler, openGpuDevice, type SharedSampler } from 'skein/gpu';
import { program } from '../programs.js';

interface Task {
  readonly shared: SharedSampler;
  readonly batches: readonly Int32Array[];
}

/** The result of each batch, and whether the graph was used without a copy. */
export interface WorkerSamples {
  readonly isShared: boolean;
  readonly samples: readonly { readonly allNode: Int32Array; readonly eId: Int32Array }[];
}

export function startSamplerWorker(task: Task): Promise<WorkerSamples> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program('test/gpu/sampler-worker.ts'), { workerData: task });
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the worker ended with code ${code}.`)));
  });
}

async function sampleAll({ shared, batches }: Task): Promise<WorkerSamples> {
  const gpu = await openGpuDevice();
  const sampler = MultiGPUSampler.fromShared(shared, gpu);
  const samples: { allNode: Int32Array; eId: Int32Array }[] = [];
  try {
    for (const [step, seeds] of batches.entries()) {
      const { allNode, adjs } = await sampler.sample(seeds, 0, { step });
      samples.push({ allNode, eId: adjs[0].eId });
    }
  } finally {
    sampler.release();
    gpu.destroy();
  }
  return { isShared: shared.indices.buffer instanceof SharedArrayBuffer, samples };
}

if (!isMainThread) parentPort?.postMessage(await sampleAll(workerData as Task));
