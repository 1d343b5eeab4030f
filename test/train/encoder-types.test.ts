/** Every kind of graph layer that a configuration can name, with what may follow it: activation, normalisation, dropout. */
import type { APPNP, SGConv } from 'skein/gnn';
import { Graph } from 'skein/graph';
import { GraphBatcher, SynchronousEvaluator, SynchronousTrainer } from 'skein/marius';
import { fromTypedArray, noGrad } from 'skein/tensor';
import { type GeneralEncoder, openRun } from 'skein/train';
import { describe, expect, it, test } from 'vitest';
import { convTypes } from '#internal/gnn/conv/index.js';
import { activationTypes } from '#internal/nn/activation.js';
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

/** Layers that need a sampler for each of several hops. */
const hops: Readonly<Record<string, number>> = { SGC: 2, APPNP: 2, LIGHT_GCN: 2 };

const encoder = (options: object, more: object = {}) => ({
  layers: [
    [{ type: 'EMBEDDING', output_dim: 8, init: { type: 'NORMAL', options: { mean: 0, std: 0.3 } } }],
    [{ type: 'GNN', output_dim: 8, bias: true, options, ...more }],
  ],
  train_neighbor_sampling: Array.from({ length: hops[(options as { type: string }).type] ?? 1 }, () => ({
    type: 'ALL',
  })),
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
  APPNP: { alpha: 0.3, step_dropout: 0.1 },
};

describe.each(convTypes.map(({ name }) => name))('%s', (type) => {
  test('learns', async () => expectFalling(await losses({ type })));

  if (type in others)
    test('learns with other options', async () => expectFalling(await losses({ type, ...others[type] })));
});

test.each(Object.keys(activationTypes))('activation %s', async (activation) => {
  expectFalling(await losses({ type: 'GCN' }, { activation }));
});

describe.each(['BATCH', 'LAYER'])('normalisation %s', (norm) => {
  it('learns with dropout', async () => {
    expectFalling(await losses({ type: 'GCN' }, { norm, dropout: 0.1, activation: 'RELU' }));
  });

  it('is saved with the run, and used as it is afterwards', async () => {
    const directory = folder();
    const { test: metrics } = await run(
      configOf({ type: 'GIN' }, { norm, dropout: 0.3, activation: 'ELU' }, { model_dir: directory }),
    );
    const { source, model, close } = await openRun(directory, { over: 'graph' });
    expect(await new SynchronousEvaluator(new GraphBatcher(source), model).evaluate()).toEqual(metrics);
    await close();
  });
});

describe.each(['SGC', 'APPNP', 'LIGHT_GCN'])('%s goes several hops', (type) => {
  it('as many hops as on the whole graph', async () => {
    const { batcher, model, table, embeddings, storage } = await setUp(configOf({ type }), folder());
    batcher.setTrainSet();
    await batcher.loadStorage();
    const encoder = model.encoder as GeneralEncoder;
    const { rows: got, width } = await encoder.encodeFullGraph(batcher.evaluationNeighborSampler, storage);
    const ids = Int32Array.from({ length: 16 }, (_, i) => i);
    const x = fromTypedArray(await embeddings.gather(ids), [16, 8]);
    const ends = (at: number) => rows.filter((_, i) => i % 3 === at);
    const both = (a: number, b: number) => Int32Array.from([...ends(a), ...ends(b)]);
    const graph = Graph.fromEdges(both(0, 2), both(2, 0), { numNodes: 16 });
    const { conv } = encoder.stages[1][0] as unknown as { conv: SGConv | APPNP };
    const want = noGrad(() => conv.forward(graph, x)).dataSync();
    expect(width).toBe(8);
    for (const [i, value] of got.entries()) expect(value).toBeCloseTo(want[i] as number, 5);
    await table.unload(false);
  });

  it('also after the run is opened', async () => {
    const directory = folder();
    const { test: metrics } = await run(configOf({ type }, {}, { model_dir: directory }));
    const { source, model, close } = await openRun(directory, { over: 'graph' });
    expect(await new SynchronousEvaluator(new GraphBatcher(source), model).evaluate()).toEqual(metrics);
    await close();
  });

  it('so that it needs a sampler for each', () => {
    const config = {
      model: { encoder: { ...encoder({ type }), train_neighbor_sampling: [{ type: 'ALL' }] } },
    };
    expect(() => tinyConfig(ring, config)).toThrow(/expected 2 entries.*train_neighbor_sampling, got "1"/);
  });

  it('only with layers of as many hops', () => {
    const layers = [
      [
        { type: 'EMBEDDING', output_dim: 8 },
        { type: 'EMBEDDING', output_dim: 8 },
      ],
      [
        { type: 'GNN', output_dim: 8, options: { type } },
        { type: 'GNN', output_dim: 8, options: { type: 'GCN' } },
      ],
      [{ type: 'REDUCTION' }],
    ];
    const config = { model: { encoder: { layers, train_neighbor_sampling: [{}, {}] } } };
    expect(() => tinyConfig(ring, config)).toThrow(/expected graph layers of 2 hops .*same number of hops/);
  });
});

test('heads that do not divide the output are refused for every layer that has heads', () => {
  for (const type of ['GAT', 'GATV2', 'TRANSFORMER'])
    expect(() => configOf({ type, num_heads: 3, average_heads: false })).toThrow(
      /layers\[1\]\[0\]\.output_dim, got 8\. .*average_heads: true/,
    );
});
