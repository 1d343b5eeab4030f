/** Finds the event file of a saved run after the run, or the file, or both were moved. */
import { existsSync } from 'node:fs';
import { ConfigError } from '../../../util/errors.js';
import { dataPlaces } from '../../run/data-places.js';
import type { FoundEventRun } from './open-event-run.js';
import type { TemporalRunConfig } from './run-config.js';

/** Returns the configuration of a saved run with the paths of files that exist. */
export function locateStream({ config, directory, isDataGiven }: FoundEventRun): TemporalRunConfig {
  const { dataset, evaluation, storage } = config;
  if (isDataGiven) return config;
  const places = (data: string): string[] =>
    dataPlaces({ directory, trainedIn: storage.model_dir, data }).filter((place) => existsSync(place));
  const find = (data: string): string => (data === '' ? '' : (places(data)[0] ?? data));
  const path = find(dataset.path);
  if (path !== '' && !existsSync(path))
    throw new ConfigError(
      `${directory}: expected the events that the run was trained on, got none in ${path}. Put the file next to the run, or name it with --dataset.path=FILE (in programs: overrides).`,
      { path: directory },
    );
  return {
    ...config,
    dataset: { ...dataset, path },
    evaluation: { ...evaluation, negatives_path: find(evaluation.negatives_path) },
  };
}
