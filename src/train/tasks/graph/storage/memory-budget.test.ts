/** Memory budgets of workers, and of a resumed run. */
import { expect, test } from 'vitest';
import type { PreparedStats } from '../../../../data/prepare/dataset-yaml.js';
import { resolveConfig, type SkeinConfig } from '../../../config/index.js';
import { bufferConfig } from './initialize-table.js';
import { checkFullBatch, withMemoryBudget } from './memory-budget.js';

const stats = {
  ...{ dataset_dir: 'd', num_edges: 1e6, num_nodes: 4e6, num_relations: 1, num_train: 1e6 },
  ...{ num_valid: 0, num_test: 0, node_feature_dim: -1, num_classes: -1, num_partitions: 1 },
} as PreparedStats;

/** A table of 3 GiB: 4,000,000 rows of 100 floats with as many of Adagrad. */
const config: SkeinConfig = resolveConfig({
  model: {
    learning_task: 'LINK_PREDICTION',
    encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 100 }]] },
    decoder: { type: 'DISTMULT' },
  },
  storage: { dataset: { dataset_dir: 'd' }, memory_budget: '1G' },
}).config;

const shareOf = (workers: number): PreparedStats => ({ ...stats, num_nodes: stats.num_nodes / workers });
const decided = (workers: number, resumed: SkeinConfig | null = null) => {
  const { config: made, plan } = withMemoryBudget(config, shareOf(workers), resumed);
  return { config: made, plan, buffer: bufferConfig(made) };
};

test('a worker of two holds half of what the plan of one counts for a partition', () => {
  const [one, two] = [decided(1), decided(2)];
  const { num_partitions: p = 0, buffer_capacity: c = 0 } = two.buffer ?? {};
  // A worker has c · (nodes / p) / 2 rows of 800 bytes.
  expect(two.plan?.bufferBytes).toBeGreaterThanOrEqual(((c * stats.num_nodes) / p / 2) * 800);
  expect(two.plan?.memoryBytes).toBeLessThanOrEqual(2 ** 30);
  expect(c / p).toBeGreaterThan((one.buffer?.buffer_capacity ?? 0) / (one.buffer?.num_partitions ?? 1));
});

test('a run keeps its partitions with another number of workers, and what one of as many decided', () => {
  const one = decided(1);
  const two = decided(2);
  expect(two.buffer?.num_partitions).not.toBe(one.buffer?.num_partitions);
  const resumed = decided(2, one.config);
  expect(resumed.buffer?.num_partitions).toBe(one.buffer?.num_partitions);
  expect(resumed.plan?.memoryBytes).toBeLessThanOrEqual(2 ** 30);
  expect(decided(1, one.config).config).toEqual(one.config);
});

test('a budget that is too small is answered with the least one, which will do', () => {
  const given = (memory_budget: number): SkeinConfig => ({
    ...config,
    storage: { ...config.storage, memory_budget },
  });
  let message = '';
  try {
    withMemoryBudget(given(100 * 2 ** 20), stats);
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).toMatch(
    /^storage\.memory_budget: expected at least \d+M, got 100 MiB\. \d+ MiB of it are for the process .* Raise the budget/,
  );
  expect(message).not.toMatch(/planMemory|memoryBudget/);
  const least = Number(/at least (\d+)M/.exec(message)?.[1]) * 2 ** 20;
  expect(withMemoryBudget(given(least), stats).plan?.inMemory).toBe(false);
  expect(() => withMemoryBudget(given(least - 2 ** 20), stats)).toThrow('expected at least');
});

test('training on the whole graph is refused where rows would wait on disk', () => {
  const whole = { ...config, training: { ...config.training, full_batch: true } };
  const { plan } = withMemoryBudget(whole, stats);
  expect(() => checkFullBatch(whole, plan)).toThrow(
    /storage\.memory_budget: expected about \d+M or more with training\.full_batch, got 1\.00 GiB\. .*run -n 2 train.* training\.full_batch: false/,
  );
  const large = { ...whole, storage: { ...whole.storage, memory_budget: 2 ** 33 } };
  checkFullBatch(large, withMemoryBudget(large, stats).plan);
  checkFullBatch(config, plan);
});
