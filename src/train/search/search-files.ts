/** Files of a search: search.yaml (its settings) and best.yaml (the best configuration, ready to train). */
import { join } from 'node:path';
import { stringify } from 'yaml';
import { writeFileAtomic } from '../../storage/atomic-file.js';
import { FormatError } from '../../util/errors.js';
import { isTree, type Tree } from '../../util/schema/key-path.js';
import { readConfigFile } from '../config/config-file.js';
import type { PointSampler } from './points.js';
import type { Variant } from './rounds.js';
import { type TrialValues, withValues } from './space.js';

export const settingsFile = 'search.yaml';
export const bestFile = 'best.yaml';

export interface SearchSettings {
  readonly seed: number;
  readonly trials: number;
  readonly sampler: PointSampler;
  readonly variant: Variant;
  readonly space: unknown;
  /** The configuration that is varied. */
  readonly config: unknown;
}

export async function writeSettings(directory: string, settings: SearchSettings): Promise<void> {
  const head = '# The settings of a search; "skein search <this directory>" resumes it.\n';
  await write(join(directory, settingsFile), head + yaml(settings));
}

export function readSettings(directory: string): SearchSettings {
  const path = join(directory, settingsFile);
  const { values } = readConfigFile(path);
  const names = ['seed', 'trials', 'sampler', 'variant', 'space', 'config'];
  const missing = isTree(values) ? names.find((name) => !(name in values)) : 'all of them';
  if (missing === undefined) return values as unknown as SearchSettings;
  throw new FormatError(
    `${path}: expected the settings of a search (${names.join(', ')}), got a file without ${missing}. Start the search in a new directory.`,
    { path },
  );
}

/** Writes the configuration with the values of the best trial. Returns the path. */
export async function writeBest(
  directory: string,
  { config }: SearchSettings,
  values: TrialValues,
  comment: string,
): Promise<string> {
  const path = join(directory, bestFile);
  await write(path, `# ${comment}\n${yaml(withValues(config as Tree, values))}`);
  return path;
}

const yaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

async function write(path: string, text: string): Promise<void> {
  await writeFileAtomic(path, new TextEncoder().encode(text));
}
