/**
 * @example
 * const model = await openModel('runs/first');
 * const [answers] = await model.rank([{ head: 'steroid', relation: 'affects' }], { k: 3 });
 */
import { type OpenedRun, type OpenRunOptions, openRun } from '../train/index.js';
import { EventPredictor } from './event-predictor.js';
import { GraphPredictor } from './graph-predictor.js';
import type { Predictor } from './predictor.js';

/** Opens the model of a run, of one of its checkpoints, or of a configuration file, to be asked. */
export async function openModel(path: string, options: OpenRunOptions = {}): Promise<Predictor> {
  return predictorOf(await openRun(path, { command: 'openModel', ...options }));
}

/** The predictor of a run that is open; closing it closes the run. */
export async function predictorOf(run: OpenedRun): Promise<Predictor> {
  return run.kind === 'events' ? new EventPredictor(run) : GraphPredictor.open(run);
}
