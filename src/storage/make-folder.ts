/**
 * A folder and all above it that are missing. Node's own recursive way goes round for ever where a file system answers
 * "no such folder" to every attempt (`/proc`), so this one makes each folder once.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf, storageError } from './atomic-file.js';

/** @returns the folders that were missing, the outermost first */
export function makeFolder(path: string): string[] {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  try {
    for (const folder of missing.reverse()) makeOne(folder);
    if (!statSync(path).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  } catch (error) {
    throw storageError('write', path, error);
  }
  return missing;
}

/** Another process may be quicker. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
