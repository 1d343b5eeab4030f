/** Trains the best configuration of a search with several seeds, and tests it: the only use of the test split. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { checkInteger } from '../../util/errors.js';
import { loadConfig } from '../config/index.js';
import { Output } from '../run/output.js';
import { latestCheckpoint } from '../run/run-record.js';
import type { Metrics } from '../task.js';
import { trainRun } from '../train-run.js';

export interface RetrainResult {
  /** Test metrics of each seed, from 1. */
  readonly runs: readonly Metrics[];
  readonly mean: Metrics;
  /** Standard deviation over the seeds, with n − 1. */
  readonly deviation: Metrics;
  readonly interrupted: boolean;
}

/**
 * Trains `best.yaml` of a search with the seeds 1 … `seeds`, in `retrain-<seed>` of its directory. Finished runs are kept,
 * and others resumed; runs of another `best.yaml`, from before the search was enlarged, are trained again.
 */
export async function retrainBest(
  directory: string,
  seeds: number,
  output: Output = Output.silent(),
): Promise<RetrainResult> {
  checkInteger('retrainBest', 'seeds', seeds, 1, 1000);
  const best = join(directory, 'best.yaml');
  loadConfig(best);
  // The comment names the number of trials, which does not change the configuration.
  const settings = readFileSync(best, 'utf8').replace(/^#.*\n/, '');
  const runs: Metrics[] = [];
  let isInterrupted = false;
  for (let seed = 1; seed <= seeds && !isInterrupted; seed++) {
    const path = join(resolve(directory), `retrain-${seed}`);
    const done = join(path, 'done.json');
    await removeOutdated(path, settings);
    if (existsSync(done)) {
      runs.push((JSON.parse(readFileSync(done, 'utf8')) as { readonly test: Metrics }).test);
      continue;
    }
    output.note(`retraining with seed ${seed}`);
    const { config } = loadConfig(best, [
      `storage.model_dir=${JSON.stringify(path)}`,
      `model.random_seed=${seed}`,
      'training.checkpoint.save_best=true',
      `training.resume_training=${(await latestCheckpoint(path)) !== null}`,
    ]);
    const { test, interrupted } = await trainRun({ config, output });
    if (interrupted) isInterrupted = true;
    else runs.push(test);
  }
  return { runs, ...statistics(runs), interrupted: isInterrupted };
}

/** Removes a run of other settings. The settings of a run are in a file next to its directory. */
async function removeOutdated(path: string, settings: string): Promise<void> {
  const file = `${path}.yaml`;
  if (existsSync(file) && readFileSync(file, 'utf8') === settings) return;
  rmSync(path, { recursive: true, force: true });
  await writeFileAtomic(file, new TextEncoder().encode(settings));
}

function statistics(runs: readonly Metrics[]): Pick<RetrainResult, 'mean' | 'deviation'> {
  const mean: Record<string, number> = {};
  const deviation: Record<string, number> = {};
  for (const name of Object.keys(runs[0] ?? {})) {
    const values = runs.map((run) => run[name]);
    const average = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - average) ** 2, 0);
    mean[name] = average;
    deviation[name] = values.length === 1 ? 0 : Math.sqrt(squares / (values.length - 1));
  }
  return { mean, deviation };
}
