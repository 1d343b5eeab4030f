import { expect, it } from 'vitest';
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import { resolveConfig, type SkeinConfig } from '../../../config/index.js';
import { withEdgeOrder } from './edge-order.js';

function configOf(training: object = {}, sampling: object = {}): SkeinConfig {
  return resolveConfig({
    model: {
      learning_task: 'LINK_PREDICTION',
      encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 100 }]] },
      decoder: { type: 'DISTMULT' },
      sparse_optimizer: { type: 'ADAGRAD' },
    },
    storage: { dataset: { dataset_dir: 'somewhere' } },
    training: { ...training, negative_sampling: { negatives_per_positive: 100, ...sampling } },
  }).config;
}

const stats = (nodes: number) => ({ num_nodes: nodes, num_relations: 1 }) as PreparedStats;

function chosen(config: SkeinConfig, nodes: number, resumed: SkeinConfig | null = null): number {
  return withEdgeOrder(config, stats(nodes), resumed).training.bucket_partitions;
}

const inMemory = (partitions: number) => configOf({ bucket_partitions: partitions });

it('tables above 1 GiB with their state are trained by buckets, smaller ones in random order', () => {
  // 800 bytes a node: values and a sum of squares.
  expect(chosen(configOf(), 1_300_000)).toBe(0);
  expect(chosen(configOf(), 1_400_000)).toBe(9);
  expect(chosen(configOf(), 3_000_000)).toBe(18);
});

it('a value of the file stays', () => {
  expect(chosen(inMemory(0), 3_000_000)).toBe(0);
  expect(chosen(inMemory(12), 100)).toBe(12);
});

it('a run keeps the order that it was started with', () => {
  expect(chosen(configOf(), 3_000_000, inMemory(0))).toBe(0);
  expect(chosen(configOf(), 3_000_000, inMemory(7))).toBe(7);
  // Runs of versions without the key were trained in random order.
  expect(chosen(configOf(), 3_000_000, configOf())).toBe(0);
});

it('negatives among all nodes need the whole table anyway', () => {
  expect(chosen(configOf({}, { negatives_per_positive: -1 }), 3_000_000)).toBe(0);
  expect(chosen(configOf({}, { filtered: true }), 3_000_000)).toBe(0);
});
