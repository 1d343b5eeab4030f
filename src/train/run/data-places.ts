/** Finds the data of a run after the run, or the data, or both were moved. */
import { basename, dirname, join, relative, resolve } from 'node:path';

export interface RunPaths {
  /** The directory of the run now. */
  readonly directory: string;
  /** The directory of the run when it was trained; null if its configuration does not name it. */
  readonly trainedIn: string | null;
  /** The path of the data in its configuration. */
  readonly data: string;
}

/**
 * Returns the places to look for the data of a run, the most likely first: as far from the run as when it was trained, if
 * the run was moved; where the configuration says; next to the run.
 */
export function dataPlaces({ directory, trainedIn, data }: RunPaths): string[] {
  const places = [resolve(data), join(dirname(directory), basename(data))];
  if (trainedIn !== null && resolve(trainedIn) !== directory)
    places.unshift(resolve(directory, relative(resolve(trainedIn), resolve(data))));
  return [...new Set(places)];
}

/** Returns whether overrides name one of these keys, or a section that has them. */
export function isOverridden(overrides: readonly string[], keys: readonly string[]): boolean {
  return overrides.some((text) => {
    const key = text.slice(0, text.indexOf('='));
    return keys.some((wanted) => wanted === key || wanted.startsWith(`${key}.`));
  });
}
