/**
 * A run of a temporal model, killed with SIGKILL at ten random moments and resumed each time, ends with the bytes and the
 * metrics of the run that was left alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Random } from 'skein/util';
import { describe, expect, test } from 'vitest';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { root, skein } from '../programs.js';
import {
  finalMetrics,
  jodieText,
  type ModelName,
  temporalRun,
  temporalState,
  writeTemporalConfig,
} from '../train/temporal-files.js';
import { scratch } from '../train/tiny.js';

const kills = 10;
const folder = scratch();
const events = `${folder()}.csv`;
writeFileSync(events, jodieText(3000));

const settings = ['--train.epoch=40', '--train.batch_size=20', '--training.checkpoint.interval_batches=7'];
const resume = '--training.resume_training=true';

/** Starts a run and kills it some time after training has started; returns true if it ended before. */
async function startAndKill(file: string, overrides: readonly string[], delay: number): Promise<boolean> {
  const args = [...skein, 'train', file, '--json', ...overrides];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdout.setEncoding('utf8');
  await Promise.race([once(child.stdout, 'data'), exit]);
  child.stdout.resume();
  await Promise.race([new Promise((resolve) => setTimeout(resolve, delay)), exit]);
  child.kill('SIGKILL');
  const [, signal] = await exit;
  return signal !== 'SIGKILL';
}

describe.each<ModelName>(['tgn', 'tgat'])('%s', (model) => {
  test(`${kills} kills at random moments change nothing`, async () => {
    const at = folder();
    const file = writeTemporalConfig(`${at}.yaml`, model, events, at);
    const seed = Date.now() % 2 ** 31;
    const random = new Random(seed);
    for (let i = 0; i < kills; i++) {
      const delay = random.nextInt(800);
      // Printed so that a failure can be reproduced.
      console.log(`seed ${seed}: kill ${i + 1} after ${delay} ms`);
      const finished = await startAndKill(file, i > 0 ? [...settings, resume] : settings, delay);
      expect(finished, 'the run must be longer than its kills').toBe(false);
    }
    expect(RunDirectory.isFinished(at)).toBe(false);
    await temporalRun(file, [...settings, resume]);
    const whole = folder();
    await temporalRun(writeTemporalConfig(`${whole}.yaml`, model, events, whole), settings);
    expect(finalMetrics(at)).toEqual(finalMetrics(whole));
    expect(await temporalState(at)).toEqual(await temporalState(whole));
  });
});
