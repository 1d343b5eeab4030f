/** Opens trained models as predictors. */
import { type OpenedRun, type OpenRunOptions, openRun } from '../train/index.js';
import { EventPredictor } from './event-predictor.js';
import { GraphPredictor } from './graph-predictor.js';
import type { Predictor } from './predictor.js';

/**
 * Opens the model of a run, of one of its checkpoints, or of a configuration file.
 *
 * @example
 * const model = await openModel('runs/first');
 * const [answers] = await model.rank([{ head: 'steroid', relation: 'affects' }], { k: 3 });
 */
export async function openModel(path: string, options: OpenRunOptions = {}): Promise<Predictor> {
  return openPredictor(await openRun(path, { command: 'openModel', ...options }));
}

/** Returns the predictor of an open run; closing it closes the run. */
export async function openPredictor(run: OpenedRun): Promise<Predictor> {
  return run.kind === 'events' ? new EventPredictor(run) : GraphPredictor.open(run);
}
