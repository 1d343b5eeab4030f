/**
 * Link prediction on several workers learns what one worker learns: the same batches, losses that differ by rounding,
 * the same metrics; the same number of workers gives the same bytes; and a run resumes with any number of workers.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SkeinConfig } from 'skein/train';
import { describe, expect, it } from 'vitest';
import { learned, randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { isWide } from '../wide.js';
import { hasMpi, withoutMpi } from './mpi-launch.js';
import { expectClose, trainAlone, train as trainOn } from './train-runs.js';
import { workerCounts } from './worker-counts.js';

const folder = scratch();
const rows = randomRows(61, 400, 4);
const sets = {
  train: rows.subarray(0, 990),
  validation: rows.subarray(990, 1101),
  test: rows.subarray(1101),
};
const typed = writeDataset(folder(), { numNodes: 61, numRelations: 4, ...sets });
/** Few edges, for batches so small that there are many of them. */
const fewTyped = writeDataset(folder(), {
  numNodes: 61,
  numRelations: 4,
  ...sets,
  train: sets.train.subarray(0, 90),
});
const plainRows = randomRows(61, 300, 0);
const features = { width: 3, values: Float32Array.from({ length: 61 * 3 }, (_, i) => Math.sin(i)) };
const plain = writeDataset(folder(), {
  numNodes: 61,
  train: plainRows.subarray(0, 500),
  test: plainRows.subarray(500),
  features,
});
const fewPlain = writeDataset(folder(), {
  numNodes: 61,
  train: plainRows.subarray(0, 60),
  test: plainRows.subarray(500),
  features,
});

const sampled = { negative_sampling: { num_chunks: 3, negatives_per_positive: 7, degree_fraction: 0.5 } };
const encoder = (layers: object[], options: object) => ({
  train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
  layers: [layers, [{ type: 'GNN', options, output_dim: 8, bias: true }]],
});
const sage = (layers: object[]) => encoder(layers, { type: 'GRAPH_SAGE', aggregator: 'MEAN' });
const dropping = { type: 'GAT', num_heads: 2, input_dropout: 0.2, attention_dropout: 0.3 };

/** Overrides of the tiny configuration; every component of a batch that is split over workers has a case. */
const cases: Readonly<Record<string, readonly [dataset: string, more: object]>> = {
  'DistMult, chunks cut in two, Adagrad': [typed, {}],
  'means, all edges of a batch masked, relations both ways': [
    typed,
    {
      model: {
        loss: { type: 'SOFTMAX_CE', options: { reduction: 'MEAN' } },
        regularizer: { type: 'NORM', norm: 2, coef: 0.01 },
      },
      training: { negative_sampling: { num_chunks: 3, local_filter_mode: 'ALL' } },
    },
  ],
  'ComplEx with N3 and Adam on the table': [
    typed,
    {
      model: {
        decoder: { type: 'COMPLEX' },
        regularizer: { type: 'N3', coef: 0.001 },
        sparse_optimizer: { type: 'ADAM', options: { learning_rate: 0.01 } },
      },
    },
  ],
  'BPR, negatives among seen ends, metrics of lists': [
    typed,
    {
      model: { loss: { type: 'BPR', options: { reduction: 'MEAN' } } },
      training: { negative_sampling: { candidates: 'SEEN', known_filter: true } },
      evaluation: { metrics: ['mrr', 'recall@5', 'ndcg@5', 'coverage@5'] },
    },
  ],
  'margins, sampled evaluation': [
    typed,
    {
      model: { decoder: { type: 'TRANSE' }, loss: { type: 'RANKING', options: { reduction: 'MEAN' } } },
      evaluation: { negative_sampling: { filtered: false, ...sampled.negative_sampling } },
    },
  ],
  'negative edges': [
    typed,
    {
      model: {
        decoder: { type: 'DISTMULT', options: { edge_decoder_method: 'POS_AND_NEG' } },
        loss: { type: 'BCE_WITH_LOGITS', options: { reduction: 'SUM' } },
      },
    },
  ],
  'corrupted relations': [
    typed,
    { model: { decoder: { type: 'DISTMULT', options: { edge_decoder_method: 'CORRUPT_REL' } } } },
  ],
  'drawn negatives without true ones': [typed, { training: { negative_sampling: { known_filter: true } } }],
  'all nodes but true ones as negatives': [typed, { training: { negative_sampling: { filtered: true } } }],
  'batches smaller than the workers': [
    fewTyped,
    { training: { batch_size: 3 }, evaluation: { batch_size: 3 } },
  ],
  'half-precision rows': [typed, { storage: { embeddings: { options: { dtype: 'float16' } } } }],
  'GraphSAGE over embeddings, no relations': [
    plain,
    {
      model: {
        decoder: { type: 'DOT' },
        encoder: sage([{ type: 'EMBEDDING', output_dim: 5 }]),
      },
    },
  ],
  'GraphSAGE over features alone': [
    plain,
    { model: { decoder: { type: 'DOT' }, encoder: sage([{ type: 'FEATURE', output_dim: 3 }]) } },
  ],
  'dropout of embeddings, chunks cut in two': [
    typed,
    { model: { encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8, dropout: 0.3 }]] } } },
  ],
  'GAT with dropout, batches smaller than the workers': [
    fewPlain,
    {
      model: { decoder: { type: 'DOT' }, encoder: encoder([{ type: 'EMBEDDING', output_dim: 5 }], dropping) },
      training: { batch_size: 3 },
    },
  ],
};

const names = Object.keys(cases);

function config(name: string, directory: string, more: object = {}): SkeinConfig {
  const [dataset, own] = cases[name];
  const made = tinyConfig(dataset, own);
  const extra = more as Partial<SkeinConfig>;
  return {
    ...made,
    storage: { ...made.storage, model_dir: directory },
    training: { ...made.training, ...extra.training },
  };
}

const train = (workers: number, configs: readonly SkeinConfig[]) =>
  trainOn(workers, configs, `${folder()}.json`);

const numbers = (text: unknown): Float32Array =>
  new Float32Array(Uint8Array.from(Buffer.from(String(text), 'hex')).buffer);

describe.skipIf(!hasMpi)(`on several workers${withoutMpi}`, () => {
  it.each(workerCounts([2], [3, 4]))(
    'with %i, every case has the losses and metrics of one',
    async (workers) => {
      const one = await trainAlone(names.map((name) => config(name, folder())));
      const many = await train(
        workers,
        names.map((name) => config(name, folder())),
      );
      for (const [i, name] of names.entries()) {
        // Half-precision rows turn a rounding into a step of 2⁻¹¹.
        const tolerance = name.startsWith('half') ? 5e-3 : 2e-5;
        expect(one[i].losses.length, name).toBe(2);
        expectClose(many[i].losses, one[i].losses, tolerance);
        expect(Object.keys(many[i].test), name).toEqual(Object.keys(one[i].test));
        expect(Math.abs(many[i].test.mrr - one[i].test.mrr), name).toBeLessThan(0.01);
        const [a, b] = [await learned(many[i].directory), await learned(one[i].directory)];
        expect(Object.keys(a).sort(), name).toEqual(Object.keys(b).sort());
        if (!('embeddings' in a) || name.startsWith('half')) continue;
        const [x, y] = [numbers(a['embeddings']), numbers(b['embeddings'])];
        const worst = x.reduce((most, value, k) => Math.max(most, Math.abs(value - y[k])), 0);
        expect(worst, name).toBeLessThan(1e-3);
      }
    },
    300_000,
  );

  it('the same number gives the same bytes, also after a stop; another number resumes within rounding', async () => {
    const name = names[2];
    const epochs = (n: number, resume = false) => {
      const { training } = config(name, '');
      return { training: { ...training, num_epochs: n, resume_training: resume } };
    };
    const at = (n: number) => Array.from({ length: n }, () => folder());
    const [whole, again, cut, toOne, toMore] = at(5);
    const [w] = await train(2, [
      config(name, whole, epochs(3)),
      config(name, again, epochs(3)),
      ...[cut, toOne, toMore].map((path) => config(name, path, epochs(1))),
    ]);
    expect(await learned(again)).toEqual(await learned(whole));
    const [same] = await train(2, [config(name, cut, epochs(3, true))]);
    expect(same.losses).toEqual(w.losses.slice(1));
    expect(await learned(cut)).toEqual(await learned(whole));
    const [one] = await trainAlone([config(name, toOne, epochs(3, true))]);
    expectClose(one.losses, w.losses.slice(1), 1e-4);
    const fromOne = folder();
    await trainAlone([config(name, fromOne, epochs(1))]);
    const later = await train(isWide ? 4 : 3, [
      config(name, toMore, epochs(3, true)),
      config(name, fromOne, epochs(3, true)),
    ]);
    for (const { losses } of later) expectClose(losses, w.losses.slice(1), 1e-4);
    // Nothing but the run's own files: no temporary ones, no versions that nothing refers to.
    for (const path of [whole, cut, toMore, fromOne]) {
      expect(existsSync(join(path, 'run.lock'))).toBe(false);
      const left = readdirSync(join(path, 'table'));
      expect(left.filter((file) => !/^writable-\d{5}\.v\d+\.bin$/.test(file))).toEqual([]);
      // As many parts as a configuration file without distributed.partitions has, whatever the number of workers.
      expect(left.length).toBe(8);
      const log = readFileSync(join(path, 'metrics.jsonl'), 'utf8').trim().split('\n');
      const seen = log.map((line) => JSON.parse(line)).filter(({ event }) => event === 'epoch');
      expect(seen.map(({ epoch }) => epoch)).toEqual([1, 2, 3]);
    }
  }, 300_000);
});
