/** Weights of edges reach the layers that use them: from memory, from files, through a partition buffer and in shards. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PreparedDataset } from 'skein/data';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { checkAgainstDataset, factsOf } from '#internal/train/config/check-dataset.js';
import { randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const numNodes = 60;
const train = randomRows(numNodes, 240, 0);
const random = new Random(3);
const weights = Float32Array.from({ length: train.length / 2 }, () => 0.1 + random.nextFloat());
const values = Float32Array.from({ length: numNodes * 6 }, () => random.nextFloat());
const ids = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, i) => from + i);

/** The graph with these weights; null: without. */
function dataset(given: Float32Array | null): string {
  const at = writeDataset(folder(), {
    ...{ numNodes, numClasses: 3, labels: ids(0, numNodes).map((i) => i % 3), train },
    nodes: { train: ids(0, 30), validation: ids(30, 45), test: ids(45, 60) },
    features: { width: 6, values },
  });
  if (given !== null) writeFileSync(join(at, 'edges/train_edges_weights.bin'), new Uint8Array(given.buffer));
  return at;
}

const layer = (options: object, output_dim: number) => [{ type: 'GNN', output_dim, bias: true, options }];
const config = (
  at: string,
  options: object,
  more: { storage?: object; training?: object; distributed?: object } = {},
) =>
  tinyConfig(at, {
    model: {
      learning_task: 'NODE_CLASSIFICATION',
      encoder: {
        layers: [[{ type: 'FEATURE', output_dim: 6 }], layer(options, 3)],
        train_neighbor_sampling: [{ type: 'ALL' }],
      },
      decoder: null,
      loss: { type: 'CROSS_ENTROPY' },
    },
    storage: { model_dir: folder(), ...more.storage },
    training: { num_epochs: 2, batch_size: 1000, ...more.training },
    ...(more.distributed === undefined ? {} : { distributed: more.distributed }),
  });

const [plain, ones, weighed] = [null, new Float32Array(weights.length).fill(1), weights].map(dataset);

describe.each([['GCN'], ['GRAPH_CONV']])('%s', (type) => {
  const losses = async (at: string, more = {}) => (await run(config(at, { type }, more))).losses;

  test('weights change what it learns; equal weights of 1 are as none', async () => {
    const without = await losses(plain);
    expect(await losses(ones)).toEqual(without);
    const [first] = await losses(weighed);
    expect(Math.abs(first - without[0])).toBeGreaterThan(1e-4);
  });

  test('files and shards give the losses of memory', async () => {
    const inMemory = await losses(weighed);
    expect(await losses(weighed, { storage: { edges: { type: 'FLAT_FILE' } } })).toEqual(inMemory);
    const full_batch = true;
    const sharded = await losses(weighed, {
      training: { full_batch },
      distributed: { mode: 'sar', partitions: 2, partition_algorithm: 'random' },
    });
    for (const [i, loss] of sharded.entries()) expect(loss).toBeCloseTo(inMemory[i], 5);
  });

  test('a partition buffer sorts weights with their edges', async () => {
    const buffer = { type: 'PARTITION_BUFFER', options: { num_partitions: 3, buffer_capacity: 3 } };
    const inMemory = await losses(weighed);
    const whole = await losses(weighed, { storage: { features: buffer } });
    for (const [i, loss] of whole.entries()) expect(loss).toBeCloseTo(inMemory[i], 5);
    const two = { ...buffer, options: { ...buffer.options, num_partitions: 4, buffer_capacity: 2 } };
    const [first] = await losses(weighed, { storage: { features: two } });
    const [other] = await losses(ones, { storage: { features: two } });
    expect(Math.abs(first - other)).toBeGreaterThan(1e-4);
  });
});

test('weights that no layer uses are named', async () => {
  const facts = factsOf(await PreparedDataset.open(weighed));
  const warnings = (type: string) => checkAgainstDataset(config(weighed, { type }), facts);
  expect(warnings('GRAPH_SAGE')).toEqual([
    expect.stringContaining(
      'have weights, which no layer of the encoder uses. Layers that use them: GCN, GRAPH_CONV',
    ),
  ]);
  expect(warnings('GCN')).toEqual([]);
});
