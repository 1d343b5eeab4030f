/**
 * Trainers on tiny graphs: results do not depend on the pipeline's timing, threads or where the table lies; every edge is
 * trained once an epoch; errors surface and leave nothing running; what the extra sections of a configuration do.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { getThreads, setThreads } from 'skein';
import {
  PipelineEvaluator,
  PipelineTrainer,
  SynchronousEvaluator,
  SynchronousTrainer,
  type Trainer,
} from 'skein/marius';
import type { Metrics } from 'skein/train';
import { afterEach, describe, expect, test } from 'vitest';
import {
  edgeKeys,
  learned,
  numbersOf,
  type Parts,
  randomRows,
  ringRows,
  run,
  scratch,
  setUp,
  tinyConfig,
  writeDataset,
} from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const typed = { numNodes: 43, numRelations: 4, ...sets };
const whole = writeDataset(folder(), typed);
const inFour = writeDataset(folder(), { ...typed, partitions: 4 });
const buffer = (capacity: number, more = {}) => ({
  storage: {
    embeddings: {
      type: 'PARTITION_BUFFER',
      options: { num_partitions: 4, buffer_capacity: capacity, ...more },
    },
  },
});

const threads = getThreads();
afterEach(() => setThreads(threads));

type Make = (parts: Parts) => Trainer;
const synchronous: Make = ({ batcher, model }) => new SynchronousTrainer(batcher, model);
const pipeline =
  (stalenessBound: number): Make =>
  ({ batcher, model }) =>
    new PipelineTrainer(batcher, model, { stalenessBound });

/** Trained for two epochs. */
async function trained(make: Make, dataset = whole, more = {}): Promise<string> {
  const parts = await setUp(tinyConfig(dataset, more), folder());
  await make(parts).train(2);
  const numbers = await numbersOf(parts);
  await parts.batcher.unloadStorage(true);
  expect(await numbersOf(parts)).toBe(numbers);
  await parts.table.unload(false);
  return numbers;
}

const sage = {
  model: {
    encoder: {
      train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 3 } }],
      layers: [
        [{ type: 'EMBEDDING', output_dim: 8 }],
        [{ type: 'GNN', options: { type: 'GRAPH_SAGE', aggregator: 'MEAN' }, output_dim: 8, bias: true }],
      ],
    },
  },
};

describe.each([
  ['embeddings', {}],
  ['sampled GraphSAGE', sage],
])('trainers: %s', (_name, more) => {
  test('a pipeline with bound 1 is synchronous training bit for bit', async () => {
    expect(await trained(pipeline(1), whole, more)).toBe(await trained(synchronous, whole, more));
  });

  test('a pipeline with bound 4 gives the same bytes every time and with any number of threads', async () => {
    const first = await trained(pipeline(4), whole, more);
    expect(await trained(pipeline(4), whole, more)).toBe(first);
    expect(await trained(synchronous, whole, more)).not.toBe(first);
    for (const count of [1, 2]) {
      setThreads(count);
      expect(await trained(pipeline(4), whole, more)).toBe(first);
    }
  });

  test('a buffer of all partitions is training in memory bit for bit', async () => {
    const memory = await trained(synchronous, inFour, more);
    expect(await trained(synchronous, inFour, { ...more, ...buffer(4) })).toBe(memory);
  });

  test('a buffer of two of four partitions is deterministic, in a pipeline too', async () => {
    const two = { ...more, ...buffer(2) };
    const first = await trained(synchronous, inFour, two);
    expect(await trained(pipeline(1), inFour, two)).toBe(first);
    const ahead = await trained(pipeline(4), inFour, two);
    expect(await trained(pipeline(4), inFour, two)).toBe(ahead);
    expect(await trained(synchronous, inFour, { ...more, ...buffer(2, { prefetching: false }) })).toBe(first);
  });
});

describe('a partition buffer', () => {
  test.each(['COMET', 'OLD_BETA', 'NEW_BETA', 'SEQUENTIAL', 'HILBERT'])(
    '%s trains every edge once an epoch',
    async (ordering) => {
      const config = tinyConfig(inFour, buffer(2, { edge_bucket_ordering: ordering }));
      const { batcher, storage, table } = await setUp(config, folder());
      const { src, dst, relations } = await storage.trainEdges();
      const wanted = edgeKeys(src, relations ?? null, dst).toSorted();
      for (let epoch = 0; epoch < 2; epoch++) {
        batcher.setTrainSet();
        await batcher.loadStorage();
        const seen: string[] = [];
        while (batcher.hasNextBatch()) {
          const batch = await batcher.source.draw();
          const global = (ids: Int32Array) => table.buffer.toGlobal(ids);
          seen.push(
            ...edgeKeys(global(batch.src as Int32Array), batch.relations, global(batch.dst as Int32Array)),
          );
          batcher.finishedBatch();
        }
        await batcher.nextEpoch();
        expect(seen.toSorted()).toEqual(wanted);
      }
      await batcher.unloadStorage();
    },
  );

  test('what training left is in the files after a run', async () => {
    const config = tinyConfig(inFour, { ...buffer(2), evaluation: { epochs_per_eval: 9 } });
    const model_dir = folder();
    await run({ ...config, storage: { ...config.storage, model_dir } });
    const parts = await setUp(config, folder());
    await synchronous(parts).train(2);
    const rowsNow = await parts.embeddings.gather(Int32Array.from({ length: 43 }, (_, i) => i));
    const { embeddings } = await learned(model_dir);
    expect(embeddings).toBe(Buffer.from(rowsNow.buffer).toString('hex'));
    await parts.table.unload(false);
  });
});

describe('errors', () => {
  /** Training that fails at its fifth batch; afterwards the batcher must not wait for lost batches. */
  async function fails(parts: Parts, make: Make, message: RegExp): Promise<void> {
    const failures: unknown[] = [];
    const listener = (error: unknown) => failures.push(error);
    process.on('unhandledRejection', listener);
    await expect(make(parts).train(1)).rejects.toThrow(message);
    const { step } = parts.batcher.position;
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(parts.batcher.position.step).toBe(step);
    await parts.batcher.unloadStorage(false);
    process.off('unhandledRejection', listener);
    expect(failures).toEqual([]);
  }

  /** Makes the n-th call of a method throw. */
  function breakMethod(target: object, name: string, n: number, message: string): void {
    const object = target as Record<string, (...args: unknown[]) => unknown>;
    const original = object[name].bind(target);
    let calls = 0;
    object[name] = (...args) => {
      if (++calls === n) throw new Error(message);
      return original(...args);
    };
  }

  const kinds: [string, Make][] = [
    ['synchronous', synchronous],
    ['pipeline', pipeline(4)],
  ];
  const tables: [string, object][] = [
    ['memory', {}],
    ['buffer', buffer(2)],
  ];
  const cases = kinds.flatMap(([kind, make]) => tables.map(([table, more]) => ({ kind, table, make, more })));

  test.each(cases)('in the model: $kind, $table', async ({ make, more }) => {
    const parts = await setUp(tinyConfig(inFour, more), folder());
    breakMethod(parts.model, 'train', 5, 'the model broke');
    await fails(parts, make, /the model broke/);
  });

  test.each(cases)('in a sampler: $kind, $table', async ({ make, more }) => {
    const parts = await setUp(tinyConfig(inFour, { ...sage, ...more }), folder());
    breakMethod(parts.batcher.neighborSampler as object, 'sampleAsync', 5, 'the sampler broke');
    await fails(parts, make, /the sampler broke/);
  });

  test.each(cases)('in the store: $kind, $table', async ({ make, more }) => {
    const parts = await setUp(tinyConfig(inFour, more), folder());
    breakMethod(parts.embeddings, 'resident', 3, 'the store broke');
    breakMethod(parts.embeddings, 'residentAsync', 3, 'the store broke');
    await fails(parts, make, /the store broke/);
    const again = await setUp(tinyConfig(inFour, more), folder());
    breakMethod(again.embeddings, 'update', 5, 'no update');
    await fails(again, make, /no update/);
  });

  test('of a swap', async () => {
    const parts = await setUp(tinyConfig(inFour, buffer(2)), folder());
    breakMethod(parts.table, 'nextState', 2, 'no swap');
    await fails(parts, pipeline(4), /no swap/);
  });

  test('in a hook', async () => {
    const parts = await setUp(tinyConfig(whole), folder());
    const onBatch = () => {
      throw new Error('enough');
    };
    const make: Make = ({ batcher, model }) =>
      new PipelineTrainer(batcher, model, { stalenessBound: 3, onBatch });
    await fails(parts, make, /enough/);
  });

  test('numbers that make no sense are refused', async () => {
    const { batcher, model } = await setUp(tinyConfig(whole), folder());
    expect(() => new PipelineTrainer(batcher, model, { stalenessBound: 0 })).toThrow(/stalenessBound/);
    await expect(new SynchronousTrainer(batcher, model).train(-1)).rejects.toThrow(/numEpochs/);
  });
});

describe('stopping and saving', () => {
  test.each([1, 4])('hooks run with no batch in flight (bound %i)', async (stalenessBound) => {
    const { batcher, model, table } = await setUp(tinyConfig(whole), folder());
    const saves: number[] = [];
    let trainedBatches = 0;
    const trainer = new PipelineTrainer(batcher, model, {
      stalenessBound,
      decide: ({ batches }) => {
        trainedBatches = batches;
        if (batches === 10) return 'stop';
        return batches === 5 ? 'save' : 'go';
      },
      onSave: async () => void saves.push(batcher.position.step - trainedBatches),
    });
    await trainer.train(3);
    expect(trainer.stopped).toBe(true);
    expect(batcher.position.step).toBe(trainedBatches);
    expect(saves.length).toBeLessThanOrEqual(1);
    expect(saves.every((ahead) => ahead === 0)).toBe(true);
    await table.unload(false);
  });

  test('progress adds up', async () => {
    const { batcher, model, table } = await setUp(tinyConfig(whole), folder());
    const epochs: [number, number, number, number][] = [];
    await new SynchronousTrainer(batcher, model, {
      onEpoch: ({ epoch, batches, items, totalItems }) =>
        void epochs.push([epoch, batches, items, totalItems]),
    }).train(2);
    expect(epochs).toEqual([
      [0, 13, 260, 260],
      [1, 13, 260, 260],
    ]);
    await table.unload(false);
  });
});

describe('evaluation', () => {
  test('synchronous and pipelined give the same; training continues as if there had been none', async () => {
    const parts = await setUp(tinyConfig(inFour, buffer(2)), folder());
    const other = await setUp(tinyConfig(inFour, buffer(2)), folder());
    for (let epoch = 0; epoch < 2; epoch++) {
      await synchronous(parts).train(1);
      const one = await new SynchronousEvaluator(parts.batcher, parts.model).evaluate(true);
      const two = await new PipelineEvaluator(parts.batcher, parts.model).evaluate(true);
      expect(two).toEqual(one);
      expect(one['mrr']).toBeGreaterThan(0);
      await synchronous(other).train(1);
    }
    expect(await numbersOf(parts)).toBe(await numbersOf(other));
    await parts.table.unload(false);
    await other.table.unload(false);
  });

  test('memory and a small buffer rank the same rows the same, filtered or by sampled negatives', async () => {
    for (const negatives of [{ filtered: true }, { negatives_per_positive: 30, degree_fraction: 0.5 }]) {
      const evaluation = { negative_sampling: negatives };
      const results: Metrics[] = [];
      for (const more of [{}, buffer(2)]) {
        const { batcher, model, table } = await setUp(tinyConfig(inFour, { ...more, evaluation }), folder());
        results.push(await new SynchronousEvaluator(batcher, model).evaluate(false));
        await table.unload(false);
      }
      expect(results[1]).toEqual(results[0]);
    }
  });

  test('an empty set has no metrics', async () => {
    const dataset = writeDataset(folder(), { numNodes: 12, numRelations: 2, train: ringRows(12, 2) });
    const { batcher, model } = await setUp(tinyConfig(dataset), folder());
    expect(await new SynchronousEvaluator(batcher, model).evaluate(true)).toEqual({});
    expect(batcher.graphStorage.activeSplit).toBe('train');
    const result = await run(tinyConfig(dataset, { storage: { model_dir: folder() } }));
    expect(result).toMatchObject({ validation: {}, test: {}, epochs: 2, interrupted: false });
  });
});

describe('extra sections of a configuration', () => {
  const ring = writeDataset(folder(), {
    numNodes: 20,
    numRelations: 2,
    train: ringRows(20, 2),
    validation: ringRows(20, 2).subarray(0, 30),
  });

  test('a schedule scales both learning rates by epoch', async () => {
    const schedule = (learning_rate_schedule: object, rate: number, num_epochs = 2) => ({
      model: {
        dense_optimizer: { type: 'SGD', options: { learning_rate: rate } },
        sparse_optimizer: { type: 'SGD', options: { learning_rate: rate } },
      },
      storage: { model_dir: folder() },
      training: { num_epochs, learning_rate_schedule },
    });
    const numbers = async (more: { storage: { model_dir: string } }) => {
      await run(tinyConfig(ring, more));
      const { position, best, rowOptimizer, stale, ...rest } = await learned(more.storage.model_dir);
      return rest;
    };
    // A warm-up of one epoch is half the rate; the epoch after has the whole.
    const halved = schedule({ type: 'STEP', gamma: 0.5, step_epochs: 1 }, 0.02);
    const constant = schedule({ type: 'CONSTANT' }, 0.02);
    const one = await numbers(schedule({ type: 'CONSTANT' }, 0.01, 1));
    const warm = await numbers(schedule({ type: 'CONSTANT', warmup_epochs: 1 }, 0.02));
    expect(await numbers(halved)).not.toEqual(await numbers(constant));
    expect(warm).not.toEqual(one);
    const parts = await setUp(tinyConfig(ring, schedule({ type: 'CONSTANT' }, 0.02)), folder());
    for (const factor of [1, 0.5]) {
      parts.model.encoderOptimizer?.scaleRates(factor);
      (parts.embeddings.optimizer as { learningRate: number }).learningRate = 0.02 * factor;
      await synchronous(parts).train(1);
    }
    const ids = Int32Array.from({ length: 20 }, (_, i) => i);
    const wanted = Buffer.from((await parts.embeddings.gather(ids)).buffer).toString('hex');
    expect((await learned(halved.storage.model_dir))['embeddings']).toBe(wanted);
    await parts.table.unload(false);
  });

  test('early stopping ends training, by a metric and by the loss', async () => {
    for (const metric of ['mrr', 'loss']) {
      const early = { num_epochs: 40, early_stopping: { metric, patience: 2, min_delta: 1e6 } };
      const result = await run(tinyConfig(ring, { storage: { model_dir: folder() }, training: early }));
      expect(result.epochs).toBe(3);
    }
  });

  test('the best model is kept, as it was after its epoch', async () => {
    const model_dir = folder();
    const more = (num_epochs: number) => ({
      storage: { model_dir: num_epochs === 6 ? model_dir : folder() },
      training: { num_epochs, checkpoint: { save_best: true } },
    });
    const { events } = await run(tinyConfig(ring, more(6)));
    const evaluations = events.filter(({ event, set }) => event === 'eval' && set === 'validation');
    const values = evaluations.map(({ mrr }) => mrr as number);
    const best = values.indexOf(Math.max(...values)) + 1;
    const shorter = await run(tinyConfig(ring, more(best)));
    expect((await learned(model_dir, 'best'))['embeddings']).toBe(
      (await learned(shorter.directory))['embeddings'],
    );
    expect(existsSync(join(model_dir, 'done.json'))).toBe(true);
    // Nothing but what checkpoints refer to, and files to write over.
    const files = readdirSync(join(model_dir, 'table'));
    expect(files.length).toBeLessThanOrEqual(2);
  });
});
