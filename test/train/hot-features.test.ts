/** Features in their file with hot rows in memory: the same training whatever is kept, and mistakes in the configuration. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FileStore } from 'skein/storage';
import { Random } from 'skein/util';
import { describe, expect, test, vi } from 'vitest';
import { run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const numNodes = 120;
const width = 6;
const random = new Random(7);
const labels = Int32Array.from({ length: numNodes }, (_, i) => i % 3);
const values = Float32Array.from(
  { length: numNodes * width },
  (_, i) => random.nextFloat() + Number(i % width === labels[Math.floor(i / width)]),
);
const train = Int32Array.from({ length: 900 }, () => random.nextInt(numNodes));
const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);
const dataset = writeDataset(folder(), {
  ...{ numNodes, train, labels, numClasses: 3, features: { width, values } },
  nodes: { train: range(0, 70), validation: range(70, 90), test: range(90, 120) },
});
const encoder = {
  layers: [
    [{ type: 'FEATURE', output_dim: width }],
    [{ type: 'GNN', output_dim: 3, options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' } }],
  ],
  train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 4 } }],
};

const configure = (features: object, storage: object = {}) =>
  tinyConfig(dataset, {
    model: { learning_task: 'NODE_CLASSIFICATION', encoder, decoder: null, loss: { type: 'CROSS_ENTROPY' } },
    storage: { features, model_dir: folder(), ...storage },
    training: { batch_size: 20, num_epochs: 3 },
  });

describe('features in a file', () => {
  const inMemory = run(configure({ type: 'HOST_MEMORY' }));

  test.each([
    ['no hot rows', {}],
    ['a fifth by push', { hot_cache_size: 24 * width * 4 }],
    ['a fifth by degree', { hot_cache_size: '1K', hot_policy: 'degree' }],
    ['a fifth by 20 batches', { hot_cache_size: '1K', hot_policy: 'PRESAMPLE' }],
    ['some that come and go', { hot_cache_size: '0.5K', hot_policy: 'SIEVE' }],
    ['all of them', { hot_cache_size: '0.1G' }],
  ])('%s: the losses of memory', async (_, options) => {
    const done = await run(configure({ type: 'FLAT_FILE', options }));
    expect(done.losses).toEqual((await inMemory).losses);
    expect(done.test).toEqual((await inMemory).test);
    // They are read where they are: nothing of them is copied into the run.
    expect(existsSync(join(done.directory, 'table'))).toBe(false);
  });

  test('are read from the file while training runs', async () => {
    const reads = vi.spyOn(FileStore.prototype, 'gather');
    await run(configure({ type: 'FLAT_FILE' }));
    expect(reads.mock.calls.length).toBeGreaterThan(10);
    reads.mockClear();
    await run(configure({ type: 'HOST_MEMORY' }));
    expect(reads.mock.calls).toHaveLength(0);
    reads.mockRestore();
  });
});

test('what is wrong is named', () => {
  const problem =
    (options: object, storage: object = {}) =>
    () =>
      configure({ type: 'FLAT_FILE', options }, storage);
  const key = 'storage.features.options';
  expect(problem({ hot_cache_size: '0.1X' })).toThrow(`for ${key}.hot_cache_size, got "0.1X"`);
  expect(problem({ hot_policy: 'PULL' })).toThrow(
    `expected one of PUSH, DEGREE, PRESAMPLE, SIEVE for ${key}.hot_policy`,
  );
  expect(problem({ hot_cache: 1 })).toThrow('hot_cache');
  expect(problem({ hot_cache_size: '1G' }, { edges: { type: 'FLAT_FILE' } })).toThrow(
    `expected SIEVE with storage.edges.type FLAT_FILE for ${key}.hot_policy, got "PUSH"`,
  );
});
