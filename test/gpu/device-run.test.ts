/**
 * Whole runs with `storage.device_type: webgpu`: the same results as on the CPU, resuming from checkpoints bit for bit,
 * and a missing or lost device.
 */
import { existsSync } from 'node:fs';
import { GpuDevice } from 'skein/gpu';
import { Output } from 'skein/train';
import { DeviceError } from 'skein/util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { learned, run, scratch, tinyConfig } from '../train/tiny.js';
import { writeLinks, writePapers } from './tiny-datasets.js';

const folder = scratch();
const links = writeLinks(folder());
const papers = writePapers(folder());
const gnn = (output: number) => ({
  type: 'GNN',
  options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' },
  output_dim: output,
  bias: true,
});
const classifier = {
  model: {
    learning_task: 'NODE_CLASSIFICATION',
    encoder: {
      train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
      layers: [[{ type: 'FEATURE', output_dim: 6 }], [gnn(3)]],
    },
    decoder: { type: 'NODE' },
    loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
    dense_optimizer: { type: 'ADAM', options: { learning_rate: 0.05 } },
  },
  training: { batch_size: 10 },
  evaluation: { negative_sampling: { filtered: false } },
};

/** Writes a configuration merged with `more` to a new directory. */
function configOn(type: string, dataset: string, more: object = {}, directory = folder()) {
  const { storage = {}, ...rest } = more as { storage?: object };
  return tinyConfig(dataset, {
    ...rest,
    storage: { device_type: type, model_dir: directory, dataset: { dataset_dir: dataset }, ...storage },
  });
}

const deviceMemory = { storage: { embeddings: { type: 'DEVICE_MEMORY' } } };
const saved = { training: { checkpoint: { interval: 1 }, num_epochs: 3 } };

const finished = new Map<object, string>();

/** Returns the directory of an uninterrupted run. */
async function uninterrupted(more: object): Promise<string> {
  const known = finished.get(more) ?? (await run(configOn('webgpu', links, { ...saved, ...more }))).directory;
  finished.set(more, known);
  return known;
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe('a run on webgpu', () => {
  it.each([
    ['DistMult', links, {}],
    ['ComplEx, rows on the device', links, { model: { decoder: { type: 'COMPLEX' } }, ...deviceMemory }],
    ['node classification', papers, classifier],
    [
      'node classification, features through a cache',
      papers,
      { ...classifier, storage: { device_cache_size: '240' } },
    ],
  ])('%s learns what one on the cpu learns', async (_name, dataset, more) => {
    const warn = vi.spyOn(Output.prototype, 'warn');
    const want = await run(configOn('cpu', dataset, more));
    const got = await run(configOn('webgpu', dataset, more));
    expect(got.losses).toHaveLength(want.losses.length);
    for (const [i, loss] of want.losses.entries()) expect(Math.abs(got.losses[i] - loss)).toBeLessThan(1e-4);
    for (const [name, value] of Object.entries(want.test)) expect(got.test[name]).toBeCloseTo(value, 1);
    const started = got.events.find(({ event }) => event === 'config');
    expect(started).toMatchObject({ device: 'webgpu' });
    const slower = warn.mock.calls.filter(([message]) => /slower than cpu/.test(message));
    expect(slower).toHaveLength(/swiftshader|llvmpipe/i.test(String(started?.adapter)) ? 1 : 0);
  });

  it.each([
    ['in memory', {}],
    ['on the device', deviceMemory],
  ])('resumes from its checkpoint bit for bit after an interruption, rows %s', async (_name, more) => {
    const through = await uninterrupted(more);
    const directory = folder();
    const config = configOn('webgpu', links, { ...saved, ...more }, directory);
    const interrupted = run(config, ({ event, epoch }) => {
      if (event === 'epoch' && epoch === 2) throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    const training = { ...saved.training, resume_training: true };
    await run(configOn('webgpu', links, { ...saved, ...more, training }, directory));
    expect(await learned(directory)).toEqual(await learned(through));
  });

  it('whose device is lost ends with the reason and resumes from its checkpoint', async () => {
    const through = await uninterrupted(deviceMemory);
    const flush = GpuDevice.prototype.flush;
    let device: GpuDevice | null = null;
    vi.spyOn(GpuDevice.prototype, 'flush').mockImplementation(function (this: GpuDevice) {
      device = this;
      flush.call(this);
    });
    const directory = folder();
    const lost = run(
      configOn('webgpu', links, { ...saved, ...deviceMemory }, directory),
      ({ event, epoch }) => {
        if (event === 'epoch' && epoch === 2) device?.raw.destroy();
      },
    );
    const error = await lost.catch((e: unknown) => e);
    expect(error).toBeInstanceOf(DeviceError);
    expect((error as DeviceError).details.reason).toBe('lost');
    expect((error as DeviceError).message).toMatch(/lost.*last checkpoint.*resume_training=true/);
    const training = { ...saved.training, resume_training: true };
    await run(configOn('webgpu', links, { ...deviceMemory, training }, directory));
    expect(await learned(directory)).toEqual(await learned(through));
  });
});

describe('without a GPU', () => {
  it('webgpu is rejected with advice, and no files remain', async () => {
    vi.stubEnv('SKEIN_GPU', '0');
    const directory = folder();
    const error = await run(configOn('webgpu', links, {}, directory)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(DeviceError);
    expect((error as DeviceError).details.reason).toBe('no-adapter');
    expect((error as DeviceError).message).toMatch(/SKEIN_GPU=0 forbids it\. Unset it, or use the CPU/);
    expect(existsSync(directory)).toBe(false);
  });

  it('cuda falls back on the cpu, with a warning and the same bits', async () => {
    vi.stubEnv('SKEIN_GPU', '0');
    const warn = vi.spyOn(Output.prototype, 'warn');
    const want = await run(configOn('cpu', links));
    const got = await run(configOn('cuda', links, deviceMemory));
    expect(await learned(got.directory)).toEqual(await learned(want.directory));
    expect(warn.mock.calls.join('\n')).toMatch(
      /storage\.device_type: expected a GPU for cuda, .* runs on the cpu/,
    );
  });
});
