/** Describes the directory of a search from its files, without changing them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTree } from '../../util/schema/key-path.js';
import { readCompleteRecords } from '../run/metrics-file.js';
import { bestFile, readSettings, settingsFile } from './search-files.js';
import { logFile, type TrialEvent } from './trial-log.js';

export interface SearchDescription {
  readonly kind: 'search';
  readonly directory: string;
  /** Names of the dimensions of the space. */
  readonly keys: readonly string[];
  readonly trials: number;
  /** Trials with a result, of any round. */
  readonly trained: number;
  readonly failed: number;
  /** The best configuration, and the sentence at its head; null before the end of the search. */
  readonly best: { readonly path: string; readonly summary: string } | null;
}

export function isSearchDirectory(path: string): boolean {
  return existsSync(join(path, settingsFile));
}

export function describeSearch(directory: string): SearchDescription {
  const { trials, space } = readSettings(directory);
  const events = [...readCompleteRecords(join(directory, logFile))] as unknown as TrialEvent[];
  const trialsWith = (event: TrialEvent['event']): number =>
    new Set(events.filter((one) => one.event === event).map(({ trial }) => trial)).size;
  const path = join(directory, bestFile);
  const best = existsSync(path)
    ? { path, summary: readFileSync(path, 'utf8').split('\n', 1)[0].replace(/^# */, '') }
    : null;
  return {
    ...{ kind: 'search', directory, keys: isTree(space) ? Object.keys(space) : [], trials },
    ...{ trained: trialsWith('done'), failed: trialsWith('failed'), best },
  };
}
