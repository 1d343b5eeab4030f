/**
 * A program for multi-feature.test.ts: one table for two threads with a device each. The main thread shares it; both
 * threads check rows, the first updates some, the second must see them. Prints the result of each thread.
 */
import { once } from 'node:events';
import { isMainThread, parentPort, SHARE_ENV, Worker, workerData } from 'node:worker_threads';
import { MultiCGPUFeature, openGpuDevice, type SharedFeature } from 'skein/gpu';

const rows = 200;
const width = 3;
const ids = Int32Array.from({ length: 90 }, (_, i) => (i * 7) % rows);
const changed = Int32Array.of(0, 14, 199);

async function inWorker({ rank, shared }: { rank: number; shared: SharedFeature }): Promise<void> {
  const port = parentPort as NonNullable<typeof parentPort>;
  const gpu = await openGpuDevice();
  const features = await MultiCGPUFeature.fromShared(shared, rank, [gpu]);
  const read = async (list: Int32Array): Promise<number[]> => {
    const block = await features.get(list);
    const values = [...(await block.toHost())];
    block.release();
    return values;
  };
  const first = await read(ids);
  await read(changed);
  port.postMessage({ rank, first });
  port.on('message', async (message: string) => {
    if (message === 'update') await features.update(changed, new Float32Array(9).fill(-1));
    if (message === 'read') port.postMessage(await read(changed));
    else port.postMessage('done');
    if (message === 'end') {
      features.release();
      gpu.destroy();
      port.close();
    }
  });
}

async function ask(worker: Worker, message: string): Promise<unknown> {
  worker.postMessage(message);
  return (await once(worker, 'message'))[0];
}

async function inMain(): Promise<void> {
  const data = Float32Array.from({ length: rows * width }, (_, i) => i);
  const scores = data.slice(0, rows).map((_, id) => -id);
  const features = new MultiCGPUFeature(0, [], 40 * 4 * width, null, { hotness: scores });
  await features.fromCpuTensor({ data, shape: [rows, width] });
  const shared = features.share();
  const start = (rank: number): Worker =>
    new Worker(new URL(import.meta.url), { workerData: { rank, shared }, env: SHARE_ENV });
  const workers = [start(0), start(1)];
  const answers = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]));
  const wanted = [...ids].flatMap((id) => [...data.subarray(id * width, (id + 1) * width)]);
  const right = answers.map(({ first }) => JSON.stringify(first) === JSON.stringify(wanted));
  await ask(workers[0], 'update');
  const seen = await Promise.all(workers.map((worker) => ask(worker, 'read')));
  for (const worker of workers) await ask(worker, 'end');
  await Promise.all(workers.map((worker) => worker.terminate()));
  console.log(JSON.stringify({ right, seen, cached: features.cachedRatio }));
}

await (isMainThread ? inMain() : inWorker(workerData));
