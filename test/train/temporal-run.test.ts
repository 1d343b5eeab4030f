/**
 * Temporal runs that are interrupted by an error at any batch or by a signal. When resumed, each ends with the bytes and
 * the metrics of the uninterrupted run. Checkpoints of another run are rejected with an error that names the difference.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { TemporalRuntime } from 'skein/temporal';
import { openRun } from 'skein/train';
import { FormatError, Random, StateError } from 'skein/util';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { isEventRun } from '#internal/train/find-run.js';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { root, skein } from '../programs.js';
import { isWide, wide } from '../wide.js';
import {
  finalMetrics,
  jodieText,
  type ModelName,
  modelFiles,
  snapText,
  temporalRun,
  temporalState,
  writeTemporalConfig,
} from './temporal-files.js';
import { scratch } from './tiny.js';

const folder = scratch();
function fileOf(text: string, ending: string): string {
  const path = `${folder()}.${ending}`;
  writeFileSync(path, text);
  return path;
}
const events = fileOf(jodieText(400), 'csv');
afterEach(() => vi.restoreAllMocks());

interface Prepared {
  readonly file: string;
  readonly at: string;
}

function prepare(model: ModelName, path = events): Prepared {
  const at = folder();
  return { file: writeTemporalConfig(`${at}.yaml`, model, path, at), at };
}

const resume = '--training.resume_training=true';
const often = '--training.checkpoint.interval_batches=4';

/** Lets a run fail when so many batches are trained. */
async function cutOff({ file }: Prepared, batches: number, overrides: readonly string[]): Promise<void> {
  const train = TemporalRuntime.prototype.train;
  let count = 0;
  const spy = vi.spyOn(TemporalRuntime.prototype, 'train').mockImplementation(function (
    this: TemporalRuntime,
    batch,
  ) {
    if (count++ === batches) throw new Error('cut off');
    return train.call(this, batch);
  });
  await expect(temporalRun(file, overrides)).rejects.toThrow('cut off');
  spy.mockRestore();
}

describe.each(Object.keys(modelFiles) as ModelName[])('%s', (model) => {
  test('check 18: cut off at any batch, a run ends with the bytes and metrics of the whole one', async () => {
    const whole = prepare(model);
    const { test: metrics, epochs } = await temporalRun(whole.file, [often]);
    expect(epochs).toBe(3);
    expect(metrics['ap']).toBeGreaterThan(0.3);
    const wanted = await temporalState(whole.at);
    for (const stops of wide([[17, 1, 9]], [[6], [33]])) {
      const given = prepare(model);
      await cutOff(given, stops[0], [often]);
      for (const batches of stops.slice(1)) await cutOff(given, batches, [often, resume]);
      const rest = await temporalRun(given.file, [often, resume]);
      expect(rest.test).toEqual(metrics);
      expect(await temporalState(given.at)).toEqual(wanted);
      expect(finalMetrics(given.at)).toEqual(finalMetrics(whole.at));
    }
  });

  const oneMore = async () => {
    const [whole, given] = [prepare(model), prepare(model)];
    await temporalRun(whole.file);
    await temporalRun(given.file, ['--train.epoch=2']);
    await temporalRun(given.file, ['--train.epoch=3', resume]);
    expect(await temporalState(given.at)).toEqual(await temporalState(whole.at));
    expect(finalMetrics(given.at)).toEqual(finalMetrics(whole.at));
  };
  if (isWide || model === 'tgn') test('two epochs and one more are three', oneMore);
});

test('more epochs continue from the last one even if an earlier one was best', async () => {
  // No first epoch is beaten at this rate.
  const fast = ['--train.lr=1', '--train.epoch=4'];
  const [whole, given] = [prepare('tgn'), prepare('tgn')];
  await temporalRun(whole.file, fast);
  await temporalRun(given.file, [...fast, '--train.epoch=3']);
  const { best } = finalMetrics(given.at) as { best: { epoch: number } };
  expect(best.epoch).toBeLessThan(3);
  await temporalRun(given.file, [...fast, resume]);
  expect(await temporalState(given.at)).toEqual(await temporalState(whole.at));
  expect(finalMetrics(given.at)).toEqual(finalMetrics(whole.at));
});

test('a stream that begins before 0, in SNAP’s format, is trained and tested', async () => {
  for (const model of wide<ModelName>(['tgn', 'tgat'], ['jodie', 'apan'])) {
    const given = prepare(model, fileOf(snapText(300, { start: -150 }), 'txt'));
    const { test: metrics } = await temporalRun(given.file);
    expect(metrics['ap']).toBeGreaterThan(0);
    const opened = await openRun(given.at, { over: 'events' });
    expect(opened.stream.graph.time[0]).toBeLessThan(-140);
    if (opened.parts.mailbox !== null) expect(opened.parts.mailbox.getMemory([0]).time[0]).toBeGreaterThan(0);
  }
});

test('a run that stopped early stays stopped', async () => {
  const given = prepare('tgat');
  const early = ['--train.lr=0', '--train.epoch=20', '--training.patience=2'];
  expect((await temporalRun(given.file, early)).epochs).toBe(3);
  expect((await temporalRun(given.file, [...early, resume])).epochs).toBe(3);
});

test('metrics of epochs that were trained twice stand there once, those of the test too', async () => {
  const given = prepare('tgn');
  await cutOff(given, 30, [often]);
  await temporalRun(given.file, [often, resume]);
  await temporalRun(given.file, [often, resume]);
  const lines = readFileSync(join(given.at, 'metrics.jsonl'), 'utf8').trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(records.filter(({ event }) => event === 'epoch').map(({ epoch }) => epoch)).toEqual([1, 2, 3]);
  expect(records.filter(({ event }) => event === 'eval').map(({ set }) => set)).toEqual([
    ...['validation', 'validation', 'validation', 'test'],
  ]);
});

describe('check 20: what a run leaves behind', () => {
  test('check 20: its files, a configuration that gives the same run, and metrics', async () => {
    const given = prepare('tgn');
    await temporalRun(given.file, [often]);
    expect(readdirSync(given.at).sort()).toEqual([
      ...['best', 'config.yaml', 'done.json', 'full_config.yaml', 'last', 'log.txt', 'metrics.jsonl'],
      'model.safetensors',
    ]);
    expect(isEventRun(given.at)).toBe(true);
    expect(isEventRun(join(given.at, 'best'))).toBe(true);
    const again = folder();
    await temporalRun(join(given.at, 'full_config.yaml'), [`--storage.model_dir=${again}`]);
    expect(await temporalState(again)).toEqual(await temporalState(given.at));
    const done = JSON.parse(readFileSync(join(given.at, 'done.json'), 'utf8')) as Record<string, unknown>;
    for (const name of ['test.ap', 'test.auc', 'test.new_node_ap', 'events_per_second', 'peak_rss_mb'])
      expect(done[name]).toBeTypeOf('number');
    await expect(temporalRun(given.file, [often])).rejects.toThrow(/which has a finished run/);
  });

  test('check 20: a run that is opened has its scores', async () => {
    const given = prepare('tgn');
    await temporalRun(given.file);
    const { parts, record } = await openRun(given.at, { over: 'events' });
    expect(record.state['stage']).toBe('finished');
    expect(parts.mailbox!.version).toBeGreaterThan(10);
    await expect(openRun(folder(), { over: 'events' })).rejects.toThrow(/expected the directory of a run/);
    expect(isEventRun(folder())).toBe(false);
  });

  const refused = async (given: Prepared, overrides: readonly string[]): Promise<string> => {
    const error = await temporalRun(given.file, [...overrides, resume]).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(StateError);
    return (error as Error).message;
  };

  test('check 20: another stream, split or model is refused, and nothing is overwritten', async () => {
    const given = prepare('tgn');
    await cutOff(given, 10, [often]);
    const before = await temporalState(given.at, 'last');
    const files = ['config.yaml', 'full_config.yaml', 'metrics.jsonl'];
    const written = (): string[] => files.map((name) => readFileSync(join(given.at, name), 'utf8'));
    const kept = written();
    const other = fileOf(jodieText(400, { seed: 2 }), 'csv');
    expect(await refused(given, [`--dataset.path=${other}`])).toMatch(
      /expected the stream that it was trained on/,
    );
    // Also where it has another number of nodes, so that memory would not fit.
    const larger = fileOf(`${jodieText(400)}16,3,900,0,0.5,0.5\n`, 'csv');
    const overrides = [`dataset.path=${larger}`];
    await expect(openRun(given.at, { over: 'events', overrides })).rejects.toThrow(
      new RegExp(`expected the stream that it was trained on \\(.*\\), got ${larger} with`),
    );
    for (const change of ['--dataset.train_share=0.5', '--dataset.directed=true'])
      expect(await refused(given, [change])).toMatch(/expected the stream that it was trained on \(/);
    expect(await refused(given, ['--training.random_seed=9'])).toMatch(
      /expected 1 for training\.random_seed, with which it was trained, got 9\./,
    );
    expect(await refused(given, ['--memory.dim_out=16', '--sampling.neighbor=[5]'])).toMatch(
      /got a different one: sampling\.neighbor \[5\] in place of \[4\], memory\.dim_out 16 in place of 8\. Use/,
    );
    for (const change of ['--memory.dim_out=16', '--sampling.neighbor=[5]', '--gnn.att_head=1'])
      expect(await refused(given, [change])).toMatch(/expected the model that was trained/);
    expect(await refused(given, ['--memory.type=none'])).toMatch(/expected the model that was trained/);
    for (const change of ['--train.batch_size=40', '--train.reorder=1', '--training.negatives=2'])
      expect(await refused(given, [change])).toMatch(
        /expected the batches of the epoch in which it was saved, got different ones: \S+ \d in place of|batch_size 40 in/,
      );
    expect(await temporalState(given.at, 'last')).toEqual(before);
    expect(written()).toEqual(kept);
    expect((await openRun(given.at, { over: 'events' })).record.position.step).toBeGreaterThan(0);
    // What does not change the past may change.
    expect((await temporalRun(given.file, ['--train.lr=0.001', '--train.epoch=2', resume])).epochs).toBe(2);
    expect(written()[1]).toMatch(/lr: 0\.001/);
  });

  test('a seed is kept also when no node is held out and the epoch is at its end', async () => {
    const given = prepare('tgat');
    const all = '--dataset.new_node_share=0';
    await temporalRun(given.file, [all, '--train.epoch=1']);
    expect(await refused(given, [all, '--training.random_seed=2'])).toMatch(/1 for training\.random_seed/);
  });

  test('the checkpoint of where a run was cut off does not stay behind its end', async () => {
    const given = prepare('tgn');
    await cutOff(given, 10, [often]);
    await temporalRun(given.file, [resume]);
    expect((await openRun(join(given.at, 'last'), { over: 'events' })).record.position).toEqual({
      epoch: 3,
      step: 0,
    });
  });

  test('check 18: one flipped byte of a checkpoint is rejected with an error that names the file', async () => {
    const given = prepare('tgn');
    await cutOff(given, 10, [often]);
    const path = join(given.at, 'last', 'model.safetensors');
    const whole = readFileSync(path);
    for (const share of [0.3, 0.6, 0.9, 0.999]) {
      const bytes = Buffer.from(whole);
      bytes[Math.floor(bytes.length * share)] ^= 1;
      writeFileSync(path, bytes);
      const error = await temporalRun(given.file, [often, resume]).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(FormatError);
      expect((error as Error).message).toContain(path);
    }
    writeFileSync(path, whole.subarray(0, whole.length - 100));
    await expect(temporalRun(given.file, [often, resume])).rejects.toThrow(path);
    writeFileSync(path, whole);
    expect((await temporalRun(given.file, [often, resume])).epochs).toBe(3);
  });
});

describe('a process', () => {
  const long = ['--train.epoch=8', '--train.batch_size=8'];

  /** Starts `skein train` and waits for so many checkpoints. */
  async function started({ file }: Prepared, checkpoints: number): Promise<ChildProcess> {
    const args = [...skein, 'train', file, '--json', ...long, often];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
    let seen = 0;
    for await (const line of createInterface(child.stdout as NonNullable<typeof child.stdout>))
      if ((JSON.parse(line) as { event: string }).event === 'checkpoint' && ++seen === checkpoints) break;
    child.stdout?.resume();
    return child;
  }

  const whole = prepare('tgn');
  beforeAll(() => temporalRun(whole.file, [...long, often]), 240_000);

  test.each(wide(['SIGTERM', 'SIGKILL'] as const, ['SIGINT'] as const))(
    'ended by %s goes on to the same bytes',
    async (signal) => {
      const given = prepare('tgn');
      const child = await started(given, 7);
      const exit = once(child, 'exit');
      child.kill(signal);
      const [code, by] = await exit;
      expect(by ?? code).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);
      expect(RunDirectory.isFinished(given.at)).toBe(false);
      expect(existsSync(join(given.at, 'last', 'model.safetensors'))).toBe(true);
      await temporalRun(given.file, [...long, often, resume]);
      expect(await temporalState(given.at)).toEqual(await temporalState(whole.at));
      expect(finalMetrics(given.at)).toEqual(finalMetrics(whole.at));
    },
    240_000,
  );
});

test.each(['tgn', 'tgat'] as const)('%s learns what users like', async (model) => {
  const random = new Random(3);
  const lines = Array.from({ length: 2000 }, (_, i) => {
    const user = i < 16 ? i : random.nextInt(16);
    const item = i >= 16 && random.nextFloat() < 0.8 ? (user * 3) % 10 : i % 10;
    const oneHot = Array.from({ length: 10 }, (_, k) => Number(k === item));
    return `${user},${item},${i},0,${oneHot.join(',')}\n`;
  });
  const header = 'user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n';
  const { file } = prepare(model, fileOf(header + lines.join(''), 'csv'));
  const settings = [
    '--gnn.dim_out=32',
    '--train.dropout=0',
    '--train.lr=0.005',
    '--dataset.new_node_share=0',
  ];
  const { test: metrics } = await temporalRun(file, [...settings, '--train.epoch=10']);
  // The best that can be known of a pair is whether it is a favourite one: an average precision of about 0.87.
  expect(metrics['ap']).toBeGreaterThan(0.78);
});

describe('the best epoch of a resumed run', () => {
  test('is determined again if evaluation has other negatives or its model is missing', async () => {
    const given = prepare('tgn');
    await temporalRun(given.file, ['--train.epoch=1']);
    const other = await temporalRun(given.file, [
      ...['--train.epoch=2', resume],
      '--evaluation.negatives=historical',
    ]);
    expect(other.epochs).toBe(2);
    rmSync(join(given.at, 'best'), { recursive: true });
    const again = await temporalRun(given.file, ['--train.epoch=3', resume]);
    expect(again.epochs).toBe(3);
    expect(existsSync(join(given.at, 'best', 'model.safetensors'))).toBe(true);
  });

  test('is refused when it is that of another run', async () => {
    const [given, other] = [prepare('tgn'), prepare('tgn')];
    await temporalRun(given.file, ['--train.epoch=1']);
    await temporalRun(other.file, ['--train.epoch=1', '--training.random_seed=99']);
    cpSync(join(other.at, 'best'), join(given.at, 'best'), { recursive: true });
    await expect(temporalRun(given.file, ['--train.epoch=2', resume])).rejects.toThrow(
      `${join(given.at, 'best')}: expected 99 for training.random_seed`,
    );
  });
});
