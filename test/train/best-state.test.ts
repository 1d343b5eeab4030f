/** A run that keeps its best state tests it, ends with it, and continues from the last; what belongs to another run is refused. */
import { copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRun, type SkeinConfig } from 'skein/train';
import { describe, expect, test } from 'vitest';
import { learned, randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const dataset = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...sets, partitions: 4 });
const buffer = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};

function config(more: { training?: object; storage?: object; model?: object } = {}): SkeinConfig {
  const { training = {}, storage = {}, model = {} } = more;
  return tinyConfig(dataset, {
    model,
    storage: { model_dir: folder(), ...storage },
    // Edges are random: validation gets worse while training gets better.
    training: { num_epochs: 8, ...training },
  });
}

const done = (at: string) => JSON.parse(readFileSync(join(at, 'done.json'), 'utf8'));
const stopping = { early_stopping: { metric: 'mrr', patience: 2, min_delta: 0 } };

describe.each([
  ['in memory', {}],
  ['through a buffer', buffer],
])('%s', (_, storage) => {
  test('early stopping: the test is that of the best epoch, which the run ends with', async () => {
    const given = config({ storage, training: stopping });
    const at = given.storage.model_dir as string;
    const { epochs, test: tested, events } = await run(given);
    const { best, validation, test: written } = done(at);
    expect(best.epoch).toBeLessThan(epochs);
    expect(epochs).toBe(best.epoch + 2);
    expect(validation.mrr).toBe(best.value);
    expect(written).toEqual(tested);
    expect(await learned(at)).toMatchObject(without(await learned(at, 'best')));
    const evals = events.filter(({ event, set }) => event === 'eval' && set === 'validation');
    expect(evals[best.epoch - 1]).toMatchObject({ mrr: best.value });
    const opened = await openRun(at, { over: 'graph' });
    expect(await opened.task.evaluate('test')).toEqual(tested);
    expect(opened.record.position.epoch).toBe(best.epoch);
    await opened.close();
  });

  test('more epochs continue from the last state, as if the run had not ended', async () => {
    const save = { checkpoint: { save_best: true } };
    const given = config({ storage, training: { ...save, num_epochs: 3 } });
    const at = given.storage.model_dir as string;
    await run(given);
    const more = { ...save, num_epochs: 6, resume_training: true };
    const resumed = await run(config({ storage: { ...storage, model_dir: at }, training: more }));
    const whole = config({ storage, training: { ...save, num_epochs: 6 } });
    const { test: tested } = await run(whole);
    expect(resumed.test).toEqual(tested);
    for (const name of ['', 'best'])
      expect(await learned(at, name)).toEqual(await learned(whole.storage.model_dir as string, name));
  });
});

/** Tensors and columns, without what depends on the moment of saving. */
function without(found: Record<string, unknown>): Record<string, unknown> {
  const { best, stale, progress, random, validation, position, state, ...rest } = found;
  return rest;
}

test('a checkpoint of another run is refused by its seed', async () => {
  const [one, other] = [
    config({ training: { num_epochs: 1 } }),
    config({ training: { num_epochs: 1 }, model: { random_seed: 99 } }),
  ];
  const [at, from] = [one, other].map(({ storage }) => storage.model_dir as string);
  await run(one);
  await run(other);
  copyFileSync(join(from, 'model.safetensors'), join(at, 'model.safetensors'));
  await expect(openRun(at)).rejects.toThrow(
    'expected 99 for model.random_seed, with which it was trained, got 5',
  );
  const resumed = { num_epochs: 2, resume_training: true };
  await expect(run(config({ storage: { model_dir: at }, training: resumed }))).rejects.toThrow('got 5');
});

test('validation metrics survive a resume after the last epoch', async () => {
  const given = config({ training: { num_epochs: 2, checkpoint: { interval_batches: 13 } } });
  const at = given.storage.model_dir as string;
  await run(given);
  const { validation } = done(at);
  await run(config({ storage: { model_dir: at }, training: { num_epochs: 2, resume_training: true } }));
  expect(done(at).validation).toEqual(validation);
});

test('a run that ended before its first checkpoint does not block its directory', async () => {
  const given = config();
  const at = given.storage.model_dir as string;
  const cutOff = () => {
    throw new Error('cut off');
  };
  await expect(run(given, ({ event }) => event === 'epoch' && cutOff())).rejects.toThrow('cut off');
  expect(readdirSync(at)).toContain('table');
  const { epochs } = await run(config({ storage: { model_dir: at }, training: { num_epochs: 2 } }));
  expect(epochs).toBe(2);
  expect(existsSync(join(at, 'done.json'))).toBe(true);
});
