/**
 * Training of queries against all nodes (`training.form`): equal bytes after a kill in the middle of an epoch and for any
 * number of threads, through a partition buffer too; and it learns.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { prepareDataset } from 'skein/data';
import { nativeStatus, setThreads } from 'skein/native';
import { BatchSource, resolveConfig, type SkeinConfig } from 'skein/train';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { learned, randomRows, ringRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const dataset = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...sets, partitions: 4 });

const buffered = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};
const adam = { type: 'ADAM', options: { learning_rate: 0.01 } };
const dense = {
  layers: [
    [{ type: 'EMBEDDING', output_dim: 8 }],
    [{ type: 'DENSE', output_dim: 8, bias: true, dropout: 0.2 }],
  ],
};
const kinds: Record<string, { model?: object; storage?: object; training?: object }> = {
  'one against all': { training: { form: 'ONE_VS_ALL', max_answers: 2 } },
  'whole queries, Adam': { model: { sparse_optimizer: adam }, training: { form: 'K_VS_ALL' } },
  'a buffer, one sum per row': {
    model: { sparse_optimizer: { type: 'ROW_ADAGRAD' } },
    storage: buffered,
    training: { form: 'ONE_VS_ALL' },
  },
  'half precision, weight decay': {
    model: { sparse_optimizer: { type: 'ADAGRAD', options: { weight_decay: 0.01 } } },
    storage: { embeddings: { type: 'HOST_MEMORY', options: { dtype: 'bfloat16' } } },
    training: { form: 'ONE_VS_ALL', max_answers: -1 },
  },
  'an encoder with a dense layer': { model: { encoder: dense }, training: { form: 'ONE_VS_ALL' } },
};

function config(kind: string, model_dir: string, training: object = {}): SkeinConfig {
  const { model = {}, storage = {}, training: own = {} } = kinds[kind];
  return tinyConfig(dataset, {
    model: { decoder: { type: 'COMPLEX' }, ...model },
    storage: { ...storage, model_dir },
    training: { num_epochs: 2, batch_size: 60, ...own, ...training },
  });
}

const { threads } = nativeStatus();

afterEach(() => {
  vi.restoreAllMocks();
  setThreads(threads);
});

/** Lets a run fail when so many batches are done. */
async function cutOff(given: SkeinConfig, batches: number): Promise<void> {
  const finish = BatchSource.prototype.finishBatch;
  let count = 0;
  const spy = vi.spyOn(BatchSource.prototype, 'finishBatch').mockImplementation(function (this: BatchSource) {
    finish.call(this);
    if (++count === batches) throw new Error('cut off');
  });
  await expect(run(given)).rejects.toThrow('cut off');
  spy.mockRestore();
}

describe.each(Object.keys(kinds))('%s', (kind) => {
  test('cut off within an epoch, a run ends with the bytes of the whole one', async () => {
    const checkpoint = { checkpoint: { interval_batches: 2 } };
    const whole = await run(config(kind, folder(), checkpoint));
    expect(whole.losses[1]).toBeLessThan(whole.losses[0]);
    const wanted = await learned(whole.directory);
    const given = config(kind, folder(), checkpoint);
    await cutOff(given, 3);
    const resumed = { ...given, training: { ...given.training, resume_training: true } };
    await cutOff(resumed, 4);
    expect(await learned((await run(resumed)).directory)).toEqual(wanted);
  });

  test('1, 2 and 4 threads give the same bytes', async () => {
    const results: Record<string, unknown>[] = [];
    for (const count of [1, 2, 4]) {
      setThreads(count);
      results.push(await learned((await run(config(kind, folder()))).directory));
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });
});

test('a position within an epoch counts rows: it is rejected under another form', async () => {
  const checkpoint = { checkpoint: { interval_batches: 2 } };
  const given = config('one against all', folder(), checkpoint);
  await cutOff(given, 3);
  for (const [form, max_answers] of [
    ['ONE_VS_ALL', 3],
    ['NEGATIVES', 2],
  ] as const) {
    const training = { ...given.training, resume_training: true, form, max_answers };
    await expect(run({ ...given, training })).rejects.toThrow('started with (queries with up to 2 answers)');
  }
});

test('a ring is learnt by heart, in memory and through a buffer', async () => {
  const ring = ringRows(42, 2);
  const path = writeDataset(folder(), {
    ...{ numNodes: 42, numRelations: 2, train: ring, validation: ring.subarray(0, 60), partitions: 4 },
  });
  for (const storage of [{}, buffered]) {
    const { validation, losses } = await run(
      tinyConfig(path, {
        model: {
          encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 32 }]] },
          decoder: { type: 'COMPLEX' },
          dense_optimizer: { type: 'ADAGRAD', options: { learning_rate: 0.3 } },
        },
        storage,
        training: { form: 'ONE_VS_ALL', batch_size: 40, num_epochs: 30 },
        evaluation: { epochs_per_eval: 30 },
      }),
    );
    expect(losses.at(-1)).toBeLessThan(losses[0] / 2);
    expect(validation['mrr']).toBeGreaterThan(0.9);
  }
});

describe('weight decay of the node table', () => {
  const decay = { sparse_optimizer: { type: 'ADAGRAD', options: { weight_decay: 0.1 } } };
  const resolve = (training: object) =>
    resolveConfig({
      model: {
        ...{ learning_task: 'LINK_PREDICTION', decoder: { type: 'COMPLEX' } },
        ...{ encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 8 }]] }, ...decay },
      },
      storage: { dataset: { dataset_dir: dataset } },
      training,
    });

  test('takes effect where every step updates all rows, and is reported where it does not', () => {
    const { config: all, warnings } = resolve({ form: 'ONE_VS_ALL' });
    expect(all.model.sparse_optimizer.options).toMatchObject({ weight_decay: 0.1 });
    expect(warnings).toEqual([]);
    const sampled = resolve({});
    expect(sampled.config.model.sparse_optimizer.options).toMatchObject({ weight_decay: 0 });
    expect(sampled.warnings).toEqual([expect.stringContaining('weight_decay: has no effect')]);
  });

  test('makes rows smaller', async () => {
    const norm = async (model: object) => {
      const given = tinyConfig(dataset, {
        ...{ model, storage: { model_dir: folder() } },
        training: { form: 'ONE_VS_ALL', num_epochs: 3 },
      });
      const { embeddings } = await learned((await run(given)).directory);
      const bytes = Uint8Array.from(Buffer.from(embeddings as string, 'hex'));
      return Math.hypot(...new Float32Array(bytes.buffer));
    };
    expect(await norm(decay)).toBeLessThan(0.9 * (await norm({})));
  });
});

const root = process.env['SKEIN_DATA'];
const umls = root === undefined ? '' : join(root, 'umls');
const missing = umls === '' || !existsSync(umls);
test.skipIf(missing)(
  `UMLS, ComplEx${missing ? ' (skipped, not in SKEIN_DATA)' : ''}`,
  async () => {
    const path = folder();
    await prepareDataset('umls', { outputDir: path, download: false });
    const { test: metrics } = await run(
      resolveConfig({
        model: {
          random_seed: 1,
          learning_task: 'LINK_PREDICTION',
          encoder: {
            layers: [
              [{ type: 'EMBEDDING', output_dim: 64, init: { type: 'NORMAL', options: { std: 1e-3 } } }],
            ],
          },
          decoder: {
            type: 'COMPLEX',
            options: { relation_init: { type: 'NORMAL', options: { std: 1e-3 } } },
          },
          loss: { type: 'SOFTMAX_CE', options: { reduction: 'MEAN' } },
          regularizer: { type: 'N3', coef: 0.03 },
        },
        storage: { dataset: { dataset_dir: path }, model_dir: folder() },
        training: { form: 'ONE_VS_ALL', batch_size: 100, num_epochs: 30, early_stopping: { patience: 3 } },
        evaluation: { epochs_per_eval: 5, negative_sampling: { filtered: true } },
      }).config,
    );
    expect(metrics['mrr']).toBeGreaterThan(0.85);
  },
  60_000,
);
