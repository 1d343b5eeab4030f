/** Optimisers over parameters on the GPU: the same steps as on the CPU, gradient rows too; saving and loading. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { enableWebGpu, type GpuDevice, openGpuDevice, type WebGpuTensorDevice } from 'skein/gpu';
import { Adagrad, Adam, Embedding, Linear, Module, SGD } from 'skein/nn';
import { loadCheckpoint, saveCheckpoint } from 'skein/storage';
import { scope, sum, type Tensor } from 'skein/tensor';
import { Random } from 'skein/util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let gpu: GpuDevice;
let device: WebGpuTensorDevice;
let folder: string;
beforeAll(async () => {
  gpu = await openGpuDevice();
  device = await enableWebGpu(gpu);
  folder = mkdtempSync(join(tmpdir(), 'skein-optimizers-'));
});
afterAll(() => {
  device.release();
  gpu.destroy();
  rmSync(folder, { recursive: true });
});

class Net extends Module {
  readonly table = new Embedding(9, 6, { random: new Random(1), sparse: true });
  readonly lin = new Linear(6, 3, { random: new Random(2) });

  override forward(ids: Int32Array): Tensor {
    const y = this.lin.forward(this.table.forward(ids));
    return sum(y.mul(y));
  }
}

const optimizers = {
  sgd: (net: Net) => new SGD(net.parameters(), { lr: 0.05, momentum: 0.9 }),
  adagrad: (net: Net) => new Adagrad(net.parameters(), { lr: 0.1 }),
  adam: (net: Net) => new Adam(net.parameters(), { lr: 0.05 }),
};
type Name = keyof typeof optimizers;

/** Different rows each time, some more than once. */
const batches = [
  [0, 3, 3, 8],
  [1, 3, 5],
  [8, 8, 2, 0, 7],
  [4, 3],
].map((ids) => Int32Array.from(ids));

function steps(net: Net, optimizer: { step(): void; zeroGrad(): void }, list: readonly Int32Array[]): void {
  for (const ids of list)
    scope(() => {
      optimizer.zeroGrad();
      net.forward(ids).backward();
      optimizer.step();
    });
}

async function worst(a: Module, b: Module): Promise<number> {
  let most = 0;
  const other = b.stateDict();
  for (const [name, t] of Object.entries(a.stateDict())) {
    const [x, y] = [await t.data(), await other[name].data()];
    for (let i = 0; i < x.length; i++) most = Math.max(most, Math.abs(x[i] - y[i]));
  }
  return most;
}

describe.each(Object.keys(optimizers) as Name[])('%s on webgpu', (name) => {
  it('steps as on the CPU, also by rows', async () => {
    const [here, there] = [new Net(), new Net().to('webgpu')];
    steps(here, optimizers[name](here), batches);
    steps(there, optimizers[name](there), batches);
    expect(await worst(there, here)).toBeLessThan(1e-5);
  });

  it('continues after saving and loading, and after a move', async () => {
    const path = join(folder, `${name}.safetensors`);
    const through = new Net();
    steps(through, optimizers[name](through), batches);
    const first = new Net().to('webgpu');
    const optimizer = optimizers[name](first);
    steps(first, optimizer, batches.slice(0, 2));
    await saveCheckpoint(path, { model: first, optimizer });
    const loaded = new Net().to('webgpu');
    const next = optimizers[name](loaded);
    await loadCheckpoint(path, { model: loaded, optimizer: next });
    steps(loaded, next, batches.slice(2));
    expect(await worst(loaded, through)).toBeLessThan(1e-5);
    await first.cpu();
    await optimizer.cpu();
    steps(first, optimizer, batches.slice(2, 3));
    first.to('webgpu');
    steps(first, optimizer, batches.slice(3));
    expect(await worst(first, through)).toBeLessThan(1e-5);
  });
});

it('steps release their memory', async () => {
  const net = new Net().to('webgpu');
  const optimizer = optimizers.adam(net);
  steps(net, optimizer, batches);
  await gpu.finish();
  const before = gpu.stats().liveBytes;
  for (let i = 0; i < 5; i++) steps(net, optimizer, batches);
  optimizer.zeroGrad();
  await gpu.finish();
  expect(gpu.stats().liveBytes).toBeLessThanOrEqual(before);
});
