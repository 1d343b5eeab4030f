/** Failures that must not be silent: numbers that lost their meaning, losses that are not finite, a full disk. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DistMult, SoftmaxCrossEntropy } from 'skein/gnn';
import { SynchronousTrainer } from 'skein/marius';
import { loadTensors, saveTensors } from 'skein/storage';
import { GeneralEncoder, LinkPredictionModel, openRun, type SkeinConfig } from 'skein/train';
import { FormatError, Random } from 'skein/util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { prepareGraph } from '#internal/data/prepare/prepare-graph.js';
import { randomRows, run, scratch, setUp, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const dataset = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...sets });

const later = (config: SkeinConfig, model: object = {}): SkeinConfig => ({
  ...config,
  model: { ...config.model, ...model },
  training: { ...config.training, num_epochs: 3, resume_training: true },
});

describe('a run is tied to what it was trained on', () => {
  test('another dataset is refused, in training and in reading', async () => {
    const config = tinyConfig(dataset, { storage: { model_dir: folder() } });
    await run(config);
    const other = writeDataset(folder(), { numNodes: 43, numRelations: 5, ...sets });
    const storage = { ...config.storage, dataset: { ...config.storage.dataset, dataset_dir: other } };
    await expect(run({ ...later(config), storage })).rejects.toThrow(
      'expected the dataset that it was trained on',
    );
    const directory = config.storage.model_dir as string;
    const overrides = [`storage.dataset.dataset_dir=${other}`];
    await expect(openRun(directory, { overrides })).rejects.toThrow('use that dataset, or train a new run');
  });

  test("a dataset of Marius's own, which records no checksums, with other edges in a part", async () => {
    const config = tinyConfig(dataset, { storage: { model_dir: folder() } });
    await run(config);
    const directory = config.storage.model_dir as string;
    const opened = async (parts: typeof sets): Promise<string> => {
      const other = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...parts });
      const done = await openRun(directory, {
        over: 'graph',
        overrides: [`storage.dataset.dataset_dir=${other}`],
      });
      await done.close();
      return done.dataset.directory;
    };
    expect(await opened(sets)).not.toBe(dataset);
    await expect(opened({ ...sets, test: rows.subarray(60, 120) })).rejects.toThrow(
      'which differs in edges/test_edges.bin. Prepare it as before',
    );
    await expect(opened({ ...sets, train: rows.subarray(0, 750) })).rejects.toThrow('edges/train_edges.bin');
  });

  test('another decoder is refused; other learning rates are not', async () => {
    const config = tinyConfig(dataset, { storage: { model_dir: folder() } });
    await run(config);
    const decoder = tinyConfig(dataset, { model: { decoder: { type: 'COMPLEX' } } }).model.decoder;
    await expect(run(later(config, { decoder }))).rejects.toThrow(
      /model.decoder.type "COMPLEX" in place of "DISTMULT"/,
    );
    await run(
      later(config, { dense_optimizer: { type: 'ADAGRAD', options: config.model.dense_optimizer.options } }),
    );
  });

  test('its seed stays when the configuration draws another', async () => {
    const config = tinyConfig(dataset, { storage: { model_dir: folder() } });
    await run(config);
    await run(later(config, { random_seed: 77 }));
    const text = readFileSync(join(config.storage.model_dir as string, 'full_config.yaml'), 'utf8');
    expect(text).toContain('random_seed: 5');
  });

  test('a configuration that lost its end, and a final model that is gone, are refused', async () => {
    const config = tinyConfig(dataset, { storage: { model_dir: folder() } });
    await run(config);
    const directory = config.storage.model_dir as string;
    const path = join(directory, 'full_config.yaml');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.slice(0, text.indexOf('evaluation:')));
    await expect(openRun(directory)).rejects.toThrow('got one that was changed or truncated');
    writeFileSync(path, '');
    await expect(run(later(config))).rejects.toThrow(
      `${path}: expected the configuration as the run wrote it`,
    );
    writeFileSync(path, text);
    writeFileSync(join(directory, 'model.safetensors'), '');
    await expect(openRun(directory)).rejects.toThrow('model.safetensors');
  });
});

describe('a checkpoint that was edited is refused by the key, in resuming and in reading', () => {
  type Extra = Record<string, Record<string, unknown>>;
  let directory = '';
  let config = tinyConfig(dataset);
  beforeAll(async () => {
    directory = folder();
    config = tinyConfig(dataset, { storage: { model_dir: directory } });
    await run(config);
  });

  test.each<[string, (extra: Extra) => unknown, string]>([
    ['no state', (extra) => ({ ...extra, state: null }), 'the state of the task for state, got null'],
    [
      'a step far beyond the epoch',
      (extra) => ({ ...extra, position: { ...extra['position'], step: 2 ** 50 } }),
      'at most 0 for position.step, got 1125899906842624',
    ],
    [
      'a step that is not a number',
      (extra) => ({ ...extra, position: { ...extra['position'], step: 1e300 } }),
      'a whole number of at least 0 for position.step, got 1e+300',
    ],
    [
      'a table that is a text',
      (extra) => ({ ...extra, state: { ...extra['state'], table: 'x' } }),
      'a table for state.table, got another: TableFiles.open: expected skein-table',
    ],
    [
      'a table of no rows',
      (extra) => ({
        ...extra,
        state: { ...extra['state'], table: { ...(extra['state']['table'] as object), rows: -1 } },
      }),
      'a table for state.table, got another: ',
    ],
    ['no progress', (extra) => ({ ...extra, progress: 3 }), 'batches, items and loss for progress, got 3'],
    ['no random numbers', (extra) => ({ ...extra, random: [] }), 'key and position for random'],
  ])('%s', async (_, edit, message) => {
    const path = join(directory, 'model.safetensors');
    const before = readFileSync(path);
    const { tensors, metadata } = await loadTensors(path);
    const saved = JSON.parse(metadata['skein.checkpoint']) as { extra: Extra };
    const changed = JSON.stringify({ ...saved, extra: edit(saved.extra) });
    await saveTensors(path, tensors, { ...metadata, 'skein.checkpoint': changed });
    onTestFinished(() => writeFileSync(path, before));
    for (const attempt of [() => openRun(directory), () => run(later(config))]) {
      const error = await attempt().then(
        () => null,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(FormatError);
      expect((error as Error).message).toContain(`${path}: expected ${message}`);
    }
  });
});

test('training ends at the first loss that is not finite, and saves nothing of it', async () => {
  const sparse_optimizer = { type: 'SGD', options: { learning_rate: 1e30 } };
  const config = tinyConfig(dataset, { storage: { model_dir: folder() }, model: { sparse_optimizer } });
  await expect(run(config)).rejects.toThrow(
    /expected a finite loss, got (NaN|Infinity) in epoch 1, batch \d/,
  );
  expect(existsSync(join(config.storage.model_dir as string, 'model.safetensors'))).toBe(false);
});

test('what does not fit the machine is refused before it is tried', async () => {
  const wide = tinyConfig(dataset, {
    storage: { model_dir: folder() },
    model: { encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 1_000_000_000 }]] } },
  });
  await expect(run(wide)).rejects.toThrow('expected a node table that fits in memory');
  const many = tinyConfig(dataset, {
    storage: { model_dir: folder() },
    training: { negative_sampling: { negatives_per_positive: 1_000_000_000 } },
  });
  await expect(run(many)).rejects.toThrow('expected batches that fit in memory');
});

test('the loss that is reported is that of an edge, whatever the reduction', async () => {
  const lossOf = async (reduction: string): Promise<number> => {
    const events = await run(
      tinyConfig(dataset, {
        storage: { model_dir: folder() },
        model: {
          loss: { type: 'SOFTMAX_CE', options: { reduction } },
          sparse_optimizer: { type: 'SGD', options: { learning_rate: 1e-12 } },
          dense_optimizer: { type: 'SGD', options: { learning_rate: 1e-12 } },
        },
        training: { num_epochs: 1 },
      }),
    );
    return events.events.find(({ event }) => event === 'epoch')?.['loss'] as number;
  };
  expect(await lossOf('MEAN')).toBeCloseTo(await lossOf('SUM'), 5);
});

test('a model without an optimiser says so', async () => {
  const parts = await setUp(tinyConfig(dataset), folder());
  const encoder = new GeneralEncoder(tinyConfig(dataset).model.encoder, { random: new Random(1) });
  const model = new LinkPredictionModel(
    encoder,
    new DistMult({ dim: 8, numRelations: 4 }),
    new SoftmaxCrossEntropy(),
  );
  await expect(new SynchronousTrainer(parts.batcher, model).train(1)).rejects.toThrow(
    'Call useOptimizer first',
  );
});

test('a graph of arrays becomes a prepared directory', async () => {
  const src = Int32Array.of(0, 1, 2, 3);
  const dst = Int32Array.of(1, 2, 3, 0);
  const options = { outputDir: folder(), numNodes: 4 };
  await expect(prepareGraph([{ src, dst: dst.subarray(1) }], options)).rejects.toThrow('4 ids (as src)');
  await expect(prepareGraph([{ src, dst, relations: src }], options)).rejects.toThrow('Set numRelations');
  await expect(prepareGraph([{ src, dst: Int32Array.of(1, 2, 3, 4) }], options)).rejects.toThrow(
    'dst[3], got 4',
  );
  const stats = await prepareGraph([{ src, dst }], { ...options, partitions: 2 });
  expect(stats).toMatchObject({ num_nodes: 4, num_train: 4 });
});
