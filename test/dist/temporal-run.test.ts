/**
 * Runs of event streams on several workers: 1, 2 and 4 end with the same bytes and metrics; a run that was interrupted
 * by a signal, or by the death of one rank, resumes with any number of them to the bytes of the uninterrupted run.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunDirectory } from '#internal/train/run/run-directory.js';
import {
  finalMetrics,
  jodieText,
  type ModelName,
  temporalRun,
  writeTemporalConfig,
} from '../train/temporal-files.js';
import { wide } from '../wide.js';
import { hasMpi, type Job, launch, withoutMpi } from './launch.js';
import { workerCounts } from './worker-counts.js';

const folder = mkdtempSync(join(tmpdir(), 'skein-temporal-workers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const events = join(folder, 'events.csv');
writeFileSync(events, jodieText(400));

const often = '--training.checkpoint.interval_batches=3';
/** Environment variables that a launcher sets. */
const section = '--distributed=true';
const long = ['--train.epoch=3', '--train.batch_size=8'];
const resume = '--training.resume_training=true';

interface Prepared {
  readonly file: string;
  readonly at: string;
}

function prepare(model: ModelName, name: string): Prepared {
  const at = join(folder, `${model}-${name}`);
  return { file: writeTemporalConfig(`${at}.yaml`, model, events, at), at };
}

interface Cut {
  /** Number of checkpoints after which to stop. */
  readonly after: number;
  readonly with: (launcher: number, ranks: readonly number[]) => void;
}

async function train(
  { file }: Prepared,
  ranks: number,
  settings: readonly string[],
  cut?: Cut,
): Promise<Job> {
  let done = false;
  return launch(ranks, 'src/cli/main.ts', ['train', file, '--json', often, ...settings], {
    limit: 280,
    onOutput(out, { pid }) {
      if (cut === undefined || done || pid === undefined) return;
      if ((out.match(/"event":"checkpoint"/g)?.length ?? 0) < cut.after) return;
      done = true;
      cut.with(pid, childrenOf(pid));
    },
  });
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

/** Bytes of the final model and of the best, and the metrics of the run. */
function outcome({ at }: Prepared): unknown {
  const sum = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(at, name, 'model.safetensors')))
      .digest('hex');
  return { model: sum(''), best: sum('best'), ...(finalMetrics(at) as object) };
}

describe.skipIf(!hasMpi)(`runs${withoutMpi}`, () => {
  it.each(wide<ModelName>(['tgn'], ['apan']))(
    'of %s have the same bytes with several workers, and with one that no launcher started',
    async (model) => {
      const alone = prepare(model, 'alone');
      const labels = '--labels.epochs=2';
      await temporalRun(alone.file, [often, section, labels]);
      const head = ({ at }: Prepared): Buffer => readFileSync(join(at, 'labels.safetensors'));
      for (const ranks of workerCounts([2], [1, 4])) {
        const given = prepare(model, `whole-${ranks}`);
        const { code, err } = await train(given, ranks, [labels]);
        expect({
          code,
          err: err.replace(
            /Done in .*Saved in .*\n|^.*(epoch|validation|test|baseline|[Rr]ecency) .*\n/gm,
            '',
          ),
        }).toEqual({
          ...{ code: 0, err: '' },
        });
        expect(outcome(given)).toEqual(outcome(alone));
        expect(head(given).equals(head(alone))).toBe(true);
      }
    },
    300_000,
  );

  const ends = [
    ['SIGUSR2', 2, 1],
    ['SIGUSR2', 2, 4],
    ['SIGKILL of one rank', 2, 2],
    ['SIGKILL of one rank', 4, 2],
  ] as const;
  const whole = prepare('tgn', 'whole');
  beforeAll(() => temporalRun(whole.file, [often, section, ...long]));
  it.each(wide(ends.slice(0, 1), ends.slice(1)))(
    'ended by %s with %i workers resume with %i to the same bytes',
    async (how, ranks, then) => {
      const given = prepare('tgn', `${how}-${ranks}-${then}`.replaceAll(' ', '-'));
      const { code, err } = await train(given, ranks, long, {
        after: 5,
        with: (launcher, [, victim]) =>
          how === 'SIGUSR2' ? process.kill(launcher, how) : process.kill(victim, 'SIGKILL'),
      });
      if (how === 'SIGUSR2') {
        // Stopped as `skein run` does: with a checkpoint of the current batch.
        expect(code).toBe(0);
      } else {
        expect(code).not.toBe(0);
        expect(err).toMatch(/rank \d.* is gone/);
      }
      expect(RunDirectory.isFinished(given.at)).toBe(false);
      expect((await train(given, then, [...long, resume])).code).toBe(0);
      expect(outcome(given)).toEqual(outcome(whole));
    },
    300_000,
  );

  it.each(wide([], ['stale_cache', 'local']))(
    'with %s repeat themselves, also when one rank was killed',
    async (consistency) => {
      const settings = [...long, `--distributed.temporal.consistency=${consistency}`];
      const whole = prepare('tgn', `${consistency}-whole`);
      expect((await train(whole, 2, settings)).code).toBe(0);
      const given = prepare('tgn', consistency);
      const kill = {
        after: 5,
        with: (_: number, [, victim]: readonly number[]) => process.kill(victim, 'SIGKILL'),
      };
      expect((await train(given, 2, settings, kill)).code).not.toBe(0);
      expect((await train(given, 2, [...settings, resume])).code).toBe(0);
      expect(outcome(given)).toEqual(outcome(whole));
    },
    300_000,
  );

  it('with a number of workers that does not divide the chunks is refused by one sentence', async () => {
    const { code, err } = await train(prepare('tgn', 'three'), 3, []);
    expect(code).not.toBe(0);
    expect(err).toContain('expected a multiple of the 3 workers for distributed.temporal.chunks, got 8.');
    expect(err.match(/expected a multiple/g)?.length).toBe(1);
  }, 240_000);
});
