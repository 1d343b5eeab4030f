/** Labels that change with time: a classifier on a trained model that stays as it is, in a run and by itself. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TemporalRuntime } from 'skein/temporal';
import {
  Output,
  openRun,
  type RunResult,
  resolveTemporalConfig,
  trainLabelHead,
  trainRun,
} from 'skein/train';
import { Random } from 'skein/util';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { NodeClassifier } from '#internal/temporal/models/node-classifier.js';
import { evaluateRunLabels } from '#internal/train/tasks/events/run-labels.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-labels-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [users, items, count, recent] = [30, 10, 1500, 20];

/** A user is labelled 1 when its event before was at most `recent` ago. The label of an event is not in its features. */
function writeStream(path: string): void {
  const random = new Random(4);
  const seen = new Map<number, number>();
  const lines = ['user_id,item_id,timestamp,state_label,comma_separated_list_of_features'];
  let user = 0;
  for (let i = 0; i < count; i++) {
    // Bursts: about half of the events are of the user before.
    if (random.nextFloat() < 0.5) user = random.nextInt(users);
    const label = i - (seen.get(user) ?? Number.NEGATIVE_INFINITY) <= recent ? 1 : 0;
    seen.set(user, i);
    lines.push(`${user},${(user + random.nextInt(2)) % items},${i},${label}`);
  }
  writeFileSync(path, `${lines.join('\n')}\n`);
}

function train(
  name: string,
  labels: object,
  dataset: object,
  training: object = { logs_per_epoch: 0 },
): Promise<RunResult> {
  const { config } = resolveTemporalConfig({
    dataset,
    labels,
    sampling: { layer: 1, neighbor: [5], strategy: 'recent' },
    memory: { type: 'node', dim_out: 16, dim_time: 16 },
    gnn: { arch: 'transformer_attention', variant: 'tgn', dim_time: 16, dim_out: 16 },
    train: { epoch: 1, batch_size: 20, lr: 0.005 },
    training,
    storage: { model_dir: join(folder, name) },
  });
  const quiet = { write: () => true };
  return trainRun({ config, output: new Output({ stdout: quiet, stderr: quiet }) });
}

type Methods = Record<'embed' | 'forward', (...args: unknown[]) => unknown>;

describe('labels of a run', () => {
  const path = join(folder, 'events.csv');
  writeStream(path);

  it('are predicted far better than by chance, and identically by the saved run', async () => {
    const { directory, test } = await train('run', { epochs: 30, lr: 0.01 }, { path, format: 'jodie' });
    const { labels } = JSON.parse(readFileSync(join(directory, 'done.json'), 'utf8'));
    expect(labels.validation.auc).toBeGreaterThan(0.85);
    expect(labels.test.auc).toBeGreaterThan(0.85);
    expect(labels.test.accuracy).toBeGreaterThan(0.75);
    expect(labels.test.macro_f1).toBeGreaterThan(0.7);
    expect(labels.test.count).toBeGreaterThan(200);
    expect(test.ap).toBeDefined();
    const run = await openRun(directory, { over: 'events' });
    expect(run.record.state['stage']).toBe('finished');
    expect(await evaluateRunLabels(run, 'test')).toEqual(labels.test);
  });

  it.each([
    ['amid the pass over the stream', 'embed'],
    ['amid the epochs of the classifier', 'forward'],
  ] as const)('stop at a signal %s, and resume', async (_where, method) => {
    const owner = (method === 'embed' ? TemporalRuntime : NodeClassifier).prototype as unknown as Methods;
    const call = owner[method];
    let calls = 0;
    const spy = vi.spyOn(owner, method).mockImplementation(function (this: unknown, ...args: unknown[]) {
      if (++calls === 5) process.emit('SIGINT');
      return call.apply(this, args);
    });
    const data = { path, format: 'jodie' };
    const stopped = await train(`stopped-${method}`, { epochs: 200, patience: -1 }, data);
    expect(stopped.interrupted).toBe(true);
    expect(calls).toBe(5);
    spy.mockRestore();
    expect(existsSync(join(stopped.directory, 'done.json'))).toBe(false);
    expect((await openRun(stopped.directory, { over: 'events' })).record.state['stage']).toBe('finished');
    const again = { resume_training: true, logs_per_epoch: 0 };
    const whole = await train(`stopped-${method}`, { epochs: 2 }, data, again);
    expect([whole.interrupted, whole.test]).toEqual([false, stopped.test]);
    const done = JSON.parse(readFileSync(join(whole.directory, 'done.json'), 'utf8'));
    expect(done['test.label_auc']).toEqual(expect.any(Number));
  });

  it('are refused where the stream has none, before training', async () => {
    writeFileSync(join(folder, 'plain.txt'), '0 1 1\n1 2 2\n2 3 3\n');
    const run = train('none', { epochs: 2 }, { path: join(folder, 'plain.txt') });
    await expect(run).rejects.toThrow(/stream with event labels for labels.epochs 2, got plain/);
  });
});

describe('trainLabelHead', () => {
  const events = (numClasses: number) => {
    const random = new Random(2);
    const labels = Float32Array.from({ length: 300 }, () => random.nextInt(numClasses));
    const embeddings = Float32Array.from({ length: 1200 }, (_, k) => {
      const own = labels[Math.floor(k / 4)] === k % 4 ? 1 : 0;
      return own + 0.2 * random.nextFloat();
    });
    return { embeddings, width: 4, labels, trainEnd: 200, validationEnd: 250 };
  };

  it('learns several classes; events without a label count for nothing', async () => {
    const data = events(3);
    data.labels.set([-1, Number.NaN], 0);
    data.labels.set([-1], 299);
    const { test, validation } = await trainLabelHead(data, { epochs: 20, lr: 0.02, batchSize: 20 });
    expect(validation.accuracy).toBe(1);
    expect(test).toEqual({ accuracy: 1, macro_f1: 1, count: 49 });
  });

  it('gives the same for the same seed', async () => {
    const options = { epochs: 2, dropout: 0.2, seed: 1 };
    const twice = [await trainLabelHead(events(2), options), await trainLabelHead(events(2), options)];
    expect(twice[0].head.mlp.parameters().map((p) => [...p.dataSync()])).toEqual(
      twice[1].head.mlp.parameters().map((p) => [...p.dataSync()]),
    );
  });

  it('names what is wrong', async () => {
    const data = events(2);
    await expect(trainLabelHead({ ...data, width: 3 }, { epochs: 1 })).rejects.toThrow(
      /300 rows of 3 numbers/,
    );
    await expect(trainLabelHead({ ...data, trainEnd: 0 }, { epochs: 1 })).rejects.toThrow(
      /labelled events among the 0/,
    );
    data.labels[7] = 0.5;
    await expect(trainLabelHead(data, { epochs: 1 })).rejects.toThrow(/classes from 0.*0\.5 at event 7/);
  });
});
