/** Training on the GPU: losses, masks and statistics of the CPU, gradient clipping, and constant memory. */
import {
  Adam,
  BatchNorm1d,
  bceLoss,
  clipGradNorm,
  clipGradNormTensor,
  clipGradValue,
  crossEntropy,
  Embedding,
  GRUCell,
  init,
  type Layer,
  LayerNorm,
  Linear,
  MultiheadAttention,
  ReLU,
  Sequential,
} from 'skein/nn';
import {
  arange,
  defineOp,
  dropout,
  eye,
  fromArray,
  manualSeed,
  ones,
  rand,
  randint,
  randn,
  scope,
  type Tensor,
  tensor,
  transpose,
  zeros,
} from 'skein/tensor';
import { Random } from 'skein/util';
import { describe, expect, it } from 'vitest';
import { useWebGpu } from './use-webgpu.js';

const webgpu = useWebGpu();

const rows = 40;
const features = randn([rows, 12], { random: new Random(1) });
const labels = Int32Array.from({ length: rows }, (_, i) => (i * 7) % 3);

function network(norm: 'none' | 'batch' | 'layer'): Sequential {
  const random = new Random(3);
  const layers: Layer[] = [new Linear(12, 16, { random })];
  if (norm === 'batch') layers.push(new BatchNorm1d(16));
  if (norm === 'layer') layers.push(new LayerNorm(16));
  return new Sequential([...layers, new ReLU(), new Linear(16, 3, { random })]);
}

/** Losses of `steps` steps; `loss` computes one. */
async function losses(
  model: Sequential,
  x: Tensor,
  steps: number,
  loss: (logits: Tensor) => Tensor = (logits) => crossEntropy(logits, labels),
): Promise<number[]> {
  const optimizer = new Adam(model.parameters(), { lr: 0.02 });
  const kept: Tensor[] = [];
  for (let step = 0; step < steps; step++)
    kept.push(
      scope(() => {
        const value = loss(model.forward(x));
        optimizer.zeroGrad();
        value.backward();
        optimizer.step();
        return value.detach();
      }),
    );
  return Promise.all(kept.map(async (t) => (await t.data())[0]));
}

function expectClose(actual: ArrayLike<number>, wanted: ArrayLike<number>, tolerance = 1e-4): void {
  expect(actual.length).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i++)
    expect(Math.abs(actual[i] - wanted[i])).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(wanted[i])));
}

describe('training on webgpu', () => {
  it.each(['none', 'batch', 'layer'] as const)('20 steps of Adam, normalisation %s', async (norm) => {
    const wanted = await losses(network(norm), features, 20);
    const model = network(norm).to('webgpu');
    const actual = await losses(model, features.to('webgpu'), 20);
    expectClose(actual, wanted);
    expect(actual[19]).toBeLessThan(actual[0]);
  });

  it('keeps the running statistics of batch normalisation', async () => {
    for (const momentum of [0.1, null]) {
      const here = new BatchNorm1d(12, { momentum });
      const there = new BatchNorm1d(12, { momentum }).to('webgpu');
      for (const x of [features, rand([9, 12], { random: new Random(5) })]) {
        here.forward(x);
        there.forward(x.to('webgpu'));
      }
      const evaluated = there.eval().forward(features.to('webgpu'));
      expectClose(await evaluated.data(), here.eval().forward(features).dataSync());
      await there.cpu();
      expect(there.numBatchesTracked?.item()).toBe(2);
      for (const [name, t] of there.namedBuffers())
        expectClose(t.dataSync(), (here.namedBuffers().get(name) as Tensor).dataSync());
    }
  });

  it('applies masks, weights and every reduction as the CPU does', async () => {
    const mask = Uint8Array.from(labels, (_, i) => (i % 4 === 0 ? 0 : 1));
    for (const reduction of ['mean', 'sum', 'none'] as const) {
      const options = { mask, weight: [1, 0.5, 2], reduction };
      const wanted = crossEntropy(features.slice(0, 3, 1), labels, options);
      const actual = crossEntropy(features.to('webgpu').slice(0, 3, 1), labels, options);
      expectClose(await actual.data(), wanted.dataSync());
    }
    const chances = rand([7], { random: new Random(2) });
    const targets = ones([7]);
    const bce = bceLoss(chances.to('webgpu'), targets.to('webgpu'));
    expectClose(await bce.data(), bceLoss(chances, targets).dataSync());
  });

  it('drops the same elements as the CPU', async () => {
    manualSeed(4);
    const wanted = dropout(features, 0.3).dataSync();
    manualSeed(4);
    expect(await dropout(features.to('webgpu'), 0.3).data()).toEqual(wanted);
  });

  it('holds no more memory after 200 steps than after 20', async () => {
    const model = network('batch').to('webgpu');
    const x = features.to('webgpu');
    await losses(model, x, 20);
    const optimizer = new Adam(model.parameters());
    const step = (): void =>
      scope(() => {
        const value = crossEntropy(dropout(model.forward(x), 0.1), labels);
        optimizer.zeroGrad();
        value.backward();
        clipGradNormTensor(model.parameters(), 1);
        optimizer.step();
      });
    step();
    await webgpu.gpu.finish();
    const before = webgpu.gpu.stats();
    for (let i = 0; i < 200; i++) step();
    await webgpu.gpu.finish();
    expect(webgpu.gpu.stats().liveBuffers).toBe(before.liveBuffers);
    expect(webgpu.gpu.stats().readBacks).toBe(before.readBacks);
  });
});

describe('layers on webgpu', () => {
  it('create states and masks on the device of their input', async () => {
    const random = new Random(6);
    const gru = new GRUCell(12, 5, { random });
    const wanted = gru.forward(features).dataSync();
    expectClose(await gru.to('webgpu').forward(features.to('webgpu')).data(), wanted);
    const table = new Embedding(6, 3, { random, paddingIdx: 2 });
    const rows = table.forward([2, 5, 2]).dataSync();
    expectClose(await table.to('webgpu').forward([2, 5, 2]).data(), rows);
    const attention = new MultiheadAttention(12, 3, { random });
    const x = features.reshape([4, 10, 12]);
    const mask = tensor(
      Uint8Array.from({ length: 40 }, (_, i) => (i % 10 > 7 ? 1 : 0)),
      { shape: [4, 10] },
    );
    const seen = attention.forward(x, x, x, { keyPaddingMask: mask }).output.dataSync();
    const there = x.to('webgpu');
    const hidden = { keyPaddingMask: mask.to('webgpu') };
    const { output } = attention.to('webgpu').forward(there, there, there, hidden);
    expectClose(await output.data(), seen);
  });

  it('are filled with the same numbers as on the CPU', async () => {
    const made = (): Tensor => zeros([5, 3]);
    const wanted = init.glorotNormal(made(), { random: new Random(8) }).dataSync();
    expect(await init.glorotNormal(made().to('webgpu'), { random: new Random(8) }).data()).toEqual(wanted);
    expect([...(await init.ones(zeros([2]).to('webgpu')).data())]).toEqual([1, 1]);
  });
});

describe('gradients on webgpu', () => {
  /** A table with gradient rows and a dense weight. */
  function made(where: 'cpu' | 'webgpu'): Tensor[] {
    const table = new Embedding(9, 4, { random: new Random(1), sparse: true });
    const weight = randn([4, 3], { random: new Random(2), requiresGrad: true });
    const params = [table.to(where).weight, where === 'cpu' ? weight : weight.to(where)];
    table.forward([1, 3, 3, 8]).matmul(params[1]).square().sum().backward();
    return params;
  }

  async function gradients(params: readonly Tensor[]): Promise<number[]> {
    const optimizer = new Adam(params, { lr: 0.1 });
    const before = await Promise.all(params.map(async (p) => [...(await p.data())]));
    optimizer.step();
    const after = await Promise.all(params.map(async (p) => [...(await p.data())]));
    const dense = (await params[1].grad?.data()) ?? [];
    return [...after.flat().map((v, i) => v - before.flat()[i]), ...dense];
  }

  it('are scaled to a norm', async () => {
    const [here, there] = [made('cpu'), made('webgpu')];
    const wanted = clipGradNorm(here, 0.5);
    expect(() => clipGradNorm(there, 0.5)).toThrow(/clipGradNormTensor/);
    const norm = clipGradNormTensor(there, 0.5);
    expectClose(await norm.data(), [wanted]);
    expectClose(await gradients(there), await gradients(here), 1e-3);
    expectClose(clipGradNormTensor(made('cpu'), 0.5).dataSync(), [wanted]);
  });

  it('are clamped to bounds', async () => {
    const [here, there] = [made('cpu'), made('webgpu')];
    clipGradValue(here, 0.2);
    clipGradValue(there, 0.2);
    expectClose(await gradients(there), await gradients(here), 1e-3);
  });

  it('may be set from a view, on the same device', async () => {
    const p = fromArray([
      [1, 2],
      [3, 4],
    ]).setRequiresGrad();
    const there = p.to('webgpu');
    there.grad = transpose(
      fromArray([
        [1, 2],
        [3, 4],
      ]).to('webgpu'),
    ); // prettier-ignore
    expect([...((await there.grad?.data()) ?? [])]).toEqual([1, 3, 2, 4]);
    expect(() => {
      there.grad = p.detach();
    }).toThrow(/one device/);
  });

  it('are rejected by AMSGrad', () => {
    const params = made('webgpu');
    expect(() => new Adam(params, { amsgrad: true }).step()).toThrow(/amsgrad/);
  });
});

describe('values and devices', () => {
  it('tells how to await a value', () => {
    const t = tensor([3]).to('webgpu');
    for (const read of [() => t.item(), () => t.dataSync(), () => t.toArray()])
      expect(read).toThrow(/await t\.data\(\)/);
    expect(t.toString()).toContain('on webgpu');
  });

  it('creates tensors in memory, also inside an operation on the device', () => {
    const places: unknown[] = [];
    const probe = defineOp({
      name: 'probe',
      forward(_ctx, [x]) {
        const made = [fromArray([1]), eye(2), arange(0, 3), rand([2]), randn([2]), randint(0, 9, [2])];
        places.push(...made.map((t) => t.device), ones([2], { dtype: 'i32' }).device);
        return x;
      },
      backward: (_ctx, g) => [g],
    });
    probe([tensor([1]).to('webgpu')]);
    expect(places).toEqual([null, null, null, null, null, null, webgpu.device]);
  });
});
