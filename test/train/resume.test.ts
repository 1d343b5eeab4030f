/**
 * Runs that are cut off: by an error at any batch, by a signal, by a kill. Resumed, each ends with the bytes of the run
 * that was left alone. A damaged checkpoint is rejected with an error that names it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BatchSource, type SkeinConfig } from 'skein/train';
import { FormatError } from 'skein/util';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { root, skein } from '../programs.js';
import { wide } from '../wide.js';
import { learned, type RunEvent, randomRows, run, scratch, tinyConfig, writeDataset } from './tiny.js';

const folder = scratch();
const rows = randomRows(43, 300, 4);
const sets = { train: rows.subarray(0, 780), validation: rows.subarray(780, 840), test: rows.subarray(840) };
const dataset = writeDataset(folder(), { numNodes: 43, numRelations: 4, ...sets, partitions: 4 });

afterEach(() => vi.restoreAllMocks());

const buffered = {
  embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 4, buffer_capacity: 2 } },
};
const attention = {
  train_neighbor_sampling: [{ type: 'UNIFORM', options: { max_neighbors: 4 } }],
  layers: [
    [{ type: 'EMBEDDING', output_dim: 8 }],
    [
      {
        type: 'GNN',
        output_dim: 8,
        bias: true,
        options: { type: 'GAT', num_heads: 2, input_dropout: 0.2, attention_dropout: 0.2 },
      },
    ],
  ],
};
const adam = { type: 'ADAM', options: { learning_rate: 0.01 } };
/** 13 batches an epoch in memory; more with a buffer, where batches end with their state. */
const kinds: Record<string, { model?: object; storage?: object; training?: object }> = {
  memory: {},
  'memory, Adam': { model: { dense_optimizer: adam, sparse_optimizer: adam } },
  buffer: { storage: buffered },
  'buffer, pipeline': { storage: buffered, training: { pipeline: { sync: false, staleness_bound: 3 } } },
  'buffer, attention with dropout': { storage: buffered, model: { encoder: attention } },
};

function config(kind: string, model_dir: string, training: object = {}): SkeinConfig {
  const { model = {}, storage = {}, training: own = {} } = kinds[kind];
  return tinyConfig(dataset, {
    model,
    storage: { ...storage, model_dir },
    training: { num_epochs: 3, ...own, ...training },
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

describe.each(Object.keys(kinds))('%s', (kind) => {
  test('cut off at any batch, a run ends with the bytes of the whole one', async () => {
    const checkpoint = { checkpoint: { interval_batches: 4 } };
    const whole = await run(config(kind, folder(), checkpoint));
    const wanted = await learned(whole.directory);
    for (const stops of wide([[30, 1, 5]], [[2]])) {
      const given = config(kind, folder(), checkpoint);
      await cutOff(given, stops[0]);
      for (const batches of stops.slice(1)) await cutOff(resumed(given), batches);
      const { directory, epochs } = await run(resumed(given));
      expect(epochs).toBe(3);
      expect(await learned(directory)).toEqual(wanted);
    }
  });

  test('saved every epoch, too', async () => {
    const checkpoint = { checkpoint: { interval: 1 } };
    const wanted = await learned((await run(config(kind, folder(), checkpoint))).directory);
    const given = config(kind, folder(), checkpoint);
    await cutOff(given, 20);
    expect(existsSync(join(given.storage.model_dir as string, 'checkpoint_1'))).toBe(true);
    expect(await learned((await run(resumed(given))).directory)).toEqual(wanted);
  });
});

describe('files of the table', () => {
  const versions = (given: SkeinConfig) => readdirSync(join(given.storage.model_dir as string, 'table'));

  test('that a run left behind when it was cut off are gone as soon as it is resumed', async () => {
    const given = config('buffer', folder(), { checkpoint: { interval: 1 } });
    await cutOff(given, 20);
    const left = versions(given).length;
    await cutOff(resumed(given), 1);
    // 4 of checkpoint_1 and last, which are the same, and at most as many to be written over.
    expect(left).toBeGreaterThan(4);
    expect(versions(given).filter((name) => name.startsWith('writable')).length).toBe(4);
  });

  test('that were kept to be written over are gone when it ends', async () => {
    const given = config('buffer', folder());
    await run(given);
    expect(versions(given).toSorted()).toEqual(
      [0, 1, 2, 3].map((k) => expect.stringMatching(`^writable-0000${k}`)),
    );
  });
});

describe('checkpoints', () => {
  test('every second of six epochs: 2 and 4, not 6', async () => {
    const { directory } = await run(
      config('memory', folder(), { num_epochs: 6, checkpoint: { interval: 2 } }),
    );
    const names = readdirSync(directory).filter((name) => name.startsWith('checkpoint_'));
    expect(names.toSorted()).toEqual(['checkpoint_2', 'checkpoint_4']);
    const two = await run(config('memory', folder(), { num_epochs: 2, checkpoint: { interval: 2 } }));
    const [kept, alone] = [await learned(directory, 'checkpoint_2'), await learned(two.directory)];
    expect(kept['embeddings']).toBe(alone['embeddings']);
    expect(RunDirectory.isFinished(directory)).toBe(true);
  });

  test('2 + 2 epochs in place, and 4 + 6 into a new run, as in one go', async () => {
    const at = folder();
    await run(config('buffer', at, { num_epochs: 2 }));
    const longer = await run(resumed(config('buffer', at, { num_epochs: 4 })));
    expect(longer.epochs).toBe(4);
    const four = await run(config('buffer', folder(), { num_epochs: 4 }));
    expect(await learned(at)).toEqual(await learned(four.directory));

    const from = { num_epochs: 6, resume_from_checkpoint: four.directory };
    const ten = await run(config('buffer', folder(), from));
    expect(ten.epochs).toBe(10);
    const once10 = await run(config('buffer', folder(), { num_epochs: 10 }));
    expect((await learned(ten.directory))['embeddings']).toBe(
      (await learned(once10.directory))['embeddings'],
    );
    // The run it came from is as it was.
    expect((await learned(four.directory))['embeddings']).toBe((await learned(at))['embeddings']);
  });

  test('a new run may start from one checkpoint of another', async () => {
    const six = await run(config('memory', folder(), { num_epochs: 6, checkpoint: { interval: 2 } }));
    const from = join(six.directory, 'checkpoint_4');
    const more = await run(config('memory', folder(), { num_epochs: 2, resume_from_checkpoint: from }));
    expect(more.epochs).toBe(6);
    expect((await learned(more.directory))['embeddings']).toBe((await learned(six.directory))['embeddings']);
    const nothing = { num_epochs: 2, resume_from_checkpoint: folder() };
    await expect(run(config('memory', folder(), nothing))).rejects.toThrow(/resume_from_checkpoint/);
  });

  test('a new run from a checkpoint may be cut off as well', async () => {
    const two = await run(config('buffer', folder(), { num_epochs: 2 }));
    const more = { num_epochs: 3, checkpoint: { interval_batches: 4 } };
    const from = { ...more, resume_from_checkpoint: two.directory };
    const whole = await run(config('buffer', folder(), from));
    expect(whole.epochs).toBe(5);
    for (const batches of [1, 25]) {
      const at = folder();
      await cutOff(config('buffer', at, from), batches);
      expect((await run(resumed(config('buffer', at, more)))).epochs).toBe(5);
      expect(await learned(at)).toEqual(await learned(whole.directory));
    }
  });

  test('a run that stopped early stays stopped', async () => {
    const early = { num_epochs: 20, early_stopping: { metric: 'mrr', patience: 2, min_delta: 1e6 } };
    const given = config('memory', folder(), early);
    expect((await run(given)).epochs).toBe(3);
    expect((await run(resumed(given))).epochs).toBe(3);
  });

  test('a score that is as good as the best is no better one', async () => {
    const still = { type: 'ADAM', options: { learning_rate: 1e-30 } };
    const early = { metric: 'mrr', patience: 2, min_delta: 0 };
    const given = tinyConfig(dataset, {
      model: { dense_optimizer: still, sparse_optimizer: still },
      storage: { model_dir: folder() },
      training: { num_epochs: 20, early_stopping: early },
    });
    expect((await run(given)).epochs).toBe(3);
  });

  test('a finished run has nothing left to do, a new one does not overwrite it', async () => {
    const given = config('memory', folder());
    await run(given);
    const before = await learned(given.storage.model_dir as string);
    await expect(run(given)).rejects.toThrow(/which has a finished run/);
    expect((await run(resumed(given))).losses).toEqual([]);
    expect(await learned(given.storage.model_dir as string)).toEqual(before);
  });

  test('metrics of epochs that were trained twice stand there once', async () => {
    const given = config('memory', folder(), { checkpoint: { interval: 1 } });
    await cutOff(given, 30);
    const { directory } = await run(resumed(given));
    const lines = readFileSync(join(directory, 'metrics.jsonl'), 'utf8').trim().split('\n');
    const epochs = lines.map((line) => JSON.parse(line) as RunEvent).filter(({ event }) => event === 'epoch');
    expect(epochs.map(({ epoch }) => epoch)).toEqual([1, 2, 3]);
  });
});

test('a rejected resume leaves the configuration of a run as it was; an accepted one replaces it', async () => {
  const given = config('memory', folder(), { checkpoint: { interval_batches: 4 } });
  await cutOff(given, 10);
  const at = given.storage.model_dir as string;
  const written = (): string[] =>
    ['config.yaml', 'full_config.yaml'].map((name) => readFileSync(join(at, name), 'utf8'));
  const before = written();
  const wider = { encoder: { layers: [[{ type: 'EMBEDDING', output_dim: 16 }]] } };
  const same = { storage: { model_dir: at }, training: { num_epochs: 3 } };
  await expect(run(resumed(tinyConfig(dataset, { ...same, model: wider })))).rejects.toThrow(
    /got another: model\.encoder\.layers\.0\.0\.output_dim 16 in place of 8\. Use/,
  );
  const fewer = { numNodes: 43, numRelations: 4, train: sets.train.subarray(0, 600) };
  const other = writeDataset(folder(), { ...fewer, numNodes: 44 });
  await expect(run(resumed(tinyConfig(other, same)))).rejects.toThrow(/expected the dataset that it was/);
  expect(written()).toEqual(before);
  await run(resumed(config('memory', at, { num_epochs: 2 })));
  expect(written()[1]).toMatch(/num_epochs: 2/);
});

describe('damage', () => {
  /** Flips one bit in the middle of a file. */
  function flip(path: string): void {
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] ^= 1;
    writeFileSync(path, bytes);
  }

  const refused = async (given: SkeinConfig, path: string) => {
    const error = await run(resumed(given)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toContain(path);
  };

  test.each(['memory', 'buffer'])('one byte of the checkpoint or of a partition: %s', async (kind) => {
    for (const what of ['model', 'partition']) {
      const given = config(kind, folder(), { checkpoint: { interval_batches: 4 } });
      await cutOff(given, 10);
      const at = given.storage.model_dir as string;
      if (what === 'model') {
        flip(join(at, 'last', 'model.safetensors'));
        await refused(given, join(at, 'last', 'model.safetensors'));
        continue;
      }
      const { table } = readTable(join(at, 'last', 'model.safetensors'));
      const [k, { version }] = [...table.writable.entries()][0];
      const name = `writable-${String(k).padStart(5, '0')}.v${version}.bin`;
      flip(join(at, 'table', name));
      await refused(given, name);
    }
  });

  /** The manifest in a checkpoint's header. */
  function readTable(path: string): { table: { writable: { version: number }[] } } {
    const bytes = readFileSync(path);
    const length = Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as {
      __metadata__: Record<string, string>;
    };
    return (JSON.parse(header.__metadata__['skein.checkpoint']) as { extra: { state: never } }).extra.state;
  }
});

describe('a process', () => {
  /** Starts `skein train` and waits for an event of it. */
  async function started(given: SkeinConfig, until: (event: RunEvent) => boolean): Promise<ChildProcess> {
    const path = `${folder()}.yaml`;
    writeFileSync(path, renderConfig(given));
    const child = spawn(process.execPath, [...skein, 'train', path, '--json'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    for await (const line of createInterface(child.stdout as NonNullable<typeof child.stdout>))
      if (until(JSON.parse(line) as RunEvent)) break;
    return child;
  }

  const long = { num_epochs: 15, checkpoint: { interval_batches: 10 } };

  let wanted: Awaited<ReturnType<typeof learned>>;
  beforeAll(async () => {
    wanted = await learned((await run(config('buffer', folder(), long))).directory);
  }, 240_000);

  test.each(['SIGKILL', 'SIGINT'] as const)(
    'ended by %s goes on to the same bytes',
    async (signal) => {
      const given = config('buffer', folder(), long);
      let seen = 0;
      const child = await started(given, ({ event }) => event === 'checkpoint' && ++seen === 3);
      const exit = once(child, 'exit');
      child.kill(signal);
      const [code, by] = await exit;
      expect(by ?? code).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);
      const at = given.storage.model_dir as string;
      expect(RunDirectory.isFinished(at)).toBe(false);
      const rest = await run(resumed(given));
      expect(rest.losses.length).toBeGreaterThan(0);
      expect(await learned(at)).toEqual(wanted);
    },
    240_000,
  );
});
