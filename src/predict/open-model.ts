/** Opens trained models as predictors. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenedRun, type OpenRunOptions, openRun } from '../train/index.js';
import { type EventAdvice, EventPredictor } from './event-predictor.js';
import { GraphPredictor } from './graph-predictor.js';
import type { Predictor } from './predictor.js';

/**
 * Opens the model of a run, of one of its checkpoints, of a configuration file, of a directory that `fitLinks`, `fitNodes`
 * or `fitEvents` created, or of a file of `packModel`.
 *
 * @example
 * const model = await openModel('runs/first');
 * const [answers] = await model.rank([{ head: 'steroid', relation: 'affects' }], { k: 3 });
 */
export async function openModel(path: string, options: OpenRunOptions = {}): Promise<Predictor> {
  return openPredictor(await openRun(runPath(path), { command: 'openModel', ...options }));
}

/** Returns the run of a directory that `fitLinks` or one of its siblings created; `openRun` checks other paths. */
export function runPath(path: string): string {
  return typeof path === 'string' && isFitDirectory(path) ? join(path, 'run') : path;
}

/** Returns whether `fitLinks` or one of its siblings created the directory. */
function isFitDirectory(path: string): boolean {
  const has = (...names: string[]): boolean => existsSync(join(path, ...names));
  return !has('full_config.yaml') && has('run', 'full_config.yaml');
}

/** Returns the predictor of an open run; closing it closes the run, and so does a failure. */
export async function openPredictor(run: OpenedRun, advice?: EventAdvice): Promise<Predictor> {
  try {
    return run.kind === 'events'
      ? new EventPredictor(run, undefined, advice)
      : await GraphPredictor.open(run);
  } catch (error) {
    await run.close();
    throw error;
  }
}
