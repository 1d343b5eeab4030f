/**
 * Makes a folder and its missing parents. The recursive mode of Node.js never ends on a file system that reports "no
 * such folder" for every attempt (`/proc`), so each folder is made once here.
 */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf, storageError } from './atomic-file.js';

/** @returns the folders that were made, the outermost first */
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

/** Makes a folder unless another process has just made it. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
