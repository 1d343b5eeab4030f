/** Runs of RESCAL, RotE, MuRE and distances: they learn a cycle by heart, with negatives and against all nodes, in memory and through a buffer. */
import { describe, expect, test } from 'vitest';
import { ringRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = ringRows(16, 2);
const sets = { train: rows, validation: rows, test: rows };
const ring = writeDataset(folder(), { numNodes: 16, numRelations: 2, ...sets, partitions: 4 });

interface Model {
  readonly width: number;
  readonly decoder: object;
  readonly loss?: object;
  /** Whether scores are products. */
  readonly products: boolean;
}

const models: Record<string, Model> = {
  RESCAL: { width: 16, decoder: { type: 'RESCAL' }, products: true },
  'RESCAL with one table': {
    width: 16,
    decoder: { type: 'RESCAL', options: { inverse_edges: false, relation_dropout: 0.1 } },
    products: true,
  },
  ROTE: { width: 17, decoder: { type: 'ROTE' }, products: true },
  MURE: { width: 17, decoder: { type: 'MURE' }, products: true },
  'TRANSE with biases': {
    width: 17,
    decoder: { type: 'TRANSE', options: { comparator: 'SQUARED_L2', bias: true } },
    products: true,
  },
  'ROTATE by moduli': {
    width: 16,
    decoder: { type: 'ROTATE', options: { comparator: 'MODULUS' } },
    loss: { type: 'SELF_ADVERSARIAL', options: { offset: 3, subsampling: true } },
    products: false,
  },
};

const sampled = { negative_sampling: { negatives_per_positive: { src: 12, dst: 15 }, self_filter: true } };
const buffered = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};

async function trained(name: string, training: object, storage: object = {}): Promise<number[]> {
  const { width, decoder, loss = { type: 'SOFTMAX_CE' } } = models[name];
  const init = { type: 'NORMAL', options: { std: 0.3 } };
  const { losses } = await run(
    tinyConfig(ring, {
      model: { encoder: { layers: [[{ type: 'EMBEDDING', output_dim: width, init }]] }, decoder, loss },
      storage: { ...storage, model_dir: folder() },
      training: { num_epochs: 30, batch_size: 32, ...training },
      evaluation: { epochs_per_eval: 30, negative_sampling: { filtered: true } },
    }),
  );
  return losses;
}

function expectLearned(losses: readonly number[]): void {
  expect(losses.every(Number.isFinite)).toBe(true);
  expect(losses[losses.length - 1]).toBeLessThan(0.8 * losses[0]);
}

describe.each(Object.keys(models))('%s', (name) => {
  test('learns with negatives', async () => {
    expectLearned(await trained(name, sampled));
  });

  test('learns against all nodes, or is rejected', async () => {
    const training = { form: 'ONE_VS_ALL' };
    if (models[name].products) expectLearned(await trained(name, training));
    else await expect(trained(name, training)).rejects.toThrow(/model.loss.type|comparator/);
  });
});

test('biases are swapped with their rows', async () => {
  expectLearned(await trained('ROTE', sampled, buffered));
  await expect(trained('ROTATE by moduli', sampled, buffered)).rejects.toThrow(/subsampling/);
});
