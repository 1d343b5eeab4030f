/**
 * A run on a partition buffer, killed with SIGKILL at twenty random moments and resumed each time, ends with the bytes of
 * the run that was left alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { SkeinConfig } from 'skein/train';
import { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { renderConfig } from '#internal/train/config/config-file.js';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { root, skein } from '../programs.js';
import { learned, randomRows, run, scratch, tinyConfig, writeDataset } from '../train/tiny.js';

const kills = 20;
const folder = scratch();

const rows = randomRows(3000, 40_000, 5);
const dataset = writeDataset(folder(), {
  numNodes: 3000,
  numRelations: 5,
  train: rows,
  test: rows.subarray(0, 300),
  partitions: 8,
});

function config(model_dir: string, resume: boolean): SkeinConfig {
  return tinyConfig(dataset, {
    storage: {
      model_dir,
      embeddings: { type: 'PARTITION_BUFFER', options: { num_partitions: 8, buffer_capacity: 3 } },
    },
    training: {
      batch_size: 50,
      num_epochs: 12,
      checkpoint: { interval_batches: 25 },
      resume_training: resume,
      negative_sampling: { num_chunks: 2, negatives_per_positive: 50, degree_fraction: 0.5 },
    },
  });
}

/** Starts a run and kills it some time after training has started; returns true if it ended before. */
async function startAndKill(given: SkeinConfig, delay: number): Promise<boolean> {
  const path = `${folder()}.yaml`;
  writeFileSync(path, renderConfig(given));
  const child = spawn(process.execPath, [...skein, 'train', path, '--json'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  child.stdout.setEncoding('utf8');
  await Promise.race([once(child.stdout, 'data'), exit]);
  child.stdout.resume();
  await Promise.race([new Promise((resolve) => setTimeout(resolve, delay)), exit]);
  child.kill('SIGKILL');
  const [, signal] = await exit;
  return signal !== 'SIGKILL';
}

test(`${kills} kills at random moments change nothing`, async () => {
  const at = folder();
  const seed = Date.now() % 2 ** 31;
  const random = new Random(seed);
  for (let i = 0; i < kills; i++) {
    const delay = random.nextInt(400);
    // Printed so that a failure can be reproduced.
    console.log(`seed ${seed}: kill ${i + 1} after ${delay} ms`);
    const finished = await startAndKill(config(at, i > 0), delay);
    expect(finished, 'the run must be longer than its kills').toBe(false);
  }
  expect(RunDirectory.isFinished(at)).toBe(false);
  const rest = await run(config(at, true));
  expect(rest.losses.length).toBeGreaterThan(0);
  const whole = await run(config(folder(), false));
  expect(await learned(at)).toEqual(await learned(whole.directory));
});
