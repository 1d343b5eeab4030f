/** Switches of the training loop in runs: PLATEAU, the best state, samples of validation edges, time limits. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BatchSource, loadConfig, type SkeinConfig } from 'skein/train';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { learned, type RunEvent, randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const dataset = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...sets });

afterEach(() => vi.restoreAllMocks());

interface More {
  readonly training?: object;
  readonly evaluation?: object;
  readonly model_dir?: string;
}

function config({ training = {}, evaluation = {}, model_dir = folder() }: More): SkeinConfig {
  return tinyConfig(dataset, {
    storage: { model_dir },
    training: { batch_size: 60, num_epochs: 6, ...training },
    evaluation,
  });
}

const resumed = (given: SkeinConfig): SkeinConfig => ({
  ...given,
  training: { ...given.training, resume_training: true },
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

const evaluations = (events: readonly RunEvent[], split: string) =>
  events.filter(({ event, set }) => event === 'eval' && set === split);
const recorded = (directory: string): RunEvent[] =>
  readFileSync(join(directory, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RunEvent);

test('PLATEAU: a run that was cut off ends with the bytes of the whole one', async () => {
  const training = {
    // Edges are random: validation soon stops improving.
    learning_rate_schedule: { type: 'PLATEAU', factor: 0.5, patience: 0, threshold: 0 },
    checkpoint: { interval_batches: 3 },
  };
  const whole = await run(config({ training }));
  const wanted = (await learned(whole.directory)) as { plateau: { rate: number } };
  expect(wanted.plateau.rate).toBeLessThan(1);
  const plain = await learned((await run(config({}))).directory);
  expect(wanted).not.toMatchObject({ embeddings: plain['embeddings'] });
  const given = config({ training });
  await cutOff(given, 19);
  expect(await learned((await run(resumed(given))).directory)).toEqual(wanted);
});

describe('restore_best', () => {
  const best = { checkpoint: { save_best: true } };

  test('the test is that of the best epoch, which metrics.jsonl names; false tests the last', async () => {
    const { events, directory } = await run(config({ training: best }));
    const done = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8'));
    expect(done.best.epoch).toBeLessThan(6);
    expect(evaluations(events, 'test')).toEqual([
      expect.objectContaining({ epoch: 6, tested_epoch: done.best.epoch }),
    ]);
    expect(evaluations(recorded(directory), 'test')[0]['tested_epoch']).toBe(done.best.epoch);
    const last = await run(config({ training: { ...best, restore_best: false } }));
    const plain = await run(config({}));
    expect(last.test).toEqual(plain.test);
    expect(evaluations(last.events, 'test')[0]['tested_epoch']).toBe(6);
    expect((await learned(last.directory))['embeddings']).toBe(
      (await learned(plain.directory))['embeddings'],
    );
    expect((await learned(last.directory, 'best'))['position']).toMatchObject({ epoch: done.best.epoch });
  });

  test('alone it keeps the best state, too', async () => {
    const one = await run(config({ training: { restore_best: true } }));
    expect(one.test).toEqual((await run(config({ training: best }))).test);
  });
});

test('early stopping ends at the epochs of min_epochs, and below min_value', async () => {
  const early = { metric: 'mrr', patience: 1, min_epochs: 5 };
  expect((await run(config({ training: { early_stopping: early } }))).epochs).toBe(5);
  const low = { metric: 'mrr', patience: 9, min_epochs: 2, min_value: 0.99 };
  expect((await run(config({ training: { early_stopping: low } }))).epochs).toBe(2);
});

test('max_edges: the same validation edges every time, and a whole test set', async () => {
  const sizes: Record<string, number[]> = { train: [], validation: [], test: [] };
  const take = BatchSource.prototype.draw;
  const drawn: string[] = [];
  vi.spyOn(BatchSource.prototype, 'draw').mockImplementation(async function (this: BatchSource) {
    const batch = await take.call(this);
    const { activeSplit: split } = this.storage;
    if (split === 'validation') drawn.push([...(batch.src ?? [])].join());
    sizes[split].push(batch.batchSize);
    return batch;
  });
  const evaluation = { max_edges: 7, epochs_per_eval: 3 };
  const some = await run(config({ evaluation }));
  expect(sizes['validation']).toEqual([7, 7]);
  // Baselines are evaluated on the test set, too.
  expect(new Set(sizes['test'])).toEqual(new Set([20]));
  expect(drawn[0]).toBe(drawn[1]);
  const all = await run(config({ evaluation: { epochs_per_eval: 3 } }));
  expect(some.test).toEqual(all.test);
  expect(some.validation).not.toEqual(all.validation);
  expect((await learned(some.directory))['embeddings']).toBe((await learned(all.directory))['embeddings']);
});

describe('time_limit', () => {
  test('the measured number of epochs is recorded, and a resumed run obeys it', async () => {
    const given = config({
      training: { time_limit: '1s', num_epochs: 100_000, checkpoint: { interval: 50 } },
    });
    const { epochs, directory } = await run(given);
    const { training } = loadConfig(join(directory, 'full_config.yaml')).config;
    expect(training).toMatchObject({ time_limit: 1, time_limit_epochs: epochs });
    expect(epochs).toBeLessThan(100_000);
    const wanted = await learned(directory);
    const again = await run(resumed(given));
    expect(again.epochs).toBe(epochs);
    expect(await learned(directory)).toEqual(wanted);
    // The recorded number gives the same model without a clock.
    const repeated = config({
      training: { time_limit: '0.001s', time_limit_epochs: epochs, num_epochs: 100_000 },
    });
    const same = await learned((await run(repeated)).directory);
    expect(same['embeddings']).toBe(wanted['embeddings']);
  });

  test('a limit that is long has no effect', async () => {
    const long = await run(config({ training: { time_limit: '2h' } }));
    expect(long.epochs).toBe(6);
    expect((await learned(long.directory))['embeddings']).toBe(
      (await learned((await run(config({}))).directory))['embeddings'],
    );
  });
});
