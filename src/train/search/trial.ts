/**
 * One trial of a search: an ordinary run, trained up to a number of epochs. It continues from its last checkpoint if it
 * has one, and is not tested: a search selects by validation alone.
 */
import { join } from 'node:path';
import { ConfigError, StateError } from '../../util/errors.js';
import { resolveConfig } from '../config/index.js';
import { Output } from '../run/index.js';
import { readRecords } from '../run/metrics-file.js';
import { latestCheckpoint } from '../run/run-record.js';
import { trainRun } from '../train-run.js';

/** The work of a trial; plain data, which another process can do. */
export interface TrialJob {
  readonly directory: string;
  /** The values of a configuration file. */
  readonly config: unknown;
  /** `section.key=value`, with the values of the trial. */
  readonly overrides: readonly string[];
  readonly epochs: number;
  readonly metric: string;
  readonly lowerIsBetter: boolean;
}

export type TrialOutcome =
  | { readonly kind: 'done'; readonly value: number; readonly epoch: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'interrupted' };

/** Trains a trial. A configuration that is rejected and a loss that is not finite are outcomes; other errors are thrown. */
export async function runTrial(job: TrialJob): Promise<TrialOutcome> {
  const { directory, epochs } = job;
  const resumes = (await latestCheckpoint(directory)) !== null;
  try {
    const { config } = resolveConfig(job.config, [
      ...job.overrides,
      `storage.model_dir=${JSON.stringify(directory)}`,
      `training.num_epochs=${epochs}`,
      `training.resume_training=${resumes}`,
    ]);
    const { interrupted } = await trainRun({ config, output: Output.silent(), test: false });
    if (interrupted) return { kind: 'interrupted' };
  } catch (error) {
    // Both depend on the values of the trial alone; anything else may be gone when the search is resumed.
    const isDivergence = error instanceof StateError && error.message.includes('expected a finite loss');
    if (error instanceof ConfigError || isDivergence) return { kind: 'failed', reason: error.message };
    throw error;
  }
  return bestValidation(job);
}

/** Returns the best validation result of a run, the first of equals. */
function bestValidation({ directory, metric, lowerIsBetter, epochs }: TrialJob): TrialOutcome {
  const sign = lowerIsBetter ? -1 : 1;
  let best: { readonly value: number; readonly epoch: number } | null = null;
  for (const { event, set, epoch, [metric]: value } of readRecords(join(directory, 'metrics.jsonl'))) {
    if (event !== 'eval' || set !== 'validation' || typeof value !== 'number') continue;
    if ((epoch as number) <= epochs && (best === null || sign * (value - best.value) > 0))
      best = { value, epoch: epoch as number };
  }
  if (best !== null) return { kind: 'done', ...best };
  throw new StateError(
    `search: expected a validation set with the metric ${metric}, got no such result in ${directory}. Prepare the dataset with a validation split, or add the metric to evaluation.metrics.`,
  );
}
