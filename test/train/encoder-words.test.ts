/** Every kind of graph layer that a configuration can name, with what may follow it: activation, normalisation, dropout. */
import { convWords } from 'skein/gnn';
import { SynchronousEvaluator, SynchronousTrainer } from 'skein/marius';
import { activationWords } from 'skein/nn';
import { openRun } from 'skein/train';
import { describe, expect, it, test } from 'vitest';
import { ringRows, run, scratch, setUp, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = ringRows(16, 2);
const ring = writeDataset(folder(), {
  numNodes: 16,
  numRelations: 2,
  train: rows,
  validation: rows,
  test: rows,
});

const encoder = (options: object, more: object = {}) => ({
  layers: [
    [{ type: 'EMBEDDING', output_dim: 6, init: { type: 'NORMAL', options: { mean: 0, std: 0.3 } } }],
    [{ type: 'GNN', output_dim: 8, bias: true, options, ...more }],
  ],
  train_neighbor_sampling: [{ type: 'ALL' }],
});

const configOf = (options: object, more: object = {}, storage: object = {}) =>
  tinyConfig(ring, {
    model: { encoder: encoder(options, more) },
    training: { batch_size: 32, num_epochs: 3, negative_sampling: { filtered: true } },
    storage,
  });

async function losses(options: object, more: object = {}): Promise<number[]> {
  const { batcher, model, table } = await setUp(configOf(options, more), folder());
  const found: number[] = [];
  const onEpoch = ({ loss }: { loss: number }) => void found.push(loss);
  await new SynchronousTrainer(batcher, model, { onEpoch }).train(10);
  await table.unload(false);
  return found;
}

function expectFalling(found: readonly number[]): void {
  expect(found.every(Number.isFinite)).toBe(true);
  expect(found[found.length - 1]).toBeLessThan(found[0]);
}

/** Other options than the defaults, where a layer has some. */
const others: Readonly<Record<string, object>> = {
  GRAPH_SAGE: { aggregator: 'POOL' },
  GAT: { num_heads: 2, average_heads: false },
  GATV2: { num_heads: 2, average_heads: false, share_weights: true },
  GIN: { hidden_dim: 5, eps: 0.1, train_eps: true },
  GRAPH_CONV: { reduce: 'MAX' },
  TRANSFORMER: { num_heads: 4, average_heads: false, beta: true },
  RGCN: { num_bases: 2 },
};

describe.each(convWords.map(({ word }) => word))('%s', (type) => {
  test('learns', async () => expectFalling(await losses({ type })));

  if (type in others)
    test('learns with other options', async () => expectFalling(await losses({ type, ...others[type] })));
});

test.each(Object.keys(activationWords))('activation %s', async (activation) => {
  expectFalling(await losses({ type: 'GCN' }, { activation }));
});

describe.each(['BATCH', 'LAYER'])('normalisation %s', (norm) => {
  it('learns beside dropout', async () => {
    expectFalling(await losses({ type: 'GCN' }, { norm, dropout: 0.1, activation: 'RELU' }));
  });

  it('is saved with the run, and used as it is afterwards', async () => {
    const directory = folder();
    const { test: metrics } = await run(
      configOf({ type: 'GIN' }, { norm, dropout: 0.3, activation: 'ELU' }, { model_dir: directory }),
    );
    const { batcher, model, close } = await openRun(directory, { over: 'graph' });
    expect(await new SynchronousEvaluator(batcher, model).evaluate()).toEqual(metrics);
    await close();
  });
});

test('heads that do not divide the output are refused for every layer that has heads', () => {
  for (const type of ['GAT', 'GATV2', 'TRANSFORMER'])
    expect(() => configOf({ type, num_heads: 3, average_heads: false })).toThrow(
      /layers\[1\]\[0\]\.output_dim, got 8\. .*average_heads: true/,
    );
});
