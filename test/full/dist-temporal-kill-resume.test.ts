/**
 * A run of a temporal model on two or four workers, one of which is killed with SIGKILL at ten random moments: every
 * time all end with the reason. Resuming, each time with another number of workers, ends with the bytes and the metrics
 * of the uninterrupted run on one.
 */
import { writeFileSync } from 'node:fs';
import { Random } from 'skein/util';
import { expect, test } from 'vitest';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import { hasMpi, withoutMpi } from '../dist/launch.js';
import {
  finalMetrics,
  jodieText,
  temporalRun,
  temporalState,
  writeTemporalConfig,
} from '../train/temporal-files.js';
import { scratch } from '../train/tiny.js';
import { expectReason, killRank, runJob } from './dist-kill-harness.js';

const kills = 10;
const folder = scratch();
const events = `${folder()}.csv`;
writeFileSync(events, jodieText(3000));
const settings = ['--train.epoch=20', '--train.batch_size=20', '--training.checkpoint.interval_batches=7'];
const resume = '--training.resume_training=true';

test.skipIf(!hasMpi)(
  `${kills} kills of a worker at random moments change nothing, whatever the number of workers${withoutMpi}`,
  async () => {
    const at = folder();
    const file = writeTemporalConfig(`${at}.yaml`, 'tgn', events, at);
    const seed = Date.now() % 2 ** 31;
    const random = new Random(seed);
    for (let i = 0; i < kills; i++) {
      const workers = random.nextInt(2) === 0 ? 2 : 4;
      const [delay, victim] = [random.nextInt(1500), random.nextInt(workers)];
      // Printed so that a failure can be reproduced.
      console.log(`seed ${seed}: kill ${i + 1} of rank ${victim} of ${workers} after ${delay} ms`);
      const command = ['train', file, '--json', ...settings, ...(i > 0 ? [resume] : [])];
      const job = await killRank({ workers, command, delay, victim });
      expect(job.finished, 'the run must be longer than its kills').toBe(false);
      expectReason(job, victim);
    }
    expect(RunDirectory.isFinished(at)).toBe(false);
    await runJob(2, ['train', file, '--json', ...settings, resume]);
    const whole = folder();
    const left = writeTemporalConfig(`${whole}.yaml`, 'tgn', events, whole);
    await temporalRun(left, [...settings, '--distributed=true']);
    expect(finalMetrics(at)).toEqual(finalMetrics(whole));
    expect(await temporalState(at)).toEqual(await temporalState(whole));
  },
  900_000,
);
