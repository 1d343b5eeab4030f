/** Trains the best configuration of a search with several seeds, and tests it: the only use of the test split. */
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withStorageErrors, writeFileAtomic } from '../../storage/atomic-file.js';
import { checkInteger } from '../../util/errors.js';
import { loadConfig, type SkeinConfig } from '../config/index.js';
import { withPlugins } from '../plugins.js';
import { differences } from '../run/differences.js';
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
 * and others resumed; runs of another `best.yaml`, from before the search was enlarged, are moved to
 * `retrain-<seed>-old<i>` and trained again.
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
    const fixed = [
      `storage.model_dir=${JSON.stringify(path)}`,
      `model.random_seed=${seed}`,
      'training.checkpoint.save_best=true',
    ];
    await moveOutdated(path, { settings, wanted: loadConfig(best, fixed).config, output });
    if (existsSync(done)) {
      runs.push((JSON.parse(readFileSync(done, 'utf8')) as { readonly test: Metrics }).test);
      continue;
    }
    output.note(`retraining with seed ${seed}`);
    const { config } = loadConfig(best, [
      ...fixed,
      `training.resume_training=${(await latestCheckpoint(path)) !== null}`,
    ]);
    const { test, interrupted } = await trainRun({ config, output });
    if (interrupted) isInterrupted = true;
    else runs.push(test);
  }
  return { runs, ...statistics(runs), interrupted: isInterrupted };
}

interface WantedRun {
  /** The text of `best.yaml`. */
  readonly settings: string;
  readonly wanted: SkeinConfig;
  readonly output: Output;
}

/**
 * Moves a run of other settings aside. The settings of a run are in a file next to its directory; a run without it, from
 * before such files were written, is compared by its resolved configuration.
 */
async function moveOutdated(path: string, { settings, wanted, output }: WantedRun): Promise<void> {
  const file = `${path}.yaml`;
  const known = existsSync(file) ? readFileSync(file, 'utf8') : null;
  if (known === settings) return;
  if (existsSync(path) && (known !== null || !isRunOf(path, wanted))) {
    let i = 1;
    while (existsSync(`${path}-old${i}`) || existsSync(`${path}-old${i}.yaml`)) i++;
    const aside = `${path}-old${i}`;
    withStorageErrors('write', aside, () => renameSync(path, aside));
    if (known !== null) withStorageErrors('write', aside, () => renameSync(file, `${aside}.yaml`));
    output.note(`moved ${path}, a run of other settings, to ${aside}`);
  }
  await writeFileAtomic(file, new TextEncoder().encode(settings));
}

/** Returns whether the resolved configuration of a run is the wanted one. */
function isRunOf(path: string, wanted: SkeinConfig): boolean {
  const file = join(path, 'full_config.yaml');
  if (!existsSync(file)) return false;
  try {
    const { config } = loadConfig(file);
    // Training replaces the automatic value by the number that it has chosen.
    const { bucket_partitions: given } = wanted.training;
    const bucket_partitions = given === -1 ? config.training.bucket_partitions : given;
    const expected = withPlugins(path, { ...wanted, training: { ...wanted.training, bucket_partitions } });
    return differences(comparable(config), comparable(expected)).length === 0;
  } catch {
    // It is damaged, or needs types that this process does not have.
    return false;
  }
}

/** Returns a configuration without what training adds and what a resumed run changes. */
function comparable(config: SkeinConfig): unknown {
  const { storage, training } = config;
  const { dataset_dir: directory, name: _, ...dataset } = storage.dataset;
  const { resume_training: __, time_limit_epochs: ___, ...others } = training;
  return {
    ...config,
    plugins: (config.plugins ?? []).map(({ sha256 }) => sha256),
    storage: { ...storage, dataset: { ...dataset, dataset_dir: resolve(directory) } },
    training: others,
  };
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
