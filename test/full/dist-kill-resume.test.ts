/**
 * Link prediction, and node classification on the whole graph, on two workers, one of which is killed with SIGKILL at
 * ten random moments: every time the other ends with the reason, which is also in the run's log; resuming with two
 * gives the bytes of the uninterrupted run, and with one or three workers the same losses.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveConfig, type SkeinConfig } from 'skein/train';
import { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { hasMpi, withoutMpi } from '../dist/mpi-launch.js';
import { learned, randomRows, scratch, tinyConfig, writeDataset } from '../train/tiny.js';
import { expectReason, killRank, runJob } from './dist-kill-harness.js';

const kills = 10;
const workers = 2;
const folder = scratch();
const rows = randomRows(2000, 20_000, 5);
const dataset = writeDataset(folder(), {
  numNodes: 2000,
  numRelations: 5,
  train: rows,
  test: rows.subarray(0, 300),
});

const nodes = writeDataset(folder(), {
  numNodes: 4000,
  numClasses: 4,
  train: randomRows(4000, 40_000, 0),
  labels: Int32Array.from({ length: 4000 }, (_, i) => (i * 7) % 4),
  nodes: {
    train: Int32Array.from({ length: 1000 }, (_, i) => i),
    validation: Int32Array.of(1000, 1001),
    test: Int32Array.of(2000, 2001, 2002),
  },
  features: { width: 16, values: Float32Array.from({ length: 4000 * 16 }, (_, i) => Math.sin(i * 1.7)) },
});

type Kind = 'link prediction' | 'the whole graph';

function made(kind: Kind, model_dir: string, resume_training: boolean): SkeinConfig {
  if (kind === 'link prediction')
    return tinyConfig(dataset, {
      storage: { model_dir },
      training: {
        batch_size: 50,
        num_epochs: 30,
        checkpoint: { interval_batches: 40 },
        resume_training,
        negative_sampling: { num_chunks: 2, negatives_per_positive: 50, degree_fraction: 0.5 },
      },
      evaluation: { epochs_per_eval: 30 },
    });
  // Without activations: over so many epochs anything with kinks would turn roundings of other sums into another path.
  const layer = (output_dim: number) => [{ type: 'GNN', options: { type: 'GCN' }, output_dim }];
  return resolveConfig({
    model: {
      random_seed: 5,
      learning_task: 'NODE_CLASSIFICATION',
      encoder: { layers: [[{ type: 'FEATURE', output_dim: 16 }], layer(32), layer(4)] },
      decoder: { type: 'NODE' },
      loss: { type: 'CROSS_ENTROPY', options: { reduction: 'MEAN' } },
      dense_optimizer: { type: 'ADAM', options: { learning_rate: 0.002 } },
    },
    storage: { dataset: { dataset_dir: nodes }, model_dir },
    training: {
      num_epochs: 5000,
      full_batch: true,
      checkpoint: { interval: 100 },
      resume_training,
    },
    evaluation: { epochs_per_eval: 5000 },
    distributed: true,
  }).config;
}

function configOf(kind: Kind, model_dir: string, resume: boolean): string {
  const path = `${folder()}.yaml`;
  writeFileSync(path, renderConfig(made(kind, model_dir, resume)));
  return path;
}

/** Loss of every epoch, as the run's own file has it. */
function losses(directory: string): number[] {
  const lines = readFileSync(join(directory, 'metrics.jsonl'), 'utf8').trim().split('\n');
  const epochs = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'epoch');
  return epochs.map(({ loss }) => loss as number);
}

test.skipIf(!hasMpi).each<Kind>(['link prediction', 'the whole graph'])(
  `${kills} kills of a worker at random moments: %s${withoutMpi}`,
  async (kind) => {
    const config = (directory: string, resume: boolean) => configOf(kind, directory, resume);
    const at = folder();
    const seed = Date.now() % 2 ** 31;
    const random = new Random(seed);
    for (let i = 0; i < kills; i++) {
      const [delay, victim] = [random.nextInt(1500), random.nextInt(workers)];
      // Printed so that a failure can be reproduced.
      console.log(`seed ${seed}: kill ${i + 1} of rank ${victim} after ${delay} ms`);
      const command = ['train', config(at, i > 0), '--json'];
      const job = await killRank({ workers, command, delay, victim });
      expect(job.finished, 'the run must be longer than its kills').toBe(false);
      expectReason(job, victim);
      const log = readFileSync(join(at, 'log.txt'), 'utf8').trim().split('\n');
      expect(log.at(-1)).toMatch(new RegExp(`error rank ${1 - victim}: rank ${victim} .* is gone`));
    }
    expect(RunDirectory.isFinished(at)).toBe(false);
    const others = [1, 3].map((n) => [n, folder()] as const);
    for (const [, copy] of others) cpSync(at, copy, { recursive: true });
    const whole = folder();
    await runJob(workers, ['train', config(whole, false), '--json']);
    const told = await runJob(workers, ['train', config(at, true), '--json']);
    expect(told.at(-1)).toMatchObject({ event: 'done', directory: at });
    expect(await learned(at)).toEqual(await learned(whole));
    expect(losses(at)).toEqual(losses(whole));
    for (const [n, copy] of others) {
      await runJob(n, ['train', config(copy, true), '--json']);
      const [here, there] = [losses(copy), losses(whole)];
      expect(here.length).toBe(there.length);
      for (const [i, loss] of here.entries()) expect(Math.abs(loss / there[i] - 1)).toBeLessThan(1e-4);
    }
  },
  900_000,
);
