/** Learning: every decoder with every loss, ways to corrupt, regularisers, optimisers, kinds of tables. */

import { SynchronousEvaluator, SynchronousTrainer } from 'skein/marius';
import { parameter } from 'skein/nn';
import { fromTypedArray, mul, sum } from 'skein/tensor';
import type { LinkPredictionModel, OptimizerConfig } from 'skein/train';
import { describe, expect, test } from 'vitest';
import { newOptimizer } from '#internal/train/tasks/graph/model/optimizers.js';
import { numbersOf, ringRows, run, scratch, setUp, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = ringRows(16, 2);
const ring = writeDataset(folder(), { numNodes: 16, numRelations: 2, train: rows, test: rows });
const plain = writeDataset(folder(), { numNodes: 16, train: ringRows(16, 0), test: ringRows(16, 0) });

/** Starts far enough from 0 for every decoder to move; negatives are all nodes, so that losses compare. */
const base = {
  model: {
    encoder: {
      layers: [
        [{ type: 'EMBEDDING', output_dim: 8, init: { type: 'NORMAL', options: { mean: 0, std: 0.3 } } }],
      ],
    },
  },
  training: { batch_size: 32, negative_sampling: { filtered: true } },
};

/** The loss of each of so many epochs. */
async function losses(dataset: string, model: object, epochs: number, more: object = {}): Promise<number[]> {
  const config = tinyConfig(dataset, { ...base, model: { ...base.model, ...model }, ...more });
  const { batcher, model: made, table } = await setUp(config, folder());
  const found: number[] = [];
  const onEpoch = ({ loss }: { loss: number }) => void found.push(loss);
  await new SynchronousTrainer(batcher, made, { onEpoch }).train(epochs);
  await table.unload(false);
  return found;
}

function expectFalling(found: readonly number[]): void {
  expect(found.every(Number.isFinite)).toBe(true);
  expect(found[found.length - 1]).toBeLessThan(found[0]);
}

const decoders = ['DISTMULT', 'TRANSE', 'COMPLEX', 'ROTATE', 'DOT'];
const lossTypes = [
  'SOFTMAX_CE',
  'RANKING',
  'CROSS_ENTROPY',
  'BCE_AFTER_SIGMOID',
  'BCE_WITH_LOGITS',
  'MSE',
  'SOFTPLUS',
];

describe.each(decoders)('%s', (type) => {
  test.each(lossTypes)('learns with %s', async (loss) => {
    const model = { decoder: { type }, loss: { type: loss, options: { reduction: 'MEAN' } } };
    expectFalling(await losses(type === 'DOT' ? plain : ring, model, 20));
  });

  test('learns the ring by heart', async () => {
    const model = {
      decoder: { type },
      encoder: {
        layers: [[{ type: 'EMBEDDING', output_dim: 16, init: { type: 'NORMAL', options: { std: 0.3 } } }]],
      },
    };
    const dataset = type === 'DOT' ? plain : ring;
    const config = tinyConfig(dataset, { ...base, model: { ...base.model, ...model } });
    const { batcher, model: made, table } = await setUp(config, folder());
    const evaluator = new SynchronousEvaluator(batcher, made);
    const before = await evaluator.evaluate();
    await new SynchronousTrainer(batcher, made).train(60);
    const after = await evaluator.evaluate();
    expect(after['mrr']).toBeGreaterThan(before['mrr']);
    // A cycle can be turned through, but neither a symmetric score nor a translation can follow it.
    expect(after['mrr']).toBeGreaterThan(type === 'COMPLEX' || type === 'ROTATE' ? 0.9 : 0.35);
    await table.unload(false);
  });
});

describe('how edges are corrupted', () => {
  test.each(['CORRUPT_NODE', 'CORRUPT_REL', 'POS_AND_NEG'])('%s learns', async (edge_decoder_method) => {
    for (const type of ['DISTMULT', 'TRANSE']) {
      const decoder = { type, options: { edge_decoder_method } };
      const training = { batch_size: 32, negative_sampling: { num_chunks: 3, negatives_per_positive: 12 } };
      const loss = { type: 'BCE_WITH_LOGITS', options: { reduction: 'MEAN' } };
      const found = await losses(ring, { decoder, loss }, 30, { training });
      expect(found.every(Number.isFinite)).toBe(true);
      const mean = (list: number[]) => list.reduce((a, b) => a + b) / list.length;
      expect(mean(found.slice(-5))).toBeLessThan(mean(found.slice(0, 5)));
    }
  });

  test('ONLY_POS has nothing to compare with, and says so', async () => {
    const decoder = { type: 'DISTMULT', options: { edge_decoder_method: 'ONLY_POS' } };
    await expect(losses(ring, { decoder }, 1)).rejects.toThrow(/ONLY_POS/);
  });

  test.each(['DISTMULT', 'TRANSE', 'COMPLEX', 'ROTATE'])(
    '%s without inverse edges predicts both ends',
    async (type) => {
      const decoder = { type, options: { inverse_edges: false } };
      expectFalling(await losses(ring, { decoder }, 10));
      const config = tinyConfig(ring, { ...base, model: { ...base.model, decoder } });
      const { batcher, model, table } = await setUp(config, folder());
      const { decoder: made } = model as LinkPredictionModel;
      expect(made.inverseRelations).toBeNull();
      batcher.setTrainSet();
      await batcher.loadStorage();
      const batch = await batcher.getBatch();
      const scores = (model as LinkPredictionModel).forward(batch, true);
      expect(scores.map((t) => t?.shape)).toEqual([[32], [32, 16], [32], [32, 16]]);
      batcher.finishedBatch();
      await table.unload(false);
    },
  );

  test('without relations both ends are corrupted', async () => {
    const config = tinyConfig(plain, { ...base, model: { ...base.model, decoder: { type: 'DOT' } } });
    const { batcher, model, table } = await setUp(config, folder());
    batcher.setTrainSet();
    await batcher.loadStorage();
    const batch = await batcher.getBatch();
    const scores = (model as LinkPredictionModel).forward(batch, true);
    expect(scores.map((t) => t?.shape)).toEqual([[16], [16, 16], [16], [16, 16]]);
    batcher.finishedBatch();
    await table.unload(false);
  });

  test.each(['DISTMULT', 'COMPLEX', 'TRANSE', 'ROTATE'])(
    '%s learns edges without relations',
    async (type) => {
      expectFalling(await losses(plain, { decoder: { type } }, 20));
    },
  );

  test('without relations DISTMULT is DOT', async () => {
    const [first, second] = await Promise.all(
      ['DISTMULT', 'DOT'].map((type) => losses(plain, { decoder: { type } }, 3)),
    );
    expect(first).toEqual(second);
  });

  test.each(['DOT', 'L2', 'L1', 'COSINE'])('comparator %s learns', async (comparator) => {
    expectFalling(await losses(ring, { decoder: { type: 'DISTMULT', options: { comparator } } }, 20));
  });
});

describe('regularisers', () => {
  const sizes = async (regularizer: object): Promise<number> => {
    const config = tinyConfig(ring, { ...base, model: { ...base.model, regularizer } });
    const { batcher, model, table, embeddings } = await setUp(config, folder());
    await new SynchronousTrainer(batcher, model).train(15);
    const values = await embeddings.gather(Int32Array.from({ length: 16 }, (_, i) => i));
    await table.unload(false);
    return values.reduce((total, x) => total + x * x, 0);
  };

  test.each([
    { type: 'NORM', norm: 1, coef: 0.5 },
    { type: 'NORM', norm: 2, coef: 0.5 },
    { type: 'NORM', norm: 3, coef: 0.5 },
    { type: 'N3', coef: 0.5 },
  ])('$type $norm keeps rows small', async (regularizer) => {
    expect(await sizes(regularizer)).toBeLessThan(0.9 * (await sizes({ type: 'NONE' })));
  });

  test('add their value to the loss', async () => {
    const [free] = await losses(ring, { regularizer: { type: 'NONE' } }, 1);
    const [bound] = await losses(ring, { regularizer: { type: 'N3', coef: 0.25 } }, 1);
    const config = tinyConfig(ring, base);
    const { table, model, embeddings } = await setUp(config, folder());
    await table.load();
    const values = await embeddings.gather(Int32Array.from({ length: 16 }, (_, i) => i));
    // Every node is the source of two edges and the destination of two, in two directions; relations start as ones.
    const cubes = 2 * (4 * values.reduce((total, x) => total + Math.abs(x) ** 3, 0) + 32 * 8);
    expect(bound - free).toBeCloseTo(0.25 * cubes, 2);
    expect((model as LinkPredictionModel).regularizer).toBeNull();
    await table.unload(false);
  });
});

/** One element of each optimiser, as PyTorch writes it down. */
type Rule = (p: number, g: number, state: number[], step: number) => number;
const adagrad = (lr: number, eps: number, lrDecay: number, decay: number): Rule => {
  return (p, g0, state, step) => {
    const g = g0 + decay * p;
    state[0] = (state[0] ?? 0.1) + g * g;
    return p - ((lr / (1 + (step - 1) * lrDecay)) * g) / (Math.sqrt(state[0]) + eps);
  };
};
const adam = (lr: number, b1: number, b2: number, eps: number, decay: number, amsgrad: boolean): Rule => {
  return (p, g0, state, step) => {
    const g = g0 + decay * p;
    state[0] = b1 * (state[0] ?? 0) + (1 - b1) * g;
    state[1] = b2 * (state[1] ?? 0) + (1 - b2) * g * g;
    state[2] = Math.max(state[2] ?? 0, state[1]);
    const v = amsgrad ? state[2] : state[1];
    return p - ((lr / (1 - b1 ** step)) * state[0]) / (Math.sqrt(v) / Math.sqrt(1 - b2 ** step) + eps);
  };
};
const adamOptions = { learning_rate: 0.1, beta_1: 0.8, beta_2: 0.9, eps: 1e-6, weight_decay: 0.01 };
const adagradOptions = { learning_rate: 0.3, eps: 1e-8, init_value: 0.1, lr_decay: 0.2, weight_decay: 0.05 };
/** Name, configuration, rule of dense parameters, rule of rows (which have no decay). */
const optimizers: readonly (readonly [string, OptimizerConfig, Rule, Rule])[] = [
  ['SGD', { type: 'SGD', options: { learning_rate: 0.3 } }, (p, g) => p - 0.3 * g, (p, g) => p - 0.3 * g],
  [
    'ADAGRAD',
    { type: 'ADAGRAD', options: adagradOptions },
    adagrad(0.3, 1e-8, 0.2, 0.05),
    adagrad(0.3, 1e-8, 0, 0),
  ],
  [
    'ADAM',
    { type: 'ADAM', options: { ...adamOptions, amsgrad: false } },
    adam(0.1, 0.8, 0.9, 1e-6, 0.01, false),
    adam(0.1, 0.8, 0.9, 1e-6, 0, false),
  ],
  [
    'ADAM amsgrad',
    { type: 'ADAM', options: { ...adamOptions, amsgrad: true } },
    adam(0.1, 0.8, 0.9, 1e-6, 0.01, true),
    adam(0.1, 0.8, 0.9, 1e-6, 0, false),
  ],
];
/** Gradients fall, so that amsgrad remembers a larger square. */
const slopes = [
  [2, -1, 0.5],
  [0.3, 0.2, -0.1],
  [-0.1, 0.05, 0.02],
  [0.01, -0.4, 0.03],
];
const start = [0.5, -1, 2];

function expected(rule: Rule): number[] {
  return start.map((first, i) => {
    const state: number[] = [];
    return slopes.reduce((p, g, step) => rule(p, g[i], state, step + 1), first);
  });
}

function expectClose(got: ArrayLike<number>, wanted: readonly number[]): void {
  expect(got.length).toBe(wanted.length);
  wanted.forEach((x, i) => {
    expect(Math.abs(got[i] - x)).toBeLessThan(2e-6 * Math.max(1, Math.abs(x)));
  });
}

describe.each(optimizers)('%s', (_name, config, rule, rowRule) => {
  test('moves dense parameters by its formula', () => {
    const p = parameter(fromTypedArray(Float32Array.from(start), [3]));
    const optimizer = newOptimizer([p], config);
    for (const g of slopes) {
      optimizer.zeroGrad();
      sum(mul(p, fromTypedArray(Float32Array.from(g), [3]))).backward();
      optimizer.step();
    }
    expectClose(p.dataSync(), expected(rule));
  });

  test('moves rows of the node table by its formula, and no others', async () => {
    const more = { model: { sparse_optimizer: config, encoder: constantRows } };
    const { table, embeddings } = await setUp(tinyConfig(ring, more), folder());
    await table.load();
    for (const g of slopes) embeddings.update(Int32Array.of(7, 2), Float32Array.from([...g, ...g]));
    const read = async (id: number) => embeddings.gather(Int32Array.of(id));
    const state: number[] = [];
    const wanted = [0, 1, 2].map((i) => {
      state.length = 0;
      return slopes.reduce((p, g, step) => rowRule(p, g[i], state, step + 1), 0.5);
    });
    expectClose(await read(7), wanted);
    expectClose(await read(2), wanted);
    expect([...(await read(3))]).toEqual([0.5, 0.5, 0.5]);
    await table.unload(false);
  });

  test('learns as both', async () => {
    const options = { ...config.options, learning_rate: 0.02, weight_decay: 0, amsgrad: false };
    const { weight_decay, amsgrad, ...least } = options;
    const type = config.type;
    const given = {
      type,
      options: type === 'SGD' ? least : type === 'ADAGRAD' ? { ...least, weight_decay } : options,
    };
    expectFalling(await losses(ring, { dense_optimizer: given, sparse_optimizer: given }, 20));
  });
});

const constantRows = {
  layers: [[{ type: 'EMBEDDING', output_dim: 3, init: { type: 'CONSTANT', options: { constant: 0.5 } } }]],
};

describe('the decoder’s own optimiser', () => {
  test('moves relations in place of the common one', async () => {
    const still = { type: 'SGD', options: { learning_rate: 1e-30 } };
    const config = tinyConfig(ring, {
      ...base,
      model: { ...base.model, decoder: { type: 'DISTMULT', optimizer: still } },
    });
    const { batcher, model, table } = await setUp(config, folder());
    await new SynchronousTrainer(batcher, model).train(2);
    const { decoder } = model as LinkPredictionModel;
    expect(decoder.relations?.dataSync().every((x) => x === 1)).toBe(true);
    await table.unload(false);
  });
});

describe.each(['float16', 'bfloat16', 'float32'])('a table of %s', (dtype) => {
  test.each(['HOST_MEMORY', 'PARTITION_BUFFER'])('learns in %s', async (type) => {
    const partitions = type === 'HOST_MEMORY' ? 1 : 4;
    const options = type === 'HOST_MEMORY' ? { dtype } : { dtype, num_partitions: 4, buffer_capacity: 2 };
    const dataset = writeDataset(folder(), {
      numNodes: 16,
      numRelations: 2,
      train: rows,
      test: rows,
      partitions,
    });
    const more = {
      ...base,
      storage: { embeddings: { type, options }, model_dir: folder() },
      training: { batch_size: 32, num_epochs: 8, negative_sampling: { negatives_per_positive: 20 } },
    };
    const { losses: found, test: metrics } = await run(tinyConfig(dataset, more));
    expectFalling(found);
    expect(metrics['mrr']).toBeGreaterThan(0);
  });
});

test('the same configuration learns the same numbers', async () => {
  const config = tinyConfig(ring, base);
  const results: string[] = [];
  for (const seed of [5, 5, 6]) {
    const parts = await setUp({ ...config, model: { ...config.model, random_seed: seed } }, folder());
    await new SynchronousTrainer(parts.batcher, parts.model).train(2);
    results.push(await numbersOf(parts));
    await parts.table.unload(false);
  }
  expect(results[1]).toBe(results[0]);
  expect(results[2]).not.toBe(results[0]);
});
