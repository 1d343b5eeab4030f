/** The resolved configuration of a run as values by dotted key, to be shown and compared. */
import { join } from 'node:path';
import { readConfigFile } from '../config/config-file.js';

/** Keys that differ between runs by their nature. */
const ownKeys = new Set(['storage.model_dir', 'train.model_dir']);

/** Returns every value as text, in the order of the file. */
export function readRunSettings(directory: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  flatten(readConfigFile(join(directory, 'full_config.yaml')).values, '', found);
  return found;
}

function flatten(value: unknown, key: string, found: Map<string, string>): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value))
      flatten(inner, key === '' ? name : `${key}.${name}`, found);
    return;
  }
  if (!ownKeys.has(key)) found.set(key, typeof value === 'string' ? value : JSON.stringify(value));
}
